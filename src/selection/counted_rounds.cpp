#include "selection/counted_rounds.h"

#include <algorithm>
#include <bit>

namespace tutti::selection {

void CountedRounds::send(int from, int to, double bytes) {
  const std::size_t sender = static_cast<std::size_t>(from) / places_,
                    receiver = static_cast<std::size_t>(to) / places_;
  if (sender == receiver) {
    ranks_[static_cast<std::size_t>(to)] += bytes;
    return;
  }
  nodes_[sender].sent += bytes;
  nodes_[sender].messages += 1;
  nodes_[receiver].received += bytes;
}

void CountedRounds::end_round(double times) {
  double bytes = 0, messages = 0;
  for (const Traffic& node : nodes_) {
    bytes = std::max({bytes, node.sent, node.received});
    messages = std::max(messages, node.messages);
  }
  const double copied = *std::max_element(ranks_.begin(), ranks_.end());
  if (messages > 0) {
    cost.between.rounds += times;
    cost.between.messages += times * messages;
    cost.between.bytes += times * bytes;
    cost.beside.copied_bytes += times * copied;
  } else {
    cost.hops += times;
    cost.copied_bytes += times * copied;
  }
  nodes_.assign(nodes_.size(), {});
  ranks_.assign(ranks_.size(), 0.0);
}

PowerOfTwo::PowerOfTwo(CountedRounds& rounds, double bytes)
    : rounds_(rounds),
      bytes_(bytes),
      count_(static_cast<int>(std::bit_floor(static_cast<unsigned>(rounds.ranks())))),
      beyond_(rounds.ranks() - count_) {}

void PowerOfTwo::fold(bool back) {
  for (int i = 0; i < beyond_; ++i) rounds_.send(2 * i + (back ? 1 : 0), 2 * i + (back ? 0 : 1), bytes_);
  if (beyond_ > 0) rounds_.end_round();
}

void PowerOfTwo::exchange(int distance, double bytes) {
  for (int i = 0; i < count_; ++i) rounds_.send(rank_of(i), rank_of(i ^ distance), bytes);
  rounds_.end_round();
}

Cost recursive_doubling(int nodes, int places, double bytes) {
  CountedRounds rounds(nodes, places);
  PowerOfTwo part(rounds, bytes);
  part.fold();
  int exchanges = 0;
  for (int distance = 1; distance < part.count(); distance *= 2, ++exchanges) part.exchange(distance, bytes);
  part.fold(true);
  rounds.cost.reduced_bytes = 2 * bytes * (exchanges + (part.all() ? 0 : 1));
  return rounds.cost;
}

}  // namespace tutti::selection
