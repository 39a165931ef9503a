// What a thread has found lately, by the handle of the program: programs call on a few communicators and with a few types
// in turn.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::mpi {

/// Handles are integers or pointers, by host.
template <class Handle>
std::uintptr_t key_of(Handle handle) {
  return (std::uintptr_t)handle;  // NOLINT: integer or pointer
}

/// 2^bits places, in each of which is the last of the keys that lead there. Few: the C library keeps little memory in each
/// thread for libraries that are loaded late.
template <class Entry, int bits>
class Recent {
 public:
  constexpr Recent() = default;

  /// Where what belongs to `key` is, if it is anywhere.
  Entry& place(std::uintptr_t key) {
    // The bits that differ between handles are low ones of integers, and not the lowest of pointers.
    return entries_[(key * 0x9e3779b97f4a7c15u) >> (64 - bits)];
  }

 private:
  Entry entries_[1 << bits] = {};
};

}  // namespace tutti::mpi
