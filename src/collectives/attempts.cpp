#include "collectives/attempts.h"

#include <algorithm>
#include <utility>

#include "base/ticks.h"

namespace tutti {

namespace {

/// Where the ranks leave what they know of a call: no program comes to one place by turns.
std::size_t place_of(std::uint64_t sequence) {
  return selection::scrambled(sequence) >> 32 & (TriedLine::records - 1);
}
static_assert((TriedLine::records & (TriedLine::records - 1)) == 0);

}  // namespace

Attempts::Attempts(Communicator& communicator, int number, int candidates)
    : communicator_(communicator), number_(number) {
  if (communicator.rank() == 0) choice_.emplace(candidates, communicator.node().oversubscribed);
}

int Attempts::next() {
  sequence_ = communicator_.blocking().sequence() + 1;
  if (choice_) learn(sequence_);
  const TriedLine& published = line(0);
  const selection::Decision decision =
      selection::decision_at({published.decision[0].get(), published.decision[1].get()}, sequence_);
  const int before = std::exchange(candidate_, decision.candidate_of(sequence_));
  const bool tried_before = std::exchange(tried_, decision.is_timed());
  timed_ = tried_ && tried_before && candidate_ == before;
  if (choice_ && timed_)
    *std::min_element(open_.begin(), open_.end(),
                      [](const Call& a, const Call& b) { return a.sequence < b.sequence; }) = {sequence_, candidate_};
  return candidate_;
}

void Attempts::ends() {
  if (!tried_) return;
  const std::uint64_t end = ticks(), begin = std::exchange(end_, end);
  if (!timed_) return;
  TriedLine::Record& record = line(communicator_.rank()).record[place_of(sequence_)];
  // Pairs with look_at(): who sees new ticks sees that the sequence was taken away.
  record.sequence.store(0, std::memory_order_relaxed);
  record.begin.store(begin, std::memory_order_release);
  record.end.store(end, std::memory_order_release);
  record.sequence.store(sequence_, std::memory_order_release);
}

void Attempts::learn(std::uint64_t sequence) {
  for (Call& call : open_)
    if (call.sequence != 0 && look_at(call)) call.sequence = 0;
  const auto decision = choice_->begins(sequence);
  if (!decision) return;
  // This rank has not ended operation `sequence`: all see the word before they choose for decision->from.
  line(0).decision[second_ ? 1 : 0].set(decision->word());
  second_ = !second_;
}

bool Attempts::look_at(const Call& call) {
  std::uint64_t begin = 0, end = 0;
  for (int rank = 0; rank < communicator_.size(); ++rank) {
    const TriedLine::Record& record = line(rank).record[place_of(call.sequence)];
    const std::uint64_t before = record.sequence.load(std::memory_order_acquire);
    if (before > call.sequence) return true;  // overwritten
    if (before < call.sequence) return false;
    begin = std::max(begin, record.begin.load(std::memory_order_acquire));
    end = std::max(end, record.end.load(std::memory_order_acquire));
    if (record.sequence.load(std::memory_order_relaxed) != before) return true;
  }
  if (end < begin)
    choice_->contradicted();
  else
    choice_->took(call.sequence, call.candidate, end - begin);
  return true;
}

}  // namespace tutti
