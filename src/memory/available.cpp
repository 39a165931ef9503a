#include "memory/available.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/control_groups.h"

namespace tutti::memory {

namespace {

/// The number in folder/name; `otherwise` if there is none ("max" included).
std::size_t number_in(const char* folder, const char* name, std::size_t otherwise) {
  char path[640];
  char text[64];
  if (std::snprintf(path, sizeof path, "%s/%s", folder, name) >= static_cast<int>(sizeof path)) return otherwise;
  read_small_file(path, text);
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text, &end, 10);
  return end == text ? otherwise : static_cast<std::size_t>(value);
}

std::size_t left_of_machine() {
  char text[2048];
  read_small_file("/proc/meminfo", text);
  const char* const line = std::strstr(text, "MemAvailable:");
  return line ? static_cast<std::size_t>(std::strtoull(line + std::strlen("MemAvailable:"), nullptr, 10)) * 1024
              : SIZE_MAX;
}

/// The least headroom of the groups, or the least limit.
class Limits final : public ControlGroups {
 public:
  /// less_used: what has been used of it already is not counted.
  explicit Limits(bool less_used) : less_used_(less_used) {}
  std::size_t left = SIZE_MAX;

  void look_at(const char* folder, int version) noexcept override {
    const std::size_t most = number_in(folder, version == 2 ? "memory.max" : "memory.limit_in_bytes", SIZE_MAX);
    if (most == SIZE_MAX) return;
    const char* const usage = version == 2 ? "memory.current" : "memory.usage_in_bytes";
    const std::size_t used = less_used_ ? number_in(folder, usage, 0) : 0;
    left = std::min(left, most > used ? most - used : 0);
  }

 private:
  bool less_used_;
};

std::size_t left_of_groups(bool less_used) {
  Limits limits(less_used);
  limits.look("memory");
  return limits.left;
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
