// Which thread has called dlopen. Its calls are over when it does something else.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/processor.h"
#include "preload/shared.h"

/// Since somebody last stored `nobody` here: the thread pointer of the one thread that has called dlopen, or `several`.
extern "C" TUTTI_SHARED std::atomic<std::uintptr_t> tutti_opener;

namespace tutti::preload {

inline constexpr std::uintptr_t nobody = 0, several = UINTPTR_MAX;

/// The calls of dlopen that tutti_libraries tells of are over, if all were of this thread.
inline bool is_this_thread(std::uintptr_t opener) {
  return opener == reinterpret_cast<std::uintptr_t>(processor::thread_pointer());
}

}  // namespace tutti::preload
