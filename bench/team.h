// Threads that stand for ranks where no MPI is needed: each on a core of its own as far as there are enough.
#pragma once

#include <functional>

#include "clock.h"

namespace tutti::bench {

/// Runs body(0) .. body(threads - 1) side by side, thread i bound to the i-th usable processor, again from the first
/// when there are more threads than processors. Returns when all have ended.
void run_team(int threads, const std::function<void(int)>& body);

/// One turn of a poll that gives the processor away.
void yield();

/// Polls until ready() is true. crowded: more threads than processors, so the processor is given away between polls.
template <class Ready>
void poll(bool crowded, Ready&& ready) {
  while (!ready()) crowded ? yield() : relax();
}

}  // namespace tutti::bench
