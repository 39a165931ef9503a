// Between nodes, what is combined is combined in the order of ranks where that matters, and in the same way for all.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "collectives/affine.h"
#include "collectives/block_patterns.h"
#include "collectives/spanning_sweep.h"

namespace tutti::test {
namespace {

class BetweenNodesReductions : public SpanningSweep {};

TEST(ReductionsBetweenNodes, OfManyRunsAreCutSoThatNoNodeLendsMore) {
  // A node has all runs' results at a time: with a rank on each of eight nodes eight, in an eighth of what it lends.
  const auto lent_with = [](int nodes) {
    std::vector<int> each_for_itself;
    for (int node = 0; node < nodes; ++node) each_for_itself.push_back(node);
    SpanningRanks ranks(each_for_itself);
    const std::size_t count = (segment_bytes(Settings{}) * 2) / sizeof(double);
    std::vector<std::vector<double>> sent(each_for_itself.size(), std::vector<double>(count, 1)), received = sent;
    Combiner combiner;
    combiner.element_bytes = sizeof(double);
    combiner.function = [](void*, void* destination, const void* const* sources, std::size_t source_count,
                           std::size_t elements, reduction::Order) {
      for (std::size_t i = 0; i < elements; ++i) {
        double sum = 0;
        for (std::size_t from = 0; from < source_count; ++from) sum += static_cast<const double*>(sources[from])[i];
        static_cast<double*>(destination)[i] = sum;
      }
    };
    ranks.run([&](int rank, const Spanning& spanning) {
      const auto r = static_cast<std::size_t>(rank);
      ScanArguments arguments;
      arguments.send = reinterpret_cast<const std::byte*>(sent[r].data());
      arguments.receive = reinterpret_cast<std::byte*>(received[r].data());
      arguments.count = count;
      arguments.combiner = &combiner;
      call_between_nodes(spanning, *algorithms_between_nodes<ScanArguments>().front(), arguments);
    });
    for (std::size_t rank = 0; rank < received.size(); ++rank) {
      EXPECT_EQ(received[rank].front(), static_cast<double>(rank + 1));
      EXPECT_EQ(received[rank].back(), static_cast<double>(rank + 1));
    }
    return ranks.lent_bytes(0);
  };
  EXPECT_LE(lent_with(8), lent_with(2) + segment_bytes(Settings{}));
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

TEST_P(BetweenNodesReductions, AllreduceCombinesInTheOrderOfRanks) {
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

TEST_P(BetweenNodesReductions, ReduceCombinesInTheOrderOfRanks) {
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

/// Of ranks up to this one, or before it.
TEST_P(BetweenNodesReductions, ScanAndExscanCombineTheRanksBefore) {
  for (const auto* algorithm : algorithms_between_nodes<ScanArguments>())
    for (const bool exclusive : {false, true})
      for (const bool in_place : {false, true}) {
        Reduction reduction(in_place);
        int salt = 0;
        sweep<ScanArguments>(
            *algorithm,
            [&](int ranks, std::size_t bytes, int call) {
              reduction.prepare(ranks, bytes, call);
              salt = call;
            },
            [&](int rank) {
              ScanArguments arguments;
              arguments.send = reduction.send(rank);
              arguments.receive = reduction.received[static_cast<std::size_t>(rank)].data();
              arguments.count = reduction.bytes / reduction.element_bytes;
              arguments.combiner = &reduction.combiner;
              arguments.exclusive = exclusive;
              return arguments;
            },
            [&](int rank) {
              const auto& received = reduction.received[static_cast<std::size_t>(rank)];
              const int combined = rank + (exclusive ? 0 : 1);
              std::vector<std::byte> expected(reduction.bytes, guard);
              if (combined > 0)
                write_composed(expected.data(), composed(combined).data(), 0, reduction.bytes, salt);
              else if (in_place)
                expected = reduction.sent[0];
              EXPECT_EQ(first_difference(received, expected), reduction.bytes) << "rank " << rank;
            });
      }
}

TEST_P(BetweenNodesReductions, ReduceScatterGivesEachItsPart) {
  for (const auto* algorithm : algorithms_between_nodes<ReduceScatterArguments>())
    for (const bool equal : {true, false}) {
      Reduction reduction(false);
      std::vector<std::size_t> counts;
      sweep<ReduceScatterArguments>(
          *algorithm,
          [&](int ranks, std::size_t bytes, int call) {
            counts.clear();
            std::size_t sum = 0;
            for (int rank = 0; rank < ranks; ++rank) {
              counts.push_back(equal ? bytes / 16 : bytes / 16 * static_cast<std::size_t>(rank % 3));
              sum += counts.back();
            }
            reduction.prepare(ranks, sum * reduction.element_bytes, call);
          },
          [&](int rank) {
            ReduceScatterArguments arguments;
            arguments.send = reduction.send(rank);
            arguments.receive = reduction.received[static_cast<std::size_t>(rank)].data();
            arguments.counts = counts.data();
            arguments.count = reduction.bytes / reduction.element_bytes;
            arguments.combiner = &reduction.combiner;
            return arguments;
          },
          [&](int rank) {
            std::size_t before = 0;
            for (int i = 0; i < rank; ++i) before += counts[static_cast<std::size_t>(i)] * reduction.element_bytes;
            const std::size_t own = counts[static_cast<std::size_t>(rank)] * reduction.element_bytes;
            std::vector<std::byte> expected(reduction.bytes, guard);
            std::copy_n(reduction.expected.begin() + static_cast<std::ptrdiff_t>(before), own, expected.begin());
            EXPECT_EQ(first_difference(reduction.received[static_cast<std::size_t>(rank)], expected), expected.size())
                << "rank " << rank;
          });
    }
}

/// Where ranks are not in the order of nodes, only operators that commute have the trees.
TEST_P(BetweenNodesReductions, SumsAreOfAllRanks) {
  Combiner sum;
  sum.function = [](void*, void* destination, const void* const* sources, std::size_t count, std::size_t bytes,
                    reduction::Order) { combine_copies(destination, sources, count, bytes, add_to); };
  Reduction reduction(false);
  std::vector<std::byte> expected;
  const auto prepare = [&](int ranks, std::size_t bytes, int call) {
    reduction.prepare(ranks, bytes, call);
    expected.assign(reduction.bytes, std::byte{0});
    for (const auto& sent : reduction.sent) add_to(expected.data(), sent.data(), reduction.bytes);
  };
  const auto fill_in = [&](auto arguments, int rank) {
    arguments.send = reduction.send(rank);
    arguments.receive = reduction.received[static_cast<std::size_t>(rank)].data();
    arguments.count = reduction.bytes;
    arguments.combiner = &sum;
    return arguments;
  };
  for (const auto* algorithm : algorithms_between_nodes<AllreduceArguments>())
    sweep<AllreduceArguments>(
        *algorithm, prepare, [&](int rank) { return fill_in(AllreduceArguments{}, rank); },
        [&](int rank) {
          EXPECT_EQ(first_difference(reduction.received[static_cast<std::size_t>(rank)], expected), expected.size());
        });
  for (const auto* algorithm : algorithms_between_nodes<ReduceArguments>())
    for (const int root : roots())
      sweep<ReduceArguments>(
          *algorithm, prepare,
          [&](int rank) {
            ReduceArguments arguments = fill_in(ReduceArguments{}, rank);
            arguments.root = root;
            return arguments;
          },
          [&](int rank) {
            if (rank != root) return;
            EXPECT_EQ(first_difference(reduction.received[static_cast<std::size_t>(rank)], expected), expected.size());
          });
}

/// A sum of doubles of very different size, whose bits depend on how it is bracketed.
TEST_P(BetweenNodesReductions, AllreduceGivesEveryRankTheSameBits) {
  Combiner sum;
  sum.element_bytes = sizeof(double);
  sum.function = [](void*, void* destination, const void* const* sources, std::size_t count, std::size_t elements,
                    reduction::Order) {
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

INSTANTIATE_TEST_SUITE_P(Shapes, BetweenNodesReductions, testing::ValuesIn(spanning_shapes()),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace tutti::test
