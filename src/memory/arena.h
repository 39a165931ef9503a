// The shared control memory of one rank: flags, slots and staging buffers of its communicators. Only its owner
// allocates in it; every peer on the node maps it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "memory/growing_mapping.h"

namespace tutti::memory {

/// A sparse memfd, mapped shared as far as it is used: only touched pages use memory, only what is allocated is
/// accessible, and nothing is left when the processes are gone.
class Arena {
 public:
  /// capacity: the most bytes that can be allocated. Null with the reason when the system refuses.
  static std::unique_ptr<Arena> create(std::size_t capacity, std::string& reason);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  int descriptor() const { return descriptor_; }
  std::byte* base() const { return mapping_->base(); }
  std::size_t capacity() const { return mapping_->capacity(); }
  /// Bytes from the base that have been of use so far, at most.
  std::size_t extent() const { return mapping_->extent().load(std::memory_order_relaxed); }

  /// Zero-filled bytes at a page boundary; returns their offset, or nothing when the arena is full or the system has no
  /// address space for more.
  std::optional<std::size_t> allocate(std::size_t bytes);
  /// Gives back what `allocate` returned.
  void release(std::size_t offset);

 private:
  Arena(int descriptor, std::unique_ptr<GrowingMapping> mapping);

  int descriptor_;
  std::unique_ptr<GrowingMapping> mapping_;
  std::mutex mutex_;
  std::map<std::size_t, std::size_t> free_;  // offset -> bytes
  std::map<std::size_t, std::size_t> used_;
};

}  // namespace tutti::memory
