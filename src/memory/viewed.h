// How much of the peers' memory this rank has used, and so has in its page tables: the kernel counts such pages as this
// rank's, too, and so do limits of jobs. Beyond a bound they are given up, by turn.
//
// That takes nothing away: the pages are their owner's, and who touches one that was given up has it again. But to give
// up pages and to have them again takes about as long as to copy them. So it is done only as fast as a program that goes
// on using more than the bound does not notice.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace tutti::memory {

class View;

/// Any thread may call it. It lives longer than the views that it knows.
class Viewed {
 public:
  using Clock = std::chrono::steady_clock;
  /// So much is given up a second at most, but for what has been saved up.
  static constexpr std::int64_t rate = std::int64_t{128} << 20;
  static constexpr std::int64_t saved_at_most = 2 * rate;

  explicit Viewed(std::size_t retain_bytes) : retain_bytes_(retain_bytes) {}
  Viewed(const Viewed&) = delete;
  Viewed& operator=(const Viewed&) = delete;

  bool is_too_much() const noexcept { return bytes() > retain_bytes_; }
  /// Gives up what is too much, or of that what the rate allows. Not while this rank is in an operation: what that has
  /// asked for before it would go on using uncounted.
  void give_up(Clock::time_point now = Clock::now()) noexcept;
  /// What counts at present, in units of what the kernel maps at once.
  std::size_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }

 private:
  friend class View;
  void add(View& view);
  void remove(View& view);
  void use(std::size_t bytes) noexcept { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  void save(Clock::time_point now) noexcept;

  const std::size_t retain_bytes_;
  std::atomic<std::size_t> bytes_{0};
  std::mutex mutex_;
  std::vector<View*> views_;
  std::size_t turn_ = 0;   ///< which view is next
  std::size_t place_ = 0;  ///< how far it has been looked through
  Clock::time_point last_{};
  std::int64_t saved_ = saved_at_most;  ///< bytes that may be given up; less than 0 after the last were more than that
};

}  // namespace tutti::memory
