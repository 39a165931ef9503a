// Bytes with gaps between them, as vectors and subarrays of MPI have them, and copies from one such layout to another.
#pragma once

#include <cstddef>

namespace tutti::memory {

/// Runs of one length, in nested loops. The order of the loops is that of the bytes if they were packed.
class Layout {
 public:
  static constexpr int loops_max = 6;
  struct Loop {
    std::size_t count;
    std::ptrdiff_t distance;  ///< bytes from the begin of one to that of the next
  };

  /// One run of `bytes`, more than none, at the base.
  explicit Layout(std::size_t bytes) : run_(bytes) {}

  /// Makes it so many (at least one) of what it was. False if that are too many loops: then it is as it was.
  [[nodiscard]] bool repeat(std::size_t count, std::ptrdiff_t distance);
  /// Moves all of it away from the base.
  void move(std::ptrdiff_t bytes) { first_ += bytes; }

  /// The same bytes in runs of a length that divides theirs.
  Layout in_runs_of(std::size_t bytes) const;

  /// Where run i begins, from the base.
  std::ptrdiff_t offset_of_run(std::size_t i) const;
  /// From its lowest byte to its highest, gaps included.
  struct Extent {
    std::ptrdiff_t first;
    std::size_t bytes;
  };
  Extent extent() const;

  /// Without the gaps.
  std::size_t bytes() const;
  std::ptrdiff_t first() const { return first_; }  ///< of the runs, from the base
  std::size_t run() const { return run_; }
  int loops() const { return loops_; }
  const Loop& loop(int i) const { return loop_[i]; }  ///< the innermost is 0

 private:
  std::ptrdiff_t first_ = 0;
  std::size_t run_;
  int loops_ = 0;
  Loop loop_[loops_max + 1];  ///< one for in_runs_of()
};

/// Copies `bytes` of one layout, from byte `at` on, to the same of another. They do not overlap.
void copy_between(const Layout& to, std::byte* to_base, const Layout& from, const std::byte* from_base,
                  std::size_t bytes, std::size_t at = 0);

/// A block whose bytes lie where `layout` says, beside which there is memory for it without gaps.
struct Spread {
  Layout layout;
  std::byte* base;
  bool is_there = false;  ///< what is received is put here, and need not be taken from the other memory

  // `bytes` of them, from byte `at` on.
  void put(std::size_t at, const std::byte* from, std::size_t bytes) const;
  void get(std::size_t at, std::byte* to, std::size_t bytes) const;
};

}  // namespace tutti::memory
