// What happens to a window when its process forks; the reasons are in docs/decisions/window-fork.md.
//
// The window is not inherited (MADV_DONTFORK). The child finds a hole, fills it with private memory and copies
// the contents from the memfd, while the thread that forked waits in the parent, so that what it writes next is not seen.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "memory/available.h"
#include "memory/window.h"
#include "memory/window_state.h"

namespace tutti::memory {

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t huge_page = std::size_t{2} << 20;

/// Copies a range of the file to memory at `to`.
bool read_range(int descriptor, std::byte* to, off_t from, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t done = pread(descriptor, to, std::min(bytes, std::size_t{1} << 30), from);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    to += done;
    from += done;
    bytes -= static_cast<std::size_t>(done);
  }
  return true;
}

/// Huge pages where a copied range fills them: they are touched at a fifth of the price, and elsewhere would cost memory.
void advise_huge(std::byte* begin, std::size_t bytes) {
  const auto first = (reinterpret_cast<std::uintptr_t>(begin) + huge_page - 1) / huge_page * huge_page;
  const auto last = (reinterpret_cast<std::uintptr_t>(begin) + bytes) / huge_page * huge_page;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

}  // namespace

void Window::fork_prepare() noexcept {
  if (child_ != Child::owner) return;
  fork_->lock.lock();
  // A handler that ran in the child before fork_in_child would find no window.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &fork_->signals);
  constexpr std::size_t always_affordable = std::size_t{64} << 20;
  const std::size_t resident = statistics().resident_bytes;
  fork_->copy = is_ours(descriptor_) && (resident <= always_affordable || resident <= available_memory()) &&
                pipe2(fork_->done, O_CLOEXEC) == 0;
}

bool Window::fork_in_parent() noexcept {
  if (child_ != Child::owner) return true;
  const bool copy = fork_->copy;
  if (fork_->copy) {
    close(fork_->done[1]);
    char byte;
    while (read(fork_->done[0], &byte, 1) < 0 && errno == EINTR) {
    }
    close(fork_->done[0]);
  }
  pthread_sigmask(SIG_SETMASK, &fork_->signals, nullptr);
  fork_->lock.unlock();
  return copy;
}

bool Window::copy_into_child() noexcept {
  const std::size_t used = (heap_->high_water + page - 1) / page * page;
  if (used > 0 && mmap(base_, used, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
                       0) == MAP_FAILED)
    return false;
  const auto end = static_cast<off_t>(used);
  for (off_t at = 0; at < end;) {
    const off_t begin = lseek(descriptor_, at, SEEK_DATA);
    if (begin < 0) return errno == ENXIO;  // nothing but a hole up to the end
    const off_t hole = std::min(lseek(descriptor_, begin, SEEK_HOLE), end);
    if (hole <= begin) return begin >= end;
    const auto bytes = static_cast<std::size_t>(hole - begin);
    advise_huge(base_ + begin, bytes);
    if (!read_range(descriptor_, base_ + begin, begin, bytes)) return false;
    at = hole;
  }
  return true;
}

void Window::fork_in_child() noexcept {
  if (child_ != Child::owner) return;
  // First of all the range is taken, so that nothing else is mapped there; what is free stays inaccessible.
  void* const range =
      mmap(base_, capacity_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  const bool copied = fork_->copy && range != MAP_FAILED && copy_into_child();
  if (!copied && range != MAP_FAILED) mprotect(base_, capacity_, PROT_NONE);
  child_ = copied ? Child::snapshot : Child::nothing;
  if (fork_->copy) {
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
  if (child_ != Child::snapshot) return;
  const auto begin = (reinterpret_cast<std::uintptr_t>(block) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(block) + tutti_window_heap_usable_size(block)) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace tutti::memory
