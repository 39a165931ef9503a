// Every algorithm between nodes, on nodes of equal and unequal size, with ranks in any order over them: what arrives is
// what was sent, and what is combined is combined in the order of ranks where that matters.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "collectives/affine.h"
#include "collectives/block_patterns.h"
#include "collectives/spanning_ranks.h"

namespace tutti::test {
namespace {

struct Shape {
  std::vector<int> places;
  Order order;
};

std::string name_of(const Shape& shape) {
  std::string name = shape.order == Order::node_by_node ? "blocks"
                     : shape.order == Order::in_turn    ? "turns"
                                                        : "shuffled";
  for (const int places : shape.places) name += "_" + std::to_string(places);
  return name;
}

std::vector<Shape> shapes() {
  std::vector<std::vector<int>> nodes{{2, 2, 2, 2}, {1, 3, 2}, {1, 1, 1, 1}, {3, 3, 3}, {5}, {2, 1, 4, 1, 3}};
  if (short_sweep()) nodes = {{2, 2, 2, 2}, {1, 3, 2}};
  if (full_sweep())
    nodes.insert(nodes.end(), {{1, 1}, {4, 1}, {1, 6}, {2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, {7, 3, 5, 1, 1, 2, 6}});
  std::vector<Shape> all;
  for (const auto& places : nodes)
    for (const Order order : {Order::node_by_node, Order::in_turn, Order::shuffled}) all.push_back({places, order});
  return all;
}

class BetweenNodes : public testing::TestWithParam<Shape> {
 protected:
  /// Runs an algorithm in both forms, for some sizes, and then again while pieces are small. prepare(bytes, call): makes
  /// buffers; arguments(rank); check(rank): what they hold then.
  template <class Arguments>
  void sweep(const SpanningAlgorithm<Arguments>& algorithm,
             const std::function<void(int ranks, std::size_t bytes, int call)>& prepare,
             const std::function<Arguments(int rank)>& arguments, const std::function<void(int rank)>& check) {
    SCOPED_TRACE(algorithm.name);
    Settings small_pieces;
    small_pieces.segment = 1024;
    int call = 0;
    for (const bool pieces : {false, true}) {
      SpanningRanks ranks(node_of_rank(GetParam().places, GetParam().order), pieces ? small_pieces : Settings{});
      if (!algorithm.can(ranks.nodes(), (prepare(ranks.count(), 8, 0), arguments(0)))) return;
      for (const std::size_t bytes :
           {std::size_t{0}, std::size_t{1}, std::size_t{24}, std::size_t{777}, std::size_t{5000}}) {
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
  /// A few roots: the first rank, the last, and one in the middle.
  static std::vector<int> roots() {
    int ranks = 0;
    for (const int places : GetParam().places) ranks += places;
    return {0, ranks / 2, ranks - 1};
  }
};

using Buffers = std::vector<std::vector<std::byte>>;

TEST_P(BetweenNodes, BarrierLetsNobodyGoBeforeAllHaveCome) {
  for (const auto* algorithm : algorithms_between_nodes<BarrierArguments>()) {
    SpanningRanks ranks(node_of_rank(GetParam().places, GetParam().order));
    std::atomic<int> here{0};
    ranks.run([&](int, const Spanning& spanning) {
      for (int call = 1; call <= 20; ++call) {
        here.fetch_add(1);
        call_between_nodes(spanning, *algorithm, BarrierArguments{});
        EXPECT_GE(here.load(), call * ranks.count());
      }
    });
    EXPECT_EQ(ranks.unmatched(), 0u);
  }
}

TEST_P(BetweenNodes, BcastGivesAllWhatTheRootHas) {
  for (const auto* algorithm : algorithms_between_nodes<BcastArguments>())
    for (const int root : roots()) {
      Buffers buffers;
      std::vector<std::byte> expected;
      sweep<BcastArguments>(
          *algorithm,
          [&](int ranks, std::size_t bytes, int call) {
            expected.assign(bytes, guard);
            fill_block(expected.data(), bytes, root, 0, call);
            buffers.assign(static_cast<std::size_t>(ranks), std::vector<std::byte>(bytes, guard));
            buffers[static_cast<std::size_t>(root)] = expected;
          },
          [&](int rank) {
            auto& buffer = buffers[static_cast<std::size_t>(rank)];
            return BcastArguments{buffer.data(), buffer.size(), root};
          },
          [&](int rank) {
            EXPECT_EQ(first_difference(buffers[static_cast<std::size_t>(rank)], expected), expected.size())
                << "rank " << rank;
          });
    }
}

TEST_P(BetweenNodes, ScatterGivesEachItsBlock) {
  for (const auto* algorithm : algorithms_between_nodes<ScatterArguments>())
    for (const int root : roots())
      for (const bool in_place : {false, true}) {
        Buffers received;
        std::optional<BlockBuffer> sent;
        std::size_t size = 0;
        int salt = 0;
        sweep<ScatterArguments>(
            *algorithm,
            [&](int ranks, std::size_t bytes, int call) {
              size = bytes;
              salt = call;
              sent.emplace(std::vector<std::size_t>(static_cast<std::size_t>(ranks), bytes), 0);
              for (int to = 0; to < ranks; ++to)
                fill_block(sent->block(static_cast<std::size_t>(to)), bytes, root, to, call);
              received.assign(static_cast<std::size_t>(ranks), std::vector<std::byte>(bytes + 1, guard));
            },
            [&](int rank) {
              ScatterArguments arguments;
              if (rank == root) arguments.send = Blocks::regular(sent->bytes.data() + 1, size);
              arguments.receive = in_place && rank == root ? nullptr : received[static_cast<std::size_t>(rank)].data();
              arguments.bytes = size;
              arguments.root = root;
              return arguments;
            },
            [&](int rank) {
              std::vector<std::byte> expected(size + 1, guard);
              if (!in_place || rank != root) fill_block(expected.data(), size, root, rank, salt);
              EXPECT_EQ(first_difference(received[static_cast<std::size_t>(rank)], expected), expected.size())
                  << "rank " << rank;
            });
      }
}

TEST_P(BetweenNodes, GatherGivesTheRootAllBlocks) {
  for (const auto* algorithm : algorithms_between_nodes<GatherArguments>())
    for (const int root : roots())
      for (const bool in_place : {false, true}) {
        Buffers sent;
        std::optional<BlockBuffer> received, expected;
        std::size_t size = 0;
        sweep<GatherArguments>(
            *algorithm,
            [&](int ranks, std::size_t bytes, int call) {
              size = bytes;
              sent.assign(static_cast<std::size_t>(ranks), std::vector<std::byte>(bytes));
              received.emplace(std::vector<std::size_t>(static_cast<std::size_t>(ranks), bytes), 0);
              expected = received;
              for (int from = 0; from < ranks; ++from) {
                const auto f = static_cast<std::size_t>(from);
                fill_block(sent[f].data(), bytes, from, root, call);
                fill_block(expected->block(f), bytes, from, root, call);
              }
              if (in_place) fill_block(received->block(static_cast<std::size_t>(root)), bytes, root, root, call);
            },
            [&](int rank) {
              GatherArguments arguments;
              arguments.send = in_place && rank == root ? nullptr : sent[static_cast<std::size_t>(rank)].data();
              arguments.bytes = size;
              if (rank == root) arguments.receive = Blocks::regular(received->bytes.data() + 1, size);
              arguments.root = root;
              return arguments;
            },
            [&](int rank) {
              if (rank != root) return;
              EXPECT_EQ(first_difference(received->bytes, expected->bytes), expected->bytes.size());
            });
      }
}

/// Allgather, and Allgatherv with blocks of different sizes in reverse order.
TEST_P(BetweenNodes, AllgatherGivesAllAllBlocks) {
  for (const auto* algorithm : algorithms_between_nodes<AllgatherArguments>())
    for (const bool regular : {true, false})
      for (const bool in_place : {false, true}) {
        Buffers sent;
        std::vector<BlockBuffer> received;
        std::optional<BlockBuffer> expected;
        sweep<AllgatherArguments>(
            *algorithm,
            [&](int ranks, std::size_t bytes, int call) {
              std::vector<std::size_t> sizes;
              for (int rank = 0; rank < ranks; ++rank)
                sizes.push_back(regular ? bytes : bytes * static_cast<std::size_t>(rank % 3));
              expected.emplace(sizes, regular ? 0 : 3, !regular);
              received.assign(static_cast<std::size_t>(ranks), *expected);
              sent.clear();
              for (std::size_t from = 0; from < sizes.size(); ++from) {
                fill_block(expected->block(from), sizes[from], static_cast<int>(from), 0, call);
                sent.emplace_back(sizes[from]);
                fill_block(sent.back().data(), sizes[from], static_cast<int>(from), 0, call);
                if (in_place) fill_block(received[from].block(from), sizes[from], static_cast<int>(from), 0, call);
              }
            },
            [&](int rank) {
              const auto r = static_cast<std::size_t>(rank);
              AllgatherArguments arguments;
              arguments.send = in_place ? nullptr : sent[r].data();
              arguments.bytes = sent[r].size();
              arguments.receive = received[r].blocks(regular);
              // Of nothing there may be no address.
              if (!in_place && sent[r].empty()) arguments.send = reinterpret_cast<const std::byte*>(&arguments);
              return arguments;
            },
            [&](int rank) {
              EXPECT_EQ(first_difference(received[static_cast<std::size_t>(rank)].bytes, expected->bytes),
                        expected->bytes.size())
                  << "rank " << rank;
            });
      }
}

TEST_P(BetweenNodes, AlltoallGivesEachWhatIsForIt) {
  for (const auto* algorithm : algorithms_between_nodes<AlltoallArguments>()) {
    std::vector<BlockBuffer> sent, received;
    std::size_t size = 0;
    int salt = 0;
    sweep<AlltoallArguments>(
        *algorithm,
        [&](int ranks, std::size_t bytes, int call) {
          size = bytes;
          salt = call;
          const std::vector<std::size_t> sizes(static_cast<std::size_t>(ranks), bytes);
          received.assign(sizes.size(), BlockBuffer(sizes, 0));
          sent = received;
          for (int from = 0; from < ranks; ++from)
            for (int to = 0; to < ranks; ++to)
              fill_block(sent[static_cast<std::size_t>(from)].block(static_cast<std::size_t>(to)), bytes, from, to,
                         call);
        },
        [&](int rank) {
          AlltoallArguments arguments;
          arguments.send = Blocks::regular(sent[static_cast<std::size_t>(rank)].bytes.data() + 1, size);
          arguments.receive = Blocks::regular(received[static_cast<std::size_t>(rank)].bytes.data() + 1, size);
          return arguments;
        },
        [&](int rank) {
          BlockBuffer expected(std::vector<std::size_t>(received.size(), size), 0);
          for (std::size_t from = 0; from < received.size(); ++from)
            fill_block(expected.block(from), size, static_cast<int>(from), rank, salt);
          EXPECT_EQ(first_difference(received[static_cast<std::size_t>(rank)].bytes, expected.bytes),
                    expected.bytes.size())
              << "rank " << rank;
        });
  }
}

/// What reductions get and give: elements of 8 bytes, and an operator that does not commute.
struct Reduction {
  std::size_t element_bytes = 8;
  Combiner combiner;
  Buffers sent, received;
  std::vector<std::byte> expected;
  std::size_t bytes = 0;
  bool in_place = false;

  explicit Reduction(bool place) : combiner(composition(element_bytes, false)), in_place(place) {}
  void prepare(int ranks, std::size_t wanted, int call) {
    bytes = wanted / element_bytes * element_bytes;
    sent.assign(static_cast<std::size_t>(ranks), std::vector<std::byte>(bytes));
    for (int rank = 0; rank < ranks; ++rank) fill(sent[static_cast<std::size_t>(rank)], bytes, call, rank);
    received = in_place ? sent : Buffers(sent.size(), std::vector<std::byte>(bytes, guard));
    expected.assign(bytes, guard);
    write_composed(expected.data(), composed(ranks).data(), 0, bytes, call);
  }
  const std::byte* send(int rank) const { return (in_place ? received : sent)[static_cast<std::size_t>(rank)].data(); }
};

TEST_P(BetweenNodes, AllreduceCombinesInTheOrderOfRanks) {
  for (const auto* algorithm : algorithms_between_nodes<AllreduceArguments>())
    for (const bool in_place : {false, true}) {
      Reduction reduction(in_place);
      sweep<AllreduceArguments>(
          *algorithm, [&](int ranks, std::size_t bytes, int call) { reduction.prepare(ranks, bytes, call); },
          [&](int rank) {
            AllreduceArguments arguments;
            arguments.send = reduction.send(rank);
            arguments.receive = reduction.received[static_cast<std::size_t>(rank)].data();
            arguments.count = reduction.bytes / reduction.element_bytes;
            arguments.combiner = &reduction.combiner;
            return arguments;
          },
          [&](int rank) {
            EXPECT_EQ(first_difference(reduction.received[static_cast<std::size_t>(rank)], reduction.expected),
                      reduction.bytes)
                << "rank " << rank;
          });
    }
}

TEST_P(BetweenNodes, ReduceCombinesInTheOrderOfRanks) {
  for (const auto* algorithm : algorithms_between_nodes<ReduceArguments>())
    for (const int root : roots()) {
      Reduction reduction(root != 0);
      sweep<ReduceArguments>(
          *algorithm, [&](int ranks, std::size_t bytes, int call) { reduction.prepare(ranks, bytes, call); },
          [&](int rank) {
            ReduceArguments arguments;
            arguments.send = reduction.send(rank);
            if (rank == root) arguments.receive = reduction.received[static_cast<std::size_t>(rank)].data();
            arguments.count = reduction.bytes / reduction.element_bytes;
            arguments.combiner = &reduction.combiner;
            arguments.root = root;
            return arguments;
          },
          [&](int rank) {
            if (rank != root) return;
            EXPECT_EQ(first_difference(reduction.received[static_cast<std::size_t>(rank)], reduction.expected),
                      reduction.bytes);
          });
    }
}

/// A sum of doubles of very different size, whose bits depend on how it is bracketed.
TEST_P(BetweenNodes, AllreduceGivesEveryRankTheSameBits) {
  Combiner sum;
  sum.element_bytes = sizeof(double);
  sum.function = [](void*, void* destination, const void* const* sources, std::size_t count, std::size_t elements) {
    for (std::size_t i = 0; i < elements; ++i) {
      double value = static_cast<const double*>(sources[0])[i];
      for (std::size_t s = 1; s < count; ++s) value += static_cast<const double*>(sources[s])[i];
      static_cast<double*>(destination)[i] = value;
    }
  };
  for (const auto* algorithm : algorithms_between_nodes<AllreduceArguments>()) {
    SCOPED_TRACE(algorithm->name);
    SpanningRanks ranks(node_of_rank(GetParam().places, GetParam().order));
    constexpr std::size_t count = 700;
    const auto number = static_cast<std::size_t>(ranks.count());
    std::vector<std::vector<double>> sent(number, std::vector<double>(count)), received = sent;
    std::vector<double> expected(count);
    std::mt19937_64 random(7);
    for (auto& values : sent)
      for (std::size_t i = 0; i < count; ++i) {
        values[i] = static_cast<double>(random()) * (random() % 2 ? 1.0 : 1e-18);
        expected[i] += values[i];
      }
    ASSERT_TRUE(ranks.call<AllreduceArguments>(*algorithm, [&](int rank) {
      AllreduceArguments arguments;
      arguments.send = reinterpret_cast<const std::byte*>(sent[static_cast<std::size_t>(rank)].data());
      arguments.receive = reinterpret_cast<std::byte*>(received[static_cast<std::size_t>(rank)].data());
      arguments.count = count;
      arguments.combiner = &sum;
      return arguments;
    }));
    for (std::size_t i = 0; i < count; ++i) EXPECT_NEAR(received[0][i], expected[i], expected[i] * 1e-12);
    for (const auto& values : received)
      EXPECT_EQ(std::memcmp(values.data(), received[0].data(), count * sizeof(double)), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, BetweenNodes, testing::ValuesIn(shapes()),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace tutti::test
