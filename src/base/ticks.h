// The processor's own clock: what two readings a call may cost.
#pragma once

#include <cstdint>

#include "base/simulated.h"

#if !defined(__x86_64__)
#include <chrono>
#endif

namespace tutti {

/// Grows steadily, in a unit that whoever compares two readings has to find out by another clock. Not a fence: some of
/// the work before and after may be counted on the other side, which is nothing beside a collective.
inline std::uint64_t ticks() {
  if constexpr (simulated::on) return simulated::ticks();
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();  // <x86intrin.h> would be a sixth of what most sources cost to parse
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

}  // namespace tutti
