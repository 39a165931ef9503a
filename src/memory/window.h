// The window: memory of a rank that every local peer can map. It is no window of MPI's one-sided functions (MPI_Win).
//
// A window is one sparse file without a name (window_file.h), mapped shared by its owner, with an allocator (mimalloc) over it. A peer that
// has mapped the same descriptor addresses a byte as (rank, offset): nothing has to be attached at call time.
// Only pages that were touched exist; freed pages are given back by punching holes. Address space is taken as
// the window fills, and only what was handed out is accessible (GrowingMapping). When the last process that
// maps it ends, however it ends, nothing is left behind.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "memory/growing_mapping.h"
#include "memory/huge_pages.h"
#include "memory/page_ranges.h"
#include "memory/window_spans.h"

namespace tutti::memory {

struct WindowOptions {
  /// The most that the window may hold; 0: the size of the physical memory. Rounded up to 32 MiB. What the
  /// limits of the process (RLIMIT_AS, RLIMIT_FSIZE) or the kernel forbid is halved until it fits, down to
  /// `least_bytes`.
  std::size_t bytes = 0;
  std::size_t least_bytes = std::size_t{1} << 30;
  /// Windows of such processes that this one will map, its own included: their part of RLIMIT_AS is divided by it.
  std::size_t windows = 1;
  /// Free memory that is kept for reuse before it is given back. A block of more than half of it is given back as it is
  /// freed. The default is what the C library's own malloc keeps at most.
  std::size_t retain_bytes = std::size_t{64} << 20;
  /// The best kind of file that is tried (window_file.h).
  HugeKind huge = HugeKind::mount;
  /// A huge page that takes longer to come is slow, and the next ones are not asked for; 0: that is not looked at.
  std::chrono::microseconds slow_huge_page{0};
  /// What huge pages may be asked for that is not known to be used densely; 0: a tenth of the part of the memory that is
  /// this window's among `windows`.
  std::size_t sparse_bytes = 0;
  /// Bytes that may still be used, which decides what a forked child can be given; nullptr:
  /// available_memory().
  std::size_t (*available)() noexcept = nullptr;
  /// Where Window::extent() is kept; null: in the window.
  std::atomic<std::size_t>* extent = nullptr;
};

/// A look at a window, for messages and tests.
struct WindowStatistics {
  std::uint64_t allocations = 0;   ///< blocks handed out since the start
  std::uint64_t releases = 0;      ///< blocks taken back since the start
  std::uint64_t refusals = 0;      ///< requests that did not fit
  std::size_t resident_bytes = 0;  ///< memory that the window holds now (pages of the file)
};

class __attribute__((visibility("default"))) Window {
 public:
  /// Makes and maps a window. On failure returns nullptr and says in `reason` what was tried and what
  /// happened; the program goes on without a window. At most 64 windows exist at a time in one process.
  static std::unique_ptr<Window> create(const WindowOptions& options, std::string& reason);
  /// Unmaps the window: nobody may use its memory any more.
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  /// The file (close-on-exec; a memfd is sealed against shrinking and growing); the window begins at its offset 0. -1
  /// when the program has closed it behind our back, and in a forked child.
  int descriptor() const noexcept;
  std::byte* base() const noexcept { return base_; }
  /// The most that the window may hold, equal to the size of the file.
  std::size_t capacity() const noexcept { return mapping_->capacity(); }
  /// Bytes of address space from the base that are the window's now; what lies beyond may be the program's.
  const std::atomic<std::size_t>& extent() const noexcept { return mapping_->extent(); }
  /// Whether the address lies in what the window has taken, allocated or not.
  bool contains(const void* address) const noexcept {
    return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(base_) <
           extent().load(std::memory_order_relaxed);
  }
  /// Offset from the base of an address that the window contains.
  std::size_t offset_of(const void* address) const noexcept {
    return static_cast<std::size_t>(static_cast<const std::byte*>(address) - base_);
  }

  /// At least `bytes` bytes at a multiple of `alignment` (a power of two; 16 at least is given). nullptr when
  /// the window is exhausted, when the alignment is more than it can give (16 MiB), and in a forked child:
  /// use another allocator then. Any thread may call it; errno is kept.
  void* allocate(std::size_t bytes, std::size_t alignment = 16) noexcept;
  /// As allocate; the bytes are zero.
  void* allocate_zeroed(std::size_t bytes, std::size_t alignment = 16) noexcept;
  /// Resizes a block of this window, perhaps moving it. nullptr (the old block is untouched) when there is no
  /// room.
  void* reallocate(void* block, std::size_t bytes) noexcept;
  /// Takes back a block of this window; any thread, whichever allocated it. errno is kept. In a forked child
  /// its pages are given back, but the block is not used again.
  void release(void* block) noexcept;
  /// Bytes that may be used of a block of this window, at least what was asked for.
  std::size_t usable_size(const void* block) const noexcept;
  /// Classes of sizes: any block of one serves any request of it. -1: none, for large ones, and for blocks that hold less
  /// than others of their class.
  static constexpr int classes = 73;
  static int class_of(std::size_t bytes) noexcept;
  static int class_of_block(const void* block) noexcept;

  /// Gives memory that is free, but kept for reuse, back to the system now.
  void trim() noexcept;
  WindowStatistics statistics() const noexcept;
  HugePages& huge_pages() const noexcept { return *huge_pages_; }
  /// Why its file is of no better kind that was asked for; empty: it is.
  const std::string& why_not_better() const noexcept { return why_not_better_; }

  // --- pages that the program has made something else of (window_foreign.cpp). What follows has no effect outside of
  // the window's range, and none in a forked child. ---

  /// Pages that peers must not use, with the protection that they have for the program, or `replaced`.
  const PageRanges& foreign() const noexcept { return foreign_; }
  static constexpr int replaced = -1;
  static constexpr int protection_mask = 0xff, key_shift = 8;  ///< of a protection: its PROT_ bits, and a key

  /// Something else has been mapped there.
  void mapped_over(const void* address, std::size_t bytes) noexcept;
  /// In place of munmap. False (errno set) if the kernel refuses.
  bool unmap(const void* address, std::size_t bytes) noexcept;
  /// The program may access the pages in these ways only. key: of protection; 0: none; -1: they keep the one they have.
  void protected_as(const void* address, std::size_t bytes, int protection, int key = -1) noexcept;
  /// In place of madvise for an advice that gives pages back.
  bool empty_pages(void* address, std::size_t bytes, int advice) noexcept;
  /// In place of mremap: moves what is there to memory outside of the window, which is there already. What stays behind
  /// is to be unmapped.
  bool move_out(void* from, std::size_t bytes, void* to) noexcept;

  // --- other addresses where its pages are: see docs/decisions/static-data.md ---

  const WindowSpans& spans() const noexcept { return spans_; }
  /// Puts pages of the window in the place of private, writable ones, with the same contents. The program and the
  /// kernel must not write to them meanwhile: the process has one thread, and signals are blocked. The pages are whole
  /// ones. next_touched: sets the argument's range, which begins at or after its `begin`, to the next pages that have
  /// contents; false if there are none. It must not call anything of the program's, such as its malloc. False, with
  /// nothing changed, if there is no room or the system refuses.
  struct TakenOver {
    std::uintptr_t begin, end;
    bool library;
    bool (*next_touched)(std::uintptr_t& begin, std::uintptr_t& end, void* context);
    void* context;
  };
  bool take_over(const TakenOver& pages) noexcept;
  /// Around what may unload libraries: until it is over, nothing is found in the spans of libraries. is_there: whether
  /// a library still is where the span was.
  void before_unloading() noexcept { spans_.suspend(); }
  void after_unloading(bool (*is_there)(const WindowSpans::Span& span, void* context), void* context) noexcept;

  // --- fork: see docs/decisions/window-fork.md ---

  /// What the child may do with the window's contents.
  enum class Child {
    owner,     ///< not a child: this process owns the window
    snapshot,  ///< private memory, with the contents as of the fork
    partial,   ///< as snapshot, but blocks of more than 16 MiB are lost for lack of memory: touching them is a
               ///< fault
    nothing,   ///< there was no memory for any copy: touching the window is a fault; exec is what is left
  };
  Child child() const noexcept { return child_; }

  /// Before fork(), in the parent; every call is followed by fork_in_parent or fork_in_child. Forks of
  /// several threads queue here.
  void fork_prepare() noexcept;
  /// After fork() in the parent, also when it failed: waits until the child has its own copy. Says what the
  /// child got.
  Child fork_in_parent() noexcept;
  /// First thing in the child: replaces the window by private memory with the contents as of the fork, at the
  /// same addresses. From then on `allocate` refuses, and `release`, `reallocate` and `usable_size` work.
  void fork_in_child() noexcept;

 private:
  Window(int descriptor, std::unique_ptr<GrowingMapping> mapping, std::size_t retain_bytes);
  struct Heap;
  struct ForkState;
  bool is_ours(int descriptor) const noexcept;
  void forget_helper(bool wait = false) const noexcept;
  void purge_and_close(std::byte* begin, std::size_t bytes) noexcept;
  void give_back_addresses() noexcept;
  void trim_locked() noexcept;
  std::size_t room_of(const void* block) const noexcept;
  std::size_t touched_of(const void* block, std::size_t usable) const noexcept;
  void clear(std::size_t begin, std::size_t end) noexcept;
  void release_in_child(void* block) noexcept;
  Child affordable_copy() noexcept;
  void find_unused() noexcept;
  bool copy_into_child() noexcept;
  void help_child(pid_t child) noexcept;
  bool inherit(bool inherited) noexcept;
  bool copy_inherited_pages(std::size_t used) noexcept;
  bool map_private(std::size_t used) noexcept;
  bool read_pages(std::size_t used) noexcept;
  template <class Visit>
  bool for_each_to_copy(std::size_t used, Visit visit) const;
  template <class Copy>
  bool copy_together(Copy copy) noexcept;
  template <class Visit>
  bool for_each_own(std::size_t begin, std::size_t end, Visit visit) const;
  struct Pages {
    std::uintptr_t begin, end;
  };
  Pages pages_within(const void* address, std::size_t bytes) const noexcept;
  template <class Visit>
  void for_each_mapped(const void* address, std::size_t bytes, Visit visit) const;
  void forget_contents(std::size_t offset, std::size_t bytes) noexcept;
  bool restore(std::uintptr_t begin, std::uintptr_t end) noexcept;
  void protect_again(std::uintptr_t begin, std::uintptr_t end) noexcept;
  void leave_out_of_dumps(const TakenOver& pages) noexcept;
  template <class Visit>
  bool for_each_span_piece(Visit visit) const;
  bool inherit_spans(bool inherited) noexcept;
  void restore_spans() noexcept;
  bool take_back(const void* block, std::size_t usable) noexcept;

  int descriptor_;
  std::unique_ptr<GrowingMapping> mapping_;  ///< guarded by the heap's lock
  std::byte* base_;
  std::uint64_t device_ = 0;  ///< with inode_: whether descriptor_ still is our file
  std::uint64_t inode_ = 0;
  mutable std::atomic<pid_t> helper_{0};  ///< of WindowFile, not known to have ended
  Child child_ = Child::owner;
  std::unique_ptr<Heap> heap_;
  std::unique_ptr<ForkState> fork_;
  PageRanges foreign_;
  WindowSpans spans_;
  std::unique_ptr<HugePages> huge_pages_;
  std::string why_not_better_;
};

}  // namespace tutti::memory
