#include "memory/huge_pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iterator>

#include "memory/available.h"

namespace tutti::memory {

namespace {

constexpr int put_together = 25;  // MADV_COLLAPSE
constexpr int fill = 23;          // MADV_POPULATE_WRITE, Linux 5.14
constexpr const char* settings = "/sys/kernel/mm/transparent_hugepage/";

/// The file's text; empty if it cannot be read.
std::string text_of(const char* file) {
  char text[256];
  const int descriptor = open((std::string(settings) + file).c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return "";
  const ssize_t length = read(descriptor, text, sizeof text);
  close(descriptor);
  return {text, length > 0 ? static_cast<std::size_t>(length) : 0};
}

/// The word in brackets: "always [madvise] never".
std::string chosen(const std::string& text) {
  const auto begin = text.find('['), end = text.find(']');
  return begin == std::string::npos || end < begin ? "" : text.substr(begin + 1, end - begin - 1);
}

/// Past those who watch or replace the function.
bool ask(void* begin, std::size_t bytes, int advice) noexcept {
  return syscall(SYS_madvise, begin, bytes, advice) == 0;
}

}  // namespace

const char* name_of(HugeKind kind) {
  constexpr const char* names[] = {"mount", "advise", "collapse", "off"};
  return names[static_cast<int>(kind)];
}

HugeKind huge_kind_named(std::string_view text) {
  for (const HugeKind kind : {HugeKind::advise, HugeKind::collapse, HugeKind::off})
    if (text == name_of(kind)) return kind;
  return HugeKind::mount;
}

SystemsHugePages systems_huge_pages() {
  SystemsHugePages system;
  system.are_there = std::strtoull(text_of("hpage_pmd_size").c_str(), nullptr, 10) == huge_page_bytes;
  if (!system.are_there) return system;
  const std::string of_private = chosen(text_of("enabled"));
  system.private_ones = of_private == "always";
  system.private_asked = system.private_ones || of_private == "madvise";
  system.shared = chosen(text_of("shmem_enabled"));
  // Since Linux 6.10 each size has a setting of its own, which usually is that for all ("inherit").
  const std::string own = chosen(text_of("hugepages-2048kB/shmem_enabled"));
  system.denied = system.shared == "deny" || own == "never";
  if (!own.empty() && own != "inherit") system.shared = own;
  for (const char* word : {"advise", "always", "within_size", "force"}) system.advised |= system.shared == word;
  system.advised = system.advised && !system.denied;
  // Of no bytes: whether the advice is known.
  system.collapse = ask(nullptr, 0, put_together);
  return system;
}

HugePages::HugePages(std::byte* base, std::size_t capacity, int descriptor, const Options& options,
                     const WindowSpans& spans)
    : options_(options), base_(base), spans_(spans), descriptor_(descriptor), pages_(capacity / huge_page_bytes) {
  const bool keeps_books = options_.kind != HugeKind::off && !options_.takes_all() && pages_ > 0;
  void* const state =
      keeps_books ? mmap(nullptr, pages_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                  : MAP_FAILED;
  struct stat status {};
  if (fstat(descriptor, &status) == 0) {
    device_ = status.st_dev;
    inode_ = status.st_ino;
  }
  if (state != MAP_FAILED) state_ = static_cast<std::uint8_t*>(state);
  // Of no bytes: whether the advice is known.
  if (!ask(nullptr, 0, fill)) options_.slow = {};
}

HugePages::~HugePages() {
  if (state_) munmap(state_, pages_);
}

/// Calls `visit(begin, end)` for the longest runs of pages in [first, last) whose state `is`.
template <class Is, class Visit>
void HugePages::for_each_run(std::size_t first, std::size_t last, Is is, Visit visit) noexcept {
  for (std::size_t page = first; page < last; ++page) {
    if (!is(state_[page])) continue;
    const std::size_t begin = page;
    while (page < last && is(state_[page])) ++page;
    visit(begin, page);
  }
}

bool HugePages::advise(std::size_t first, std::size_t last, int advice) noexcept {
  spans_.for_each_of_file(
      first * huge_page_bytes, last * huge_page_bytes,
      [advice](std::uintptr_t begin, std::uintptr_t end) { ask(reinterpret_cast<void*>(begin), end - begin, advice); });
  return ask(base_ + first * huge_page_bytes, (last - first) * huge_page_bytes, advice);
}

void HugePages::wait(std::size_t page, bool wanted) noexcept {
  if (((state_[page] & waiting) != 0) == wanted) return;
  state_[page] = static_cast<std::uint8_t>(wanted ? state_[page] | waiting : state_[page] & ~(waiting | seen));
  wanted ? ++waiting_ : --waiting_;
}

std::size_t HugePages::sparse_at_most() noexcept {
  // Not at start-up: it takes longer than all the rest, and most windows never come to it.
  if (options_.sparse_bytes == 0)
    options_.sparse_bytes = std::max<std::size_t>(memory_limit() / std::max<std::size_t>(options_.ranks, 1) / 10, 1);
  return options_.sparse_bytes;
}

/// Whether the program has not closed the descriptor behind our back.
bool HugePages::is_ours() const noexcept {
  struct stat status {};
  return fstat(descriptor_, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

/// Whether about half of the page or more has been written. From the file: a load would make memory of what was never
/// touched, or find the page protected by the program. A page of zeros looks as if it had not been touched.
bool HugePages::is_dense(std::size_t page) const noexcept {
  constexpr std::size_t looks = 8, enough = 4;
  constexpr std::size_t stride = huge_page_bytes / looks;
  // Not where blocks begin: of many the beginning alone may have been written.
  constexpr std::size_t aside = stride / 2 + 36 * 1024;
  int written = 0;
  for (std::size_t look = 0; look < looks && written + (looks - look) >= enough; ++look) {
    std::uint64_t words[8] = {};
    const std::size_t at = page * huge_page_bytes + look * stride + aside;
    if (pread(descriptor_, words, sizeof words, static_cast<off_t>(at)) != sizeof words) return false;
    written += std::any_of(std::begin(words), std::end(words), [](std::uint64_t word) { return word != 0; });
  }
  return written >= static_cast<int>(enough);
}

/// Whether nothing of the page exists yet.
bool HugePages::is_empty(std::size_t page) const noexcept {
  const auto begin = static_cast<off_t>(page * huge_page_bytes);
  const off_t data = is_ours() ? lseek(descriptor_, begin, SEEK_DATA) : begin;
  return data < 0 ? errno == ENXIO : data >= begin + static_cast<off_t>(huge_page_bytes);
}

/// Takes at most a fiftieth of the time.
void HugePages::look_for_dense() noexcept {
  const Clock::time_point begin = Clock::now();
  if (begin < next_look_ || !is_ours()) return;
  for (std::size_t page = 0; page < beyond_; ++page) {
    if ((state_[page] & (advised | dense)) != advised || !is_dense(page)) continue;
    state_[page] |= dense;
    sparse_ -= huge_page_bytes;
  }
  const Clock::time_point end = Clock::now();
  next_look_ = end + 50 * (end - begin);
}

/// How many of the stretches that are asked for begin or end where [first, last) does.
std::size_t HugePages::neighbors_of(std::size_t first, std::size_t last) const noexcept {
  const auto is_advised = [&](std::size_t page) { return (state_[page] & advised) != 0; };
  return (first > 0 && is_advised(first - 1) ? 1 : 0) + (last < pages_ && is_advised(last) ? 1 : 0);
}

/// These pages, of which none was, are asked for.
void HugePages::set_advised(std::size_t first, std::size_t last, std::uint8_t as) noexcept {
  stretches_ = stretches_ + 1 - neighbors_of(first, last);
  for (std::size_t page = first; page < last; ++page) {
    wait(page, false);
    state_[page] |= static_cast<std::uint8_t>(advised | as);
  }
}

/// How long a huge page takes to come. A guest whose host has taken back what the guest had free waits for it, page by page,
/// and less for small pages, which are rarely taken back.
void HugePages::try_out(std::size_t page) noexcept {
  // A slow page costs as much as some four of small pages, and may be one of many.
  constexpr std::size_t fast_at_most = 32, slow_at_least = 32, slow_at_most = 1024;
  const Clock::time_point begin = Clock::now();
  ask(base_ + page * huge_page_bytes, huge_page_bytes, fill);
  const bool fast = Clock::now() - begin < options_.slow;
  // One may have waited for something else, as for a processor.
  is_doubted_ = !fast && are_fast_ && !is_doubted_;
  if (is_doubted_) return;
  are_fast_ = fast;
  std::size_t& times = fast ? fast_ : slow_;
  believed_ = times;
  times = std::min(2 * times, fast ? fast_at_most : slow_at_most);
  if (fast)
    slow_ = std::max(slow_ / 2, slow_at_least);
  else
    fast_ = 1;
}

/// Whether they come fast, by some of these pages, if it is time to look. Others may hold what the program has mapped there.
bool HugePages::come_fast(std::size_t first, std::size_t last) noexcept {
  if (options_.slow.count() == 0) return true;
  for (; believed_ == 0 && first < last; ++first) {
    if (!(state_[first] & waiting) || !is_empty(first)) continue;
    advise_waiting(first, first + 1);
    if (!(state_[first] & advised)) break;
    try_out(first);
  }
  believed_ -= std::min(believed_, last - first);
  return are_fast_;
}

/// Asks for what of these pages waits, as far as the bound allows.
void HugePages::advise_waiting(std::size_t begin, std::size_t end) noexcept {
  // Each advised stretch is a mapping of its own for the kernel, of which a process may have 65530.
  constexpr std::size_t stretches_at_most = 16384;
  if (options_.kind == HugeKind::collapse || waiting_ == 0 || stretches_ >= stretches_at_most) return;
  const std::size_t most = sparse_at_most();
  if (sparse_ + waiting_ * huge_page_bytes > most) look_for_dense();
  std::size_t room = most > sparse_ ? (most - sparse_) / huge_page_bytes : 0;
  if (room == 0) return;
  for_each_run(
      begin, end, [](std::uint8_t state) { return (state & waiting) != 0; },
      [&](std::size_t first, std::size_t last) {
        last = std::min(last, first + room);
        if (first == last || stretches_ >= stretches_at_most || !advise(first, last, MADV_HUGEPAGE)) return;
        room -= last - first;
        sparse_ += (last - first) * huge_page_bytes;
        set_advised(first, last);
      });
}

void HugePages::opened(std::size_t begin, std::size_t end, std::size_t bytes, std::size_t held) noexcept {
  // Put together after two collectives is what is large.
  if (!state_ || wants(bytes) || held < least_held || options_.kind >= HugeKind::collapse) return;
  const auto follows_dense = [&] { return begin > 0 && is_ours() && is_dense(begin / huge_page_bytes - 1); };
  if (bytes >= least_middling || follows_dense()) handed_out(begin, end);
}

void HugePages::handed_out(std::size_t begin, std::size_t end) noexcept {
  if (!state_) return;
  const std::lock_guard lock(mutex_);
  const std::size_t first = (begin + huge_page_bytes - 1) / huge_page_bytes;
  const std::size_t last = std::min(end / huge_page_bytes, pages_);
  const bool others_wait = is_waiting();
  bool more = false;
  for (std::size_t page = first; page < last; ++page) {
    if (state_[page] & (advised | small)) continue;
    wait(page, true);
    more = true;
  }
  if (!more) return;
  beyond_ = std::max(beyond_, last);
  if (come_fast(first, last)) return advise_waiting(others_wait ? 0 : first, beyond_);
  for (std::size_t page = first; page < last; ++page) {
    if (!(state_[page] & waiting)) continue;
    wait(page, false);
    state_[page] |= small;
  }
}

void HugePages::taken_back(std::size_t begin, std::size_t end) noexcept {
  if (!state_ || !is_waiting()) return;
  const std::lock_guard lock(mutex_);
  for (std::size_t page = begin / huge_page_bytes; page < std::min(end / huge_page_bytes, beyond_); ++page)
    wait(page, false);
}

void HugePages::given_back(std::size_t begin, std::size_t end) noexcept {
  if (!state_) return;
  const std::lock_guard lock(mutex_);
  const std::size_t first = (begin + huge_page_bytes - 1) / huge_page_bytes;
  const std::size_t last = std::min(end / huge_page_bytes, beyond_);
  for_each_run(
      first, last, [](std::uint8_t state) { return (state & advised) != 0; },
      [&](std::size_t from, std::size_t to) {
        // As all that was never asked for, so that the kernel can make one mapping of both.
        advise(from, to, MADV_NOHUGEPAGE);
        stretches_ = stretches_ + neighbors_of(from, to) - 1;
        for (std::size_t page = from; page < to; ++page)
          if (!(state_[page] & dense)) sparse_ -= huge_page_bytes;
      });
  for (std::size_t page = first; page < last; ++page) {
    wait(page, false);
    state_[page] = 0;
  }
}

/// This page and those after it of which the same is known. Takes at most a fiftieth of the time, but for the first pages.
void HugePages::collapse(std::size_t page) noexcept {
  constexpr auto to_begin_with = std::chrono::milliseconds(20);
  // In few calls: each waits for all processors to come by.
  constexpr std::size_t pages_at_once = 4;
  const Clock::time_point begin = Clock::now();
  if (collapsing_ > to_begin_with + (begin - started_) / 50) return;
  std::size_t end = page;
  for (; end < std::min(page + pages_at_once, beyond_) && state_[end] & seen; ++end) wait(end, false);
  if (!advise(page, end, MADV_HUGEPAGE)) return;
  set_advised(page, end, dense);
  if (options_.collapse) advise(page, end, put_together);
  collapsing_ += Clock::now() - begin;
}

void HugePages::used(std::size_t begin, std::size_t end) noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || !state_) return;
  if (are_fast_) advise_waiting(0, beyond_);
  const std::size_t first = (begin + huge_page_bytes - 1) / huge_page_bytes;
  for (std::size_t page = first; page < std::min(end / huge_page_bytes, beyond_); ++page) {
    if (!(state_[page] & waiting)) continue;
    // A block that is used once may never be used again.
    if (state_[page] & seen)
      collapse(page);
    else
      state_[page] |= seen;
  }
}

}  // namespace tutti::memory
