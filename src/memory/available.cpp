#include "memory/available.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tutti::memory {

namespace {

/// The beginning of a small file as a string; empty if it cannot be read.
template <std::size_t n>
void read_file(const char* path, char (&text)[n]) {
  text[0] = 0;
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  const ssize_t length = read(descriptor, text, n - 1);
  close(descriptor);
  text[length > 0 ? length : 0] = 0;
}

/// The number in folder/name; `otherwise` if there is none ("max" included).
std::size_t number_in(const char* folder, const char* name, std::size_t otherwise) {
  char path[640];
  char text[64];
  if (std::snprintf(path, sizeof path, "%s/%s", folder, name) >= static_cast<int>(sizeof path)) return otherwise;
  read_file(path, text);
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text, &end, 10);
  return end == text ? otherwise : static_cast<std::size_t>(value);
}

std::size_t left_of_machine() {
  char text[2048];
  read_file("/proc/meminfo", text);
  const char* const line = std::strstr(text, "MemAvailable:");
  return line ? static_cast<std::size_t>(std::strtoull(line + std::strlen("MemAvailable:"), nullptr, 10)) * 1024
              : SIZE_MAX;
}

/// The least headroom in a control group and the groups around it, or the least limit without a `usage`: job schedulers
/// set their limits further up.
std::size_t left_of_group(const char* root, const char* group, const char* limit, const char* usage) {
  char folder[512];
  const std::size_t stem = std::strlen(root);
  if (std::snprintf(folder, sizeof folder, "%s%s", root, group) >= static_cast<int>(sizeof folder)) return SIZE_MAX;
  std::size_t left = SIZE_MAX;
  for (;;) {
    const std::size_t most = number_in(folder, limit, SIZE_MAX);
    const std::size_t used = usage ? number_in(folder, usage, 0) : 0;
    if (most != SIZE_MAX) left = std::min(left, most > used ? most - used : 0);
    char* const slash = std::strrchr(folder, '/');
    if (!slash || static_cast<std::size_t>(slash - folder) < stem) return left;
    *slash = 0;
  }
}

/// less_used: what has been used of it already is not counted.
std::size_t left_of_groups(bool less_used) {
  char text[4096];
  read_file("/proc/self/cgroup", text);
  std::size_t left = SIZE_MAX;
  char* rest = nullptr;
  for (char* line = strtok_r(text, "\n", &rest); line; line = strtok_r(nullptr, "\n", &rest)) {
    const char* const path = std::strchr(line, '/');
    if (!path) continue;
    if (std::strncmp(line, "0::", 3) == 0)
      left =
          std::min(left, left_of_group("/sys/fs/cgroup", path, "memory.max", less_used ? "memory.current" : nullptr));
    else if (std::strstr(line, ":memory:"))
      left = std::min(left, left_of_group("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes",
                                          less_used ? "memory.usage_in_bytes" : nullptr));
  }
  return left;
}

}  // namespace

std::size_t available_memory() noexcept {
  return std::min(left_of_machine(), left_of_groups(true));
}

std::size_t memory_limit() noexcept {
  const auto physical =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return std::min(physical, left_of_groups(false));
}

}  // namespace tutti::memory
