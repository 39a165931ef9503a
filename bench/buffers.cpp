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

/// 0 .. 63, with no period that a block could have. 32-bit arithmetic, so that loops over it vectorise.
int scattered(std::uint32_t index, std::uint32_t salt) {
  return static_cast<int>((index * 0x9e3779b1u + salt * 0x85ebca6bu) >> 26);
}

template <class Element>
void fill_elements(Element* to, Stretch stretch, std::uint32_t salt, int offset) {
  const auto first = static_cast<std::uint32_t>(stretch.first);
  for (std::size_t i = 0; i < stretch.count; ++i)
    to[i] = static_cast<Element>(scattered(first + static_cast<std::uint32_t>(i), salt) + offset);
}

template <class Element>
bool compare_elements(const Element* from, Stretch stretch, std::uint32_t salt, int factor, int offset) {
  const auto first = static_cast<std::uint32_t>(stretch.first);
  // No early exit, so that the loop vectorises: nearly always everything is right.
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < stretch.count; ++i) {
    const int expected = scattered(first + static_cast<std::uint32_t>(i), salt) * factor + offset;
    wrong += from[i] != static_cast<Element>(expected);
  }
  return wrong == 0;
}

bool compare(const void* buffer, Stretch stretch, std::uint64_t salt, int factor, int offset) {
  const auto low = static_cast<std::uint32_t>(salt);
  return stretch.type == ElementType::kDouble
             ? compare_elements(static_cast<const double*>(buffer), stretch, low, factor, offset)
             : compare_elements(static_cast<const float*>(buffer), stretch, low, factor, offset);
}

}  // namespace

BufferPool::BufferPool(std::size_t bytes, std::size_t buffers, Source source)
    : bytes_(bytes > 0 ? bytes : 1), source_(source) {
  for (std::size_t i = 0; i < buffers; ++i) {
    void* memory = nullptr;
    if (source == Source::kMalloc) {
      memory = std::malloc(bytes_);
    } else {
      memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) memory = nullptr;
    }
    if (!memory) throw std::bad_alloc();
    std::memset(memory, 0, bytes_);  // the first touch is not what is measured
    buffers_.push_back(static_cast<std::byte*>(memory));
  }
}

BufferPool::~BufferPool() {
  for (std::byte* memory : buffers_) {
    if (source_ == Source::kMalloc)
      std::free(memory);
    else
      munmap(memory, bytes_);
  }
}

void BufferPool::flush_from_caches([[maybe_unused]] std::size_t call) const {
#if defined(__x86_64__)
  const std::byte* byte = at(call);
  for (std::size_t offset = 0; offset < bytes_; offset += 64) _mm_clflush(byte + offset);
  _mm_clflush(byte + bytes_ - 1);
  _mm_mfence();
#endif
}

void fill(void* buffer, Stretch stretch, std::uint64_t salt, int rank) {
  const auto low = static_cast<std::uint32_t>(salt);
  if (stretch.type == ElementType::kDouble)
    fill_elements(static_cast<double*>(buffer), stretch, low, rank + 1);
  else
    fill_elements(static_cast<float*>(buffer), stretch, low, rank + 1);
}

bool holds_data_of(const void* buffer, Stretch stretch, std::uint64_t salt, int rank) {
  return compare(buffer, stretch, salt, 1, rank + 1);
}

bool holds_sum(const void* buffer, Stretch stretch, std::uint64_t salt, int ranks) {
  return compare(buffer, stretch, salt, ranks, ranks * (ranks + 1) / 2);
}

}  // namespace tutti::bench
