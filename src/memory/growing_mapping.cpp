// Where the mapping lies is what lets it grow in place: the kernel hands out addresses from the top of the address
// space downwards (from a third of it upwards with an unlimited stack), programs and heaps lie at fixed ends, and what
// is far from all of them stays free. Nothing is reserved there, so nothing counts towards RLIMIT_AS.
#include "memory/growing_mapping.h"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "memory/pages.h"

namespace tutti::memory {

namespace {

#ifdef MAP_FIXED_NOREPLACE
constexpr int at_that_address = MAP_FIXED_NOREPLACE;
#else
constexpr int at_that_address = 0x100000;
#endif

/// Past those who watch or replace these functions: what is ours to map is nobody else's business.
void* map(void* address, std::size_t bytes, int flags, int descriptor) {
  const long result = syscall(SYS_mmap, address, bytes, PROT_NONE, flags | MAP_NORESERVE, descriptor, 0L);
  return result == -1 ? MAP_FAILED : reinterpret_cast<void*>(result);
}
void unmap(void* address, std::size_t bytes) {
  syscall(SYS_munmap, address, bytes);
}
bool protect(void* address, std::size_t bytes, int protection) {
  return syscall(SYS_mprotect, address, bytes, protection) == 0;
}

/// Addresses that nobody is given who does not ask for them by number.
struct Outskirts {
  std::uintptr_t begin;
  std::uintptr_t end;
};

Outskirts find_outskirts(bool apart) {
  constexpr std::uintptr_t tebibyte = std::uintptr_t{1} << 40;
  void* const somewhere = map(nullptr, page_bytes(), MAP_PRIVATE | MAP_ANONYMOUS, -1);
  const bool from_the_top = reinterpret_cast<std::uintptr_t>(somewhere) > 64 * tebibyte;
  if (somewhere != MAP_FAILED) unmap(somewhere, page_bytes());
  // Below: allocators and runtimes that ask for addresses by number. Above: programs at random places from 85 TiB on,
  // or what the kernel hands out from 42.6 TiB upwards.
  const Outskirts all =
      from_the_top ? Outskirts{32 * tebibyte, 80 * tebibyte} : Outskirts{17 * tebibyte, 42 * tebibyte};
  const std::uintptr_t border = all.begin + (all.end - all.begin) / 4;
  return apart ? Outskirts{all.begin, border} : Outskirts{border, all.end};
}

/// Where to try next; each place is tried once, as long as there are some left.
std::uintptr_t next_place(const Outskirts& outskirts, std::size_t bytes, bool apart) {
  // The address space is the process's, whoever in it maps something.
  static constinit std::atomic<std::uintptr_t> nexts[2]{};
  std::atomic<std::uintptr_t>& next = nexts[apart ? 1 : 0];
  std::uintptr_t at = next.load(std::memory_order_relaxed);
  std::uintptr_t place;
  do {
    place = at;
    if (place == 0) {
      // Not the same in every process, like other addresses.
      std::uint16_t random = 0;
      if (const unsigned long bits = getauxval(AT_RANDOM))
        std::memcpy(&random, reinterpret_cast<const void*>(bits), sizeof random);
      place = outskirts.begin + (random % 4096) * (std::uintptr_t{256} << 20);
    }
    if (place + bytes > outskirts.end) place = outskirts.begin;
  } while (!next.compare_exchange_weak(at, place + bytes, std::memory_order_relaxed));
  return place;
}

/// Maps the beginning of the file where there is room for all of it; null if no such place is found.
std::byte* map_in_the_outskirts(int descriptor, std::size_t all, std::size_t beginning, bool apart) {
  const Outskirts outskirts = find_outskirts(apart);
  if (all > outskirts.end - outskirts.begin) return nullptr;
  for (int attempt = 0; attempt < 16; ++attempt) {
    void* const place = reinterpret_cast<void*>(next_place(outskirts, all, apart));
    // Whether all of it is free; a limit may forbid to ask.
    void* const whole = map(place, all, MAP_PRIVATE | MAP_ANONYMOUS | at_that_address, -1);
    if (whole != MAP_FAILED) unmap(whole, all);
    if (whole == MAP_FAILED ? errno != ENOMEM : whole != place) continue;
    void* const mapped = map(place, beginning, MAP_SHARED | at_that_address, descriptor);
    if (mapped == place) return static_cast<std::byte*>(mapped);
    if (mapped != MAP_FAILED) unmap(mapped, beginning);  // by a kernel that does not know the flag
  }
  return nullptr;
}

/// Where such places are not to be had (a sanitizer or a simulator lays out the address space): all of it at once.
std::byte* map_whole(int descriptor, std::size_t bytes) {
  constexpr std::size_t alignment = GrowingMapping::alignment;
  void* const reserved = map(nullptr, bytes + alignment, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  if (reserved == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(reserved);
  const std::size_t before = (alignment - reinterpret_cast<std::uintptr_t>(begin) % alignment) % alignment;
  if (map(begin + before, bytes, MAP_SHARED | MAP_FIXED, descriptor) == MAP_FAILED) {
    const int error = errno;
    unmap(reserved, bytes + alignment);
    errno = error;
    return nullptr;
  }
  if (before) unmap(begin, before);
  unmap(begin + before + bytes, alignment - before);
  return begin + before;
}

}  // namespace

std::unique_ptr<GrowingMapping> GrowingMapping::create(int descriptor, const Options& options) {
  // One page more than the file: the last one is never open, so that what grows is always inaccessible.
  const std::size_t all = round_up(options.capacity + page_bytes(), alignment);
  std::size_t extent = std::min(options.growth, all);
  std::byte* base = map_in_the_outskirts(descriptor, all, extent, options.apart);
  if (!base) {
    extent = round_up(options.capacity + page_bytes(), page_bytes());
    base = map_whole(descriptor, extent);
  }
  if (!base) return nullptr;
  // A child that inherited it would write to its parent's memory.
  if (madvise(base, extent, MADV_DONTFORK) != 0) {
    const int error = errno;
    unmap(base, extent);
    errno = error;
    return nullptr;
  }
  // To write a core dump the kernel makes memory of every page that was never touched.
  madvise(base, extent, MADV_DONTDUMP);
  if (options.advice) madvise(base, extent, options.advice);
  return std::unique_ptr<GrowingMapping>(new GrowingMapping(base, extent, options));
}

GrowingMapping::~GrowingMapping() {
  unmap(base_, extent_->exchange(0, std::memory_order_relaxed));
}

bool GrowingMapping::take(std::size_t end) noexcept {
  const std::size_t extent = extent_->load(std::memory_order_relaxed);
  if (end > round_up(capacity(), page_bytes())) return false;
  if (end + page_bytes() <= extent) return true;
  // The last page is inaccessible, as all of its mapping, which takes its properties along.
  const std::size_t wanted =
      std::min(round_up(end + page_bytes(), options_.growth), round_up(capacity() + page_bytes(), page_bytes()));
  std::byte* const last = base_ + extent - page_bytes();
  const long grown = syscall(SYS_mremap, last, page_bytes(), page_bytes() + wanted - extent, 0L, 0L);
  if (grown != reinterpret_cast<long>(last)) return false;
  extent_->store(wanted, std::memory_order_release);
  return true;
}

bool GrowingMapping::open(std::size_t begin, std::size_t end) noexcept {
  begin = begin / page_bytes() * page_bytes();
  end = round_up(end, page_bytes());
  if (begin >= end) return true;
  if (!take(end) || !protect(base_ + begin, end - begin, PROT_READ | PROT_WRITE)) return false;
  if (options_.dumped) madvise(base_ + begin, end - begin, MADV_DODUMP);
  return true;
}

void GrowingMapping::close(std::size_t begin, std::size_t end) noexcept {
  begin = round_up(begin, page_bytes());
  end = std::min(end / page_bytes() * page_bytes(), extent_->load(std::memory_order_relaxed));
  if (begin >= end) return;
  if (!protect(base_ + begin, end - begin, PROT_NONE)) return;
  if (options_.dumped) madvise(base_ + begin, end - begin, MADV_DONTDUMP);
}

void GrowingMapping::give_up(std::size_t begin, std::size_t end) noexcept {
  end = std::min(end, extent_->load(std::memory_order_relaxed));
  if (begin < end) syscall(SYS_madvise, base_ + begin, end - begin, MADV_DONTNEED);
}

void GrowingMapping::give_back(std::size_t end) noexcept {
  const std::size_t extent = extent_->load(std::memory_order_relaxed);
  const std::size_t kept = round_up(end + page_bytes(), options_.growth);
  if (kept >= extent) return;
  // First of all nobody may take the addresses for ours any more.
  extent_->store(kept, std::memory_order_release);
  unmap(base_ + kept, extent - kept);
}

}  // namespace tutti::memory
