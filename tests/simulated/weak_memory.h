// What ranks find in words on processors that do not keep the order of accesses (ARM, POWER): not always the newest value,
// but one that C++ allows ([intro.races], [atomics.order]). Each word has its stores in one order, and a rank may find any
// of them that is not older than what it has found before, or what it knows to have happened: its own, and by acquiring
// what was released that of others. Loads are never earlier than they stand, so nothing is found before it was stored.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/simulated.h"

namespace tutti::simulated {

class Random;

class WeakMemory {
 public:
  explicit WeakMemory(int ranks);

  /// What `rank` finds. newest: what stands in memory.
  std::uint64_t load(int rank, const void* word, std::uint64_t newest, std::memory_order order, Random& random);
  /// value: what stands in memory before and after it.
  void stores(const void* word, std::uint64_t value) { word_at(word, value); }
  void stored(int rank, const void* word, std::uint64_t value, std::memory_order order);
  /// The same of a value that follows from the one before. is_changed: or it was not the one before that was expected.
  void updated(int rank, const void* word, std::uint64_t value, bool is_changed, std::memory_order order);
  /// A sequentially consistent one.
  void fence(int rank);
  /// The word begins anew, of value zero; not by an atomic store.
  void made(int rank, const void* word);

 private:
  /// Of each rank, how many of its stores have happened.
  using Clock = std::vector<std::uint32_t>;
  struct Store {
    std::uint64_t value = 0;
    int rank = -1;            ///< nobody's that is known: all have seen it
    std::uint32_t epoch = 0;  ///< of the rank
    std::shared_ptr<const Clock> released;
  };
  struct Word {
    std::vector<Store> stores;  ///< the last ones, in their order
    std::uint64_t forgotten = 0;
    std::vector<std::uint64_t> found;  ///< by rank: the number of the store
    std::uint64_t last_ordered = 0;    ///< the same of the last that is sequentially consistent
    std::uint64_t newest() const { return forgotten + stores.size() - 1; }
  };
  static constexpr std::size_t stores_max = 8;

  Word& word_at(const void* at, std::uint64_t newest);
  /// before: what it releases, too; may be null.
  void add(Word& word, int rank, std::uint64_t value, std::shared_ptr<const Clock> before, std::memory_order order);
  void acquire(int rank, const Store& store);
  Clock& clock(int rank) { return clocks_[static_cast<std::size_t>(rank)]; }

  std::vector<Clock> clocks_;  ///< by rank
  Clock fenced_;               ///< what all that have called fence() had known
  std::unordered_map<const void*, Word> words_;
};

}  // namespace tutti::simulated
