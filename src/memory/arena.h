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
#include <vector>

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

  /// From now on pages stay where they are, and take memory until the process ends. For who sends from them by the host: it may
  /// have registered them with a network card, by their address, and is not told that others have come there.
  void keep_pages() { keeps_pages_ = true; }

  /// Zero-filled bytes at a page boundary, their offset; nothing when the arena is full or the system has no address
  /// space for more.
  std::optional<std::size_t> allocate(std::size_t bytes);
  /// The same without access: what is never opened takes no memory and no call of the system. It may also be what was
  /// released as tidy, as it was then.
  std::optional<std::size_t> reserve(std::size_t bytes);
  /// Gives access to what was reserved; nothing to do if there is already. False if the system refuses.
  bool open(std::size_t offset);
  /// As `allocate`, but with anything in it: it may be what was released as used.
  std::optional<std::size_t> allocate_used(std::size_t bytes);

  enum class Contents { unknown, tidy, used };
  /// Gives back what these have returned. tidy: the next one to reserve as many bytes can use it as it is; if it was never
  /// opened, it is zero. used: so can the next one that does not care what is in it. A little of either is kept, as to
  /// clear it takes two calls of the system, and to touch it again a page fault on each rank that does.
  void release(std::size_t offset, Contents contents = Contents::unknown);

 private:
  struct Part {
    std::size_t bytes;
    bool open;
  };
  /// Of those in use: open, and nobody's.
  struct Kept {
    std::vector<std::size_t> offsets;
    std::size_t bytes = 0;
  };
  Arena(int descriptor, std::unique_ptr<GrowingMapping> mapping);
  std::optional<std::size_t> take(std::size_t bytes);
  std::optional<std::size_t> take_open(std::size_t bytes);
  void let_go_of(Kept& kept);
  std::optional<std::size_t> take_kept(Kept& kept, std::size_t bytes);
  bool open(std::size_t offset, Part& part);
  bool keep(Kept& kept, std::size_t offset, const Part& part);
  void free_part(std::map<std::size_t, Part>::iterator part, Contents contents);
  bool clear(std::size_t offset, Part& part);
  void add_free(std::size_t offset, std::size_t bytes);

  int descriptor_;
  std::unique_ptr<GrowingMapping> mapping_;
  bool keeps_pages_ = false;
  std::mutex mutex_;
  std::map<std::size_t, std::size_t> free_;  // offset -> bytes
  std::map<std::size_t, Part> used_;
  Kept tidy_, any_;
};

}  // namespace tutti::memory
