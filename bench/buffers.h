// The buffers of one cell (one collective at one size): what is in them and how it is checked.
//
// Element i of what rank r sends holds scattered(i, salt) + r + 1, a small whole number: sums are exact in any order,
// so a result is compared bit by bit. The first term differs between blocks, so that a block in the wrong place is
// seen, and another salt for each call makes a stale result visible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace tutti::bench {

enum class ElementType { kFloat, kDouble };

constexpr std::size_t size_of(ElementType type) {
  return type == ElementType::kDouble ? sizeof(double) : sizeof(float);
}

/// A message or one block of it. Elements are doubles where the size allows it, floats for sizes that are only a
/// multiple of 4.
struct Shape {
  std::size_t bytes = 0;
  ElementType type() const { return bytes % sizeof(double) == 0 ? ElementType::kDouble : ElementType::kFloat; }
  std::size_t count() const { return bytes / size_of(type()); }
};

/// Elements first .. first + count - 1 of what a rank sends.
struct Stretch {
  ElementType type;
  std::size_t first;
  std::size_t count;
};

/// Where buffers come from.
enum class Source {
  kMalloc,     ///< the program's malloc, as any program would: may be interposed
  kAnonymous,  ///< pages straight from the kernel
  kStatic,     ///< an array of the program, as in many Fortran programs
  kStack,      ///< the stack of main()
};

/// Bytes that all buffers from there may have together, on this rank.
std::size_t capacity_of(Source source);

/// Calls `run` with as much of the caller's stack for kStack as the limit of the process allows, within reason.
void with_stack_buffers(const std::function<void()>& run);

/// Buffers of one length, freed with the object.
class BufferPool {
 public:
  /// bytes: of each; may be zero.
  BufferPool(std::size_t bytes, std::size_t buffers, Source source);
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  std::byte* at(std::size_t call) const { return buffers_[call % buffers_.size()]; }
  /// Drops one buffer from this processor's caches; does nothing where there is no instruction for it.
  void flush_from_caches(std::size_t call) const;

 private:
  std::size_t bytes_;
  Source source_;
  std::vector<std::byte*> buffers_;
};

/// Writes a stretch of the data of `rank`; buffer: where its first element goes.
void fill(void* buffer, Stretch stretch, std::uint64_t salt, int rank);

/// True if the buffer holds what fill() of `rank` wrote for this stretch.
bool holds_data_of(const void* buffer, Stretch stretch, std::uint64_t salt, int rank);

/// True if the buffer holds the sum of what ranks 0..ranks-1 wrote for this stretch.
bool holds_sum(const void* buffer, Stretch stretch, std::uint64_t salt, int ranks);

}  // namespace tutti::bench
