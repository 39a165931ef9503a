#include "memory/viewed.h"

#include <algorithm>

#include "memory/view.h"

namespace tutti::memory {

void Viewed::add(View& view) {
  const std::lock_guard lock(mutex_);
  views_.push_back(&view);
}

void Viewed::remove(View& view) {
  const std::lock_guard lock(mutex_);
  std::erase(views_, &view);
  turn_ = place_ = 0;
}

void Viewed::save(Clock::time_point now) noexcept {
  const std::chrono::duration<double> since = now - last_;
  last_ = now;
  const double earned = std::min(since.count(), 3600.0) * static_cast<double>(rate);
  saved_ = std::min(saved_at_most, saved_ + static_cast<std::int64_t>(earned));
}

void Viewed::give_up(Clock::time_point now) noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  // Another thread is at it.
  if (!lock) return;
  save(now);
  // Not what was used longest ago, which would have to be noted in every access, but what the turn comes to. So a loop
  // over more than is kept finds again what is kept, where otherwise it would always come too late.
  for (std::size_t ended = 0; ended <= views_.size() && saved_ > 0 && is_too_much();) {
    if (turn_ >= views_.size()) turn_ = 0;
    const std::size_t excess = bytes() - retain_bytes_;
    const std::size_t wanted = std::min(excess, static_cast<std::size_t>(saved_));
    const std::size_t given = views_[turn_]->give_up(place_, wanted);
    bytes_.fetch_sub(given, std::memory_order_relaxed);
    saved_ -= static_cast<std::int64_t>(given);
    if (given >= wanted) continue;
    ++turn_;
    ++ended;
    place_ = 0;
  }
}

}  // namespace tutti::memory
