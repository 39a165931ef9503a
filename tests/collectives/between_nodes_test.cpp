// Between nodes, what arrives is what was sent.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>

#include "collectives/block_patterns.h"
#include "collectives/spanning_sweep.h"

namespace tutti::test {
namespace {

class BetweenNodes : public SpanningSweep {};

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

template <class Arguments>
const selection::Algorithm<Arguments>& algorithm_named(const std::string& name) {
  for (const auto* each : algorithms_between_nodes<Arguments>())
    if (name == each->name) return *each;
  throw std::invalid_argument(name);
}

TEST(BetweenNodesCalls, OfOneNodeThatDifferAreFoundOut) {
  const auto& tree = algorithm_named<BcastArguments>("multi-object-tree");
  // One algorithm's name, two collectives; or two sizes.
  for (const bool reduces : {true, false}) {
    SpanningRanks ranks({0, 0, 1});
    std::vector<std::byte> data(8000);
    Combiner combiner;
    int told = 0;
    ranks.on_two(
        0, 1,
        [&](const Spanning& spanning, int which) {
          if (which && reduces)
            return prepare_between_nodes(spanning, algorithm_named<ReduceArguments>("multi-object-tree"),
                                         ReduceArguments{data.data(), data.data(), 4000, &combiner, 2});
          return prepare_between_nodes(spanning, tree, BcastArguments{data.data(), which ? 8000u : 4000u, 2});
        },
        [&](PendingCall& call) {
          try {
            call.progress();
          } catch (const Disagreement&) {
            ++told;
          }
        });
    EXPECT_GE(told, 1) << (reduces ? "reduce" : "8000 bytes");
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

/// Sizes that only the root knows all of.
std::vector<std::size_t> irregular_sizes(int ranks, std::size_t bytes) {
  std::vector<std::size_t> sizes;
  for (int rank = 0; rank < ranks; ++rank) sizes.push_back(bytes * static_cast<std::size_t>((rank + 1) % 3));
  return sizes;
}

TEST_P(BetweenNodes, ScattervGivesEachItsBlock) {
  for (const auto* algorithm : algorithms_between_nodes<ScatterArguments>())
    for (const int root : roots()) {
      Buffers received;
      std::optional<BlockBuffer> sent;
      int salt = 0;
      sweep<ScatterArguments>(
          *algorithm,
          [&](int ranks, std::size_t bytes, int call) {
            salt = call;
            sent.emplace(irregular_sizes(ranks, bytes), 5, true);
            received.clear();
            for (int to = 0; to < ranks; ++to) {
              const auto t = static_cast<std::size_t>(to);
              fill_block(sent->block(t), sent->sizes[t], root, to, call);
              received.emplace_back(sent->sizes[t] + 1, guard);
            }
          },
          [&](int rank) {
            const auto r = static_cast<std::size_t>(rank);
            ScatterArguments arguments;
            if (rank == root) arguments.send = sent->blocks(false);
            arguments.receive = received[r].data();
            arguments.bytes = sent->sizes[r];
            arguments.root = root;
            arguments.regular = false;
            return arguments;
          },
          [&](int rank) {
            const auto r = static_cast<std::size_t>(rank);
            std::vector<std::byte> expected(sent->sizes[r] + 1, guard);
            fill_block(expected.data(), sent->sizes[r], root, rank, salt);
            EXPECT_EQ(first_difference(received[r], expected), expected.size()) << "rank " << rank;
          });
    }
}

TEST_P(BetweenNodes, GathervGivesTheRootAllBlocks) {
  for (const auto* algorithm : algorithms_between_nodes<GatherArguments>())
    for (const int root : roots()) {
      Buffers sent;
      std::optional<BlockBuffer> received, expected;
      sweep<GatherArguments>(
          *algorithm,
          [&](int ranks, std::size_t bytes, int call) {
            received.emplace(irregular_sizes(ranks, bytes), 5, true);
            expected = received;
            sent.clear();
            for (int from = 0; from < ranks; ++from) {
              const auto f = static_cast<std::size_t>(from);
              fill_block(expected->block(f), expected->sizes[f], from, root, call);
              sent.emplace_back(expected->sizes[f] + 1);
              fill_block(sent.back().data(), expected->sizes[f], from, root, call);
            }
          },
          [&](int rank) {
            GatherArguments arguments;
            arguments.send = sent[static_cast<std::size_t>(rank)].data();
            arguments.bytes = expected->sizes[static_cast<std::size_t>(rank)];
            if (rank == root) arguments.receive = received->blocks(false);
            arguments.root = root;
            arguments.regular = false;
            return arguments;
          },
          [&](int rank) {
            if (rank != root) return;
            EXPECT_EQ(first_difference(received->bytes, expected->bytes), expected->bytes.size());
          });
    }
}

/// What rank `from` has for rank `to`; some have nothing.
std::size_t pair_bytes(std::size_t bytes, int from, int to) {
  return bytes * static_cast<std::size_t>((from + 2 * to) % 4) / 2;
}

TEST_P(BetweenNodes, AlltoallvGivesEachWhatIsForIt) {
  for (const auto* algorithm : algorithms_between_nodes<AlltoallArguments>()) {
    std::vector<BlockBuffer> sent, received, expected;
    sweep<AlltoallArguments>(
        *algorithm,
        [&](int ranks, std::size_t bytes, int call) {
          sent.clear();
          received.clear();
          for (int rank = 0; rank < ranks; ++rank) {
            std::vector<std::size_t> to_go, to_come;
            for (int other = 0; other < ranks; ++other) {
              to_go.push_back(pair_bytes(bytes, rank, other));
              to_come.push_back(pair_bytes(bytes, other, rank));
            }
            sent.emplace_back(to_go, 3);
            received.emplace_back(to_come, 2, true);
          }
          expected = received;
          for (int from = 0; from < ranks; ++from)
            for (int to = 0; to < ranks; ++to) {
              const auto f = static_cast<std::size_t>(from), t = static_cast<std::size_t>(to);
              fill_block(sent[f].block(t), pair_bytes(bytes, from, to), from, to, call);
              fill_block(expected[t].block(f), pair_bytes(bytes, from, to), from, to, call);
            }
        },
        [&](int rank) {
          AlltoallArguments arguments;
          arguments.send = sent[static_cast<std::size_t>(rank)].blocks(false);
          arguments.receive = received[static_cast<std::size_t>(rank)].blocks(false);
          arguments.regular = false;
          return arguments;
        },
        [&](int rank) {
          const auto r = static_cast<std::size_t>(rank);
          EXPECT_EQ(first_difference(received[r].bytes, expected[r].bytes), expected[r].bytes.size())
              << "rank " << rank;
        });
  }
}

/// Where buffers are mapped, nothing is copied to be sent or after it has come, but what belongs to another rank of the node.
class BetweenNodesCopies : public testing::Test {
 protected:
  static constexpr std::size_t block = 4096, count = 9;

  template <class Arguments>
  void call(const char* name, const std::function<Arguments(int)>& arguments) {
    EXPECT_TRUE(ranks_.call(algorithm_named<Arguments>(name), arguments));
  }
  std::size_t read(int rank) const { return ranks_.copied(rank).bytes_from; }
  std::size_t written(int rank) const { return ranks_.copied(rank).bytes_to; }

  SpanningRanks ranks_{node_of_rank({3, 3, 3}, Order::node_by_node)};
  std::vector<std::byte> all_ = std::vector<std::byte>(count * block);
  Buffers each_ = Buffers(count, std::vector<std::byte>(count* block));
};

TEST_F(BetweenNodesCopies, Scatter) {
  call<ScatterArguments>("multi-object-tree", [&](int rank) {
    return ScatterArguments{Blocks::regular(all_.data(), block), each_[static_cast<std::size_t>(rank)].data(), block};
  });
  for (const int rank : {1, 2}) EXPECT_EQ(read(rank), block) << "its own";
}

TEST_F(BetweenNodesCopies, Gather) {
  call<GatherArguments>("multi-object-tree", [&](int rank) {
    return GatherArguments{each_[static_cast<std::size_t>(rank)].data(), block, Blocks::regular(all_.data(), block)};
  });
  for (const int rank : {1, 2}) EXPECT_EQ(written(rank), block) << "its own";
}

TEST_F(BetweenNodesCopies, Bcast) {
  for (const char* const name : {"multi-object-tree", "multi-object-scatter-ring"})
    call<BcastArguments>(name, [&](int rank) {
      auto& buffer = each_[static_cast<std::size_t>(rank)];
      return BcastArguments{buffer.data(), buffer.size()};
    });
  std::size_t of_root = read(0), of_node = read(3) + read(4) + read(5);
  EXPECT_EQ(of_root, 0u);
  // Each time what a rank's own lanes do not bring is read from the others.
  EXPECT_GE(of_node, 2 * count * block);
  EXPECT_LE(of_node, 2 * 2 * count * block);
}

TEST_F(BetweenNodesCopies, Allgather) {
  call<AllgatherArguments>("multi-object-ring", [&](int rank) {
    auto& buffer = each_[static_cast<std::size_t>(rank)];
    return AllgatherArguments{all_.data(), block, Blocks::regular(buffer.data(), block)};
  });
  for (int rank = 0; rank < ranks_.count(); ++rank) EXPECT_EQ(read(rank), 3 * 2 * block) << "N (P - 1) n";
}

/// However long blocks of different sizes are, and whoever knows the sizes.
TEST(BetweenNodesMemory, LongBlocksOfDifferentSizesGoInPieces) {
  Settings settings;
  settings.segment = 16 << 10;
  SpanningRanks ranks(node_of_rank({2, 3, 1}, Order::in_turn), settings);
  const auto count = static_cast<std::size_t>(ranks.count());
  constexpr std::size_t piece = 1 << 14, least = 1 << 16;
  std::vector<std::size_t> sizes, counts;
  std::vector<std::ptrdiff_t> offsets;
  for (std::size_t i = 0; i < count; ++i) {
    sizes.push_back(i * piece);
    counts.push_back(sizes.back() / sizeof(int));
    offsets.push_back(static_cast<std::ptrdiff_t>(i * count * piece));
  }
  std::vector<std::vector<std::byte>> sent(count), received(count);
  for (std::size_t i = 0; i < count; ++i) {
    sent[i].resize(count * count * piece);
    received[i].resize(count * count * piece);
  }
  const auto blocks = [&](std::vector<std::byte>& buffer) {
    return Blocks::irregular(buffer.data(), sizes.data(), offsets.data());
  };
  std::size_t before = 0;
  for (int rank = 0; rank < ranks.count(); ++rank) before = std::max(before, ranks.lent_bytes(rank));
  Combiner combiner;
  combiner.element_bytes = sizeof(int);
  combiner.kernel = [](void* to, const void* const* sources, std::size_t, std::size_t elements, reduction::Order) {
    if (to != sources[0]) std::memcpy(to, sources[0], elements * sizeof(int));
  };
  std::vector<std::vector<std::size_t>> equal_sizes(count);
  ranks.run([&](int rank, const Spanning& spanning) {
    const auto r = static_cast<std::size_t>(rank);
    for (const auto* algorithm : algorithms_between_nodes<AllgatherArguments>())
      call_between_nodes(spanning, *algorithm, AllgatherArguments{sent[r].data(), sizes[r], blocks(received[r])});
    for (const auto* algorithm : algorithms_between_nodes<GatherArguments>())
      if (std::string(algorithm->name) == "multi-object-sizes-tree")
        call_between_nodes(spanning, *algorithm,
                           GatherArguments{sent[r].data(), sizes[r], blocks(received[r]), 1, false});
    for (const auto* algorithm : algorithms_between_nodes<ScatterArguments>())
      if (std::string(algorithm->name) == "multi-object-sizes-tree")
        call_between_nodes(spanning, *algorithm,
                           ScatterArguments{blocks(sent[r]), received[r].data(), sizes[r], 1, false});
    for (const auto* algorithm : algorithms_between_nodes<AlltoallArguments>())
      if (std::string(algorithm->name) == "pairs") {
        equal_sizes[r].assign(count, sizes[r]);
        const Blocks to_go = Blocks::irregular(sent[r].data(), equal_sizes[r].data(), offsets.data());
        call_between_nodes(spanning, *algorithm, AlltoallArguments{to_go, blocks(received[r]), false});
      }
    for (const auto* algorithm : algorithms_between_nodes<ReduceScatterArguments>()) {
      std::size_t all = 0;
      for (const std::size_t each : counts) all += each;
      call_between_nodes(spanning, *algorithm,
                         ReduceScatterArguments{sent[r].data(), received[r].data(), counts.data(), all, &combiner});
    }
  });
  // In one piece it would be 240 KiB and more.
  for (int rank = 0; rank < ranks.count(); ++rank)
    EXPECT_LE(ranks.lent_bytes(rank), before + 8 * settings.segment + least) << "rank " << rank;
}

/// A ring in which each has two blocks for the next rank, one for itself, and nobody at one place.
TEST_P(BetweenNodes, NeighborsGetWhatIsForThem) {
  for (const auto* algorithm : algorithms_between_nodes<NeighborArguments>()) {
    std::vector<BlockBuffer> sent, received, expected;
    std::vector<std::vector<int>> sources, destinations;
    static constexpr int source_blocks[] = {0, 2, 3, 1}, destination_blocks[] = {0, 3, 1, 2};
    sweep<NeighborArguments>(
        *algorithm,
        [&](int ranks, std::size_t bytes, int call) {
          const auto sizes = [&](int from) {
            return std::vector<std::size_t>{pair_bytes(bytes, from, 1), bytes, 0, pair_bytes(bytes, from, 2)};
          };
          sent.clear();
          received.clear();
          sources.clear();
          destinations.clear();
          for (int rank = 0; rank < ranks; ++rank) {
            const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
            destinations.push_back({next, rank, -1, next});
            sources.push_back({before, -1, before, rank});
            const auto to_come = sizes(before);
            sent.emplace_back(sizes(rank), 3);
            received.emplace_back(std::vector<std::size_t>{to_come[0], 0, to_come[3], bytes}, 2, true);
          }
          expected = received;
          for (int rank = 0; rank < ranks; ++rank) {
            const auto r = static_cast<std::size_t>(rank), next = (r + 1) % static_cast<std::size_t>(ranks);
            const auto to_go = sizes(rank);
            for (const std::size_t block : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
              const auto number = static_cast<int>(block);
              fill_block(sent[r].block(block), to_go[block], rank, number, call);
              const auto at = static_cast<std::size_t>(destination_blocks[block]);
              fill_block(expected[block == 1 ? r : next].block(at), to_go[block], rank, number, call);
            }
          }
        },
        [&](int rank) {
          const auto r = static_cast<std::size_t>(rank);
          NeighborArguments arguments;
          arguments.sources = sources[r].data();
          arguments.source_blocks = source_blocks;
          arguments.source_count = 4;
          arguments.destinations = destinations[r].data();
          arguments.destination_blocks = destination_blocks;
          arguments.destination_count = 4;
          arguments.send = sent[r].blocks(false);
          arguments.receive = received[r].blocks(false);
          arguments.regular = false;
          return arguments;
        },
        [&](int rank) {
          const auto r = static_cast<std::size_t>(rank);
          EXPECT_EQ(first_difference(received[r].bytes, expected[r].bytes), expected[r].bytes.size())
              << "rank " << rank;
        });
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, BetweenNodes, testing::ValuesIn(spanning_shapes()),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace tutti::test
