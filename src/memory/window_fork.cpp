// What happens to a window when its process forks; the reasons are in docs/decisions/window-fork.md.
//
// The window is not inherited (MADV_DONTFORK). The child finds a hole, fills it with private memory and
// copies the contents from the memfd, while the thread that forked waits in the parent, so that what it
// writes next is not seen.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "memory/window.h"
#include "memory/window_state.h"

namespace tutti::memory {

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t huge_page = std::size_t{2} << 20;

std::size_t round_up(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}

/// Copies a range of the file to memory at `to`.
bool read_range(int descriptor, std::byte* to, std::size_t from, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t done = pread(descriptor, to, std::min(bytes, std::size_t{1} << 30), static_cast<off_t>(from));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    to += done;
    from += static_cast<std::size_t>(done);
    bytes -= static_cast<std::size_t>(done);
  }
  return true;
}

/// Huge pages where a copied range fills them: they are touched at a fifth of the price, and elsewhere would
/// cost memory.
void advise_huge(std::byte* begin, std::size_t bytes) {
  const std::size_t first = round_up(reinterpret_cast<std::uintptr_t>(begin), huge_page);
  const std::size_t last = (reinterpret_cast<std::uintptr_t>(begin) + bytes) / huge_page * huge_page;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

/// Calls `visit(begin, end)` for every stretch of the file before `end` that holds pages; ends when that
/// returns false.
template <class Visit>
bool for_each_extent(int descriptor, std::size_t end, Visit visit) {
  for (std::size_t at = 0; at < end;) {
    const off_t begin = lseek(descriptor, static_cast<off_t>(at), SEEK_DATA);
    if (begin < 0) return errno == ENXIO;  // nothing but a hole up to the end
    const off_t hole = lseek(descriptor, begin, SEEK_HOLE);
    if (hole <= begin) return false;
    at = std::min(static_cast<std::size_t>(hole), end);
    if (static_cast<std::size_t>(begin) < at && !visit(static_cast<std::size_t>(begin), at)) return false;
  }
  return true;
}

/// Calls `visit(begin, end)` for what of [begin, end) lies outside of the ranges, which ascend.
template <class Ranges, class Visit>
bool for_each_outside(std::size_t begin, std::size_t end, const Ranges& ranges, std::size_t count, Visit visit) {
  for (std::size_t i = 0; i < count && begin < end; ++i) {
    if (ranges[i].end <= begin) continue;
    const std::size_t stop = std::min(end, ranges[i].begin);
    if (begin < stop && !visit(begin, stop)) return false;
    begin = std::max(begin, std::min(end, ranges[i].end));
  }
  return begin >= end || visit(begin, end);
}

/// Fills private memory from a mapping that was inherited, where the descriptor is lost, and puts it in its
/// place. Whole pages.
bool copy_inherited(std::byte* base, std::size_t used) {
  // What is closed holds nothing, but lies in between.
  if (mprotect(base, used, PROT_READ) != 0) return false;
  struct sysinfo machine {};
  // What is swapped out does not count as resident: with swap, every page is read, untouched ones included.
  const bool trust_residency = sysinfo(&machine) == 0 && machine.totalswap == 0;
  void* const memory = mmap(nullptr, used, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  unsigned char resident[1024];
  for (std::size_t at = 0; at < used; at += sizeof resident * page) {
    const std::size_t bytes = std::min(used - at, sizeof resident * page);
    const bool known = trust_residency && mincore(base + at, bytes, resident) == 0;
    for (std::size_t i = 0; i * page < bytes; ++i)
      if (!known || (resident[i] & 1))
        std::memcpy(static_cast<std::byte*>(memory) + at + i * page, base + at + i * page, page);
  }
  return mremap(memory, used, used, MREMAP_MAYMOVE | MREMAP_FIXED, base) != MAP_FAILED;
}

}  // namespace

/// The largest copy that there is memory for. Fills the list of what a partial one leaves out.
Window::Child Window::affordable_copy() noexcept {
  constexpr std::size_t always_affordable = std::size_t{64} << 20;
  fork_->left_out_count = 0;
  if (!is_ours(descriptor_)) return Child::snapshot;
  const std::size_t resident = statistics().resident_bytes;
  if (resident <= always_affordable) return Child::snapshot;
  const std::size_t available = fork_->available();
  if (resident <= available) return Child::snapshot;
  {
    const std::lock_guard guard(heap_->lock);
    tutti_window_heap_visit_large(
        heap_->blocks,
        [](void* begin, std::size_t bytes, void* context) {
          auto& window = *static_cast<Window*>(context);
          ForkState& state = *window.fork_;
          const std::size_t offset = window.offset_of(begin);
          if (state.left_out_count < state.left_out.size())
            state.left_out[state.left_out_count++] = {offset, offset + bytes};
        },
        this);
  }
  std::size_t rest = 0;
  for_each_extent(descriptor_, capacity(), [&](std::size_t begin, std::size_t end) {
    return for_each_outside(begin, end, fork_->left_out, fork_->left_out_count, [&](std::size_t from, std::size_t to) {
      rest += to - from;
      return true;
    });
  });
  return rest <= std::max(available, always_affordable) ? Child::partial : Child::nothing;
}

/// Calls `visit(begin, end)` for the offsets in [begin, end) of pages that are the window's; ends when that returns
/// false.
template <class Visit>
bool Window::for_each_own(std::size_t begin, std::size_t end, Visit visit) const {
  const auto base = reinterpret_cast<std::uintptr_t>(base_);
  return foreign_.for_each_piece(base + begin, base + end,
                                 [&](std::uintptr_t from, std::uintptr_t to, const PageRanges::Range* range) {
                                   return (range && range->value == replaced) || visit(from - base, to - base);
                                 });
}

/// By the system call itself: what a program asks of madvise for the window is not done.
bool Window::inherit(bool inherited) noexcept {
  return for_each_own(0, extent(), [&](std::size_t begin, std::size_t end) {
    return syscall(SYS_madvise, base_ + begin, end - begin, inherited ? MADV_DOFORK : MADV_DONTFORK) == 0;
  });
}

void Window::fork_prepare() noexcept {
  if (child_ != Child::owner) return;
  fork_->lock.lock();
  // A handler that ran in the child before fork_in_child would find no window.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &fork_->signals);
  fork_->copy = affordable_copy();
  fork_->inherited = !is_ours(descriptor_);
  if (fork_->copy != Child::nothing && (pipe2(fork_->done, O_CLOEXEC) != 0 || (fork_->inherited && !inherit(true))))
    fork_->copy = Child::nothing;
  // Last, as all of the above asks for it.
  foreign_.hold();
}

Window::Child Window::fork_in_parent() noexcept {
  if (child_ != Child::owner) return child_;
  const Child copy = fork_->copy;
  if (copy != Child::nothing) {
    close(fork_->done[1]);
    char byte;
    while (read(fork_->done[0], &byte, 1) < 0 && errno == EINTR) {
    }
    close(fork_->done[0]);
  }
  foreign_.let_go();
  if (fork_->inherited) inherit(false);
  pthread_sigmask(SIG_SETMASK, &fork_->signals, nullptr);
  fork_->lock.unlock();
  return copy;
}

bool Window::copy_inherited_pages(std::size_t used) noexcept {
  return for_each_own(0, used, [&](std::size_t begin, std::size_t end) {
    if (foreign_.any()) mprotect(base_ + begin, end - begin, PROT_READ);
    return copy_inherited(base_ + begin, end - begin);
  });
}

bool Window::read_pages(std::size_t used) noexcept {
  const bool mapped = for_each_own(0, used, [&](std::size_t begin, std::size_t end) {
    return mmap(base_ + begin, end - begin, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
  });
  if (!mapped) return false;
  for (std::size_t i = 0; i < fork_->left_out_count; ++i) {
    const ForkState::Range& range = fork_->left_out[i];
    if (range.begin < used)
      for_each_own(range.begin, std::min(range.end, used), [&](std::size_t begin, std::size_t end) {
        return mprotect(base_ + begin, end - begin, PROT_NONE) == 0;
      });
  }
  return for_each_extent(descriptor_, used, [&](std::size_t begin, std::size_t end) {
    return for_each_outside(begin, end, fork_->left_out, fork_->left_out_count, [&](std::size_t from, std::size_t to) {
      return for_each_own(from, to, [&](std::size_t at, std::size_t stop) {
        advise_huge(base_ + at, stop - at);
        return read_range(descriptor_, base_ + at, at, stop - at);
      });
    });
  });
}

bool Window::copy_into_child() noexcept {
  const std::size_t used = round_up(heap_->high_water, page);
  if (used == 0) return true;
  const bool copied = fork_->inherited ? copy_inherited_pages(used) : read_pages(used);
  // Those that the program has protected are so in the child, too.
  const auto base = reinterpret_cast<std::uintptr_t>(base_);
  protect_again(base, base + used);
  return copied;
}

void Window::fork_in_child() noexcept {
  if (child_ != Child::owner) return;
  foreign_.let_go();
  const bool wanted = fork_->copy != Child::nothing;
  // What the program has mapped there itself is inherited as all of its memory is.
  const auto make_inaccessible = [&](std::size_t from) {
    for_each_own(from, extent(), [&](std::size_t begin, std::size_t end) {
      // Where this fails the child keeps what fork gave it here, and nobody can be told.
      static_cast<void>(
          mmap(base_ + begin, end - begin, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0));
      return true;
    });
  };
  // First of all the range is taken, so that nothing else is mapped there; what is free stays inaccessible.
  if (!fork_->inherited) make_inaccessible(0);
  const bool copied = wanted && copy_into_child();
  if (copied && fork_->inherited) make_inaccessible(round_up(heap_->high_water, page));
  if (!copied) make_inaccessible(0);
  child_ = copied ? fork_->copy : Child::nothing;
  if (wanted) {
    const char byte = 1;
    [[maybe_unused]] const ssize_t told = write(fork_->done[1], &byte, 1);
    close(fork_->done[0]);
    close(fork_->done[1]);
  }
  // A child that lives on must not keep the rank's memory alive.
  if (is_ours(descriptor_)) close(descriptor_);
  descriptor_ = -1;
  pthread_sigmask(SIG_SETMASK, &fork_->signals, nullptr);
}

void Window::release_in_child(void* block) noexcept {
  if (child_ == Child::nothing) return;
  const std::size_t begin = round_up(reinterpret_cast<std::uintptr_t>(block), page);
  const std::size_t end =
      (reinterpret_cast<std::uintptr_t>(block) + tutti_window_heap_usable_size(block)) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace tutti::memory
