// Memory that a call needs beside the program's buffers: for elements that are packed, and for results that come to another
// place first.
//
// A call gives it back for the next ones. Taken from the system and given back to it each time, it costs a fault for every
// page, several times what it takes to pack what is on the page.
#pragma once

#include <cstddef>
#include <utility>

namespace tutti::mpi {

/// As much as was asked for, or more; nothing if it was made without a number.
class CallMemory {
 public:
  CallMemory() = default;
  /// Throws std::bad_alloc.
  explicit CallMemory(std::size_t bytes);
  ~CallMemory() { give_back(); }
  CallMemory(CallMemory&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  CallMemory& operator=(CallMemory&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  std::byte* get() const { return memory_; }
  std::size_t bytes() const { return bytes_; }
  /// At least so many bytes. What is in it is lost if that is more than there was. Throws std::bad_alloc.
  std::byte* at_least(std::size_t bytes) {
    if (bytes_ < bytes) {
      give_back();
      *this = CallMemory(bytes);
    }
    return memory_;
  }
  void give_back() noexcept;

 private:
  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

/// What is kept goes back to the system.
void give_back_kept_memory() noexcept;

}  // namespace tutti::mpi
