#include "textbook.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "selection/counted_rounds.h"

namespace tutti::prediction {

using selection::Cost;
using selection::CountedRounds;
using selection::PowerOfTwo;

namespace {

int rounds_by_two(int ranks) {
  return ranks > 1 ? static_cast<int>(std::bit_width(static_cast<unsigned>(ranks) - 1)) : 0;
}

bool is_power_of_two(const Shape& shape) {
  return std::has_single_bit(static_cast<unsigned>(shape.ranks()));
}

/// Rank 0 has all blocks; who has a range of ranks' gives away its upper half.
Cost binomial_scatter(const Shape& shape) {
  const int ranks = shape.ranks();
  CountedRounds rounds(shape.nodes, shape.places);
  for (int half = 1 << rounds_by_two(ranks) >> 1; half > 0; half >>= 1) {
    for (int rank = 0; rank + half < ranks; rank += 2 * half)
      rounds.send(rank, rank + half, std::min(half, ranks - rank - half) * shape.bytes);
    rounds.end_round();
  }
  return rounds.cost;
}

/// In each round twice as many blocks from twice as far; at the end they are turned.
Cost bruck_allgather(const Shape& shape) {
  const int ranks = shape.ranks();
  CountedRounds rounds(shape.nodes, shape.places);
  for (int distance = 1; distance < ranks; distance *= 2) {
    for (int rank = 0; rank < ranks; ++rank)
      rounds.send(rank, (rank - distance + ranks) % ranks, std::min(distance, ranks - distance) * shape.bytes);
    rounds.end_round();
  }
  rounds.cost.copied_bytes += ranks * shape.bytes;
  return rounds.cost;
}

Cost doubling_allgather(const Shape& shape) {
  const int ranks = shape.ranks();
  CountedRounds rounds(shape.nodes, shape.places);
  for (int distance = 1; distance < ranks; distance *= 2) {
    for (int rank = 0; rank < ranks; ++rank) rounds.send(rank, rank ^ distance, distance * shape.bytes);
    rounds.end_round();
  }
  return rounds.cost;
}

Cost ring_allgather(const Shape& shape) {
  const int ranks = shape.ranks();
  CountedRounds rounds(shape.nodes, shape.places);
  if (ranks == 1) return rounds.cost;
  for (int rank = 0; rank < ranks; ++rank) rounds.send(rank, (rank + 1) % ranks, shape.bytes);
  rounds.end_round(ranks - 1);
  return rounds.cost;
}

Cost doubling_allreduce(const Shape& shape) {
  return selection::recursive_doubling(shape.nodes, shape.places, shape.bytes);
}

/// Rabenseifner's: a reduce-scatter by halves, those that are near first, and back.
Cost halving_allreduce(const Shape& shape) {
  CountedRounds rounds(shape.nodes, shape.places);
  PowerOfTwo part(rounds, shape.bytes);
  part.fold();
  for (int distance = 1; distance < part.count(); distance *= 2) part.exchange(distance, shape.bytes / (2 * distance));
  for (int distance = part.count() / 2; distance > 0; distance /= 2)
    part.exchange(distance, shape.bytes / (2 * distance));
  part.fold(true);
  rounds.cost.reduced_bytes = 2 * shape.bytes * (1 - 1.0 / part.count() + (part.all() ? 0 : 1));
  return rounds.cost;
}

/// A reduce-scatter around a ring, then the allgather of what each has.
Cost ring_allreduce(const Shape& shape) {
  const int ranks = shape.ranks();
  Shape chunk = shape;
  chunk.bytes = shape.bytes / ranks;
  Cost cost = ring_allgather(chunk);
  cost.between.rounds *= 2;
  cost.between.messages *= 2;
  cost.between.bytes *= 2;
  cost.beside.copied_bytes *= 2;
  cost.hops *= 2;
  cost.copied_bytes *= 2;
  cost.reduced_bytes = 2 * shape.bytes * (1 - 1.0 / ranks);
  return cost;
}

/// The same among the nodes' leaders; messages have the bytes that are given.
Cost among_leaders(Cost (*of)(const Shape&), const Shape& shape, double bytes) {
  return of({shape.nodes, 1, bytes});
}

Cost leaders_scatter(const Shape& shape) {
  Cost cost = among_leaders(binomial_scatter, shape, shape.places * shape.bytes);
  cost.hops += 1;
  cost.copied_bytes += shape.bytes;
  return cost;
}

/// A gather inside, then `of` among leaders, then a broadcast inside: each rank copies all blocks.
Cost leaders_allgather(Cost (*of)(const Shape&), const Shape& shape) {
  Cost cost = among_leaders(of, shape, shape.places * shape.bytes);
  cost.hops += 2;
  cost.copied_bytes += (1.0 + shape.ranks()) * shape.bytes;
  return cost;
}

/// A binomial reduce inside, then `of` among leaders, then a broadcast inside.
Cost leaders_allreduce(Cost (*of)(const Shape&), const Shape& shape) {
  Cost cost = among_leaders(of, shape, shape.bytes);
  const int steps = rounds_by_two(shape.places);
  cost.hops += steps + 1;
  cost.copied_bytes += (steps + 1) * shape.bytes;
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

}  // namespace tutti::prediction
