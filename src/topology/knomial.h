// The k-nomial tree: after each step every rank that has the message has been read by k more. Pure; ranks are counted
// from the root, which is 0.
//
// Written in base k+1, the parent of a rank has the lowest digit that is not 0 cleared. A rank is read first by the
// children with the highest digit set, k of them, then by those with the next.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tutti::topology {

class Knomial {
 public:
  /// readers: the k, at least 1. More than ranks - 1 are as many.
  constexpr Knomial(int ranks, int readers) : ranks_(ranks), base_(std::max(1, std::min(readers, ranks - 1)) + 1) {}

  /// -1 for rank 0.
  constexpr int parent(int rank) const { return rank == 0 ? -1 : static_cast<int>(rank - rank % (unit(rank) * base_)); }

  /// The rank that reads from the same parent one step earlier and in the same place among its k; -1 if none does.
  constexpr int predecessor(int rank) const {
    if (rank == 0) return -1;
    const int from = parent(rank);
    const std::int64_t before = from + (rank - from) * base_;
    const bool is_child = from == 0 || unit(from) > unit(rank) * base_;
    return is_child && before < ranks_ ? static_cast<int>(before) : -1;
  }

  /// visit(child) in the order in which they read.
  template <class Visit>
  constexpr void for_each_child(int rank, Visit&& visit) const {
    std::int64_t step = 1;
    while (step * base_ < (rank == 0 ? ranks_ : unit(rank))) step *= base_;
    if (rank != 0 && step >= unit(rank)) return;
    for (; step > 0; step /= base_)
      for (std::int64_t digit = 1; digit < base_ && rank + digit * step < ranks_; ++digit)
        visit(static_cast<int>(rank + digit * step));
  }

  /// Steps until the last rank has read: the smallest d with (k+1)^d >= ranks.
  constexpr int depth() const {
    int steps = 0;
    for (std::int64_t holders = 1; holders < ranks_; holders *= base_) ++steps;
    return steps;
  }

 private:
  /// The weight of the lowest digit that is not 0. rank > 0
  constexpr std::int64_t unit(int rank) const {
    std::int64_t weight = 1;
    while (rank / weight % base_ == 0) weight *= base_;
    return weight;
  }

  int ranks_;
  std::int64_t base_;
};

}  // namespace tutti::topology
