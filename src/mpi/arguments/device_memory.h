// Buffers of the program in memory of devices. A rank that has one stages it: the bytes are copied by the device's runtime
// to memory of the host before the core reads them, and back when the core has written them. Each rank does so for itself,
// as it does with elements that have gaps; the others see no difference.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "memory/devices/device_runtime.h"
#include "preload/libraries.h"

namespace tutti::mpi {

namespace devices {

/// Whether runtimes are loaded, or may have been since somebody looked.
extern constinit std::atomic<bool> are_known;

inline bool may_be_there() {
  return are_known.load(std::memory_order_relaxed) ||
         tutti_libraries.load(std::memory_order_relaxed) != TuttiLibraries::looked_at;
}

const memory::DeviceRuntime* find(const void* address) noexcept;

}  // namespace devices

/// The runtime of the device in whose memory the byte at the address is; null: the processor loads from there and stores
/// there. A buffer is in one memory, so that its first byte tells.
inline const memory::DeviceRuntime* device_of(const void* address) {
  if (!devices::may_be_there()) [[likely]]
    return nullptr;
  return devices::find(address);
}

// Copies of consecutive bytes between the program's memory, wherever it is, and the host's. They return a code of MPI.

int copy_from_program(std::byte* to, const void* from, std::size_t bytes);
int copy_to_program(void* to, const std::byte* from, std::size_t bytes);

/// What is said, and returned, where the runtime refuses a copy.
int device_copy_failed(const memory::DeviceRuntime& runtime, std::size_t bytes, bool to_device);

/// What this rank has copied to and from devices.
struct Staged {
  std::uint64_t buffers = 0;  ///< counted at each copy of one
  std::uint64_t bytes = 0;
};
Staged staged_so_far();
void count_staged(std::size_t bytes);

}  // namespace tutti::mpi
