#include "memory/view.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace tutti::memory {

namespace {
constexpr std::size_t page = 4096;
constexpr std::size_t huge_page = std::size_t{2} << 20;
}  // namespace

std::unique_ptr<View> View::create(int descriptor, std::size_t capacity, std::size_t step) {
  // One step more: nothing may be said to be at the very end.
  const std::size_t words = (capacity / step + 1) / 64 + 1;
  const std::size_t word_bytes = (words * sizeof(Word) + page - 1) / page * page;
  // Most of the bits are never looked at.
  void* const bits = mmap(nullptr, word_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bits == MAP_FAILED) return nullptr;
  auto mapping = GrowingMapping::create(descriptor, {capacity, step, false, step >= huge_page, nullptr, false});
  if (!mapping) {
    munmap(bits, word_bytes);
    return nullptr;
  }
  return std::unique_ptr<View>(new View(std::move(mapping), static_cast<Word*>(bits), word_bytes,
                                        static_cast<unsigned>(std::countr_zero(step))));
}

View::View(std::unique_ptr<GrowingMapping> mapping, Word* words, std::size_t word_bytes, unsigned shift)
    : shift_(shift), words_(words), word_bytes_(word_bytes), mapping_(std::move(mapping)) {}

View::~View() {
  munmap(words_, word_bytes_);
}

bool View::has_all(std::size_t first, std::size_t last) const noexcept {
  for (std::size_t step = first; step <= last;) {
    if (step % 64 == 0 && step + 63 <= last && words_[step / 64].load(std::memory_order_acquire) == ~std::uint64_t{0})
      step += 64;
    else if (is_open(step))
      ++step;
    else
      return false;
  }
  return true;
}

bool View::reach(std::size_t offset, std::size_t bytes) noexcept {
  if (offset > mapping_->capacity() || bytes > mapping_->capacity() - offset) return false;
  const std::size_t first = offset >> shift_;
  const std::size_t last = (offset + bytes - (bytes != 0)) >> shift_;
  const std::lock_guard lock(mutex_);
  const std::size_t end = std::min((last + 1) << shift_, mapping_->capacity());
  if (!mapping_->open(first << shift_, end)) return false;
  // Pairs with the load of who looks at the bit: then the pages are there.
  for (std::size_t step = first; step <= last; ++step)
    words_[step / 64].fetch_or(std::uint64_t{1} << (step % 64), std::memory_order_release);
  return true;
}

std::size_t View::take(std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  // Whole steps, as they are opened.
  const std::size_t steps = (std::min(bytes, mapping_->capacity()) + (std::size_t{1} << shift_) - 1) >> shift_;
  mapping_->take(std::min(steps << shift_, mapping_->capacity()));
  return (mapping_->extent().load(std::memory_order_relaxed) - page) >> shift_ << shift_;
}

bool View::is_too_much(std::size_t offset, std::size_t bytes, std::size_t views) const noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  const std::size_t end = offset + bytes + page;
  return end > mapping_->extent().load(std::memory_order_relaxed) && end > limit.rlim_cur / 4 / views;
}

}  // namespace tutti::memory
