// How much memory this process may still use.
#pragma once

#include <cstddef>

namespace tutti::memory {

/// Bytes that can be used before the machine or the control group (cgroup v2, or v1's memory controller) of
/// this process is out of memory; what cannot be read does not limit. Calls no malloc.
std::size_t available_memory() noexcept;

/// What the machine has, or the control group may use. Calls no malloc.
std::size_t memory_limit() noexcept;

}  // namespace tutti::memory
