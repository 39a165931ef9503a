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

namespace tutti::memory {

/// A sparse memfd, mapped shared: only touched pages use memory, and nothing is left when the processes are gone.
class Arena {
 public:
  /// capacity: address space in bytes. Null with the reason when the system refuses.
  static std::unique_ptr<Arena> create(std::size_t capacity, std::string& reason);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  int descriptor() const { return descriptor_; }
  std::byte* base() const { return base_; }
  std::size_t capacity() const { return capacity_; }

  /// Zero-filled bytes at a page boundary; returns their offset, or nothing when the arena is full.
  std::optional<std::size_t> allocate(std::size_t bytes);
  /// Gives back what `allocate` returned.
  void release(std::size_t offset);

 private:
  Arena(int descriptor, std::byte* base, std::size_t capacity);

  int descriptor_;
  std::byte* base_;
  std::size_t capacity_;
  std::mutex mutex_;
  std::map<std::size_t, std::size_t> free_;  // offset -> bytes
  std::map<std::size_t, std::size_t> used_;
};

}  // namespace tutti::memory
