// The file that a window lies in.
#pragma once

#include <string>

#include "memory/huge_pages.h"

namespace tutti::memory {

struct WindowFile {
  int descriptor = -1;  ///< close-on-exec, of an empty file that has no name; -1, with errno: there is none
  HugeKind kind = HugeKind::off;
  std::string why_not;  ///< why it is of no better kind that was asked for; empty: it is
};

/// Of the kind, or of the next better one that can be had.
WindowFile make_window_file(HugeKind best, const SystemsHugePages& system);

}  // namespace tutti::memory
