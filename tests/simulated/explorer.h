// Schedules by a seed: before each load of a word that ranks share, before and after each store, before and in the
// middle of each copy another rank may go on. Random walks find what many schedules show. Schedules by priorities that
// change a few times (PCT: Burckhardt et al., ASPLOS 2010) find what takes a rank to be late at one of a few places. Now
// and then one follows the other. With weak memory a load may find an older value than the newest one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "simulated/weak_memory.h"
#include "simulation/simulator.h"

namespace tutti::simulated {

class Explorer final : public Simulator {
 public:
  /// is_weak: words are found as processors that do not keep the order of accesses may show them.
  Explorer(int ranks, std::uint64_t seed, bool is_weak = false);

  /// Accesses and parts of copies so far.
  std::uint64_t steps() const { return steps_; }
  /// Schedules that followed each other so far.
  std::uint64_t schedules() const { return schedules_; }

  void stores(const void* word, std::size_t bytes) override;
  void stored(const void* word, std::size_t bytes, std::memory_order order) override;
  void updated(const void* word, std::size_t bytes, bool is_changed, std::memory_order order) override;
  void made(const void* word, std::size_t bytes) override;
  void thread_fence() override;
  void copy(void* destination, const void* source, std::size_t bytes, Move how) override;
  void fence() override;
  void take(std::byte* begin, std::size_t bytes) override;
  void reduces(const void* destination, const void* const* sources, std::size_t source_count,
               std::size_t bytes) override;
  std::uint64_t ticks() override;

 private:
  enum class Kind { walk, priorities };
  /// What a rank has stored past the caches, and nobody sees yet.
  struct Stream {
    std::byte* to;
    std::vector<std::byte> bytes;
    bool overlaps(const std::byte* begin, std::size_t length) const {
      return begin < to + bytes.size() && to < begin + length;
    }
  };

  void has_stored(const void* word);
  void sow();
  void step();
  void step_by_priority();
  bool above(int a, int b) const {
    return priority_[static_cast<std::size_t>(a)] > priority_[static_cast<std::size_t>(b)];
  }
  /// Its own stores of a rank come before what it does next in the same place.
  void drain(const void* begin, std::size_t bytes);

  void loads(const void* word, std::size_t bytes) override;
  std::uint64_t found(const void* word, std::uint64_t newest, std::memory_order order) override;
  int next() override;
  void became_ready(int rank) override;
  void waits_for_time() override;
  void sleep(std::uint64_t nanoseconds) override { clock_ += nanoseconds; }

  Random random_;
  std::optional<WeakMemory> weak_;
  Kind kind_ = Kind::walk;
  std::uint64_t odds_ = 2;  ///< of a walk: one step in so many is followed by another rank's
  std::vector<int> ready_now_;
  std::vector<int> priority_;
  int lowest_ = 0;
  bool is_order_old_ = false;  ///< somebody else may be above the one that runs
  std::vector<std::uint64_t> changes_at_;
  std::vector<std::vector<Stream>> streams_;  ///< by rank
  std::uint64_t steps_ = 0, ends_at_ = 0, schedules_ = 0;
  std::uint64_t stored_at_ = 0;  ///< the step of the last store
  std::uint64_t in_vain_ = 0;    ///< since then, how often somebody has waited for time to pass
  std::uint64_t clock_ = 1, tick_ = 1;
};

}  // namespace tutti::simulated
