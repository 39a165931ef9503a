// The tags by which a rank receives messages: it gives each of its communicators a range that no other one has, and tells
// the senders. So messages of all communicators go over one of the host's, and no two ranks have to agree.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace tutti::network {

/// Of one rank; any thread may call it.
class TagRanges {
 public:
  /// Tags of a range.
  static constexpr int tags = 64;

  /// tag_max: there are the tags from 0 to this.
  explicit TagRanges(int tag_max) : end_((tag_max + std::int64_t{1}) / tags * tags) {}

  /// The first tag of a range that nobody has; nothing if there is none left.
  std::optional<int> take() {
    const std::lock_guard lock(mutex_);
    if (next_ < end_) return static_cast<int>(std::exchange(next_, next_ + tags));
    if (given_back_.empty()) return std::nullopt;
    const int first = given_back_.front();
    given_back_.pop_front();
    return first;
  }

  /// All that was sent to this rank with these tags it has received, and nobody sends more.
  void give_back(int first) {
    const std::lock_guard lock(mutex_);
    given_back_.push_back(first);
  }

 private:
  const std::int64_t end_;
  std::mutex mutex_;
  std::int64_t next_ = 0;
  std::deque<int> given_back_;  ///< those that were given back longest ago are first
};

}  // namespace tutti::network
