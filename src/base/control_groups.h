// The control groups of this process, by which the system limits what processes use together: version 2, or 1. Calls no
// malloc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti {

/// The text of a small file, or its beginning; empty if it cannot be read.
void read_small_file(const char* path, char* text, std::size_t room) noexcept;

template <std::size_t room>
void read_small_file(const char* path, char (&text)[room]) noexcept {
  read_small_file(path, text, room);
}

/// Asks about each group of this process that has a controller ("memory", "cpu"), and about those around it, innermost first: job
/// schedulers set their limits further up. In a container the names of groups may be those of its host; then the outermost
/// folder is its own group. root: in front of all paths, for tests.
class ControlGroups {
 public:
  virtual void look_at(const char* folder, int version) noexcept = 0;
  void look(const char* controller, const char* root = "") noexcept;

 protected:
  ~ControlGroups() = default;

 private:
  void look_upwards(const char* mount, const char* group, int version) noexcept;
};

/// Processor time that the processes of a control group have together.
struct TimeQuota {
  std::uint64_t group = 0;  ///< equal where the group is
  double processors = 0;    ///< worth of time; 0: no limit
};

/// The least of this process.
TimeQuota time_quota(const char* root = "") noexcept;

}  // namespace tutti
