#include "buffers.h"

#include <alloca.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/processor.h"

namespace tutti::bench {

namespace {

/// 0 .. 63, with no period that a block could have. 32-bit arithmetic, so that loops over it vectorise.
[[gnu::always_inline]] inline int scattered(std::uint32_t index, std::uint32_t salt) {
  return static_cast<int>((index * 0x9e3779b1u + salt * 0x85ebca6bu) >> 26);
}

// Writing and checking (TUTTI_TARGET_CLONES) are part of what is timed: as quick as the processor can.

template <class Element>
[[gnu::always_inline]] inline void fill_elements(Element* to, Stretch stretch, std::uint32_t salt, int offset) {
  const auto first = static_cast<std::uint32_t>(stretch.first);
  for (std::size_t i = 0; i < stretch.count; ++i)
    to[i] = static_cast<Element>(scattered(first + static_cast<std::uint32_t>(i), salt) + offset);
}

template <class Element>
[[gnu::always_inline]] inline bool compare_elements(const Element* from, Stretch stretch, std::uint32_t salt,
                                                    int factor, int offset) {
  const auto first = static_cast<std::uint32_t>(stretch.first);
  // No early exit, so that the loop vectorises: nearly always everything is right.
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < stretch.count; ++i) {
    const int expected = scattered(first + static_cast<std::uint32_t>(i), salt) * factor + offset;
    wrong += from[i] != static_cast<Element>(expected);
  }
  return wrong == 0;
}

TUTTI_TARGET_CLONES
void fill_any(void* buffer, Stretch stretch, std::uint32_t salt, int offset) {
  if (stretch.type == ElementType::kDouble)
    fill_elements(static_cast<double*>(buffer), stretch, salt, offset);
  else
    fill_elements(static_cast<float*>(buffer), stretch, salt, offset);
}

TUTTI_TARGET_CLONES
bool compare(const void* buffer, Stretch stretch, std::uint32_t salt, int factor, int offset) {
  return stretch.type == ElementType::kDouble
             ? compare_elements(static_cast<const double*>(buffer), stretch, salt, factor, offset)
             : compare_elements(static_cast<const float*>(buffer), stretch, salt, factor, offset);
}

constexpr std::size_t kStaticBytes = 256 << 20;
constexpr std::size_t kStackBytes = 64 << 20;
constexpr std::size_t kLineBytes = 64;

alignas(4096) std::byte static_memory[kStaticBytes];

/// Memory that is there once and for all. Buffers are taken one behind the other; when the last is back, from the start.
class FixedMemory {
 public:
  FixedMemory(std::byte* begin, std::size_t bytes) : begin_(begin), bytes_(bytes) {}
  std::size_t capacity() const { return bytes_; }
  void* take(std::size_t bytes) {
    const std::size_t room = (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
    if (room > bytes_ - used_) return nullptr;
    ++live_;
    used_ += room;
    return begin_ + used_ - room;
  }
  void give_back() {
    if (--live_ == 0) used_ = 0;
  }

 private:
  std::byte* begin_;
  std::size_t bytes_;
  std::size_t used_ = 0;
  int live_ = 0;
};

FixedMemory of_static_array(static_memory, kStaticBytes);
FixedMemory of_stack(nullptr, 0);

void* allocate(Source source, std::size_t bytes) {
  switch (source) {
    case Source::kMalloc:
      return std::malloc(bytes);
    case Source::kStatic:
      return of_static_array.take(bytes);
    case Source::kStack:
      return of_stack.take(bytes);
    default: {
      void* const pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      return pages == MAP_FAILED ? nullptr : pages;
    }
  }
}

void release(Source source, void* memory, std::size_t bytes) {
  switch (source) {
    case Source::kMalloc:
      return std::free(memory);
    case Source::kStatic:
      return of_static_array.give_back();
    case Source::kStack:
      return of_stack.give_back();
    default:
      munmap(memory, bytes);
  }
}

}  // namespace

std::size_t capacity_of(Source source) {
  return source == Source::kStatic  ? of_static_array.capacity()
         : source == Source::kStack ? of_stack.capacity()
                                    : SIZE_MAX;
}

void with_stack_buffers(const std::function<void()>& run) {
  constexpr std::size_t for_the_rest = 2 << 20;
  rlimit limit{};
  getrlimit(RLIMIT_STACK, &limit);
  const auto wanted = std::min<rlim_t>(limit.rlim_max, kStackBytes + for_the_rest);
  if (limit.rlim_cur < wanted) {
    limit.rlim_cur = wanted;
    setrlimit(RLIMIT_STACK, &limit);
    getrlimit(RLIMIT_STACK, &limit);
  }
  const std::size_t bytes = std::min<rlim_t>(limit.rlim_cur, kStackBytes + for_the_rest) - for_the_rest;
  auto* const memory = static_cast<std::byte*>(alloca(bytes));
  of_stack = FixedMemory(memory, bytes);
  run();
  of_stack = FixedMemory(nullptr, 0);
}

BufferPool::BufferPool(std::size_t bytes, std::size_t buffers, Source source)
    : bytes_(bytes > 0 ? bytes : 1), source_(source) {
  for (std::size_t i = 0; i < buffers; ++i) {
    void* const memory = allocate(source, bytes_);
    if (!memory) throw std::bad_alloc();
    std::memset(memory, 0, bytes_);  // the first touch is not what is measured
    buffers_.push_back(static_cast<std::byte*>(memory));
  }
}

BufferPool::~BufferPool() {
  for (std::byte* memory : buffers_) release(source_, memory, bytes_);
}

void BufferPool::flush_from_caches(std::size_t call) const {
  processor::flush_from_caches(at(call), bytes_);
}

void fill(void* buffer, Stretch stretch, std::uint64_t salt, int rank) {
  fill_any(buffer, stretch, static_cast<std::uint32_t>(salt), rank + 1);
}

bool holds_data_of(const void* buffer, Stretch stretch, std::uint64_t salt, int rank) {
  return compare(buffer, stretch, static_cast<std::uint32_t>(salt), 1, rank + 1);
}

bool holds_sum(const void* buffer, Stretch stretch, std::uint64_t salt, int ranks) {
  return compare(buffer, stretch, static_cast<std::uint32_t>(salt), ranks, ranks * (ranks + 1) / 2);
}

}  // namespace tutti::bench
