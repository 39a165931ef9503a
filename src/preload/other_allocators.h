// Tools that watch the allocations of this process: sanitizers, valgrind, allocators that guard every block. They see
// what is wrong only with blocks that are their own, so that the window must serve nothing where they are.
#pragma once

#include <string>

#include "preload/shared.h"

namespace tutti::memory {

enum class Watcher {
  nobody,
  guard,     ///< sees the program's blocks: address, leak, thread sanitizers, guarding allocators
  values,    ///< also which bytes have been written, by code that the compiler has instrumented: MemorySanitizer
  emulator,  ///< the same, by emulating all code: valgrind
};

struct Watched {
  Watcher by = Watcher::nobody;
  const char* name = "";
};

/// Who watches this process, as far as what has been loaded by now tells. Calls neither malloc nor the environment.
TUTTI_SHARED Watched watcher_of_allocations() noexcept;

/// Empty if the program's calls of malloc, free and all their relatives arrive in this library. Otherwise which one does
/// not and whose it is: the program, or a library before ours, defines it.
std::string allocator_before_ours();

}  // namespace tutti::memory
