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

/// A place for each of some keys, that of the last one which had it. Few: they are memory of every thread that was there
/// when the library was loaded.
template <class Entry>
class Recent {
 public:
  constexpr Recent() = default;

  /// Where what belongs to `key` is, if it is anywhere.
  Entry& place(std::uintptr_t key) {
    // The bits that differ between handles are low ones of integers, and not the lowest of pointers.
    return entries_[(key * 0x9e3779b97f4a7c15u) >> (64 - places_bits)];
  }

 private:
  static constexpr int places_bits = 2;
  Entry entries_[1 << places_bits] = {};
};

}  // namespace tutti::mpi
