#include "selection/online_choice.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace tutti::selection {

namespace {

// From the low end: phase, candidate, others, run, from.
constexpr int candidate_at = 2, others_at = 5, run_at = 13, from_at = 17;
static_assert(OnlineChoice::most <= 8);
static_assert(sequence_max / Decision::from_step < std::uint64_t{1} << (64 - from_at), "every sequence has room");

/// One of so many runs looks at another candidate.
constexpr std::uint64_t look_every = 8, look_every_at_first = 4;

/// The place of the n-th bit that is set.
int nth_bit(unsigned bits, int n) {
  for (; n > 0; --n) bits &= bits - 1;
  return std::countr_zero(bits);
}

}  // namespace

std::uint64_t scrambled(std::uint64_t number) {
  // A multiplication brings each bit to all above it, a shift brings those down again.
  number = (number ^ (number >> 31)) * 0x9e3779b97f4a7c15u;
  number = (number ^ (number >> 29)) * 0xd6e8feb86659fd93u;
  return number ^ (number >> 32);
}

std::uint64_t Decision::word() const {
  return static_cast<std::uint64_t>(phase) | static_cast<std::uint64_t>(candidate) << candidate_at |
         static_cast<std::uint64_t>(others) << others_at | static_cast<std::uint64_t>(run) << run_at |
         from / from_step << from_at;
}

Decision Decision::of(std::uint64_t word) {
  Decision decision;
  decision.phase = static_cast<Phase>(word & 3);
  decision.candidate = static_cast<int>(word >> candidate_at & 7);
  decision.others = static_cast<unsigned>(word >> others_at & 255);
  decision.run = static_cast<int>(word >> run_at & 15);
  decision.from = (word >> from_at) * from_step;
  return decision;
}

int Decision::candidate_of(std::uint64_t sequence) const {
  if (phase == Phase::settled || others == 0) return candidate;
  const std::uint64_t every = phase == Phase::first ? look_every_at_first : look_every;
  const std::uint64_t cycle = every * static_cast<std::uint64_t>(std::popcount(others)), number = sequence >> run;
  const std::uint64_t place = (number % cycle + scrambled(number / cycle) % cycle) % cycle;
  return place % every == 0 ? nth_bit(others, static_cast<int>(place / every)) : candidate;
}

Decision decision_at(const DecisionWords& words, std::uint64_t sequence) {
  Decision latest;
  for (const std::uint64_t word : words) {
    const Decision decision = Decision::of(word);
    const bool holds = word != 0 && decision.from <= sequence;
    if (holds && decision.from > latest.from) latest = decision;
  }
  return latest;
}

OnlineChoice::OnlineChoice(int candidates, bool noisy)
    : count_(candidates), tries_(noisy ? 6 : 3), gain_(noisy ? 0.12 : 0.04) {}

double OnlineChoice::Times::median() const {
  std::vector<std::uint64_t> sorted(last.begin(), last.begin() + kept());
  std::sort(sorted.begin(), sorted.end());
  return static_cast<double>(sorted[sorted.size() / 2] + sorted[(sorted.size() - 1) / 2]) / 2;
}

bool OnlineChoice::is_tried(int candidate) const {
  return candidate == decision_.candidate || (decision_.others >> candidate & 1) != 0;
}

bool OnlineChoice::has_enough() const {
  const Times& now = times_of(decision_.candidate);
  if (now.count < tries_) return false;
  for (int candidate = 0; candidate < count_; ++candidate) {
    const Times& times = times_of(candidate);
    const bool is_far = times.count >= far_tries && times.least() > far * now.median();
    if (is_tried(candidate) && times.count < tries_ && !is_far) return false;
  }
  return true;
}

int OnlineChoice::best() const {
  const Times& now = times_of(decision_.candidate);
  if (now.count == 0) return decision_.candidate;
  int best = decision_.candidate;
  double least = now.median() * (1 - gain_);
  for (int candidate = 0; candidate < count_; ++candidate) {
    const Times& times = times_of(candidate);
    // A single call proves nothing. Nor do some that were never as fast as what there is can be, while that was disturbed.
    if (candidate == decision_.candidate || times.count < 2 || times.median() >= least) continue;
    if (times.least() >= now.least()) continue;
    best = candidate;
    least = times.median();
  }
  return best;
}

unsigned OnlineChoice::others_than(int candidate) {
  const bool all = ++looks_ % far_looks == 0;
  unsigned others = 0;
  for (int other = 0; other < count_; ++other) {
    const Times& times = times_of(other);
    const bool near = times.count == 0 || times.median() <= far * settled_time_;
    if (other != candidate && (all || near)) others |= 1u << other;
  }
  return others;
}

Decision OnlineChoice::decide(Decision::Phase phase, int candidate, unsigned others, std::uint64_t sequence) {
  decision_ = {Decision::from_after(sequence), phase, candidate, others, others ? run_of(sequence - first_) : 0};
  calls_ = 0;
  return decision_;
}

int OnlineChoice::run_of(std::uint64_t operations) const {
  const std::uint64_t between = std::max<std::uint64_t>(1, calls_ - 1);
  const std::uint64_t wanted = (run_calls * operations + between - 1) / between;
  return wanted > 1 ? std::min(static_cast<int>(std::bit_width(wanted - 1)), longest_run) : 0;
}

Decision OnlineChoice::settle(std::uint64_t sequence) {
  const int now = contradictions_ >= contradictions_most ? 0 : best();
  const Times& times = times_of(now);
  const double time = times.count > 0 ? times.median() : 0;
  const bool same = decision_.phase == Decision::Phase::look && now == decision_.candidate && time < 2 * settled_time_;
  period_ = same ? std::min(2 * period_, longest_period) : first_period;
  settled_time_ = time;
  return decide(Decision::Phase::settled, now, 0, sequence);
}

std::optional<Decision> OnlineChoice::begins(std::uint64_t sequence) {
  if (count_ < 2) return {};
  // Sooner a rank may still need the decision before this one, whose word would be taken.
  if (decision_.from != 0 && sequence < decision_.from + published_after) return {};
  if (calls_++ == 0) first_ = sequence;
  // Until it holds, what the model says is taken.
  if (decision_.from == 0) {
    if (calls_ <= spacing_calls) return {};
    return decide(Decision::Phase::first, 0, (1u << count_) - 2, sequence);
  }
  if (decision_.phase != Decision::Phase::settled) {
    const bool ends = has_enough() || calls_ >= patience || contradictions_ >= contradictions_most;
    return ends ? std::optional(settle(sequence)) : std::nullopt;
  }
  if (calls_ < period_ || contradictions_ >= contradictions_most) return {};
  const unsigned others = others_than(decision_.candidate);
  if (others == 0) {  // all are far
    calls_ = 0;
    return {};
  }
  for (int candidate = 0; candidate < count_; ++candidate)
    if (candidate == decision_.candidate || (others >> candidate & 1) != 0)
      times_[static_cast<std::size_t>(candidate)].count = 0;
  return decide(Decision::Phase::look, decision_.candidate, others, sequence);
}

void OnlineChoice::took(std::uint64_t sequence, int candidate, std::uint64_t ticks) {
  contradictions_ = 0;
  if (decision_.phase == Decision::Phase::settled || sequence < decision_.from) return;
  times_[static_cast<std::size_t>(candidate)].add(std::max<std::uint64_t>(1, ticks));
}

void OnlineChoice::contradicted() {
  ++contradictions_;
}

}  // namespace tutti::selection
