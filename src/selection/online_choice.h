// Which of a few algorithms is the fastest one, found out by the calls of the program: what depends on things that no model
// knows, such as whether two virtual processors share a cache at present.
//
// All ranks of a call must take the same one, and no message is sent for that. Rank 0 decides and publishes, in a word,
// from which operation on a decision holds; which candidate an operation takes is a function of the words and its
// sequence number. That all find the same is in docs/decisions/choosing-by-trying.md.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/shared.h"

namespace tutti::selection {

/// What is published before the end of operation s is seen by whoever begins operation s + published_after: nobody begins
/// s + ring_slots before all have ended s, and who chooses for an operation has begun the one before.
inline constexpr std::uint64_t published_after = ring_slots + 1;

/// What is done from some operation on.
struct Decision {
  enum class Phase {
    settled,  ///< `candidate`
    look,     ///< now and then one of `others`, else `candidate`
    first,    ///< the same, more often: nothing is known yet
  };
  std::uint64_t from = 0;  ///< sequence of the first operation that it holds for; of every from_step-th
  Phase phase = Phase::settled;
  int candidate = 0;
  unsigned others = 0;  ///< bits of candidates
  int run = 0;          ///< what is looked at is taken for 2^run operations

  /// Such a one, which is published_after `sequence` or somewhat later.
  static std::uint64_t from_after(std::uint64_t sequence) {
    return (sequence + published_after + from_step - 1) / from_step * from_step;
  }
  static constexpr std::uint64_t from_step = 16;

  /// In the form that is published; never 0 if `from` is not.
  std::uint64_t word() const;
  static Decision of(std::uint64_t word);
  /// The candidate that an operation takes. Each of the others has its turn in each cycle, at a place that looks like
  /// chance: programs call several collectives by turns, and a period would fall in step with them.
  int candidate_of(std::uint64_t sequence) const;
  bool is_timed() const { return phase != Phase::settled; }
};

/// Two words, used by turns, so that a rank that is behind finds the decision before the last.
using DecisionWords = std::array<std::uint64_t, 2>;
/// The decision that holds for an operation: the latest of them, or to begin with what the model says.
Decision decision_at(const DecisionWords& words, std::uint64_t sequence);

/// A number that follows from another one and looks like chance.
std::uint64_t scrambled(std::uint64_t number);

/// What rank 0 knows of one choice. It has no clock, and tells nobody.
class OnlineChoice {
 public:
  static constexpr std::size_t most = 8;

  /// candidates: how many there are, of which the first is what the model says. noisy: times scatter much, since ranks
  /// share cores.
  OnlineChoice(int candidates, bool noisy);

  /// A call begins, whose first operation this is. What it returns, the caller publishes at once.
  std::optional<Decision> begins(std::uint64_t sequence);
  /// A call, whose first operation this was, took so long with a candidate. The call of this choice before it took the
  /// same: how a candidate leaves the caches behind is part of its time, and the others' are not.
  void took(std::uint64_t sequence, int candidate, std::uint64_t ticks);
  /// The same of a call where the clocks of the ranks contradict each other.
  void contradicted();

  /// What was decided last; it may hold for later operations only.
  const Decision& decision() const { return decision_; }

 private:
  static constexpr int times_kept = 7;
  static constexpr std::uint64_t first_period = 256, longest_period = 4096;
  /// Calls after which there is a decision, whatever could be measured.
  static constexpr std::uint64_t patience = 600;
  /// Calls of a run, of which the first is not timed; and calls that show how many operations lie between two.
  static constexpr std::uint64_t run_calls = 4, spacing_calls = 4;
  static constexpr int longest_run = 15;
  static constexpr int contradictions_most = 16;
  /// A candidate that took so many times as long as the best is looked at every `far_looks` times only. If it does so
  /// `far_tries` times, the others need not wait for more.
  static constexpr double far = 1.5;
  static constexpr int far_tries = 2;
  static constexpr int far_looks = 4;

  struct Times {
    std::array<std::uint64_t, times_kept> last{};
    int count = 0;  ///< in this phase

    void add(std::uint64_t ticks) { last[static_cast<std::size_t>(count++ % times_kept)] = ticks; }
    int kept() const { return std::min(count, times_kept); }
    double least() const { return static_cast<double>(*std::min_element(last.begin(), last.begin() + kept())); }
    double median() const;
  };
  const Times& times_of(int candidate) const { return times_[static_cast<std::size_t>(candidate)]; }
  bool is_tried(int candidate) const;
  bool has_enough() const;
  int best() const;
  /// Those beside `candidate` that are worth a look, as bits.
  unsigned others_than(int candidate);
  Decision decide(Decision::Phase phase, int candidate, unsigned others, std::uint64_t sequence);
  /// Decision::run for calls of which `calls_` came in so many operations.
  int run_of(std::uint64_t operations) const;
  Decision settle(std::uint64_t sequence);

  int count_;
  int tries_;    ///< of each candidate
  double gain_;  ///< that another has to bring
  std::array<Times, most> times_{};
  Decision decision_;
  std::uint64_t first_ = 0;  ///< sequence of the first call of `calls_`
  std::uint64_t calls_ = 0;  ///< since the last decision holds and may be replaced
  std::uint64_t period_ = first_period;
  double settled_time_ = 0;
  int looks_ = 0;
  int contradictions_ = 0;
};

}  // namespace tutti::selection
