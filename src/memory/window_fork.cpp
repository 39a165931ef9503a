// What happens to a window when its process forks; the reasons are in docs/decisions/window-fork.md.
//
// The window is not inherited (MADV_DONTFORK). The child finds a hole, fills it with private memory and
// copies the contents from the memfd. The thread that forked does not go on in the parent until that is done, so that
// what it writes next is not seen; meanwhile it copies, too.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>

#include "memory/pages.h"
#include "memory/window.h"
#include "memory/window_state.h"

namespace tutti::memory {

namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
/// Taken by the parent or the child at once.
constexpr std::size_t part_bytes = huge_page;
/// With less than this to copy, to come to an agreement costs more than it saves.
constexpr std::size_t worth_sharing = std::size_t{8} << 20;
/// Free memory in shorter stretches is copied all the same.
constexpr std::size_t worth_leaving_out = std::size_t{256} << 10;

/// Copies a range of the file to memory at `to`.
bool read_range(int descriptor, std::byte* to, std::size_t from, std::size_t bytes) {
  while (bytes > 0) {
    const long done =
        syscall(SYS_pread64, descriptor, to, std::min(bytes, std::size_t{1} << 30), static_cast<off_t>(from));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    to += done;
    from += static_cast<std::size_t>(done);
    bytes -= static_cast<std::size_t>(done);
  }
  return true;
}

/// Copies memory of this process to the same addresses of another one.
bool write_range(pid_t process, std::byte* begin, std::size_t bytes) {
  while (bytes > 0) {
    const iovec range{begin, bytes};
    const ssize_t done = process_vm_writev(process, &range, 1, &range, 1, 0);
    if (done <= 0) return false;
    begin += done;
    bytes -= static_cast<std::size_t>(done);
  }
  return true;
}

/// The signals for which the program has handlers, and those of `blocked`.
sigset_t with_handlers(const sigset_t& blocked) {
  sigset_t signals = blocked;
  for (int number = 1; number <= SIGRTMAX; ++number) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) == 0 && action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN)
      sigaddset(&signals, number);
  }
  return signals;
}

/// Huge pages where a copied range fills them: they are touched at a fifth of the price, and elsewhere would
/// cost memory.
void advise_huge(std::byte* begin, std::size_t bytes) {
  const std::size_t first = round_up(reinterpret_cast<std::uintptr_t>(begin), huge_page);
  const std::size_t last = (reinterpret_cast<std::uintptr_t>(begin) + bytes) / huge_page * huge_page;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

/// Calls `visit(begin, end)` for every stretch of [at, end) of the file that holds pages; ends when that
/// returns false.
template <class Visit>
bool for_each_extent(int descriptor, std::size_t at, std::size_t end, Visit visit) {
  while (at < end) {
    const off_t begin = syscall(SYS_lseek, descriptor, static_cast<off_t>(at), SEEK_DATA);
    if (begin < 0) return errno == ENXIO;  // nothing but a hole up to the end
    const off_t hole = syscall(SYS_lseek, descriptor, begin, SEEK_HOLE);
    if (hole <= begin) return false;
    at = std::min(static_cast<std::size_t>(hole), end);
    if (static_cast<std::size_t>(begin) < at && !visit(static_cast<std::size_t>(begin), at)) return false;
  }
  return true;
}

/// Calls `visit(begin, end)` for what of [begin, end) lies outside of the ranges, which ascend.
template <class Ranges, class Visit>
bool for_each_outside(std::size_t begin, std::size_t end, const Ranges& ranges, Visit visit) {
  for (std::size_t i = 0; i < ranges.count && begin < end; ++i) {
    const auto& range = ranges.range[i];
    if (range.end <= begin) continue;
    const std::size_t stop = std::min(end, range.begin);
    if (begin < stop && !visit(begin, stop)) return false;
    begin = std::max(begin, std::min(end, range.end));
  }
  return begin >= end || visit(begin, end);
}

/// Private memory; fixed: in place of what is at `at`. False if there is none.
bool map_memory(std::byte*& at, std::size_t bytes, bool fixed, int descriptor = -1, std::size_t offset = 0) {
  const int flags = MAP_PRIVATE | MAP_NORESERVE | (fixed ? MAP_FIXED : 0) | (descriptor < 0 ? MAP_ANONYMOUS : 0);
  const long mapped =
      syscall(SYS_mmap, at, bytes, PROT_READ | PROT_WRITE, flags, descriptor, static_cast<off_t>(offset));
  if (mapped != -1) at = reinterpret_cast<std::byte*>(mapped);
  return mapped != -1;
}

/// Fills private memory from a mapping that was inherited, where the descriptor is lost, and puts it in its
/// place. Whole pages.
bool copy_inherited(std::byte* base, std::size_t used) {
  // What is closed holds nothing, but lies in between.
  if (syscall(SYS_mprotect, base, used, PROT_READ) != 0) return false;
  struct sysinfo machine {};
  // What is swapped out does not count as resident: with swap, every page is read, untouched ones included.
  const bool trust_residency = sysinfo(&machine) == 0 && machine.totalswap == 0;
  std::byte* memory = nullptr;
  if (!map_memory(memory, used, false)) return false;
  unsigned char resident[1024];
  const std::size_t page = page_bytes();
  for (std::size_t at = 0; at < used; at += sizeof resident * page) {
    const std::size_t bytes = std::min(used - at, sizeof resident * page);
    const bool known = trust_residency && syscall(SYS_mincore, base + at, bytes, resident) == 0;
    for (std::size_t i = 0; i * page < bytes; ++i)
      if (!known || (resident[i] & 1)) std::memcpy(memory + at + i * page, base + at + i * page, page);
  }
  return syscall(SYS_mremap, memory, used, used, MREMAP_MAYMOVE | MREMAP_FIXED, base) != -1;
}

}  // namespace

/// The largest copy that there is memory for. Fills the list of what a partial one leaves out.
Window::Child Window::affordable_copy() noexcept {
  constexpr std::size_t always_affordable = std::size_t{64} << 20;
  fork_->left_out.count = 0;
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
          const std::size_t offset = window.offset_of(begin);
          window.fork_->left_out.add(offset, offset + bytes);
        },
        this);
  }
  std::size_t rest = 0;
  for_each_extent(descriptor_, 0, capacity(), [&](std::size_t begin, std::size_t end) {
    return for_each_outside(begin, end, fork_->left_out, [&](std::size_t from, std::size_t to) {
      rest += to - from;
      return true;
    });
  });
  return rest <= std::max(available, always_affordable) ? Child::partial : Child::nothing;
}

/// What of the window is in use, and what in between is not.
void Window::find_unused() noexcept {
  const std::lock_guard guard(heap_->lock);
  fork_->used = round_up(heap_->high_water, page_bytes());
  fork_->unused.count = 0;
  // Static data is copied to where it belongs.
  spans_.for_each_within(0, UINTPTR_MAX, [&](const WindowSpans::Span& span) {
    fork_->unused.add(span.offset, span.offset + (span.end - span.begin));
  });
  tutti_window_heap_visit_free(
      heap_->blocks, fork_->used, worth_leaving_out,
      [](void* begin, std::size_t bytes, void* context) {
        auto& window = *static_cast<Window*>(context);
        const std::size_t offset = window.offset_of(begin);
        window.fork_->unused.add(offset, offset + bytes);
      },
      this);
  std::sort(fork_->unused.range.begin(), fork_->unused.range.begin() + fork_->unused.count,
            [](const auto& one, const auto& other) { return one.begin < other.begin; });
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

/// Calls `visit(begin, end, offset)` for what of static data is the window's; ends when that returns false.
template <class Visit>
bool Window::for_each_span_piece(Visit visit) const {
  bool visited = true;
  spans_.for_each_within(0, UINTPTR_MAX, [&](const WindowSpans::Span& span) {
    visited = visited &&
              foreign_.for_each_piece(
                  span.begin, span.end, [&](std::uintptr_t from, std::uintptr_t to, const PageRanges::Range* range) {
                    return (range && range->value == replaced) ||
                           visit(reinterpret_cast<std::byte*>(from), reinterpret_cast<std::byte*>(to),
                                 span.offset + (from - span.begin));
                  });
  });
  return visited;
}

bool Window::inherit_spans(bool inherited) noexcept {
  return for_each_span_piece([&](std::byte* begin, std::byte* end, std::size_t) {
    return syscall(SYS_madvise, begin, end - begin, inherited ? MADV_DOFORK : MADV_DONTFORK) == 0;
  });
}

/// Static data of the child, before anything else, and by the kernel alone: functions of the C library may have been
/// replaced by those of libraries that have no static data yet. A program does not get far without: where there is no
/// memory for a copy the child sees what the parent writes later, in pages that it has not written itself.
void Window::restore_spans() noexcept {
  for_each_span_piece([&](std::byte* begin, std::byte* end, std::size_t offset) {
    const auto bytes = static_cast<std::size_t>(end - begin);
    if (fork_->inherited) {
      copy_inherited(begin, bytes);
    } else {
      const auto read = [&](std::size_t from, std::size_t to) {
        return read_range(descriptor_, begin + (from - offset), from, to - from);
      };
      if (fork_->copy != Child::snapshot || !map_memory(begin, bytes, true) ||
          !for_each_extent(descriptor_, offset, offset + bytes, read))
        map_memory(begin, bytes, true, descriptor_, offset);
    }
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    protect_again(address, address + bytes);
    return true;
  });
}

/// together: the parent is to copy, too. Where that is not to be had the child does it alone.
bool Window::ForkState::open_channels(bool wanted) noexcept {
  together = nullptr;
  parent = getpid();
  to_child[0] = to_child[1] = -1;
  if (pipe2(to_parent, O_CLOEXEC) != 0) return false;
  if (!wanted || pipe2(to_child, O_CLOEXEC) != 0) return true;
  void* const shared = mmap(nullptr, sizeof(Together), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared != MAP_FAILED) together = new (shared) Together;
  return true;
}

void Window::ForkState::close_channels() noexcept {
  for (int* const end : {&to_parent[0], &to_parent[1], &to_child[0], &to_child[1]}) {
    if (*end >= 0) close(*end);
    *end = -1;
  }
  if (together) munmap(together, sizeof(Together));
  together = nullptr;
}

void Window::ForkState::tell_parent(pid_t message) const noexcept {
  [[maybe_unused]] const ssize_t told = write(to_parent[1], &message, sizeof message);
}

/// What the child has to say next; false if it has ended. It may also have been stopped, or be in a debugger. So that
/// the parent can still be ended then, and times out where it would: when the child has got no further for a tenth of a
/// second signals without a handler are let in, which write nothing that the child could see, and after a second all.
bool Window::ForkState::hear_child(pid_t& message) const noexcept {
  sigset_t blocked;
  sigfillset(&blocked);
  std::size_t done = 0;
  for (int idle = 0;;) {
    pollfd end{to_parent[0], POLLIN, 0};
    const timespec tenth{0, 100'000'000};
    const int ready = ppoll(&end, 1, &tenth, &blocked);
    if (ready < 0 && errno == EINTR) continue;
    if (ready != 0) break;
    const std::size_t now = together ? together->done.load(std::memory_order_relaxed) : 0;
    idle = now == done ? idle + 1 : 0;
    done = now;
    if (idle == 1) blocked = with_handlers(signals);
    if (idle == 10) blocked = signals;
  }
  ssize_t length = 0;
  while ((length = read(to_parent[0], &message, sizeof message)) < 0 && errno == EINTR) {
  }
  return length == sizeof message;
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
  if (fork_->copy != Child::nothing) {
    find_unused();
    // Where the program has mapped something itself the child is not to be written to by others.
    const bool together = !fork_->inherited && !foreign_.any() && statistics().resident_bytes >= worth_sharing;
    if (!fork_->open_channels(together) || (fork_->inherited && !inherit(true))) {
      fork_->close_channels();
      fork_->copy = Child::nothing;
    }
  }
  if (fork_->inherited) inherit_spans(true);
  // Last, as all of the above asks for it.
  foreign_.hold();
}

Window::Child Window::fork_in_parent() noexcept {
  if (child_ != Child::owner) return child_;
  const Child copy = fork_->copy;
  if (copy != Child::nothing) {
    close(std::exchange(fork_->to_parent[1], -1));
    pid_t child = 0;
    if (fork_->hear_child(child) && child != 0) {
      if (fork_->together) help_child(child);
      fork_->hear_child(child);
    }
    fork_->close_channels();
  }
  foreign_.let_go();
  if (fork_->inherited) {
    inherit(false);
    inherit_spans(false);
  }
  pthread_sigmask(SIG_SETMASK, &fork_->signals, nullptr);
  fork_->lock.unlock();
  return copy;
}

/// Copies parts that the child has not come to yet. The system may forbid it, or the program may have closed the pages to
/// itself: then the child does the part that was begun.
void Window::help_child(pid_t child) noexcept {
  ForkState::Together& together = *fork_->together;
  for (;;) {
    const std::size_t taken = together.next.fetch_add(1, std::memory_order_relaxed);
    if (taken >= together.count) break;
    together.with_parent.store(taken, std::memory_order_relaxed);
    const ForkState::Range& part = together.part[taken];
    if (!write_range(child, base_ + part.begin, part.end - part.begin)) break;
    together.with_parent.store(ForkState::Together::nothing, std::memory_order_relaxed);
  }
  // Orders what was stored above before the load in copy_together.
  const char byte = 1;
  [[maybe_unused]] const ssize_t told = write(fork_->to_child[1], &byte, 1);
}

bool Window::copy_inherited_pages(std::size_t used) noexcept {
  return for_each_own(0, used, [&](std::size_t begin, std::size_t end) {
    if (foreign_.any()) mprotect(base_ + begin, end - begin, PROT_READ);
    return copy_inherited(base_ + begin, end - begin);
  });
}

/// Calls `visit(begin, end)` for what of [0, used) holds contents that the child is to get.
template <class Visit>
bool Window::for_each_to_copy(std::size_t used, Visit visit) const {
  return for_each_extent(descriptor_, 0, used, [&](std::size_t first, std::size_t last) {
    return for_each_outside(first, last, fork_->left_out, [&](std::size_t from, std::size_t to) {
      return for_each_outside(from, to, fork_->unused, [&](std::size_t begin, std::size_t end) {
        return for_each_own(begin, end, [&](std::size_t at, std::size_t stop) {
          advise_huge(base_ + at, stop - at);
          return visit(at, stop);
        });
      });
    });
  });
}

/// Private memory in place of the window.
bool Window::map_private(std::size_t used) noexcept {
  const bool mapped = for_each_own(0, used, [&](std::size_t begin, std::size_t end) {
    return mmap(base_ + begin, end - begin, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
  });
  if (!mapped) return false;
  for (std::size_t i = 0; i < fork_->left_out.count; ++i) {
    const ForkState::Range& range = fork_->left_out.range[i];
    if (range.begin < used)
      for_each_own(range.begin, std::min(range.end, used), [&](std::size_t begin, std::size_t end) {
        return mprotect(base_ + begin, end - begin, PROT_NONE) == 0;
      });
  }
  return true;
}

bool Window::read_pages(std::size_t used) noexcept {
  if (!map_private(used)) return false;
  const auto copy = [&](std::size_t begin, std::size_t end) {
    return read_range(descriptor_, base_ + begin, begin, end - begin);
  };
  // The parent would know this process by another number if that were of another namespace.
  if (!fork_->together || getppid() != fork_->parent) return for_each_to_copy(used, copy);
  ForkState::Together& together = *fork_->together;
  const bool found = for_each_to_copy(used, [&](std::size_t begin, std::size_t end) {
    // As huge pages lie, so that each is filled by one of the two.
    while (begin < end && together.count < together.part.size()) {
      const std::size_t stop = std::min(end, (begin / part_bytes + 1) * part_bytes);
      together.part[together.count++] = {begin, stop};
      begin = stop;
    }
    // What the list has no room for.
    return copy(begin, end);
  });
  return copy_together(copy) && found;
}

/// The child's part of it.
template <class Copy>
bool Window::copy_together(Copy copy) noexcept {
  ForkState::Together& together = *fork_->together;
  const auto copy_part = [&](std::size_t part) { return copy(together.part[part].begin, together.part[part].end); };
  // Orders the list before what the parent looks at.
  fork_->tell_parent(getpid());
  bool copied = true;
  for (;;) {
    const std::size_t part = together.next.fetch_add(1, std::memory_order_relaxed);
    if (part >= together.count) break;
    copied = copied && copy_part(part);
    together.done.fetch_add(1, std::memory_order_relaxed);
  }
  // Until the parent copies nothing more, or has ended.
  close(std::exchange(fork_->to_child[1], -1));
  char byte;
  while (read(fork_->to_child[0], &byte, 1) < 0 && errno == EINTR) {
  }
  const std::size_t left = together.with_parent.load(std::memory_order_relaxed);
  return copied && (left == ForkState::Together::nothing || copy_part(left));
}

bool Window::copy_into_child() noexcept {
  const std::size_t used = fork_->used;
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
  restore_spans();
  // Then the range is taken, so that nothing else is mapped there; what is free stays inaccessible.
  if (!fork_->inherited) make_inaccessible(0);
  const bool copied = wanted && copy_into_child();
  if (copied && fork_->inherited) make_inaccessible(fork_->used);
  if (!copied) make_inaccessible(0);
  child_ = copied ? fork_->copy : Child::nothing;
  if (wanted) {
    fork_->tell_parent(0);
    fork_->close_channels();
  }
  // A child that lives on must not keep the rank's memory alive.
  if (is_ours(descriptor_)) close(descriptor_);
  descriptor_ = -1;
  pthread_sigmask(SIG_SETMASK, &fork_->signals, nullptr);
}

void Window::release_in_child(void* block) noexcept {
  if (child_ == Child::nothing) return;
  const std::size_t begin = round_up(reinterpret_cast<std::uintptr_t>(block), page_bytes());
  const std::size_t end =
      (reinterpret_cast<std::uintptr_t>(block) + tutti_window_heap_usable_size(block)) / page_bytes() * page_bytes();
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace tutti::memory
