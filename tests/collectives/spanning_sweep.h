// Every algorithm between nodes is swept over nodes of equal and unequal size, with ranks in any order over them, in both
// forms, with messages in one piece and in several.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "collectives/spanning_ranks.h"

namespace tutti::test {

using Buffers = std::vector<std::vector<std::byte>>;

struct SpanningShape {
  std::vector<int> places;
  Order order;
};

inline std::string name_of(const SpanningShape& shape) {
  std::string name = shape.order == Order::node_by_node ? "blocks"
                     : shape.order == Order::in_turn    ? "turns"
                                                        : "shuffled";
  for (const int places : shape.places) name += "_" + std::to_string(places);
  return name;
}

inline std::vector<SpanningShape> spanning_shapes() {
  if (short_sweep()) return {{{2, 2, 2, 2}, Order::in_turn}, {{1, 3, 2}, Order::shuffled}};
  // Each order with equal nodes and with unequal ones.
  std::vector<SpanningShape> some{{{2, 2, 2, 2}, Order::node_by_node}, {{1, 3, 2}, Order::node_by_node},
                                  {{3, 3, 3}, Order::in_turn},         {{1, 3, 2}, Order::in_turn},
                                  {{2, 2, 2, 2}, Order::shuffled},     {{2, 1, 4, 1, 3}, Order::shuffled},
                                  {{1, 1, 1, 1}, Order::shuffled},     {{5}, Order::shuffled}};
  if (!full_sweep()) return some;
  const std::vector<std::vector<int>> nodes{
      {2, 2, 2, 2},         {1, 3, 2}, {1, 1, 1, 1}, {3, 3, 3}, {5},
      {2, 1, 4, 1, 3},      {1, 1},    {4, 1},       {1, 6},    {2, 2, 2, 2, 2, 2, 2, 2, 2, 2},
      {7, 3, 5, 1, 1, 2, 6}};
  std::vector<SpanningShape> all;
  for (const auto& places : nodes)
    for (const Order order : {Order::node_by_node, Order::in_turn, Order::shuffled}) all.push_back({places, order});
  return all;
}

class SpanningSweep : public testing::TestWithParam<SpanningShape> {
 protected:
  /// Runs an algorithm in both forms, for some sizes, and then again while pieces are small, and with buffers that ranks
  /// reach in each way. prepare(bytes, call): makes buffers; arguments(rank); check(rank): what they hold then.
  template <class Arguments>
  void sweep(const selection::Algorithm<Arguments>& algorithm,
             const std::function<void(int ranks, std::size_t bytes, int call)>& prepare,
             const std::function<Arguments(int rank)>& arguments, const std::function<void(int rank)>& check) {
    SCOPED_TRACE(algorithm.name);
    Settings small_pieces;
    small_pieces.segment = 1024;
    int call = 0;
    for (const auto& [reach, pieces] : runs_of<Arguments>()) {
      SCOPED_TRACE(name_of(reach));
      SpanningRanks ranks(node_of_rank(GetParam().places, GetParam().order), pieces ? small_pieces : Settings{}, reach);
      if (!can_do(algorithm, ranks.nodes(), (prepare(ranks.count(), 8, 0), arguments(0)))) return;
      const std::vector<std::size_t> sizes =
          pieces ? std::vector<std::size_t>{0, 777, 5000} : std::vector<std::size_t>{0, 1, 24, 777, 5000};
      for (const std::size_t bytes : sizes) {
        SCOPED_TRACE(std::to_string(bytes) + " bytes" + (pieces ? " in pieces" : ""));
        prepare(ranks.count(), bytes, ++call);
        ASSERT_TRUE(ranks.call<Arguments>(algorithm, arguments)) << "hangs as a pending call";
        for (int rank = 0; rank < ranks.count(); ++rank) check(rank);
        prepare(ranks.count(), bytes, ++call);
        ranks.run(
            [&](int rank, const Spanning& spanning) { call_between_nodes(spanning, algorithm, arguments(rank)); });
        for (int rank = 0; rank < ranks.count(); ++rank) check(rank);
        ASSERT_EQ(ranks.unmatched(), 0u);
        if (HasFailure()) return;
      }
    }
  }
  struct Run {
    Reach reach;
    bool pieces;
  };
  template <class Arguments>
  static std::vector<Run> runs_of() {
    std::vector<Run> runs{{Reach::direct, false}, {Reach::direct, true}};
    // Of these the algorithms use each other's buffers.
    constexpr bool uses_buffers =
        std::is_same_v<Arguments, BcastArguments> || std::is_same_v<Arguments, ScatterArguments> ||
        std::is_same_v<Arguments, GatherArguments> || std::is_same_v<Arguments, AllgatherArguments>;
    if (uses_buffers)
      runs.insert(runs.end(), {{Reach::xpmem, false},
                               {Reach::cma, true},
                               {Reach::window, false},
                               {Reach::staged, true},
                               {Reach::refused, false}});
    if (uses_buffers && full_sweep())
      runs.insert(runs.end(), {{Reach::xpmem, true},
                               {Reach::cma, false},
                               {Reach::window, true},
                               {Reach::staged, false},
                               {Reach::refused, true},
                               {Reach::noted, true}});
    return runs;
  }
  /// A few roots: the first rank, the last, and one in the middle.
  static std::vector<int> roots() {
    int ranks = 0;
    for (const int places : GetParam().places) ranks += places;
    return {0, ranks / 2, ranks - 1};
  }
};

}  // namespace tutti::test
