#include "simulated/weak_memory.h"

#include <algorithm>
#include <utility>

#include "simulation/simulator.h"

namespace tutti::simulated {

namespace {

bool acquires(std::memory_order order) {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}
bool releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}

/// Knows what both have known.
void join(std::vector<std::uint32_t>& clock, const std::vector<std::uint32_t>& other) {
  for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

}  // namespace

WeakMemory::WeakMemory(int ranks)
    : clocks_(static_cast<std::size_t>(ranks), Clock(static_cast<std::size_t>(ranks))),
      fenced_(static_cast<std::size_t>(ranks)) {}

WeakMemory::Word& WeakMemory::word_at(const void* at, std::uint64_t newest) {
  Word& word = words_[at];
  if (word.found.empty()) word.found.resize(clocks_.size());
  // Memory that was cleared is a word that begins anew.
  if (word.stores.empty() || word.stores.back().value != newest) {
    word.forgotten += word.stores.size();
    word.stores = {{newest, -1, 0, nullptr}};
  }
  return word;
}

void WeakMemory::add(Word& word, int rank, std::uint64_t value, std::shared_ptr<const Clock> before,
                     std::memory_order order) {
  Clock& own = clock(rank);
  Store store{value, rank, ++own[static_cast<std::size_t>(rank)], std::move(before)};
  if (releases(order)) {
    auto released = std::make_shared<Clock>(own);
    if (store.released) join(*released, *store.released);
    if (store.released) sanitizer::acquire(store.released.get());
    sanitizer::release(released.get());
    store.released = std::move(released);
  }
  if (word.stores.size() == stores_max) {
    word.stores.erase(word.stores.begin());
    ++word.forgotten;
  }
  word.stores.push_back(std::move(store));
  word.found[static_cast<std::size_t>(rank)] = word.newest();
  if (order == std::memory_order_seq_cst) word.last_ordered = word.newest();
}

void WeakMemory::acquire(int rank, const Store& store) {
  if (!store.released) return;
  join(clock(rank), *store.released);
  sanitizer::acquire(store.released.get());
}

std::uint64_t WeakMemory::load(int rank, const void* at, std::uint64_t newest, std::memory_order order,
                               Random& random) {
  Word& word = word_at(at, newest);
  std::uint64_t& found = word.found[static_cast<std::size_t>(rank)];
  std::uint64_t oldest = std::max(found, word.forgotten);
  if (order == std::memory_order_seq_cst) oldest = std::max(oldest, word.last_ordered);
  const Clock& known = clock(rank);
  for (std::uint64_t i = word.newest(); i > oldest; --i) {
    const Store& each = word.stores[i - word.forgotten];
    if (each.rank >= 0 && each.epoch > known[static_cast<std::size_t>(each.rank)]) continue;
    oldest = i;
  }
  constexpr std::uint64_t old_in = 4;
  found = word.newest();
  if (oldest < found && random.below(old_in) == 0) found = oldest + random.below(found - oldest);
  const Store& store = word.stores[found - word.forgotten];
  if (acquires(order)) acquire(rank, store);
  return store.value;
}

void WeakMemory::stored(int rank, const void* at, std::uint64_t value, std::memory_order order) {
  add(words_.at(at), rank, value, nullptr, order);
}

void WeakMemory::updated(int rank, const void* at, std::uint64_t value, bool is_changed, std::memory_order order) {
  Word& word = words_.at(at);
  const Store& newest = word.stores.back();
  word.found[static_cast<std::size_t>(rank)] = word.newest();
  if (acquires(order)) acquire(rank, newest);
  if (is_changed) add(word, rank, value, newest.released, order);
}

void WeakMemory::fence(int rank) {
  join(clock(rank), fenced_);
  fenced_ = clock(rank);
}

void WeakMemory::made(int rank, const void* at) {
  const auto place = words_.find(at);
  if (place == words_.end()) return;
  Word& word = place->second;
  word.forgotten += word.stores.size();
  word.stores.clear();
  add(word, rank, 0, nullptr, std::memory_order_relaxed);
}

}  // namespace tutti::simulated
