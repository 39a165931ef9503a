// The file that a window lies in.
#pragma once

#include <sys/types.h>

#include <string>

#include "memory/huge_pages.h"

namespace tutti::memory {

struct WindowFile {
  int descriptor = -1;  ///< close-on-exec, of an empty file that has no name; -1, with errno: there is none
  HugeKind kind = HugeKind::off;
  pid_t helper = 0;     ///< a child that made the file and is ending: see has_ended; 0: there is none
  std::string why_not;  ///< why it is of no better kind that was asked for; empty: it is
};

/// Of the kind, or of the next better one that can be had.
WindowFile make_window_file(HugeKind best, const SystemsHugePages& system);

/// Whether the helper has ended, which nobody else is told of; takes it from the list of processes then. wait: until it has.
bool has_ended(pid_t helper, bool wait) noexcept;

}  // namespace tutti::memory
