// Pages of a window that are not what peers see of it: the program has mapped something over them, unmapped them, or
// protected them from itself. Peers would read what was there before, or write past a handler that waits for the first
// access; such pages are reached by other means, as memory outside of the window is.
//
// What is here calls the kernel itself: the functions of the C library may be those that lead here.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "memory/pages.h"
#include "memory/window.h"
#include "memory/window_state.h"

namespace tutti::memory {

namespace {

std::uintptr_t round_down(std::uintptr_t address) {
  return address / page_bytes() * page_bytes();
}

std::uintptr_t round_up(std::uintptr_t address) {
  return memory::round_up(address, page_bytes());
}

void* map_fixed(std::uintptr_t begin, std::size_t bytes, int protection, int flags, int descriptor,
                std::size_t offset) {
  const long at = syscall(SYS_mmap, begin, bytes, protection, flags | MAP_FIXED, descriptor, offset);
  return at == -1 ? MAP_FAILED : reinterpret_cast<void*>(at);
}

/// Address space that nobody else is given.
bool reserve(std::uintptr_t begin, std::size_t bytes) {
  return map_fixed(begin, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED;
}

/// value: as Window keeps it, a protection and perhaps a key.
bool protect(std::uintptr_t begin, std::size_t bytes, int value) {
  const int protection = value & Window::protection_mask;
#ifdef SYS_pkey_mprotect
  // Also to take a key away, which mprotect leaves; older kernels and processors have none.
  if (syscall(SYS_pkey_mprotect, begin, bytes, protection, value >> Window::key_shift) == 0) return true;
#endif
  return syscall(SYS_mprotect, begin, bytes, protection) == 0;
}

bool advise(std::uintptr_t begin, std::size_t bytes, int advice) {
  return syscall(SYS_madvise, begin, bytes, advice) == 0;
}

}  // namespace

Window::Pages Window::pages_within(const void* address, std::size_t bytes) const noexcept {
  const auto base = reinterpret_cast<std::uintptr_t>(base_);
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t end = bytes > UINTPTR_MAX - page_bytes() - begin ? UINTPTR_MAX - page_bytes() : begin + bytes;
  const std::uintptr_t taken = base + extent();
  return {std::clamp(round_down(begin), base, taken), std::clamp(round_up(end), base, taken)};
}

/// Calls `visit(begin, end, offset)` for the pages among these that are mapped from the file, which holds them from
/// `offset` on.
template <class Visit>
void Window::for_each_mapped(const void* address, std::size_t bytes, Visit visit) const {
  if (child_ != Child::owner) return;
  const auto [begin, end] = pages_within(address, bytes);
  if (begin < end) visit(begin, end, begin - reinterpret_cast<std::uintptr_t>(base_));
  const auto from = round_down(reinterpret_cast<std::uintptr_t>(address));
  const auto over = reinterpret_cast<std::uintptr_t>(address) - from;
  const std::uintptr_t to =
      bytes > UINTPTR_MAX - page_bytes() - over - from ? UINTPTR_MAX : round_up(from + over + bytes);
  spans_.for_each_within(from, to, [&](const WindowSpans::Span& part) { visit(part.begin, part.end, part.offset); });
}

/// Gives back what the file holds there; it reads as zero from then on.
void Window::forget_contents(std::size_t offset, std::size_t bytes) noexcept {
  if (is_ours(descriptor_))
    fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
              static_cast<off_t>(bytes));
}

void Window::mapped_over(const void* address, std::size_t bytes) noexcept {
  const int kept_errno = errno;
  for_each_mapped(address, bytes, [&](std::uintptr_t begin, std::uintptr_t end, std::size_t offset) {
    foreign_.set(begin, end, replaced);
    forget_contents(offset, end - begin);
  });
  errno = kept_errno;
}

bool Window::unmap(const void* address, std::size_t bytes) noexcept {
  bool unmapped = true;
  for_each_mapped(address, bytes, [&](std::uintptr_t begin, std::uintptr_t end, std::size_t) {
    // Not a hole: the kernel would put other mappings there, which would be in the way when the block is freed.
    unmapped = unmapped && reserve(begin, end - begin);
  });
  if (unmapped) mapped_over(address, bytes);
  return unmapped;
}

void Window::protected_as(const void* address, std::size_t bytes, int protection, int key) noexcept {
  const bool open = (protection & (PROT_READ | PROT_WRITE)) == (PROT_READ | PROT_WRITE);
  if (open && key <= 0 && !foreign_.any()) return;
  for_each_mapped(address, bytes, [&](std::uintptr_t begin, std::uintptr_t end, std::size_t) {
    foreign_.for_each_piece(begin, end, [&](std::uintptr_t from, std::uintptr_t to, const PageRanges::Range* range) {
      if (range && range->value == replaced) return true;
      const int kept_key = range ? range->value >> key_shift : 0;
      const int new_key = key < 0 ? kept_key : key;
      if (open && new_key == 0)
        foreign_.clear(from, to);
      else
        foreign_.set(from, to, (protection & protection_mask) | new_key << key_shift);
      return true;
    });
  });
}

bool Window::empty_pages(void* address, std::size_t bytes, int advice) noexcept {
  bool emptied = true;
  for_each_mapped(address, bytes, [&](std::uintptr_t begin, std::uintptr_t end, std::size_t offset) {
    const auto empty = [&](std::uintptr_t from, std::uintptr_t to, const PageRanges::Range* range) {
      if (range && range->value == replaced) return advise(from, to - from, advice);
      if (!range && system_removes_pages()) return advise(from, to - from, MADV_REMOVE);
      forget_contents(offset + (from - begin), to - from);  // the other way needs the right to write
      return true;
    };
    emptied = emptied && foreign_.for_each_piece(begin, end, empty);
  });
  return emptied;
}

void Window::protect_again(std::uintptr_t begin, std::uintptr_t end) noexcept {
  foreign_.for_each_piece(begin, end, [](std::uintptr_t from, std::uintptr_t to, const PageRanges::Range* range) {
    if (range && range->value != replaced) protect(from, to - from, range->value);
    return true;
  });
}

bool Window::move_out(void* from, std::size_t bytes, void* to) noexcept {
  const auto source = reinterpret_cast<std::uintptr_t>(from);
  const auto target = reinterpret_cast<std::uintptr_t>(to);
  if (!is_ours(descriptor_)) {
    errno = ENOMEM;
    return false;
  }
  bool moved = true;
  for_each_mapped(from, bytes, [&](std::uintptr_t begin, std::uintptr_t end, std::size_t offset) {
    const auto move = [&](std::uintptr_t at, std::uintptr_t stop, const PageRanges::Range* range) {
      const std::uintptr_t there = target + (at - source);
      if (range && range->value == replaced)
        return syscall(SYS_mremap, at, stop - at, stop - at, MREMAP_MAYMOVE | MREMAP_FIXED, there) != -1;
      // From the file: the pages may be protected.
      for (std::uintptr_t done = at; done < stop;) {
        const ssize_t read = pread(descriptor_, reinterpret_cast<void*>(there + (done - at)), stop - done,
                                   static_cast<off_t>(offset + (done - begin)));
        if (read < 0 && errno == EINTR) continue;
        if (read <= 0) return false;
        done += static_cast<std::uintptr_t>(read);
      }
      return !range || protect(there, stop - at, range->value);
    };
    moved = moved && foreign_.for_each_piece(begin, end, move);
  });
  return moved;
}

/// Makes pages of a block the window's again, with nothing in them if something else was there.
bool Window::restore(std::uintptr_t begin, std::uintptr_t end) noexcept {
  const auto base = reinterpret_cast<std::uintptr_t>(base_);
  const bool whole =
      foreign_.for_each_piece(begin, end, [&](std::uintptr_t from, std::uintptr_t to, const PageRanges::Range* range) {
        if (!range) return true;
        if (range->value != replaced) return protect(from, to - from, PROT_READ | PROT_WRITE);
        if (!is_ours(descriptor_) || map_fixed(from, to - from, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                                               descriptor_, from - base) == MAP_FAILED)
          return false;
        huge_pages_->given_back(from - base, to - base);
        // As all of the mapping (growing_mapping.cpp); what is open belongs into a core dump, which is the default.
        advise(from, to - from, huge_pages_->advice());
        return advise(from, to - from, MADV_DONTFORK);
      });
  if (whole) foreign_.clear(begin, end);
  return whole;
}

bool Window::take_back(const void* block, std::size_t usable) noexcept {
  // Smaller blocks share their first and last pages with others, which may still be protected; larger ones do not, and
  // what the kernel has rounded up goes with them.
  constexpr std::size_t shares_pages = std::size_t{128} << 10;
  auto [begin, end] = pages_within(block, usable);
  if (usable <= shares_pages) {
    begin = round_up(reinterpret_cast<std::uintptr_t>(block));
    end = round_down(reinterpret_cast<std::uintptr_t>(block) + usable);
  }
  return begin >= end || restore(begin, end);
}

}  // namespace tutti::memory
