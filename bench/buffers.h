// The buffers of one cell (one collective at one size): what is in them and how it is checked.
//
// Element i of rank r holds ((i + salt) mod 64) + r + 1, a small whole number: sums are exact in any order, so a result
// is compared bit by bit, and another salt for each call makes a stale result visible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::bench {

/// Elements are doubles where the size allows it, floats for sizes that are only a multiple of 4.
struct Shape {
  std::size_t bytes = 0;
  bool is_double() const { return bytes % sizeof(double) == 0; }
  std::size_t count() const { return bytes / (is_double() ? sizeof(double) : sizeof(float)); }
};

/// Where buffers come from.
enum class Source {
  kMalloc,     ///< the program's malloc, as any program would: may be interposed
  kAnonymous,  ///< pages straight from the kernel
};

/// Memory of one cell, freed with the object.
class BufferPool {
 public:
  BufferPool(std::size_t bytes, std::size_t buffers, Source source);
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  void* at(std::size_t call) const { return buffers_[call % buffers_.size()]; }
  std::size_t size() const { return buffers_.size(); }

 private:
  std::size_t bytes_;
  Source source_;
  std::vector<void*> buffers_;
};

/// Writes the data of `rank`.
void fill(void* buffer, Shape shape, std::uint64_t salt, int rank);

/// True if the buffer holds what fill() of `rank` wrote.
bool holds_data_of(const void* buffer, Shape shape, std::uint64_t salt, int rank);

/// True if the buffer holds the sum of what ranks 0..ranks-1 wrote.
bool holds_sum(const void* buffer, Shape shape, std::uint64_t salt, int ranks);

/// Drops the buffer from this processor's caches; does nothing where there is no instruction for it.
void flush_from_caches(const void* buffer, std::size_t bytes);

}  // namespace tutti::bench
