#include "network/textbook.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "network/multi_object.h"

namespace tutti::network {

namespace {

/// Counts what leaves the busiest node, round by round, of ranks that are numbered node by node.
class Tally {
 public:
  explicit Tally(const Shape& shape)
      : places_(shape.places), nodes_(static_cast<std::size_t>(shape.nodes)), ranks_(nodes_.size() * places()) {}

  /// A message of this round.
  void send(int from, int to, double bytes) {
    const auto sender = static_cast<std::size_t>(from) / places(), receiver = static_cast<std::size_t>(to) / places();
    if (sender == receiver) {
      ranks_[static_cast<std::size_t>(to)] += bytes;
      return;
    }
    nodes_[sender].sent += bytes;
    nodes_[sender].messages += 1;
    nodes_[receiver].received += bytes;
  }

  /// The same round comes so many times.
  void end_round(double times = 1) {
    double bytes = 0, messages = 0;
    for (const Traffic& node : nodes_) {
      bytes = std::max({bytes, node.sent, node.received});
      messages = std::max(messages, node.messages);
    }
    const double copied = *std::max_element(ranks_.begin(), ranks_.end());
    if (messages > 0) {
      cost_.rounds += times;
      cost_.messages += times * messages;
      cost_.bytes += times * bytes;
      cost_.overlapped_bytes += times * copied;
    } else {
      cost_.inside_starts += times;
      cost_.inside_bytes += times * copied;
    }
    nodes_.assign(nodes_.size(), {});
    ranks_.assign(ranks_.size(), 0.0);
  }

  Cost cost() const { return cost_; }

 private:
  std::size_t places() const { return static_cast<std::size_t>(places_); }

  struct Traffic {
    double sent = 0, received = 0, messages = 0;
  };
  int places_;
  std::vector<Traffic> nodes_;
  std::vector<double> ranks_;  ///< bytes that each copies from a rank of its node
  Cost cost_;
};

int ranks_of(const Shape& shape) {
  return shape.nodes * shape.places;
}

int rounds_by_two(int ranks) {
  return ranks > 1 ? static_cast<int>(std::bit_width(static_cast<unsigned>(ranks) - 1)) : 0;
}

bool is_power_of_two(const Shape& shape) {
  return std::has_single_bit(static_cast<unsigned>(ranks_of(shape)));
}

/// Rank 0 has all blocks; who has a range of ranks' gives away its upper half.
Cost binomial_scatter(const Shape& shape) {
  const int ranks = ranks_of(shape);
  Tally tally(shape);
  for (int half = 1 << rounds_by_two(ranks) >> 1; half > 0; half >>= 1) {
    for (int rank = 0; rank + half < ranks; rank += 2 * half)
      tally.send(rank, rank + half, std::min(half, ranks - rank - half) * shape.bytes);
    tally.end_round();
  }
  return tally.cost();
}

/// In each round twice as many blocks from twice as far; at the end they are turned.
Cost bruck_allgather(const Shape& shape) {
  const int ranks = ranks_of(shape);
  Tally tally(shape);
  for (int distance = 1; distance < ranks; distance *= 2) {
    for (int rank = 0; rank < ranks; ++rank)
      tally.send(rank, (rank - distance + ranks) % ranks, std::min(distance, ranks - distance) * shape.bytes);
    tally.end_round();
  }
  Cost cost = tally.cost();
  cost.inside_bytes += ranks * shape.bytes;
  return cost;
}

Cost doubling_allgather(const Shape& shape) {
  const int ranks = ranks_of(shape);
  Tally tally(shape);
  for (int distance = 1; distance < ranks; distance *= 2) {
    for (int rank = 0; rank < ranks; ++rank) tally.send(rank, rank ^ distance, distance * shape.bytes);
    tally.end_round();
  }
  return tally.cost();
}

Cost ring_allgather(const Shape& shape) {
  const int ranks = ranks_of(shape);
  Tally tally(shape);
  if (ranks == 1) return tally.cost();
  for (int rank = 0; rank < ranks; ++rank) tally.send(rank, (rank + 1) % ranks, shape.bytes);
  tally.end_round(ranks - 1);
  return tally.cost();
}

/// Reductions by halves are between a power of two of ranks. Of the first ranks of the others, each even one gives its
/// elements to the odd one behind it, which gives it the result at the end.
class PowerOfTwo {
 public:
  PowerOfTwo(const Shape& shape, Tally& tally)
      : bytes_(shape.bytes),
        tally_(tally),
        count_(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks_of(shape))))),
        beyond_(ranks_of(shape) - count_) {}

  int count() const { return count_; }
  bool all() const { return beyond_ == 0; }
  void fold(bool back = false) {
    for (int i = 0; i < beyond_; ++i) tally_.send(2 * i + (back ? 1 : 0), 2 * i + (back ? 0 : 1), bytes_);
    if (beyond_ > 0) tally_.end_round();
  }
  /// A round in which each exchanges so much with the one at a distance.
  void exchange(int distance, double bytes) {
    for (int i = 0; i < count_; ++i) tally_.send(rank_of(i), rank_of(i ^ distance), bytes);
    tally_.end_round();
  }

 private:
  int rank_of(int i) const { return i < beyond_ ? 2 * i + 1 : i + beyond_; }

  double bytes_;
  Tally& tally_;
  int count_, beyond_;
};

Cost doubling_allreduce(const Shape& shape) {
  Tally tally(shape);
  PowerOfTwo part(shape, tally);
  part.fold();
  for (int distance = 1; distance < part.count(); distance *= 2) part.exchange(distance, shape.bytes);
  part.fold(true);
  Cost cost = tally.cost();
  cost.reduced_bytes = 2 * shape.bytes * (rounds_by_two(part.count()) + (part.all() ? 0 : 1));
  return cost;
}

/// Rabenseifner's: a reduce-scatter by halves, those that are near first, and back.
Cost halving_allreduce(const Shape& shape) {
  Tally tally(shape);
  PowerOfTwo part(shape, tally);
  part.fold();
  for (int distance = 1; distance < part.count(); distance *= 2) part.exchange(distance, shape.bytes / (2 * distance));
  for (int distance = part.count() / 2; distance > 0; distance /= 2)
    part.exchange(distance, shape.bytes / (2 * distance));
  part.fold(true);
  Cost cost = tally.cost();
  cost.reduced_bytes = 2 * shape.bytes * (1 - 1.0 / part.count() + (part.all() ? 0 : 1));
  return cost;
}

/// A reduce-scatter around a ring, then the allgather of what each has.
Cost ring_allreduce(const Shape& shape) {
  const int ranks = ranks_of(shape);
  Shape chunk = shape;
  chunk.bytes = shape.bytes / ranks;
  Cost cost = ring_allgather(chunk);
  cost.rounds *= 2;
  cost.messages *= 2;
  cost.bytes *= 2;
  cost.overlapped_bytes *= 2;
  cost.inside_starts *= 2;
  cost.inside_bytes *= 2;
  cost.reduced_bytes = 2 * shape.bytes * (1 - 1.0 / ranks);
  return cost;
}

/// The same among the nodes' leaders; messages have the bytes that are given.
Cost among_leaders(Cost (*of)(const Shape&), const Shape& shape, double bytes) {
  return of({shape.nodes, 1, bytes, 1});
}

Cost leaders_scatter(const Shape& shape) {
  Cost cost = among_leaders(binomial_scatter, shape, shape.places * shape.bytes);
  cost.inside_starts += 1;
  cost.inside_bytes += shape.bytes;
  return cost;
}

/// A gather inside, then `of` among leaders, then a broadcast inside: each rank copies all blocks.
Cost leaders_allgather(Cost (*of)(const Shape&), const Shape& shape) {
  Cost cost = among_leaders(of, shape, shape.places * shape.bytes);
  cost.inside_starts += 2;
  cost.inside_bytes += (1 + shape.ranks()) * shape.bytes;
  return cost;
}

/// A binomial reduce inside, then `of` among leaders, then a broadcast inside.
Cost leaders_allreduce(Cost (*of)(const Shape&), const Shape& shape) {
  Cost cost = among_leaders(of, shape, shape.bytes);
  const int steps = rounds_by_two(shape.places);
  cost.inside_starts += steps + 1;
  cost.inside_bytes += (steps + 1) * shape.bytes;
  cost.reduced_bytes += 2 * steps * shape.bytes;
  return cost;
}

constexpr std::array algorithms{
    Textbook{"scatter", "binomial", false, "a binomial tree of all ranks", nullptr, binomial_scatter},
    Textbook{"scatter", "leaders-binomial", true, "a binomial tree of leaders", nullptr, leaders_scatter},
    Textbook{"allgather", "bruck", false, "Bruck's with base 2", nullptr, bruck_allgather},
    Textbook{"allgather", "recursive-doubling", false, "of a power of two of ranks", is_power_of_two,
             doubling_allgather},
    Textbook{"allgather", "ring", false, "all ranks in a ring", nullptr, ring_allgather},
    Textbook{"allgather", "leaders-bruck", true, "Bruck's of leaders, base 2", nullptr,
             [](const Shape& shape) { return leaders_allgather(bruck_allgather, shape); }},
    Textbook{"allgather", "leaders-ring", true, "leaders in a ring", nullptr,
             [](const Shape& shape) { return leaders_allgather(ring_allgather, shape); }},
    Textbook{"allreduce", "recursive-doubling", false, "all elements in each round", nullptr, doubling_allreduce},
    Textbook{"allreduce", "rabenseifner", false, "a reduce-scatter by halves, then an allgather", nullptr,
             halving_allreduce},
    Textbook{"allreduce", "ring", false, "a reduce-scatter and an allgather around a ring", nullptr, ring_allreduce},
    Textbook{"allreduce", "leaders-recursive-doubling", true, "leaders, all elements in each round", nullptr,
             [](const Shape& shape) { return leaders_allreduce(doubling_allreduce, shape); }},
    Textbook{"allreduce", "leaders-rabenseifner", true, "leaders, a reduce-scatter by halves, then an allgather",
             nullptr, [](const Shape& shape) { return leaders_allreduce(halving_allreduce, shape); }},
};

}  // namespace

std::span<const Textbook> textbook_algorithms() {
  return algorithms;
}

Cost recursive_doubling(const Shape& shape) {
  return doubling_allreduce(shape);
}

}  // namespace tutti::network
