#include "preload/closed_pages.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "memory/pages.h"
#include "preload/given.h"
#include "preload/process_window.h"

namespace tutti::memory::closed_pages {

namespace {

/// What the handler looks at, while others change it. Free where `block` is 0.
struct Closed {
  std::atomic<std::uintptr_t> block{0}, begin{0}, end{0};
  std::atomic<int> rank{0}, tag{0};
};
/// Of so many blocks at a time; the others stay open.
constexpr std::size_t most = 4096;
constinit std::array<Closed, most> all{};
constinit std::atomic<std::size_t> used{0};  ///< entries from the beginning on that were ever used
constinit std::atomic<std::size_t> closed{0};
constinit std::mutex changing;
constinit struct sigaction before {};

bool wanted() noexcept {
  static const bool is = [] {
    const char* const text = getenv("TUTTI_CHECK");
    return text && *text && !says_no(text);
  }();
  return is;
}

/// Past those who watch it: the window is to know nothing of this.
void protect(std::uintptr_t begin, std::uintptr_t end, int protection) noexcept {
  syscall(SYS_mprotect, begin, end - begin, protection);
}

const Closed* find(const void* address) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (std::size_t i = used.load(std::memory_order_acquire); i-- > 0;)
    if (all[i].block.load(std::memory_order_acquire) && at >= all[i].begin.load() && at < all[i].end.load())
      return &all[i];
  return nullptr;
}

void on_fault(int signal, siginfo_t* info, void* context) {
  if (const Closed* const touched = find(info->si_addr)) {
    char text[256];
    const int bytes = std::snprintf(text, sizeof text,
                                    "tutti: memory at %p is touched, of a block that was given to rank %d with tag %d "
                                    "and has not come back (TUTTI_CHECK)\n",
                                    info->si_addr, touched->rank.load(), touched->tag.load());
    [[maybe_unused]] const auto written = write(STDERR_FILENO, text, static_cast<std::size_t>(bytes));
  }
  if (before.sa_flags & SA_SIGINFO) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal);
  // The access is made again, and ends the process.
  std::signal(signal, SIG_DFL);
}

/// The program may have set another handler since.
void handle_faults() noexcept {
  struct sigaction now {};
  if (sigaction(SIGSEGV, nullptr, &now) != 0) return;
  if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == &on_fault) return;
  before = now;
  struct sigaction ours {};
  ours.sa_sigaction = &on_fault;
  ours.sa_flags = SA_SIGINFO | SA_NODEFER | (now.sa_flags & SA_ONSTACK);
  sigaction(SIGSEGV, &ours, nullptr);
}

}  // namespace

void close(void* block, std::size_t bytes, const given::To& to) noexcept {
  if (!wanted()) return;
  const auto first = reinterpret_cast<std::uintptr_t>(block);
  const std::uintptr_t begin = round_up(first, page_bytes());
  const std::uintptr_t end = (first + bytes) / page_bytes() * page_bytes();
  if (begin >= end) return;
  const std::lock_guard lock(changing);
  handle_faults();
  std::size_t place = 0;
  while (place < most && all[place].block.load(std::memory_order_relaxed)) ++place;
  if (place == most) return;
  all[place].begin = begin;
  all[place].end = end;
  all[place].rank = to.rank;
  all[place].tag = to.tag;
  all[place].block.store(first, std::memory_order_release);
  if (place >= used.load(std::memory_order_relaxed)) used.store(place + 1, std::memory_order_release);
  closed.fetch_add(1);
  protect(begin, end, PROT_NONE);
}

void open(void* block) noexcept {
  if (closed.load(std::memory_order_relaxed) == 0) return;
  const std::lock_guard lock(changing);
  for (std::size_t i = used.load(std::memory_order_relaxed); i-- > 0;) {
    if (all[i].block.load(std::memory_order_relaxed) != reinterpret_cast<std::uintptr_t>(block)) continue;
    protect(all[i].begin, all[i].end, PROT_READ | PROT_WRITE);
    all[i].block.store(0, std::memory_order_release);
    closed.fetch_sub(1);
    return;
  }
}

}  // namespace tutti::memory::closed_pages
