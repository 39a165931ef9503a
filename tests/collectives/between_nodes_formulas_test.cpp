// Rounds, messages and bytes between nodes are those of PiP-MColl's formulas (section III), counted by the channel on
// which they go, for nodes of P ranks each; and the costs that the algorithms declare are what is counted.
//
// C_b is the paper's: bytes of a block, or of the message that is reduced.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "collectives/own_memory.h"
#include "collectives/spanning_ranks.h"

namespace tutti::test {
namespace {

/// What has gone between nodes in one call.
struct Counted {
  std::uint64_t rounds = 0;
  std::uint64_t messages = 0;                 ///< of all
  std::uint64_t bytes = 0;                    ///< of all
  std::uint64_t of_rank = 0;                  ///< messages that one rank has sent, or received, at most
  std::vector<std::uint64_t> sent, received;  ///< bytes by node
  std::vector<std::uint64_t> messages_sent;   ///< by node

  std::uint64_t most_sent() const { return *std::max_element(sent.begin(), sent.end()); }
  std::uint64_t most_received() const { return *std::max_element(received.begin(), received.end()); }
};

class Formulas {
 public:
  Formulas(int nodes, int places)
      : n(static_cast<std::uint64_t>(nodes)),
        p(static_cast<std::uint64_t>(places)),
        ranks_(node_of_rank(std::vector<int>(static_cast<std::size_t>(nodes), places), Order::node_by_node)) {}

  const std::uint64_t n, p;
  std::size_t ranks() const { return static_cast<std::size_t>(ranks_.count()); }
  /// ceil(log_{P+1} N), as the paper writes it.
  std::uint64_t logarithm() const {
    std::uint64_t rounds = 0;
    for (std::uint64_t reach = 1; reach < n; reach *= p + 1) ++rounds;
    return rounds;
  }
  bool is_power() const {
    std::uint64_t reach = 1;
    while (reach < n) reach *= p + 1;
    return reach == n;
  }

  /// Calls an algorithm by name, and compares what it declares with what was counted. bytes: C_b. from_root: what it says
  /// of bytes is of the node of rank 0, and of what that receives if `to_root`.
  template <class Arguments>
  Counted call(const char* name, std::size_t bytes, const std::function<Arguments(int)>& arguments,
               bool to_root = false) {
    const selection::Algorithm<Arguments>* algorithm = nullptr;
    for (const auto* each : algorithms_between_nodes<Arguments>())
      if (std::string(each->name) == name) algorithm = each;
    if (!algorithm) throw std::invalid_argument(name);
    std::vector<network::Traffic> before;
    for (int rank = 0; rank < ranks_.count(); ++rank) before.push_back(ranks_.traffic(rank));
    EXPECT_TRUE(ranks_.call(*algorithm, arguments)) << "hangs";
    Counted counted;
    counted.sent.resize(n);
    counted.received.resize(n);
    counted.messages_sent.resize(n);
    for (int rank = 0; rank < ranks_.count(); ++rank) {
      const network::Traffic& was = before[static_cast<std::size_t>(rank)];
      const network::Traffic& is = ranks_.traffic(rank);
      const auto node = static_cast<std::size_t>(ranks_.nodes().node_of(rank));
      counted.rounds = std::max(counted.rounds, is.rounds - was.rounds);
      counted.messages += is.sent - was.sent;
      counted.bytes += is.sent_bytes - was.sent_bytes;
      counted.of_rank = std::max({counted.of_rank, is.sent - was.sent, is.received - was.received});
      counted.sent[node] += is.sent_bytes - was.sent_bytes;
      counted.messages_sent[node] += is.sent - was.sent;
      counted.received[node] += is.received_bytes - was.received_bytes;
    }
    EXPECT_EQ(ranks_.unmatched(), 0u);
    selection::Shape shape;
    shape.nodes = static_cast<int>(n);
    shape.places = static_cast<int>(p);
    shape.bytes = bytes;
    const network::Cost cost = algorithm->cost(shape).between;
    EXPECT_EQ(cost.rounds, static_cast<double>(counted.rounds)) << name;
    EXPECT_DOUBLE_EQ(cost.bytes, static_cast<double>(to_root ? counted.received[0] : counted.sent[0])) << name;
    if (!to_root) {
      EXPECT_EQ(cost.messages, static_cast<double>(counted.messages_sent[0])) << name;
    }
    return counted;
  }

 private:
  SpanningRanks ranks_;
};

/// The numbers of nodes and of ranks a node.
std::vector<int> node_counts() {
  std::vector<int> counts{2, 3, 4, 5, 8, 9, 16, 19, 20, 32};
  if (short_sweep()) return {3, 8};
  if (full_sweep()) {
    counts.clear();
    for (int nodes = 2; nodes <= 32; ++nodes) counts.push_back(nodes);
  }
  return counts;
}
std::vector<int> place_counts() {
  std::vector<int> counts{1, 2, 3, 7, 18};
  if (short_sweep()) return {1, 3};
  if (full_sweep()) {
    counts.clear();
    for (int places = 1; places <= 18; ++places) counts.push_back(places);
  }
  return counts;
}

class BetweenNodesFormulas : public testing::TestWithParam<int> {
 protected:
  template <class Check>
  void for_all(Check check) {
    for (const int places : place_counts()) {
      SCOPED_TRACE(std::to_string(GetParam()) + " nodes of " + std::to_string(places));
      Formulas formulas(GetParam(), places);
      check(formulas);
      if (HasFailure()) return;
    }
  }
};

Combiner addition() {
  Combiner combiner;
  combiner.function = [](void*, void* destination, const void* const* sources, std::size_t count, std::size_t bytes,
                         reduction::Order) { combine_copies(destination, sources, count, bytes, add_to); };
  return combiner;
}

TEST_P(BetweenNodesFormulas, Allgather) {
  constexpr std::size_t block = 16;
  for_all([](Formulas& f) {
    std::vector<std::byte> sent(block);
    std::vector<std::vector<std::byte>> received(f.ranks(), std::vector<std::byte>(block * f.ranks()));
    const auto arguments = [&](int rank) {
      AllgatherArguments of;
      of.send = sent.data();
      of.bytes = block;
      of.receive = Blocks::regular(received[static_cast<std::size_t>(rank)].data(), block);
      return of;
    };
    const Counted small = f.call<AllgatherArguments>("multi-object-bruck", block, arguments);
    EXPECT_EQ(small.rounds, f.logarithm());
    EXPECT_LE(small.of_rank, small.rounds) << "one message a round";
    for (const std::uint64_t bytes : small.sent) EXPECT_EQ(bytes, (f.n - 1) * f.p * block);
    const Counted large = f.call<AllgatherArguments>("multi-object-ring", block, arguments);
    EXPECT_EQ(large.rounds, f.n - 1);
    EXPECT_EQ(large.of_rank, f.n - 1);
    EXPECT_EQ(large.messages, f.n * f.p * (f.n - 1)) << "every rank in every step";
    for (const std::uint64_t bytes : large.sent) EXPECT_EQ(bytes, (f.n - 1) * f.p * block);
  });
}

TEST_P(BetweenNodesFormulas, ScatterAndGather) {
  constexpr std::size_t block = 16;
  for_all([](Formulas& f) {
    std::vector<std::byte> all(block * f.ranks()), one(block * f.ranks());
    const Counted scatter = f.call<ScatterArguments>("multi-object-tree", block, [&](int rank) {
      ScatterArguments of;
      of.send = Blocks::regular(all.data(), block);
      of.receive = one.data() + static_cast<std::size_t>(rank) * block;
      of.bytes = block;
      return of;
    });
    EXPECT_EQ(scatter.rounds, f.logarithm());
    EXPECT_EQ(scatter.messages, f.n - 1);
    EXPECT_LE(scatter.of_rank, scatter.rounds);
    EXPECT_EQ(scatter.sent[0], block * (f.n - 1) * f.p) << "C_b (N - 1) P";
    EXPECT_EQ(scatter.most_sent(), scatter.sent[0]);
    const Counted gather = f.call<GatherArguments>(
        "multi-object-tree", block,
        [&](int rank) {
          GatherArguments of;
          of.receive = Blocks::regular(all.data(), block);
          of.send = one.data() + static_cast<std::size_t>(rank) * block;
          of.bytes = block;
          return of;
        },
        true);
    EXPECT_EQ(gather.rounds, f.logarithm());
    EXPECT_EQ(gather.messages, f.n - 1);
    EXPECT_LE(gather.of_rank, gather.rounds);
    EXPECT_EQ(gather.received[0], block * (f.n - 1) * f.p);
    EXPECT_EQ(gather.most_received(), gather.received[0]);
  });
}

/// Sizes that only the root knows: they go ahead, 8 bytes for each rank.
TEST_P(BetweenNodesFormulas, ScattervAndGatherv) {
  constexpr std::size_t block = 16, size = 8;
  for_all([](Formulas& f) {
    std::vector<std::byte> all(block * f.ranks()), one(block * f.ranks());
    const Counted scatter = f.call<ScatterArguments>("multi-object-sizes-tree", block, [&](int rank) {
      ScatterArguments of;
      of.send = Blocks::regular(all.data(), block);
      of.receive = one.data() + static_cast<std::size_t>(rank) * block;
      of.bytes = block;
      of.regular = false;
      return of;
    });
    EXPECT_EQ(scatter.rounds, 2 * f.logarithm());
    EXPECT_EQ(scatter.messages, 2 * (f.n - 1));
    EXPECT_EQ(scatter.most_sent(), (block + size) * (f.n - 1) * f.p);
    const Counted gather = f.call<GatherArguments>(
        "multi-object-sizes-tree", block,
        [&](int rank) {
          GatherArguments of;
          of.receive = Blocks::regular(all.data(), block);
          of.send = one.data() + static_cast<std::size_t>(rank) * block;
          of.bytes = block;
          of.regular = false;
          return of;
        },
        true);
    EXPECT_EQ(gather.rounds, 2 * f.logarithm());
    EXPECT_EQ(gather.messages, 2 * (f.n - 1));
    EXPECT_EQ(gather.most_received(), (block + size) * (f.n - 1) * f.p);
  });
}

TEST_P(BetweenNodesFormulas, Allreduce) {
  for_all([](Formulas& f) {
    const Combiner combiner = addition();
    // So that there is a chunk of whole lines for each node.
    const std::size_t bytes = cache_line_bytes * f.n;
    std::vector<std::byte> sent(bytes);
    std::vector<std::vector<std::byte>> received(f.ranks(), std::vector<std::byte>(bytes));
    const auto arguments = [&](int rank) {
      AllreduceArguments of;
      of.send = sent.data();
      of.receive = received[static_cast<std::size_t>(rank)].data();
      of.count = bytes;
      of.combiner = &combiner;
      return of;
    };
    const Counted small = f.call<AllreduceArguments>("multi-object-exchange", bytes, arguments);
    EXPECT_EQ(small.rounds, f.logarithm());
    const std::uint64_t formula = bytes * f.p * f.logarithm();
    if (f.is_power()) {
      EXPECT_EQ(small.most_sent(), formula) << "C_b P ceil(log_{P+1} N)";
      EXPECT_EQ(small.bytes, f.n * formula);
      EXPECT_EQ(small.of_rank, small.rounds);
    } else {
      EXPECT_LE(small.most_received(), formula);
      EXPECT_LE(small.bytes, f.n * formula);
      EXPECT_LE(small.most_sent(), formula + bytes * f.logarithm()) << "one message more in a round";
    }
    const Counted large = f.call<AllreduceArguments>("multi-object-reduce-scatter-ring", bytes, arguments);
    EXPECT_EQ(large.rounds, (f.n - 1 + f.p - 1) / f.p + f.n - 1);
    for (const std::uint64_t of_node : large.sent) EXPECT_EQ(of_node, 2 * (bytes / f.n) * (f.n - 1));
    const Counted ordered = f.call<AllreduceArguments>("multi-object-ordered", bytes, arguments);
    EXPECT_EQ(ordered.rounds, f.logarithm());
    for (const std::uint64_t of_node : ordered.sent) EXPECT_EQ(of_node, (f.n - 1) * bytes);
  });
}

TEST_P(BetweenNodesFormulas, BcastAndReduce) {
  for_all([](Formulas& f) {
    const std::size_t bytes = cache_line_bytes * f.n;
    std::vector<std::vector<std::byte>> buffers(f.ranks(), std::vector<std::byte>(bytes));
    const auto bcast = [&](int rank) { return BcastArguments{buffers[static_cast<std::size_t>(rank)].data(), bytes}; };
    const Counted small = f.call<BcastArguments>("multi-object-tree", bytes, bcast);
    EXPECT_EQ(small.rounds, f.logarithm());
    EXPECT_EQ(small.messages, f.n - 1);
    EXPECT_LE(small.of_rank, small.rounds);
    EXPECT_EQ(small.bytes, (f.n - 1) * bytes);
    const Counted large = f.call<BcastArguments>("multi-object-scatter-ring", bytes, bcast);
    EXPECT_EQ(large.rounds, f.logarithm() + f.n - 1);
    EXPECT_EQ(large.sent[0], 2 * (f.n - 1) * (bytes / f.n));
    const Combiner combiner = addition();
    std::vector<std::byte> sent(bytes);
    const auto reduce = [&](int rank) {
      ReduceArguments of;
      of.send = sent.data();
      of.receive = buffers[static_cast<std::size_t>(rank)].data();
      of.count = bytes;
      of.combiner = &combiner;
      return of;
    };
    for (const char* const name : {"multi-object-tree", "multi-object-ordered"}) {
      const Counted reduced = f.call<ReduceArguments>(name, bytes, reduce, true);
      EXPECT_EQ(reduced.rounds, f.logarithm());
      EXPECT_EQ(reduced.messages, f.n - 1);
      EXPECT_LE(reduced.of_rank, reduced.rounds);
    }
  });
}

TEST_P(BetweenNodesFormulas, ReduceScatterAndScan) {
  for_all([](Formulas& f) {
    const Combiner combiner = addition();
    constexpr std::size_t part = 16;
    const std::size_t bytes = part * f.ranks();
    const std::vector<std::size_t> counts(f.ranks(), part);
    std::vector<std::byte> sent(bytes);
    std::vector<std::vector<std::byte>> received(f.ranks(), std::vector<std::byte>(bytes));
    const Counted scattered = f.call<ReduceScatterArguments>("multi-object-direct", bytes, [&](int rank) {
      ReduceScatterArguments of;
      of.send = sent.data();
      of.receive = received[static_cast<std::size_t>(rank)].data();
      of.counts = counts.data();
      of.count = bytes;
      of.combiner = &combiner;
      return of;
    });
    EXPECT_EQ(scattered.rounds, (f.n - 1 + f.p - 1) / f.p);
    for (const std::uint64_t of_node : scattered.sent) EXPECT_EQ(of_node, (f.n - 1) * (bytes / f.n));
    const Counted scan = f.call<ScanArguments>("multi-object-ordered", bytes, [&](int rank) {
      ScanArguments of;
      of.send = sent.data();
      of.receive = received[static_cast<std::size_t>(rank)].data();
      of.count = bytes;
      of.combiner = &combiner;
      return of;
    });
    EXPECT_EQ(scan.rounds, f.logarithm());
    for (const std::uint64_t of_node : scan.sent) EXPECT_EQ(of_node, (f.n - 1) * bytes);
  });
}

TEST_P(BetweenNodesFormulas, AlltoallAndBarrier) {
  constexpr std::size_t block = 4;
  for_all([](Formulas& f) {
    std::vector<std::byte> sent(block * f.ranks());
    std::vector<std::vector<std::byte>> received(f.ranks(), std::vector<std::byte>(block * f.ranks()));
    const Counted alltoall = f.call<AlltoallArguments>("multi-object-direct", block, [&](int rank) {
      AlltoallArguments of;
      of.send = Blocks::regular(sent.data(), block);
      of.receive = Blocks::regular(received[static_cast<std::size_t>(rank)].data(), block);
      return of;
    });
    EXPECT_EQ(alltoall.rounds, (f.n - 1 + f.p - 1) / f.p);
    EXPECT_EQ(alltoall.messages, f.n * (f.n - 1));
    EXPECT_EQ(alltoall.of_rank, alltoall.rounds);
    for (const std::uint64_t of_node : alltoall.sent) EXPECT_EQ(of_node, (f.n - 1) * f.p * f.p * block);
    // A message for each two ranks: more of them than it takes to see.
    if (f.ranks() <= 64) {
      const Counted pairs = f.call<AlltoallArguments>("pairs", block, [&](int rank) {
        AlltoallArguments of;
        of.send = Blocks::regular(sent.data(), block);
        of.receive = Blocks::regular(received[static_cast<std::size_t>(rank)].data(), block);
        return of;
      });
      EXPECT_EQ(pairs.rounds, 1u);
      EXPECT_EQ(pairs.of_rank, (f.n - 1) * f.p);
    }
    const Counted barrier =
        f.call<BarrierArguments>("multi-object-dissemination", 0, [](int) { return BarrierArguments{}; });
    EXPECT_EQ(barrier.rounds, f.logarithm());
    EXPECT_LE(barrier.of_rank, barrier.rounds);
    EXPECT_EQ(barrier.bytes, 0u);
  });
}

/// Where a block is empty there is no message, since both its ends know: each call sends as many as it has blocks.
class BetweenNodesEmptyBlocks : public testing::Test {
 protected:
  BetweenNodesEmptyBlocks() : ranks_(node_of_rank({2, 3, 1, 2}, Order::in_turn), settings()) {}

  /// So that blocks go in several pieces.
  static Settings settings() {
    Settings made;
    made.segment = 1024;
    return made;
  }
  std::size_t count() const { return static_cast<std::size_t>(ranks_.count()); }
  bool between(std::size_t from, std::size_t to) const {
    return ranks_.nodes().node_of(static_cast<int>(from)) != ranks_.nodes().node_of(static_cast<int>(to));
  }
  /// Messages of all ranks while calls are made. They are called twice, as programs do with persistent ones.
  template <class Arguments>
  std::uint64_t messages(const char* name, const std::function<Arguments(int)>& arguments) {
    const std::uint64_t before = all_sent();
    for (const auto* algorithm : algorithms_between_nodes<Arguments>())
      if (std::string(algorithm->name) == name) {
        EXPECT_TRUE(ranks_.call(*algorithm, arguments, 2)) << "hangs";
      }
    EXPECT_EQ(ranks_.unmatched(), 0u);
    return (all_sent() - before) / 2;
  }

 private:
  std::uint64_t all_sent() const {
    std::uint64_t sent = 0, received = 0;
    for (int rank = 0; rank < ranks_.count(); ++rank) {
      sent += ranks_.traffic(rank).sent;
      received += ranks_.traffic(rank).received;
    }
    EXPECT_EQ(sent, received);
    return sent;
  }
  SpanningRanks ranks_;
};

TEST_F(BetweenNodesEmptyBlocks, AlltoallvSendsThoseThatAreNone) {
  // Rank i has something for rank i + distance, at these distances.
  const std::vector<std::vector<std::size_t>> patterns{{}, {1}, {0, 3, 5}};
  for (const std::vector<std::size_t>& distances : patterns) {
    std::uint64_t expected = 0;
    std::vector<std::vector<std::size_t>> to_go(count(), std::vector<std::size_t>(count())), to_come = to_go;
    std::vector<std::vector<std::byte>> sent(count(), std::vector<std::byte>(3000)), received = sent;
    const std::vector<std::ptrdiff_t> offsets(count());
    for (std::size_t from = 0; from < count(); ++from)
      for (const std::size_t distance : distances) {
        const std::size_t to = (from + distance) % count();
        to_go[from][to] = to_come[to][from] = 3000;
        expected += between(from, to) ? 1 : 0;
      }
    EXPECT_EQ(messages<AlltoallArguments>(
                  "pairs",
                  [&](int rank) {
                    const auto r = static_cast<std::size_t>(rank);
                    AlltoallArguments of;
                    of.send = Blocks::irregular(sent[r].data(), to_go[r].data(), offsets.data());
                    of.receive = Blocks::irregular(received[r].data(), to_come[r].data(), offsets.data());
                    of.regular = false;
                    return of;
                  }),
              expected);
  }
}

TEST_F(BetweenNodesEmptyBlocks, NeighborsSendThoseThatAreNone) {
  const std::size_t sizes[] = {0, 8};
  const std::ptrdiff_t offsets[] = {0, 0};
  const int blocks[] = {1, 0};
  std::vector<std::vector<int>> around(count());
  std::vector<std::byte> sent(8);
  std::vector<std::vector<std::byte>> received(count(), sent);
  const std::size_t turned[] = {8, 0};
  for (std::size_t rank = 0; rank < count(); ++rank)
    around[rank] = {static_cast<int>((rank + count() - 1) % count()), static_cast<int>((rank + 1) % count())};
  EXPECT_EQ(messages<NeighborArguments>("pairs",
                                        [&](int rank) {
                                          const auto r = static_cast<std::size_t>(rank);
                                          NeighborArguments of;
                                          of.sources = of.destinations = around[r].data();
                                          of.source_blocks = of.destination_blocks = blocks;
                                          of.source_count = of.destination_count = 2;
                                          of.send = Blocks::irregular(sent.data(), sizes, offsets);
                                          of.receive = Blocks::irregular(received[r].data(), turned, offsets);
                                          of.regular = false;
                                          return of;
                                        }),
            count());
}

/// Scatterv and Gatherv tell sizes along the tree; then there is nothing to tell. A piece of Reduce_scatter is of few nodes.
TEST_F(BetweenNodesEmptyBlocks, TreesAndPiecesHaveMessagesOfWhatIsThere) {
  const std::vector<std::size_t> none(count());
  const std::vector<std::ptrdiff_t> offsets(count());
  std::byte nothing{};
  EXPECT_EQ(messages<ScatterArguments>("multi-object-sizes-tree",
                                       [&](int) {
                                         ScatterArguments of;
                                         of.send = Blocks::irregular(&nothing, none.data(), offsets.data());
                                         of.receive = &nothing;
                                         of.regular = false;
                                         return of;
                                       }),
            3u);
  EXPECT_EQ(messages<GatherArguments>("multi-object-sizes-tree",
                                      [&](int) {
                                        GatherArguments of;
                                        of.receive = Blocks::irregular(&nothing, none.data(), offsets.data());
                                        of.send = &nothing;
                                        of.regular = false;
                                        return of;
                                      }),
            3u);
  const Combiner combiner = addition();
  std::vector<std::size_t> counts(count());
  counts[3] = 2000;
  std::vector<std::byte> sent(2000);
  std::vector<std::vector<std::byte>> received(count(), sent);
  const std::size_t piece = settings().segment / 3 / cache_line_bytes * cache_line_bytes;
  const std::uint64_t pieces = (2000 + piece - 1) / piece;
  EXPECT_EQ(messages<ReduceScatterArguments>("multi-object-direct",
                                             [&](int rank) {
                                               ReduceScatterArguments of;
                                               of.send = sent.data();
                                               of.receive = received[static_cast<std::size_t>(rank)].data();
                                               of.counts = counts.data();
                                               of.count = 2000;
                                               of.combiner = &combiner;
                                               return of;
                                             }),
            3 * pieces);
  EXPECT_GT(messages<BarrierArguments>("multi-object-dissemination", [](int) { return BarrierArguments{}; }), 0u);
}

INSTANTIATE_TEST_SUITE_P(Nodes, BetweenNodesFormulas, testing::ValuesIn(node_counts()),
                         [](const auto& info) { return std::to_string(info.param) + "_nodes"; });

}  // namespace
}  // namespace tutti::test
