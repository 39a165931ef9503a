#include "memory/view.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "memory/huge_pages.h"
#include "memory/pages.h"

namespace tutti::memory {

namespace {

/// What the kernel maps around a small page that is read, where it has not been told otherwise.
constexpr std::size_t mapped_around = std::size_t{64} << 10;
constexpr std::size_t given_up_at_once = std::size_t{4} << 20;
constexpr std::uint64_t all = ~std::uint64_t{0};

/// Of a word, the bits [first, last], which are counted on from the word's own first one.
std::uint64_t bits_between(std::size_t first, std::size_t last) {
  return (all << first) & (all >> (63 - last));
}

/// Calls `visit(word, mask)` for the words that hold the bits [first, last]; ends when that returns false, and returns
/// that.
template <class Visit>
bool for_each_word(std::size_t first, std::size_t last, Visit visit) {
  for (std::size_t word = first / 64; word <= last / 64; ++word) {
    const std::size_t from = word == first / 64 ? first % 64 : 0;
    const std::size_t to = word == last / 64 ? last % 64 : 63;
    if (!visit(word, bits_between(from, to))) return false;
  }
  return true;
}

}  // namespace

View::Bits View::make_bits(std::size_t count) noexcept {
  // One more: nothing may be said to be at the very end.
  const std::size_t bytes = ((count + 1) / 64 + 1) * sizeof(Word);
  const std::size_t whole_pages = (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
  // Most of the bits are never looked at.
  void* const bits = mmap(nullptr, whole_pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return bits == MAP_FAILED ? Bits{nullptr, 0} : Bits{static_cast<Word*>(bits), whole_pages};
}

std::unique_ptr<View> View::create(int descriptor, std::size_t capacity, const Options& options) {
  const std::size_t step = options.step;
  const std::size_t mapped_at_once = options.huge_pages ? huge_page_bytes : mapped_around;
  const std::size_t grain = options.viewed ? std::min(step, mapped_at_once) : step;
  const Bits there = make_bits(capacity / grain);
  const Bits open = make_bits(capacity / step);
  std::unique_ptr<GrowingMapping> mapping;
  if (there.words && open.words)
    // A buffer that this rank is the first to touch is to be as its owner would have it.
    mapping = GrowingMapping::create(descriptor,
                                     {capacity, step, false, options.huge_pages ? MADV_HUGEPAGE : 0, nullptr, false});
  if (!mapping) {
    for (const Bits& bits : {there, open})
      if (bits.words) munmap(bits.words, bits.bytes);
    return nullptr;
  }
  return std::unique_ptr<View>(new View(std::move(mapping), there, open, static_cast<unsigned>(std::countr_zero(grain)),
                                        static_cast<unsigned>(std::countr_zero(step)), options.viewed));
}

View::View(std::unique_ptr<GrowingMapping> mapping, Bits there, Bits open, unsigned shift, unsigned step_shift,
           Viewed* viewed)
    : shift_(shift),
      there_(there),
      step_shift_(step_shift),
      open_(open),
      mapping_(std::move(mapping)),
      viewed_(viewed) {
  if (viewed_) viewed_->add(*this);
}

View::~View() {
  if (viewed_) viewed_->remove(*this);
  munmap(there_.words, there_.bytes);
  munmap(open_.words, open_.bytes);
}

bool View::has_all(std::size_t first, std::size_t last) const noexcept {
  return for_each_word(first, last, [&](std::size_t word, std::uint64_t mask) {
    return (there_.words[word].load(std::memory_order_acquire) & mask) == mask;
  });
}

/// Under the mutex.
bool View::open(std::size_t offset, std::size_t bytes) noexcept {
  const std::size_t first = offset >> step_shift_;
  const std::size_t last = (offset + bytes - (bytes != 0)) >> step_shift_;
  const bool is_open = for_each_word(first, last, [&](std::size_t word, std::uint64_t mask) {
    return (open_.words[word].load(std::memory_order_relaxed) & mask) == mask;
  });
  if (is_open) return true;
  const std::size_t end = std::min((last + 1) << step_shift_, mapping_->capacity());
  if (!mapping_->open(first << step_shift_, end)) return false;
  return for_each_word(first, last, [&](std::size_t word, std::uint64_t mask) {
    open_.words[word].fetch_or(mask, std::memory_order_relaxed);
    return true;
  });
}

bool View::reach(std::size_t offset, std::size_t bytes) noexcept {
  if (offset > mapping_->capacity() || bytes > mapping_->capacity() - offset) return false;
  const std::size_t first = offset >> shift_;
  const std::size_t last = (offset + bytes - (bytes != 0)) >> shift_;
  const std::lock_guard lock(mutex_);
  if (!open(offset, bytes)) return false;
  std::size_t added = 0;
  for_each_word(first, last, [&](std::size_t word, std::uint64_t mask) {
    // Pairs with the load of who looks at the bit: then the pages are there.
    const std::uint64_t before = there_.words[word].fetch_or(mask, std::memory_order_release);
    added += static_cast<std::size_t>(std::popcount(mask & ~before));
    return true;
  });
  if (viewed_) viewed_->use(added << shift_);
  return true;
}

std::size_t View::give_up(std::size_t& place, std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  // In one call of the system, whether all of it was used or not.
  const std::size_t at_once = std::clamp(given_up_at_once >> shift_, std::size_t{1}, std::size_t{64});
  const std::size_t end = mapping_->extent().load(std::memory_order_relaxed) >> shift_;
  std::size_t given = 0;
  for (; place < end && given < bytes; place += at_once) {
    Word& word = there_.words[place / 64];
    const std::uint64_t mask = bits_between(place % 64, place % 64 + at_once - 1);
    if ((word.load(std::memory_order_relaxed) & mask) == 0) continue;
    const std::uint64_t used = word.fetch_and(~mask, std::memory_order_relaxed) & mask;
    mapping_->give_up(place << shift_, (place + at_once) << shift_);
    given += static_cast<std::size_t>(std::popcount(used)) << shift_;
  }
  return given;
}

std::size_t View::take(std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  // Whole steps, as they are opened.
  const std::size_t step = std::size_t{1} << step_shift_;
  const std::size_t steps = (std::min(bytes, mapping_->capacity()) + step - 1) >> step_shift_;
  mapping_->take(std::min(steps << step_shift_, mapping_->capacity()));
  return (mapping_->extent().load(std::memory_order_relaxed) - page_bytes()) >> step_shift_ << step_shift_;
}

bool View::is_too_much(std::size_t offset, std::size_t bytes, std::size_t views) const noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  const std::size_t end = offset + bytes + page_bytes();
  return end > mapping_->extent().load(std::memory_order_relaxed) && end > limit.rlim_cur / 4 / views;
}

}  // namespace tutti::memory
