#include "base/control_groups.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tutti {

namespace {

constexpr std::size_t longest_path = 640;

/// False: it is too long.
template <class... Parts>
bool join(char (&path)[longest_path], const char* format, Parts... parts) noexcept {
  const int length = std::snprintf(path, sizeof path, format, parts...);
  return length > 0 && length < static_cast<int>(sizeof path);
}

/// Whether a word stands between the commas of a list that ends with a colon.
bool is_listed(const char* word, const char* list) noexcept {
  const std::size_t length = std::strlen(word);
  for (const char* at = list;; ++at) {
    const std::size_t here = std::strcspn(at, ",:");
    if (here == length && std::strncmp(at, word, length) == 0) return true;
    at += here;
    if (*at != ',') return false;
  }
}

class Quotas final : public ControlGroups {
 public:
  TimeQuota least;

  void look_at(const char* folder, int version) noexcept override {
    char path[longest_path], text[64];
    double quota = 0, period = 0;
    if (version == 2) {
      if (!join(path, "%s/cpu.max", folder)) return;
      read_small_file(path, text);
      // "max" is no number.
      if (std::sscanf(text, "%lf %lf", &quota, &period) != 2) return;
    } else {
      if (!join(path, "%s/cpu.cfs_quota_us", folder)) return;
      read_small_file(path, text);
      quota = std::atof(text);
      if (!join(path, "%s/cpu.cfs_period_us", folder)) return;
      read_small_file(path, text);
      period = std::atof(text);
    }
    if (quota <= 0 || period <= 0) return;
    const double processors = quota / period;
    if (least.processors > 0 && least.processors <= processors) return;
    struct stat status {};
    least = {stat(folder, &status) == 0 ? static_cast<std::uint64_t>(status.st_ino) : 0, processors};
  }
};

}  // namespace

void read_small_file(const char* path, char* text, std::size_t room) noexcept {
  text[0] = 0;
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  const ssize_t length = read(descriptor, text, room - 1);
  close(descriptor);
  text[length > 0 ? length : 0] = 0;
}

void ControlGroups::look(const char* controller, const char* root) noexcept {
  char path[longest_path], text[4096];
  if (!join(path, "%s/proc/self/cgroup", root)) return;
  read_small_file(path, text);
  char* rest = nullptr;
  for (char* line = strtok_r(text, "\n", &rest); line; line = strtok_r(nullptr, "\n", &rest)) {
    const char* const group = std::strchr(line, '/');
    const char* const controllers = std::strchr(line, ':');
    if (!group || !controllers) continue;
    char mount[longest_path];
    if (std::strncmp(line, "0::", 3) == 0) {
      if (join(mount, "%s/sys/fs/cgroup", root)) look_upwards(mount, group, 2);
    } else if (is_listed(controller, controllers + 1)) {
      if (join(mount, "%s/sys/fs/cgroup/%s", root, controller)) look_upwards(mount, group, 1);
    }
  }
}

void ControlGroups::look_upwards(const char* mount, const char* group, int version) noexcept {
  char folder[longest_path];
  if (!join(folder, "%s%s", mount, group)) return;
  const std::size_t stem = std::strlen(mount);
  for (;;) {
    look_at(folder, version);
    char* const slash = std::strrchr(folder, '/');
    if (!slash || static_cast<std::size_t>(slash - folder) < stem) return;
    *slash = 0;
  }
}

TimeQuota time_quota(const char* root) noexcept {
  Quotas quotas;
  quotas.look("cpu", root);
  return quotas.least;
}

}  // namespace tutti
