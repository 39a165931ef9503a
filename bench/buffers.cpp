#include "buffers.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tutti::bench {

namespace {

template <class Element>
void fill_elements(Element* to, std::size_t count, std::uint32_t salt, int offset) {
  for (std::size_t i = 0; i < count; ++i)
    to[i] = static_cast<Element>(static_cast<int>((static_cast<std::uint32_t>(i) + salt) & 63u) + offset);
}

template <class Element>
bool compare_elements(const Element* from, std::size_t count, std::uint32_t salt, int factor, int offset) {
  // No early exit, so that the loop vectorises: nearly always everything is right.
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const int expected = static_cast<int>((static_cast<std::uint32_t>(i) + salt) & 63u) * factor + offset;
    wrong += from[i] != static_cast<Element>(expected);
  }
  return wrong == 0;
}

bool compare(const void* buffer, Shape shape, std::uint64_t salt, int factor, int offset) {
  const auto low = static_cast<std::uint32_t>(salt);
  return shape.is_double() ? compare_elements(static_cast<const double*>(buffer), shape.count(), low, factor, offset)
                           : compare_elements(static_cast<const float*>(buffer), shape.count(), low, factor, offset);
}

}  // namespace

BufferPool::BufferPool(std::size_t bytes, std::size_t buffers, Source source) : bytes_(bytes), source_(source) {
  for (std::size_t i = 0; i < buffers; ++i) {
    void* memory = nullptr;
    if (source == Source::kMalloc) {
      memory = std::malloc(bytes);
    } else {
      memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) memory = nullptr;
    }
    if (!memory) throw std::bad_alloc();
    std::memset(memory, 0, bytes);  // the first touch is not what is measured
    buffers_.push_back(memory);
  }
}

BufferPool::~BufferPool() {
  for (void* memory : buffers_) {
    if (source_ == Source::kMalloc)
      std::free(memory);
    else
      munmap(memory, bytes_);
  }
}

void fill(void* buffer, Shape shape, std::uint64_t salt, int rank) {
  const auto low = static_cast<std::uint32_t>(salt);
  if (shape.is_double())
    fill_elements(static_cast<double*>(buffer), shape.count(), low, rank + 1);
  else
    fill_elements(static_cast<float*>(buffer), shape.count(), low, rank + 1);
}

bool holds_data_of(const void* buffer, Shape shape, std::uint64_t salt, int rank) {
  return compare(buffer, shape, salt, 1, rank + 1);
}

bool holds_sum(const void* buffer, Shape shape, std::uint64_t salt, int ranks) {
  return compare(buffer, shape, salt, ranks, ranks * (ranks + 1) / 2);
}

void flush_from_caches([[maybe_unused]] const void* buffer, [[maybe_unused]] std::size_t bytes) {
#if defined(__x86_64__)
  const auto* byte = static_cast<const char*>(buffer);
  for (std::size_t at = 0; at < bytes; at += 64) _mm_clflush(byte + at);
  _mm_clflush(byte + bytes - 1);
  _mm_mfence();
#endif
}

}  // namespace tutti::bench
