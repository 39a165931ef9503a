// Alltoall, Alltoallv and Alltoallw: every algorithm x reach x ranks x size.
#include <algorithm>
#include <map>

#include "collectives/block_patterns.h"
#include "collectives/thread_ranks.h"
#include "memory/random_layout.h"

namespace tutti::test {
namespace {

World world_of(int ranks, Reach reach, const std::string& algorithm) {
  World world;
  world.ranks = ranks;
  world.reach = reach;
  world.algorithm = algorithm;
  world.settings.segment = 64 * 1024;
  world.settings.flat_max = 64;
  return world;
}

/// Around what fits into the flag's line and into a data area, a grain, and more than a segment in all.
std::vector<std::size_t> sizes_for(int ranks) {
  const auto others = static_cast<std::size_t>(ranks - 1);
  const std::size_t in_line = Post::inline_bytes / others;
  const std::size_t in_area = 16 * 1024 / others;
  return {1, 13, in_line, in_line + 1, in_area, in_area + 1, 4096, 4097, 16 * 1024, 30001};
}

/// What `from` sends to `to`: up to `bytes`, some of it nothing.
std::size_t irregular_size(int from, int to, std::size_t bytes, int call) {
  return (2 * from + to + call) % 3 == 0 ? 0 : bytes - static_cast<std::size_t>(from * 7 + to) % bytes;
}

/// One call on one rank: fills, calls, overwrites at once what others might still read, then compares.
void check(int rank, LivedIn& collectives, std::size_t bytes, bool regular, int call) {
  const int ranks = collectives.communicator().size();
  std::vector<std::size_t> out, in;
  for (int other = 0; other < ranks; ++other) {
    out.push_back(regular ? bytes : irregular_size(rank, other, bytes, call));
    in.push_back(regular ? bytes : irregular_size(other, rank, bytes, call));
  }
  BlockBuffer send(out, regular ? 0 : 5, !regular && rank % 2 == 0);
  BlockBuffer receive(in, regular ? 0 : 3, !regular && rank % 2 == 1);
  BlockBuffer expected = receive;
  for (int other = 0; other < ranks; ++other) {
    const auto i = static_cast<std::size_t>(other);
    fill_block(send.block(i), out[i], rank, other, call);
    fill_block(expected.block(i), in[i], other, rank, call);
  }
  AlltoallArguments arguments;
  arguments.send = send.blocks(regular);
  arguments.receive = receive.blocks(regular);
  arguments.regular = regular;
  ASSERT_TRUE(collectives.alltoall(arguments));

  send.bytes.assign(send.bytes.size(), std::byte{0xee});
  const std::vector<std::byte> got = receive.bytes;
  receive.bytes.assign(receive.bytes.size(), std::byte{0xee});
  ASSERT_EQ(first_difference(got, expected.bytes), got.size())
      << collectives.last_algorithm() << " ranks " << ranks << " rank " << rank << " bytes " << bytes << " regular "
      << regular << " call " << call;
}

/// Every size, regular and, if asked for, irregular. Counts the calls that each algorithm has carried out.
void sweep(const World& world, bool irregular, std::map<std::string, int>* used = nullptr) {
  sweep_ranks(world, [&](int rank, LivedIn& collectives) {
    int call = 0;
    for (const std::size_t bytes : sizes_for(world.ranks))
      for (const bool regular : {true, false}) {
        if (!regular && !irregular) continue;
        check(rank, collectives, bytes, regular, ++call);
        if (used && rank == 0) ++(*used)[collectives.last_algorithm()];
        if (testing::Test::HasFatalFailure()) return;
      }
  });
}

class Alltoall : public testing::TestWithParam<Reach> {};

TEST_P(Alltoall, GivesEveryRankItsBlockOfEveryOther) {
  for (const auto* algorithm : algorithms_of<AlltoallArguments>()) {
    std::map<std::string, int> used;
    for (const int ranks : rank_counts()) {
      const std::string name = algorithm->name;
      selection::Shape irregular;
      irregular.ranks = ranks;
      irregular.regular = false;
      sweep(world_of(ranks, GetParam(), "alltoall:" + name + ";alltoallv:" + name), algorithm->eligible(irregular),
            &used);
      if (HasFatalFailure()) return;
    }
    EXPECT_GT(used[algorithm->name], 0) << algorithm->name << " never ran";
  }
}

TEST_P(Alltoall, IsDoneByWhatTheModelChoosesAlsoAboveTheFlatLimit) {
  for (const std::size_t flat_max : {std::size_t{2}, std::size_t{16}}) {
    World world = world_of(5, GetParam(), "");
    world.settings.flat_max = flat_max;
    sweep(world, true);
  }
}

TEST_P(Alltoall, WhatDoesNotFitIsCutAndNotedOnItsReceiverAlone) {
  constexpr int ranks = 3;
  for (const auto* algorithm : algorithms_of<AlltoallArguments>()) {
    selection::Shape irregular;
    irregular.ranks = ranks;
    irregular.regular = false;
    if (!algorithm->eligible(irregular)) continue;
    const World world = world_of(ranks, GetParam(), std::string("alltoallv:") + algorithm->name);
    run_ranks(world, [&](int rank, LivedIn& collectives) {
      for (const std::size_t bytes : {std::size_t{16}, std::size_t{56}, std::size_t{1000}, std::size_t{30'000}})
        for (const std::size_t less : {0, 1}) {  // for each rank after the first
          const bool last = rank == ranks - 1;
          const std::size_t mine = bytes - less * static_cast<std::size_t>(rank);
          BlockBuffer send({bytes, bytes - less, bytes - 2 * less}, 0);
          send.bytes.assign(send.bytes.size(), std::byte{1});
          BlockBuffer receive({last ? mine / 2 : mine, mine, mine}, 40'000);
          AlltoallArguments arguments;
          arguments.send = send.blocks(false);
          arguments.receive = receive.blocks(false);
          arguments.regular = false;
          const Collectives::Done done = collectives.alltoall(arguments);
          ASSERT_TRUE(done);
          ASSERT_EQ(done.truncated, last) << collectives.last_algorithm() << ' ' << bytes;
          ASSERT_EQ(static_cast<std::size_t>(std::count(receive.bytes.begin(), receive.bytes.end(), std::byte{1})),
                    last ? 2 * mine + mine / 2 : 3 * mine)
              << collectives.last_algorithm();
        }
    });
  }
}

/// Blocks of which most have gaps, each by a layout of its own, beside memory for them without gaps.
struct SpreadBlocks {
  SpreadBlocks(const std::vector<std::size_t>& sizes, bool regular, int seed) : packed(sizes, regular ? 0 : 3) {
    std::mt19937 random(static_cast<unsigned>(seed));
    spreads.reserve(sizes.size());
    elements.resize(sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      of.push_back(nullptr);
      if (sizes[i] == 0 || random() % 4 == 0) continue;
      memory::Layout layout = random_layout(random, sizes[i]);
      const memory::Layout::Extent extent = layout.extent();
      elements[i].assign(extent.bytes, std::byte{0xee});
      spreads.push_back({layout, elements[i].data() - extent.first});
      of.back() = &spreads.back();
    }
  }
  Spreads all() const { return {of.data()}; }

  BlockBuffer packed;
  std::vector<std::vector<std::byte>> elements;
  std::vector<memory::Spread> spreads;
  std::vector<memory::Spread*> of;
};

/// sent: what is sent may lie with gaps, too. Calls, overwrites at once what others might still read, then compares.
template <class Run>
void check_spread(int rank, LivedIn& collectives, std::size_t bytes, bool regular, bool sent, int call,
                  const Run& run) {
  const int ranks = collectives.communicator().size();
  std::vector<std::size_t> out, in;
  for (int other = 0; other < ranks; ++other) {
    out.push_back(regular ? bytes : irregular_size(rank, other, bytes, call));
    in.push_back(regular ? bytes : irregular_size(other, rank, bytes, call));
  }
  SpreadBlocks send(out, regular, 1000 * call + rank), receive(in, regular, 1000 * call + 500 + rank);
  for (int other = 0; other < ranks; ++other) {
    const auto i = static_cast<std::size_t>(other);
    std::vector<std::byte> block(out[i]);
    fill_block(block.data(), out[i], rank, other, call);
    if (sent && send.of[i])
      send.of[i]->put(0, block.data(), out[i]);
    else
      std::copy(block.begin(), block.end(), send.packed.block(i));
  }
  AlltoallArguments arguments;
  arguments.send = send.packed.blocks(regular);
  arguments.receive = receive.packed.blocks(regular);
  arguments.regular = regular;
  arguments.received = receive.all();
  if (sent) arguments.sent = send.all();
  run(arguments);

  send.packed.bytes.assign(send.packed.bytes.size(), std::byte{0xdd});
  for (std::vector<std::byte>& each : send.elements) each.assign(each.size(), std::byte{0xdd});
  for (int other = 0; other < ranks; ++other) {
    const auto i = static_cast<std::size_t>(other);
    std::vector<std::byte> expected(in[i]), got(in[i]);
    fill_block(expected.data(), in[i], other, rank, call);
    memory::Spread* const spread = receive.of[i];
    std::copy_n(receive.packed.block(i), in[i], got.begin());
    if (spread && spread->is_there) spread->get(0, got.data(), in[i]);
    ASSERT_EQ(first_difference(got, expected), in[i])
        << collectives.last_algorithm() << " ranks " << ranks << " rank " << rank << " of " << other << " bytes "
        << bytes << " regular " << regular << " sent " << sent << " call " << call;
    if (!spread) continue;
    const std::vector<std::byte> gap(in[i], std::byte{0xee});
    spread->put(0, gap.data(), in[i]);
    ASSERT_EQ(receive.elements[i], std::vector<std::byte>(receive.elements[i].size(), std::byte{0xee}));
  }
}

TEST_P(Alltoall, ElementsWithGapsGoFromWhereTheyLieToWhereTheyBelong) {
  for (const auto* algorithm : algorithms_of<AlltoallArguments>())
    for (const int ranks : {2, 3, 5}) {
      const std::string name = algorithm->name;
      selection::Shape irregular;
      irregular.ranks = ranks;
      irregular.regular = false;
      const bool also_irregular = algorithm->eligible(irregular);
      sweep_ranks(world_of(ranks, GetParam(), "alltoall:" + name + ";alltoallv:" + name), [&](int rank,
                                                                                              LivedIn& collectives) {
        int call = 0;
        for (const std::size_t bytes : {48, 720, 4096, 10'080, 30'240})
          for (const bool regular : {true, false})
            for (const bool sent : {true, false}) {
              if (!regular && !also_irregular) continue;
              check_spread(rank, collectives, bytes, regular, sent, ++call,
                           [&](const AlltoallArguments& arguments) { ASSERT_TRUE(collectives.alltoall(arguments)); });
              if (testing::Test::HasFatalFailure()) return;
            }
      });
      if (HasFatalFailure()) return;
    }
}

TEST_P(Alltoall, APendingCallPutsThemWhereTheyBelong) {
  World world = world_of(3, GetParam(), "");
  world.is_new = true;
  run_ranks(world, [&](int rank, LivedIn& collectives) {
    for (const std::size_t bytes : {4096, 30'240})
      for (const bool regular : {true, false})
        check_spread(rank, collectives, bytes, regular, false, 1, [&](const AlltoallArguments& arguments) {
          const auto pending = collectives.prepare(arguments);
          ASSERT_TRUE(pending);
          pending->start();
          while (!pending->progress()) collectives.turn();
        });
  });
}

INSTANTIATE_TEST_SUITE_P(Reaches, Alltoall, all_reaches(),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(AlltoallSizes, WhereSenderAndReceiverDisagreeTheSmallerSizeIsCopiedAndNobodyWaits) {
  for (const auto* algorithm : algorithms_of<AlltoallArguments>()) {
    const World world = world_of(3, Reach::direct, std::string("alltoallv:") + algorithm->name);
    run_ranks(world, [&](int rank, LivedIn& collectives) {
      for (const std::size_t bytes : {std::size_t{0}, std::size_t{20}, std::size_t{10'000}, std::size_t{40'000}})
        for (const std::size_t announced : {std::size_t{0}, bytes / 2, 2 * bytes + 8}) {
          BlockBuffer send({announced, announced, announced}, 3);
          BlockBuffer receive({bytes, bytes, bytes}, 3);
          for (std::size_t i = 0; i < 3; ++i) fill_block(send.block(i), announced, rank, static_cast<int>(i), 1);
          BlockBuffer expected = receive;
          for (std::size_t i = 0; i < 3; ++i)
            fill_block(expected.block(i), std::min(bytes, announced), static_cast<int>(i), rank, 1);
          AlltoallArguments arguments;
          arguments.send = send.blocks(false);
          arguments.receive = receive.blocks(false);
          arguments.regular = false;
          ASSERT_TRUE(collectives.alltoall(arguments));
          ASSERT_EQ(first_difference(receive.bytes, expected.bytes), receive.bytes.size())
              << algorithm->name << " " << bytes << " of " << announced;
        }
    });
  }
}

TEST(AlltoallOrder, CallsFollowEachOtherWithoutASynchronisation) {
  for (const auto* algorithm : algorithms_of<AlltoallArguments>()) {
    const World world = world_of(4, Reach::direct, std::string("alltoall:") + algorithm->name);
    run_ranks(world, [&](int rank, LivedIn& collectives) {
      for (int i = 0; i < 300; ++i) {
        int send[4], receive[4] = {};
        for (int to = 0; to < 4; ++to) send[to] = 1000 * i + 10 * rank + to;
        AlltoallArguments arguments;
        arguments.send = Blocks::regular(reinterpret_cast<std::byte*>(send), sizeof(int));
        arguments.receive = Blocks::regular(reinterpret_cast<std::byte*>(receive), sizeof(int));
        ASSERT_TRUE(collectives.alltoall(arguments));
        for (int from = 0; from < 4; ++from) ASSERT_EQ(receive[from], 1000 * i + 10 * from + rank) << algorithm->name;
      }
    });
  }
}

}  // namespace
}  // namespace tutti::test
