// Objects by the handles that the host has given them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace tutti::mpi {

/// Open addressing: what stands in a table that is not much used is found at the first look.
template <class Object>
class HandleTable {
 public:
  /// Whether several threads may call it at once: from the beginning on.
  void share(bool among_threads) { shared_ = among_threads; }

  void add(std::uintptr_t key, Object* object) {
    const auto lock = this->lock();
    if (2 * (count_ + 1) > places_.size()) grow();
    put({key, object});
    ++count_;
  }
  void remove(std::uintptr_t key) {
    const auto lock = this->lock();
    std::size_t at = find_place(key);
    if (at == none) return;
    --count_;
    // What has been put behind it because its own place was taken moves up.
    for (std::size_t next = after(at); places_[next].object; next = after(next)) {
      const std::size_t distance = (next - place_of(places_[next].key)) & (places_.size() - 1);
      const std::size_t gap = (next - at) & (places_.size() - 1);
      if (distance < gap) continue;
      places_[at] = places_[next];
      at = next;
    }
    places_[at] = {};
  }
  /// Null if it is not there.
  Object* find(std::uintptr_t key) {
    const auto lock = this->lock();
    const std::size_t at = find_place(key);
    return at == none ? nullptr : places_[at].object;
  }

 private:
  struct Place {
    std::uintptr_t key = 0;
    Object* object = nullptr;
  };
  static constexpr std::size_t none = SIZE_MAX;

  std::unique_lock<std::mutex> lock() {
    return shared_ ? std::unique_lock(mutex_) : std::unique_lock(mutex_, std::defer_lock);
  }

  std::size_t place_of(std::uintptr_t key) const {
    return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15u) >> 32) & (places_.size() - 1);
  }
  std::size_t after(std::size_t at) const { return (at + 1) & (places_.size() - 1); }
  std::size_t find_place(std::uintptr_t key) const {
    if (places_.empty()) return none;
    for (std::size_t at = place_of(key); places_[at].object; at = after(at))
      if (places_[at].key == key) return at;
    return none;
  }
  void put(const Place& place) {
    std::size_t at = place_of(place.key);
    while (places_[at].object) at = after(at);
    places_[at] = place;
  }
  void grow() {
    std::vector<Place> before(places_.empty() ? 32 : 2 * places_.size());
    before.swap(places_);
    for (const Place& each : before)
      if (each.object) put(each);
  }

  bool shared_ = true;
  std::mutex mutex_;
  std::vector<Place> places_;  ///< a power of two, at most half of them taken
  std::size_t count_ = 0;
};

}  // namespace tutti::mpi
