// Objects by the handles that the host has given them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::mpi {

/// Open addressing: what stands in a table that is not much used is found at the first look. Nothing is removed.
template <class Object>
class HandleTable {
 public:
  void add(std::uintptr_t key, Object* object) {
    if (2 * (count_ + 1) > places_.size()) grow();
    put({key, object});
    ++count_;
  }
  /// Null if it is not there.
  Object* find(std::uintptr_t key) const {
    if (places_.empty()) return nullptr;
    std::size_t at = place_of(key);
    while (places_[at].object && places_[at].key != key) at = after(at);
    return places_[at].object;
  }

 private:
  struct Place {
    std::uintptr_t key = 0;
    Object* object = nullptr;
  };

  std::size_t place_of(std::uintptr_t key) const {
    return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15u) >> 32) & (places_.size() - 1);
  }
  std::size_t after(std::size_t at) const { return (at + 1) & (places_.size() - 1); }
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

  std::vector<Place> places_;  ///< a power of two, at most half of them taken
  std::size_t count_ = 0;
};

}  // namespace tutti::mpi
