// What a thread takes from the system and gives back to it.
#pragma once

#include <functional>

namespace tutti::tests {

struct MemoryUse {
  long faults = 0;  ///< pages that were touched for the first time
  long calls = 0;   ///< of brk, mmap, munmap and mremap
};

/// The least of what rounds of ten calls use, once they use little: what is set up in the first calls does not count.
/// Collective if `call` is.
MemoryUse least_use_of_ten(const std::function<void()>& call);

}  // namespace tutti::tests
