// Pages of 2 MiB for the blocks of a window.
//
// Large blocks begin on such a page, and the kernel is asked for them there (MADV_HUGEPAGE): the first touch of one costs
// a tenth of that of its 512 small pages. Middling ones lie on such pages together, once there are many; small ones only
// where those before them are used densely, so that a few touched bytes do not hold 2 MiB. So that blocks that are touched
// here and there do not fill the machine, what is not known to be used densely is bounded. See
// docs/decisions/window-huge-pages.md.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "memory/window_spans.h"

namespace tutti::memory {

inline constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

/// How a window comes to huge pages, best first. mount: its file is one of a tmpfs that gives them where they are asked
/// for. advise: a memfd, and the system gives them to those. collapse: a memfd, whose pages are put together once a block
/// has been used. off: not at all.
enum class HugeKind : std::uint8_t { mount, advise, collapse, off };

const char* name_of(HugeKind kind);
/// The kind that TUTTI_HUGE names; the best for any other text, auto included.
HugeKind huge_kind_named(std::string_view text);

/// What the system does.
struct SystemsHugePages {
  bool are_there = false;      ///< of 2 MiB
  bool private_ones = false;   ///< private memory has them without being asked
  bool private_asked = false;  ///< private memory has them where it asks (or without that)
  bool advised = false;        ///< shared memory has them where they are asked for
  bool denied = false;         ///< no shared memory has them
  bool collapse = false;       ///< MADV_COLLAPSE, Linux 6.1
  std::string shared;          ///< the setting for shared memory (shmem_enabled), for messages
};
SystemsHugePages systems_huge_pages();

/// Of one window: which huge pages were asked for. Any thread may call it. Calls no malloc.
class HugePages {
 public:
  /// Large blocks begin on a huge page.
  static constexpr std::size_t least_block = std::size_t{4} << 20;
  /// Middling ones, down to this, lie on huge pages together; small ones only where those before them are used densely, as
  /// many of these may have one page touched each.
  static constexpr std::size_t least_middling = std::size_t{128} << 10;
  /// Both once the window holds so much: what of the last page no block comes to is little beside the rest.
  static constexpr std::size_t least_held = 8 * huge_page_bytes;

  struct Options {
    HugeKind kind = HugeKind::off;
    /// As private memory has them: small blocks, too, and without a bound.
    bool everywhere = false;
    bool private_asked = false;  ///< private memory has them where it asks for them
    bool collapse = false;       ///< MADV_COLLAPSE is there
    /// What may be asked for that is not known to be dense; 0: a tenth of this rank's part of the memory.
    std::size_t sparse_bytes = 0;
    std::size_t ranks = 1;  ///< which share the memory
    /// Now and then one is filled, and if that takes longer, the next ones are not asked for; 0: that is not looked at.
    std::chrono::microseconds slow{0};

    /// For madvise, about all of the window to begin with; HugePages changes that for large blocks.
    int advice() const noexcept { return takes_all() ? MADV_HUGEPAGE : MADV_NOHUGEPAGE; }
    bool takes_all() const noexcept { return everywhere && kind < HugeKind::collapse; }
  };
  /// The descriptor has to stay open only as long as more is to be found out about what is used. spans: where else pages of
  /// the window are mapped.
  HugePages(std::byte* base, std::size_t capacity, int descriptor, const Options& options, const WindowSpans& spans);
  ~HugePages();
  HugePages(const HugePages&) = delete;
  HugePages& operator=(const HugePages&) = delete;

  HugeKind kind() const noexcept { return options_.kind; }
  int advice() const noexcept { return options_.advice(); }
  /// Whether a large block would have huge pages in private memory, and has none here when it is first touched. asks: the
  /// program asks for them (MADV_HUGEPAGE).
  bool are_rather_private(bool asks) const noexcept {
    return options_.kind >= HugeKind::collapse && (asks ? options_.private_asked : options_.everywhere);
  }
  /// Whether a block of so many bytes is to begin on a huge page.
  bool wants(std::size_t bytes) const noexcept { return options_.kind != HugeKind::off && bytes >= least_block; }

  /// A block that it wants has been handed out: [begin, end) of the window. Also of pages that it has made a span of.
  void handed_out(std::size_t begin, std::size_t end) noexcept;
  /// Pages [begin, end), of which some may have been before, have become accessible, for a block of `bytes`; the window holds
  /// `held`.
  void opened(std::size_t begin, std::size_t end, std::size_t bytes, std::size_t held) noexcept;
  /// It has been taken back; its pages may be kept for other blocks.
  void taken_back(std::size_t begin, std::size_t end) noexcept;
  /// The pages were given back to the system, or are of another mapping now.
  void given_back(std::size_t begin, std::size_t end) noexcept;
  /// Whether `used` could do anything: some page was not asked for yet. Any thread may ask.
  bool is_waiting() const noexcept { return waiting_.load(std::memory_order_relaxed) != 0; }
  /// The bytes were in a collective, and so are dense.
  void used(std::size_t begin, std::size_t end) noexcept;

  /// What was asked for and is not known to be dense.
  std::size_t sparse_bytes() const noexcept {
    const std::lock_guard lock(mutex_);
    return sparse_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  /// small: left so, since huge ones came slowly.
  enum State : std::uint8_t { advised = 1, dense = 2, waiting = 4, seen = 8, small = 16 };

  template <class Is, class Visit>
  void for_each_run(std::size_t first, std::size_t last, Is is, Visit visit) noexcept;
  bool is_ours() const noexcept;
  bool is_dense(std::size_t page) const noexcept;
  bool is_empty(std::size_t page) const noexcept;
  void look_for_dense() noexcept;
  bool advise(std::size_t first, std::size_t last, int advice) noexcept;
  std::size_t neighbors_of(std::size_t first, std::size_t last) const noexcept;
  void set_advised(std::size_t first, std::size_t last, std::uint8_t as = 0) noexcept;
  void try_out(std::size_t page) noexcept;
  bool come_fast(std::size_t first, std::size_t last) noexcept;
  void advise_waiting(std::size_t begin, std::size_t end) noexcept;
  void wait(std::size_t page, bool wanted) noexcept;
  void collapse(std::size_t page) noexcept;
  std::size_t sparse_at_most() noexcept;

  mutable std::mutex mutex_;
  Options options_;
  std::byte* base_;
  const WindowSpans& spans_;
  int descriptor_;
  std::uint64_t device_ = 0, inode_ = 0;
  std::uint8_t* state_ = nullptr;  ///< of each page
  std::size_t pages_;
  std::size_t beyond_ = 0;               ///< no page from here on is advised or waits
  std::size_t sparse_ = 0;               ///< bytes that are advised and not known to be dense
  std::atomic<std::size_t> waiting_{0};  ///< pages
  std::size_t stretches_ = 0;            ///< that are advised, each a mapping of its own for the kernel
  bool are_fast_ = true;                 ///< as the last one was that was tried out
  bool is_doubted_ = false;              ///< the last one was slow, the one before it was not
  std::size_t believed_ = 0;             ///< for so many pages more
  std::size_t fast_ = 1, slow_ = 32;     ///< for how many the next time
  Clock::time_point started_ = Clock::now(), next_look_ = started_;
  Clock::duration collapsing_{0};
};

}  // namespace tutti::memory
