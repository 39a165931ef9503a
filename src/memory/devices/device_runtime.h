// Memory of devices (graphics processors), which the processor neither loads from nor stores to. What an address is, and
// how its bytes come to memory of the host and back, only the runtime of the device's maker knows. It is asked where the
// program has loaded one: nothing is loaded or started here.
//
// The few types and numbers that are passed to a runtime are declared where it is called, after its public documentation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tutti::memory {

class DeviceRuntime {
 public:
  DeviceRuntime() = default;
  virtual ~DeviceRuntime() = default;
  DeviceRuntime(const DeviceRuntime&) = delete;
  DeviceRuntime& operator=(const DeviceRuntime&) = delete;

  /// Its interface: "CUDA", "HIP", "Level Zero".
  virtual const char* name() const = 0;

  enum class Memory {
    unknown,  ///< nothing that the runtime has allocated or registered: the host's
    host,     ///< the runtime's, and the processor reaches it: pinned, or managed by the runtime
    device,   ///< the processor does not reach it
  };
  /// What the byte at the address is. A query that fails is an answer: unknown.
  virtual Memory find(const void* address) const = 0;

  struct Allocation {
    std::uintptr_t begin = 0, end = 0;
    bool holds(std::uintptr_t first, std::uintptr_t behind) const { return begin <= first && behind <= end; }
  };
  /// The allocation with this byte of a device; empty if the runtime does not tell.
  virtual Allocation allocation_of(const void* address) const = 0;

  // Copies of one piece of an allocation, which are over when these return: what devices do later sees them. Any thread
  // may call them. False if the runtime refuses.

  virtual bool copy_to_host(void* to, const void* from, std::size_t bytes) const = 0;
  virtual bool copy_to_device(void* to, const void* from, std::size_t bytes) const = 0;

  /// Pieces of `bytes` each, whose first bytes lie `pitch` bytes apart on both sides.
  struct Rows {
    std::size_t bytes, pitch, count;
  };
  virtual bool copy_rows_to_device(void* to, const void* from, const Rows& rows) const;
};

/// In the memory of the process is a library whose file's name begins so. Its handle, which keeps it there; else null.
void* loaded_library(const char* file) noexcept;
/// Counts the libraries that the process has ever loaded: what is found may be other things once it has changed.
unsigned long long libraries_ever_loaded() noexcept;

// Null where the process has not loaded the runtime, or one that lacks a function.

std::unique_ptr<DeviceRuntime> cuda_runtime();
std::unique_ptr<DeviceRuntime> hip_runtime();
std::unique_ptr<DeviceRuntime> level_zero_runtime();

}  // namespace tutti::memory
