// The processor's own clock: what two readings a call may cost.
#pragma once

#include <cstdint>

#include "base/processor.h"
#include "base/simulated.h"

namespace tutti {

/// Grows steadily, in a unit that whoever compares two readings has to find out by another clock. Not a fence: some of
/// the work before and after may be counted on the other side, which is nothing beside a collective.
inline std::uint64_t ticks() {
  if constexpr (simulated::on) return simulated::ticks();
  return processor::ticks();
}

/// So many nanoseconds, or as few as half of them.
inline std::uint64_t ticks_in(std::uint64_t nanoseconds) {
  if constexpr (simulated::on) return 2 * nanoseconds;
  return nanoseconds * processor::ticks_a_microsecond() / 1000;
}

}  // namespace tutti
