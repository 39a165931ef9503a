// By what ranks tell each other something: std::atomic, but that a simulator sees each access.
#pragma once

#include <atomic>

#include "base/simulated.h"

namespace tutti::sync {

/// In memory that ranks share. Zero-initialised memory is a valid one. The functions are those of std::atomic.
template <class T>
class Word {
 public:
  constexpr Word() {
    if constexpr (simulated::on) simulated::made(&value_, sizeof value_);
  }
  T load(std::memory_order order) const {
    if constexpr (simulated::on) return static_cast<T>(simulated::load(&value_, sizeof value_, order));
    return value_.load(order);
  }
  void store(T value, std::memory_order order) {
    if constexpr (simulated::on) simulated::stores(&value_, sizeof value_);
    value_.store(value, order);
    if constexpr (simulated::on) simulated::stored(&value_, sizeof value_, order);
  }
  T fetch_or(T bits, std::memory_order order) {
    if constexpr (simulated::on) simulated::stores(&value_, sizeof value_);
    const T before = value_.fetch_or(bits, order);
    if constexpr (simulated::on) simulated::updated(&value_, sizeof value_, true, order);
    return before;
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success, std::memory_order failure) {
    if constexpr (simulated::on) simulated::stores(&value_, sizeof value_);
    const bool is_exchanged = value_.compare_exchange_weak(expected, desired, success, failure);
    if constexpr (simulated::on)
      simulated::updated(&value_, sizeof value_, is_exchanged, is_exchanged ? success : failure);
    return is_exchanged;
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order order) {
    if constexpr (simulated::on) simulated::stores(&value_, sizeof value_);
    const bool is_exchanged = value_.compare_exchange_strong(expected, desired, order);
    if constexpr (simulated::on) simulated::updated(&value_, sizeof value_, is_exchanged, order);
    return is_exchanged;
  }

 private:
  std::atomic<T> value_{};
  static_assert(sizeof(std::atomic<T>) == sizeof(T) && std::atomic<T>::is_always_lock_free);
};

/// Of two ranks that each store a word, call this, and load the other's at least one finds what the other has stored.
inline void thread_fence() {
  if constexpr (simulated::on) return simulated::thread_fence();
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace tutti::sync
