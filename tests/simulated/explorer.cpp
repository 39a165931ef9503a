#include "simulated/explorer.h"

#include <algorithm>
#include <cstring>

namespace tutti::simulated {

namespace {

/// Steps of a schedule for each rank, at most: about as many as a few calls take.
constexpr std::uint64_t steps_each = 256;
constexpr int priority_changes = 3;
/// Without a store in so many steps nobody gets on.
constexpr std::uint64_t steps_in_vain_max = 20'000'000;

/// By a rank.
void move(std::byte* to, const std::byte* from, std::size_t bytes) {
  const sanitizer::Watched now;
  std::memmove(to, from, bytes);
}

}  // namespace

Explorer::Explorer(int ranks, std::uint64_t seed, bool is_weak)
    : Simulator(ranks), random_(seed), priority_(ranks_.size()), streams_(ranks_.size()) {
  if (is_weak) weak_.emplace(ranks);
  sow();
}

void Explorer::sow() {
  ++schedules_;
  const std::uint64_t length = steps_each / 4 + random_.below(steps_each * ranks_.size());
  ends_at_ = steps_ + length;
  constexpr std::uint64_t ticks[] = {1, 40, 2000};
  tick_ = ticks[random_.below(3)];
  constexpr std::uint64_t odds[] = {2, 16, 256};
  const std::uint64_t kind = random_.below(5);
  kind_ = kind < 3 ? Kind::walk : Kind::priorities;
  if (kind_ == Kind::walk) {
    odds_ = odds[kind];
    return;
  }
  for (int& each : priority_) each = 1 + static_cast<int>(random_.below(1'000'000));
  lowest_ = 0;
  is_order_old_ = true;
  changes_at_.clear();
  for (int i = 0; i < priority_changes; ++i) changes_at_.push_back(steps_ + random_.below(length));
}

void Explorer::step() {
  ++steps_;
  clock_ += tick_;
  if (steps_ >= ends_at_) sow();
  if (steps_ - stored_at_ > steps_in_vain_max) give_up("nobody gets on");
  if (kind_ == Kind::priorities) return step_by_priority();
  if (!ready_now_.empty() && random_.below(odds_) == 0) give_way();
}

void Explorer::step_by_priority() {
  for (const std::uint64_t at : changes_at_)
    if (at == steps_) {
      priority_[static_cast<std::size_t>(current())] = --lowest_;
      is_order_old_ = true;
    }
  if (!std::exchange(is_order_old_, false)) return;
  if (std::any_of(ready_now_.begin(), ready_now_.end(), [&](int rank) { return above(rank, current()); })) give_way();
}

void Explorer::became_ready(int rank) {
  ready_now_.push_back(rank);
  is_order_old_ = true;
}

int Explorer::next() {
  std::size_t which = 0;
  if (kind_ == Kind::walk)
    which = random_.below(ready_now_.size());
  else
    for (std::size_t i = 1; i < ready_now_.size(); ++i)
      if (above(ready_now_[i], ready_now_[which])) which = i;
  const int rank = ready_now_[which];
  ready_now_[which] = ready_now_.back();
  ready_now_.pop_back();
  return rank;
}

void Explorer::waits_for_time() {
  // Where nobody has anything else to do it passes faster and faster.
  constexpr std::uint64_t nanoseconds = 500, each = 256, doublings_max = 20;
  clock_ += nanoseconds << std::min(in_vain_++ / each, doublings_max);
  priority_[static_cast<std::size_t>(current())] = --lowest_;
  step();
}

void Explorer::loads(const void*, std::size_t) {
  step();
}

std::uint64_t Explorer::found(const void* word, std::uint64_t newest, std::memory_order order) {
  return weak_ ? weak_->load(current(), word, newest, order, random_) : Simulator::found(word, newest, order);
}

void Explorer::made(const void* word, std::size_t) {
  if (weak_) weak_->made(current(), word);
}

void Explorer::stores(const void* word, std::size_t bytes) {
  running().has_acted = true;
  step();
  if (weak_) weak_->stores(word, value_of(word, bytes));
}

void Explorer::stored(const void* word, std::size_t bytes, std::memory_order order) {
  if (weak_) weak_->stored(current(), word, value_of(word, bytes), order);
  has_stored(word);
}

void Explorer::updated(const void* word, std::size_t bytes, bool is_changed, std::memory_order order) {
  if (weak_) weak_->updated(current(), word, value_of(word, bytes), is_changed, order);
  has_stored(word);
}

void Explorer::has_stored(const void* word) {
  stored_at_ = steps_;
  in_vain_ = 0;
  changed(word);
  // What is to be there before and comes after: others see that it is not.
  step();
}

void Explorer::thread_fence() {
  step();
  if (weak_) weak_->fence(current());
}

void Explorer::drain(const void* begin, std::size_t bytes) {
  std::vector<Stream>& own = streams_[static_cast<std::size_t>(current())];
  const bool is_there = std::any_of(own.begin(), own.end(), [&](const Stream& each) {
    return each.overlaps(static_cast<const std::byte*>(begin), bytes);
  });
  if (!is_there) return;
  for (const Stream& each : own) move(each.to, each.bytes.data(), each.bytes.size());
  own.clear();
}

void Explorer::copy(void* destination, const void* source, std::size_t bytes, Move how) {
  if (bytes == 0 || destination == source) return;
  running().has_acted = true;
  step();
  drain(source, bytes);
  drain(destination, bytes);
  auto* const to = static_cast<std::byte*>(destination);
  const auto* const from = static_cast<const std::byte*>(source);
  if (how == Move::streaming && random_.below(2) == 0) {
    std::vector<std::byte> stream(bytes);
    move(stream.data(), from, bytes);
    streams_[static_cast<std::size_t>(current())].push_back({to, std::move(stream)});
    return;
  }
  // From its beginning or from its end, in two parts.
  const std::size_t first = random_.below(bytes);
  const bool is_backwards = random_.below(2) == 0;
  const auto move_part = [&](bool behind) {
    behind ? move(to + first, from + first, bytes - first) : move(to, from, first);
  };
  move_part(is_backwards);
  step();
  move_part(!is_backwards);
}

void Explorer::fence() {
  step();
  std::vector<Stream>& own = streams_[static_cast<std::size_t>(current())];
  for (const Stream& each : own) move(each.to, each.bytes.data(), each.bytes.size());
  own.clear();
}

void Explorer::take(std::byte* begin, std::size_t bytes) {
  drain(begin, bytes);
  // A byte of each line.
  constexpr std::size_t line_bytes = 64;
  const std::size_t first = line_bytes - reinterpret_cast<std::uintptr_t>(begin) % line_bytes;
  std::vector<std::byte*> places{begin};
  for (std::size_t at = first; at < bytes; at += line_bytes) places.push_back(begin + at);
  std::vector<std::byte> values;
  step();
  values.reserve(places.size());
  for (const std::byte* place : places) values.push_back(*place);
  step();
  for (std::size_t i = 0; i < places.size(); ++i) *places[i] = values[i];
}

void Explorer::reduces(const void*, const void* const* sources, std::size_t source_count, std::size_t bytes) {
  step();
  for (std::size_t i = 0; i < source_count; ++i) drain(sources[i], bytes);
}

std::uint64_t Explorer::ticks() {
  running().looks_at_clock = true;
  return clock_;
}

}  // namespace tutti::simulated
