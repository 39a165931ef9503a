// Neighbourhood exchanges on rings, small periodic grids and random directed multigraphs, by every algorithm and reach.
#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "collectives/block_patterns.h"
#include "collectives/thread_ranks.h"

namespace tutti::test {
namespace {

/// Who sends to whom, for all ranks: what MPI's topologies come to.
struct Edges {
  std::vector<std::vector<int>> sources, source_blocks, destinations, destination_blocks;

  explicit Edges(int ranks)
      : sources(static_cast<std::size_t>(ranks)),
        source_blocks(sources),
        destinations(sources),
        destination_blocks(sources) {}

  /// The same edges as those who send see them.
  void invert() {
    for (std::size_t i = 0; i < destinations.size(); ++i) destination_blocks[i].assign(destinations[i].size(), -1);
    for (std::size_t i = 0; i < sources.size(); ++i)
      for (std::size_t s = 0; s < sources[i].size(); ++s)
        if (sources[i][s] >= 0)
          destination_blocks[static_cast<std::size_t>(sources[i][s])][static_cast<std::size_t>(source_blocks[i][s])] =
              static_cast<int>(s);
  }
};

/// A periodic grid; with `open`, its first dimension is not periodic.
Edges grid(const std::vector<int>& dimensions, bool open) {
  int ranks = 1;
  for (const int extent : dimensions) ranks *= extent;
  Edges edges(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    int stride = 1;
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
      const int extent = dimensions[d];
      const int at = rank / stride % extent;
      for (const int step : {-1, 1}) {
        const bool outside = open && d == 0 && (at + step < 0 || at + step >= extent);
        const int other = outside ? -1 : rank + ((at + step + extent) % extent - at) * stride;
        const auto i = static_cast<std::size_t>(rank);
        edges.destinations[i].push_back(other);
        edges.source_blocks[i].push_back(static_cast<int>(2 * d) + (step < 0 ? 1 : 0));
        edges.sources[i].push_back(other);
      }
      stride *= extent;
    }
  }
  edges.invert();
  return edges;
}

/// Any number of edges between any two ranks, in any order on both sides, with null processes among them.
Edges multigraph(int ranks, int edge_count, std::mt19937& random) {
  Edges edges(ranks);
  std::uniform_int_distribution<int> any(0, ranks - 1);
  for (int i = 0; i < edge_count; ++i) {
    const int from = any(random), to = any(random);
    edges.destinations[static_cast<std::size_t>(from)].push_back(to);
    edges.sources[static_cast<std::size_t>(to)].push_back(from);
  }
  for (int rank = 0; rank < ranks; ++rank) {
    const auto i = static_cast<std::size_t>(rank);
    if (any(random) == 0) edges.destinations[i].push_back(-1);
    if (any(random) == 0) edges.sources[i].push_back(-1);
    std::shuffle(edges.sources[i].begin(), edges.sources[i].end(), random);
    std::shuffle(edges.destinations[i].begin(), edges.destinations[i].end(), random);
  }
  for (int rank = 0; rank < ranks; ++rank) {
    const auto i = static_cast<std::size_t>(rank);
    for (std::size_t s = 0; s < edges.sources[i].size(); ++s) {
      const int source = edges.sources[i][s];
      int block = -1;
      if (source >= 0) {
        auto nth =
            std::count(edges.sources[i].begin(), edges.sources[i].begin() + static_cast<std::ptrdiff_t>(s), source);
        const auto& theirs = edges.destinations[static_cast<std::size_t>(source)];
        do block = static_cast<int>(std::find(theirs.begin() + block + 1, theirs.end(), rank) - theirs.begin());
        while (nth-- > 0);
      }
      edges.source_blocks[i].push_back(block);
    }
  }
  edges.invert();
  return edges;
}

/// Size of a block of `rank` where they are irregular: zero now and then.
std::size_t size_of(int rank, std::size_t block, std::size_t bytes) {
  const std::size_t draw = static_cast<std::size_t>(rank) * 7 + block * 3;
  return draw % 4 == 0 ? 0 : bytes / (1 + draw % 3) + draw % 2;
}

enum class Form { same_block, blocks, irregular };

NeighborArguments arguments_of(const Edges& edges, std::size_t rank) {
  NeighborArguments arguments;
  arguments.sources = edges.sources[rank].data();
  arguments.source_blocks = edges.source_blocks[rank].data();
  arguments.source_count = static_cast<int>(edges.sources[rank].size());
  arguments.destinations = edges.destinations[rank].data();
  arguments.destination_blocks = edges.destination_blocks[rank].data();
  arguments.destination_count = static_cast<int>(edges.destinations[rank].size());
  return arguments;
}

void exchange(const Edges& edges, LivedIn& collectives, int rank, Form form, std::size_t bytes, int salt) {
  const auto self = static_cast<std::size_t>(rank);
  NeighborArguments arguments = arguments_of(edges, self);
  const auto& sources = edges.sources[self];
  const auto& destinations = edges.destinations[self];
  const auto block_bytes = [&](int owner, std::size_t block) {
    return form == Form::irregular ? size_of(owner, block, bytes) : bytes;
  };
  std::vector<std::size_t> send_sizes, receive_sizes;
  std::vector<std::ptrdiff_t> send_offsets, receive_offsets;
  std::vector<std::byte> send, receive;
  const std::size_t blocks = form == Form::same_block ? 1 : destinations.size();
  for (std::size_t b = 0; b < blocks; ++b) {
    send_sizes.push_back(
        form != Form::same_block && destinations[b] < 0 && form == Form::irregular ? 0 : block_bytes(rank, b));
    send_offsets.push_back(static_cast<std::ptrdiff_t>(send.size()));
    send.resize(send.size() + send_sizes.back());
    fill_block(send.data() + send_offsets.back(), send_sizes.back(), rank, static_cast<int>(b), salt);
    if (form == Form::irregular) send.push_back(guard);
  }
  for (std::size_t s = 0; s < sources.size(); ++s) {
    receive_sizes.push_back(
        sources[s] < 0 ? bytes : block_bytes(sources[s], static_cast<std::size_t>(edges.source_blocks[self][s])));
    receive_offsets.push_back(static_cast<std::ptrdiff_t>(receive.size()));
    receive.resize(receive.size() + receive_sizes.back() + (form == Form::irregular ? 1 : 0));
  }
  receive.resize(receive.size() + 1);
  std::fill(receive.begin(), receive.end(), guard);
  std::vector<std::byte> expected = receive;
  for (std::size_t s = 0; s < sources.size(); ++s) {
    if (sources[s] < 0) continue;
    const int block = form == Form::same_block ? 0 : edges.source_blocks[self][s];
    fill_block(expected.data() + receive_offsets[s], receive_sizes[s], sources[s], block, salt);
  }
  arguments.regular = form != Form::irregular;
  arguments.bytes = bytes;
  if (form == Form::irregular) {
    arguments.send = Blocks::irregular(send.data(), send_sizes.data(), send_offsets.data());
    arguments.receive = Blocks::irregular(receive.data(), receive_sizes.data(), receive_offsets.data());
  } else {
    arguments.send = Blocks::regular(send.data(), bytes);
    if (form == Form::same_block) arguments.send.stride = 0;
    arguments.receive = Blocks::regular(receive.data(), bytes);
  }
  const Collectives::Done done = collectives.neighbor(arguments);
  ASSERT_TRUE(done);
  ASSERT_FALSE(done.truncated);
  ASSERT_EQ(first_difference(receive, expected), receive.size())
      << "rank " << rank << " form " << static_cast<int>(form) << " bytes " << bytes;
  std::fill(send.begin(), send.end(), std::byte{0});  // nobody may still be reading
}

class Neighbors : public testing::TestWithParam<Reach> {};

/// `neighbor:NAME;neighborv:NAME` of every algorithm.
std::vector<std::string> all_algorithms() {
  std::vector<std::string> words;
  for (const auto* algorithm : algorithms_of<NeighborArguments>())
    words.push_back(std::string("neighbor:") + algorithm->name + ";neighborv:" + algorithm->name);
  return words;
}

/// Nothing, around what the line of a flag and a grain hold, and what peers read or store.
std::vector<std::size_t> block_sizes() {
  if (short_sweep()) return {0, 1, 57, 113, 4097, 20000};
  return {0, 1, 8, 30, 31, 56, 57, 112, 113, 1000, 2049, 4096, 4097, 20000, 100001};
}

void sweep(Reach reach, const Edges& edges) {
  for (const std::string& words : all_algorithms()) {
    World world;
    world.ranks = static_cast<int>(edges.sources.size());
    world.reach = reach;
    world.settings.segment = 64 * 1024;
    world.algorithm = words;
    sweep_ranks(world, [&](int rank, LivedIn& collectives) {
      int salt = 0;
      for (const std::size_t bytes : block_sizes())
        for (const Form form : {Form::same_block, Form::blocks, Form::irregular})
          exchange(edges, collectives, rank, form, bytes, ++salt);
      // Ranks run ahead of others that are not their neighbours, as far as the ring lets them.
      for (int round = 0; round < 100; ++round) exchange(edges, collectives, rank, Form::blocks, 8, ++salt);
    });
  }
}

TEST_P(Neighbors, RingsAndGridsGetTheBlocksForTheOppositeDirection) {
  std::vector<std::vector<int>> grids{{2}, {5}, {1, 2}, {2, 2}, {2, 1, 1, 2}};
  if (!short_sweep()) grids.insert(grids.end(), {{3}, {17}, {2, 1}, {1, 3}, {3, 1, 2}, {3, 3}});
  for (const auto& dimensions : grids)
    for (const bool open : {false, true}) sweep(GetParam(), grid(dimensions, open));
}

TEST_P(Neighbors, DirectedMultigraphsMatchTheirEdgesInOrder) {
  std::mt19937 random(7);
  for (const int ranks : rank_counts())
    for (const int edges_a_rank : {1, 4, 12}) sweep(GetParam(), multigraph(ranks, ranks * edges_a_rank, random));
}

TEST_P(Neighbors, MoreEdgesThanTheDataAreaHasEntriesFor) {
  for (const std::string& words : all_algorithms()) {
    std::mt19937 random(8);
    const Edges edges = multigraph(2, 1400, random);
    World world;
    world.reach = GetParam();
    world.algorithm = words;
    run_ranks(world, [&](int rank, LivedIn& collectives) {
      for (const std::size_t bytes : {0, 3, 100})
        for (const Form form : {Form::same_block, Form::blocks, Form::irregular})
          exchange(edges, collectives, rank, form, bytes, 1);
    });
  }
}

/// Rank 1 has room for half of what comes from the right.
void cut(LivedIn& collectives, const Edges& edges, int rank, std::size_t bytes, std::size_t less) {
  NeighborArguments arguments = arguments_of(edges, static_cast<std::size_t>(rank));
  const std::vector<std::byte> send(2 * bytes, std::byte{1});
  std::vector<std::byte> receive(2 * bytes, std::byte{0x5a});
  // What is sent to the right comes from the left.
  const std::size_t sizes[2] = {bytes, bytes - less};
  const std::size_t room[2] = {bytes - less, rank == 1 ? bytes / 2 : bytes};
  const std::ptrdiff_t offsets[2] = {0, static_cast<std::ptrdiff_t>(bytes)};
  arguments.regular = false;
  arguments.send = Blocks::irregular(send.data(), sizes, offsets);
  arguments.receive = Blocks::irregular(receive.data(), room, offsets);
  const Collectives::Done done = collectives.neighbor(arguments);
  ASSERT_TRUE(done);
  ASSERT_EQ(done.truncated, rank == 1);
  ASSERT_EQ(static_cast<std::size_t>(std::count(receive.begin(), receive.end(), std::byte{1})), room[0] + room[1]);
}

TEST_P(Neighbors, RanksThatAreNotConnectedMayHaveOtherSizes) {
  Edges pairs(4);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    pairs.sources[rank] = pairs.destinations[rank] = {static_cast<int>(rank ^ 1)};
    pairs.source_blocks[rank] = {0};
  }
  pairs.invert();
  for (const std::string& words : all_algorithms()) {
    World world;
    world.ranks = 4;
    world.reach = GetParam();
    world.settings.segment = 64 * 1024;
    world.algorithm = words;
    run_ranks(world, [&](int rank, LivedIn& collectives) {
      for (int call = 0; call < 4; ++call) {
        const std::size_t bytes = (rank < 2) == (call % 2 == 0) ? 100'001 : 8;
        exchange(pairs, collectives, rank, Form::blocks, bytes, call);
        ASSERT_TRUE(collectives.barrier({}));
      }
    });
  }
}

TEST_P(Neighbors, WhatDoesNotFitIsCutAndNoted) {
  const Edges edges = grid({3}, false);
  for (const std::string& words : all_algorithms()) {
    World world;
    world.ranks = 3;
    world.reach = GetParam();
    world.algorithm = words;
    run_ranks(world, [&](int rank, LivedIn& collectives) {
      for (const std::size_t bytes : {std::size_t{16}, std::size_t{56}, std::size_t{1000}, std::size_t{30000}})
        for (const std::size_t less : {0, 1}) cut(collectives, edges, rank, bytes, less);
    });
  }
}

TEST_P(Neighbors, OfEqualBlocksTooLongOnesAreCutToo) {
  const Edges edges = grid({2}, false);
  for (const std::string& words : all_algorithms()) {
    World world;
    world.reach = GetParam();
    world.algorithm = words;
    run_ranks(world, [&](int rank, LivedIn& collectives) {
      for (const std::size_t bytes : {std::size_t{16}, std::size_t{1000}, std::size_t{30000}}) {
        NeighborArguments arguments = arguments_of(edges, static_cast<std::size_t>(rank));
        const std::vector<std::byte> send(2 * bytes, std::byte{1});
        std::vector<std::byte> receive(2 * bytes, std::byte{0x5a});
        const std::size_t room = rank == 1 ? bytes / 2 : bytes;
        arguments.bytes = bytes;
        arguments.send = Blocks::regular(send.data(), bytes);
        arguments.receive = Blocks::regular(receive.data(), room);
        const Collectives::Done done = collectives.neighbor(arguments);
        ASSERT_TRUE(done);
        ASSERT_EQ(done.truncated, rank == 1);
        ASSERT_EQ(static_cast<std::size_t>(std::count(receive.begin(), receive.end(), std::byte{1})), 2 * room);
      }
    });
  }
}

TEST_P(Neighbors, WhoHasLittleRoomAnswersThoseWhoSendMuch) {
  for (const std::string& words : all_algorithms()) {
    World world;
    world.reach = GetParam();
    world.algorithm = words;
    const Edges edges = grid({2}, false);
    run_ranks(world, [&](int rank, LivedIn& collectives) {
      constexpr std::size_t much = 100'000, little = 8;
      NeighborArguments arguments = arguments_of(edges, static_cast<std::size_t>(rank));
      arguments.regular = false;
      const std::vector<std::byte> send(much, std::byte{1});
      std::vector<std::byte> receive(2 * little, std::byte{0});
      const std::size_t sizes[2] = {rank == 0 ? much : little, rank == 0 ? much : little};
      const std::ptrdiff_t same[2] = {0, 0}, apart[2] = {0, little};
      const std::size_t room[2] = {little, little};
      arguments.send = Blocks::irregular(send.data(), sizes, same);
      arguments.receive = Blocks::irregular(receive.data(), room, apart);
      const Collectives::Done done = collectives.neighbor(arguments);
      ASSERT_TRUE(done);
      ASSERT_EQ(done.truncated, rank == 1);
      ASSERT_EQ(std::count(receive.begin(), receive.end(), std::byte{1}), static_cast<std::ptrdiff_t>(2 * little));
    });
  }
}

TEST(NeighborPackedBlocks, AreNotStoredAsWellIntoBuffersOfThoseWhoHaveGoneOn) {
  // Both packed, where ranks share cores, and long enough to be stored.
  constexpr std::size_t bytes = selection::streamed_to_peers_min;
  Edges edges(3);
  edges.destinations[0] = {1, 2};
  edges.sources[1] = edges.sources[2] = {0};
  edges.source_blocks[1] = {0};
  edges.source_blocks[2] = {1};
  edges.invert();
  World world;
  world.ranks = 3;
  world.oversubscribed = true;
  world.algorithm = "neighbor:direct-write";
  ASSERT_LE(bytes, world.settings.eager_max);
  run_ranks(world, [&](int rank, LivedIn& collectives) {
    NeighborArguments arguments = arguments_of(edges, static_cast<std::size_t>(rank));
    const std::vector<std::byte> send(bytes, std::byte{1});
    std::vector<std::byte> receive(bytes, std::byte{0});
    arguments.bytes = bytes;
    arguments.send = Blocks::regular(send.data(), bytes);
    arguments.send.stride = 0;
    arguments.receive = Blocks::regular(receive.data(), bytes);
    // Rank 0 asks it first; rank 2 has its block by then.
    if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ASSERT_TRUE(collectives.neighbor(arguments));
    if (rank != 0) {
      EXPECT_EQ(receive, send);
    }
    receive.assign(bytes, guard);
    ASSERT_TRUE(collectives.barrier({}));
    EXPECT_EQ(receive, std::vector<std::byte>(bytes, guard));
  });
}

INSTANTIATE_TEST_SUITE_P(Reaches, Neighbors, all_reaches(),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace tutti::test
