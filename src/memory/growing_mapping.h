// A shared file that is mapped only as far as it is used.
//
// Offset o of the file is at base() + o, for good. But address space is taken up to the highest offset that was
// needed, step by step, and memory is accessible only where it is open: who reads everything that is readable (leak
// checks, core dumps, checkpoints) would make memory of the holes of the file.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

namespace tutti::memory {

/// Not thread-safe: callers serialise, except for extent().
class GrowingMapping {
 public:
  struct Options {
    std::size_t capacity = 0;        ///< of the file; offsets are below it
    std::size_t growth = 64 * 1024;  ///< address space is taken in multiples of this, a power of two of at least a page
    bool dumped = false;             ///< what is open belongs into a core dump
    int advice = 0;                  ///< for madvise, about all of it; 0: none
    std::atomic<std::size_t>* extent = nullptr;  ///< where extent() is kept; null: in the mapping
    /// Far from all that are not: the process's window, which another copy of this code maps (libtutti.so) than the one
    /// that maps arenas and what is seen of peers. Neither knows where the other will grow.
    bool apart = false;
  };
  /// base() is a multiple of this, as segments of the allocator and huge pages want it.
  static constexpr std::size_t alignment = std::size_t{32} << 20;

  /// Takes one `growth` of address space, inaccessible and not inherited by children. Null, with errno, if the system
  /// refuses. The descriptor is not needed any more afterwards, neither to grow.
  static std::unique_ptr<GrowingMapping> create(int descriptor, const Options& options);
  ~GrowingMapping();
  GrowingMapping(const GrowingMapping&) = delete;
  GrowingMapping& operator=(const GrowingMapping&) = delete;

  std::byte* base() const noexcept { return base_; }
  std::size_t capacity() const noexcept { return options_.capacity; }
  /// Bytes from the base that are taken: beyond it addresses may be somebody else's. At least one page past all that
  /// was opened.
  const std::atomic<std::size_t>& extent() const noexcept { return *extent_; }

  /// Takes the address space of [0, end), nothing of it becomes accessible. False if the system refuses.
  bool take(std::size_t end) noexcept;
  /// Makes the pages of [begin, end) accessible, and takes them if need be. False if the system refuses. Opening what
  /// is open is cheap.
  bool open(std::size_t begin, std::size_t end) noexcept;
  /// Makes the whole pages within [begin, end) inaccessible; the contents stay. Beyond the extent there is nothing to
  /// do.
  void close(std::size_t begin, std::size_t end) noexcept;
  /// Takes the pages of [begin, end) out of this process's page tables; the file keeps them, and who touches one has it
  /// again.
  void give_up(std::size_t begin, std::size_t end) noexcept;
  /// Gives back address space of which nothing from `end` on is open.
  void give_back(std::size_t end) noexcept;

 private:
  GrowingMapping(std::byte* base, std::size_t extent, const Options& options)
      : options_(options), base_(base), extent_(options.extent ? options.extent : &own_extent_) {
    extent_->store(extent, std::memory_order_release);
  }

  Options options_;
  std::byte* base_;
  std::atomic<std::size_t> own_extent_{0};
  std::atomic<std::size_t>* extent_;
};

}  // namespace tutti::memory
