// Allgather and Allgatherv: every algorithm x reach x ranks x size.
#include <map>
#include <numeric>

#include "collectives/block_patterns.h"
#include "collectives/thread_ranks.h"

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

/// Around the inline limit, a grain and the limit of eager.
const std::vector<std::size_t> all_sizes{
    1, 13, Post::inline_bytes, Post::inline_bytes + 1, 4095, 4096, 4097, 16 * 1024, 16385, 30001};
/// One of each kind, where the steps of many ranks take long.
const std::vector<std::size_t> few_sizes{13, 4097, 30001};

/// One call on one rank: fills, calls, overwrites at once what others might still read, then compares.
void check(int rank, LivedIn& collectives, const std::vector<std::size_t>& of, bool regular, bool in_place, int call) {
  const int ranks = collectives.communicator().size();
  const auto own = static_cast<std::size_t>(rank);
  // Where blocks lie differs between ranks.
  BlockBuffer receive(of, regular ? 0 : 3, !regular && rank % 2 == 1);
  BlockBuffer expected = receive;
  for (int from = 0; from < ranks; ++from)
    fill_block(expected.block(static_cast<std::size_t>(from)), of[static_cast<std::size_t>(from)], from, 0, call);
  std::vector<std::byte> send(of[own]);
  fill_block(send.data(), of[own], rank, 0, call);
  if (in_place) fill_block(receive.block(own), of[own], rank, 0, call);

  AllgatherArguments arguments;
  arguments.send = in_place ? nullptr : send.data();
  arguments.bytes = of[own];
  arguments.receive = receive.blocks(regular);
  ASSERT_TRUE(collectives.allgather(arguments));

  send.assign(send.size(), std::byte{0xee});
  const std::vector<std::byte> got = receive.bytes;
  receive.bytes.assign(receive.bytes.size(), std::byte{0xee});
  ASSERT_EQ(first_difference(got, expected.bytes), got.size())
      << collectives.last_algorithm() << " ranks " << ranks << " rank " << rank << " bytes " << of[0] << " regular "
      << regular << " in place " << in_place << " call " << call;
}

/// Sizes up to `bytes`, some of them 0.
std::vector<std::size_t> irregular_sizes(int ranks, std::size_t bytes, int call) {
  std::vector<std::size_t> of;
  for (int rank = 0; rank < ranks; ++rank)
    of.push_back((rank + call) % 3 == 0 ? 0 : bytes - static_cast<std::size_t>(rank) * 7 % bytes);
  return of;
}

class Allgather : public testing::TestWithParam<Reach> {};

/// Every size regular and irregular, in place and not. Counts the calls that each algorithm has carried out.
void sweep(const World& world, const std::vector<std::size_t>& sizes, std::map<std::string, int>* used = nullptr) {
  sweep_ranks(world, [&](int rank, LivedIn& collectives) {
    int call = 0;
    for (const std::size_t bytes : sizes)
      for (const bool in_place : {false, true}) {
        const std::vector<std::size_t> equal(static_cast<std::size_t>(world.ranks), bytes);
        check(rank, collectives, equal, true, in_place, ++call);
        if (used && rank == 0) ++(*used)[collectives.last_algorithm()];
        if (call % 4 < 2) check(rank, collectives, irregular_sizes(world.ranks, bytes, call), false, in_place, call);
        if (testing::Test::HasFatalFailure()) return;
      }
  });
}

TEST_P(Allgather, GivesEveryBlockToEveryRank) {
  for (const auto* algorithm : algorithms_of<AllgatherArguments>()) {
    std::map<std::string, int> used;
    for (const int ranks : rank_counts()) {
      const std::string name = algorithm->name;
      sweep(world_of(ranks, GetParam(), "allgather:" + name + ";allgatherv:" + name), ranks > 8 ? few_sizes : all_sizes,
            &used);
      if (HasFatalFailure()) return;
    }
    EXPECT_GT(used[algorithm->name], 0) << algorithm->name << " never ran";
  }
}

TEST_P(Allgather, RunsAroundTheRingWithEveryStepThatComesByAllRanks) {
  for (const int ranks : rank_counts())
    for (const int j : {2, 3, ranks - 1, ranks + 1}) {
      const std::string choice = "ring-neighbor,j=" + std::to_string(j);
      std::map<std::string, int> used;
      const World world = world_of(ranks, GetParam(), "allgather:" + choice + ";allgatherv:" + choice);
      if (!is_swept(world)) continue;
      sweep(world, few_sizes, &used);
      if (HasFatalFailure()) return;
      EXPECT_EQ(used.count("ring-neighbor") > 0, std::gcd(ranks, j) == 1) << ranks << " ranks, j " << j;
    }
}

TEST_P(Allgather, IsDoneByWhatTheModelChoosesAlsoAboveTheFlatLimit) {
  for (const std::size_t flat_max : {std::size_t{2}, std::size_t{16}}) {
    World world = world_of(5, GetParam(), "");
    world.settings.flat_max = flat_max;
    sweep(world, all_sizes);
  }
}

TEST_P(Allgather, WhatDoesNotFitIsCutAndNoted) {
  for (const auto* algorithm : algorithms_of<AllgatherArguments>()) {
    const World world = world_of(2, GetParam(), std::string("allgatherv:") + algorithm->name);
    run_ranks(world, [&](int rank, LivedIn& collectives) {
      for (const std::size_t bytes : {std::size_t{40}, std::size_t{200}, std::size_t{10'000}, std::size_t{30'000}}) {
        const std::size_t room = rank == 1 ? bytes / 2 : bytes;
        BlockBuffer receive({room, bytes}, 3);
        const std::vector<std::byte> send(bytes, std::byte{1});
        const Collectives::Done done = collectives.allgather({send.data(), bytes, receive.blocks(false)});
        ASSERT_TRUE(done);
        ASSERT_EQ(done.truncated, rank == 1) << algorithm->name << ", " << bytes << " bytes";
        ASSERT_EQ(receive.block(0)[room - 1], std::byte{1}) << algorithm->name;
        ASSERT_EQ(receive.block(0)[room], guard) << algorithm->name;
      }
    });
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Reaches, Allgather, all_reaches(),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(AllgatherSizes, ARankThatSendsLessOrMoreThanIsExpectedKeepsNobodyWaiting) {
  for (const auto* algorithm : algorithms_of<AllgatherArguments>()) {
    const World world = world_of(3, Reach::direct, std::string("allgatherv:") + algorithm->name);
    run_ranks(world, [&](int rank, LivedIn& collectives) {
      for (const std::size_t bytes : {std::size_t{20}, std::size_t{200}, std::size_t{10000}})
        for (const bool more : {false, true}) {
          const auto own = static_cast<std::size_t>(rank);
          BlockBuffer receive({bytes, bytes, bytes}, 3);
          const std::vector<std::byte> send(rank == 1 ? (more ? 2 * bytes : bytes / 2) : bytes, std::byte{1});
          ASSERT_TRUE(collectives.allgather({send.data(), send.size(), receive.blocks(false)}));
          ASSERT_EQ(receive.block(1)[0], std::byte{1});
          for (std::size_t i = 0; i < 3; ++i) ASSERT_EQ(receive.block(i)[bytes], guard) << algorithm->name;
          ASSERT_EQ(receive.block(own)[0], std::byte{1});
        }
    });
  }
}

TEST(AllgatherOrder, CallsFollowEachOtherWithoutASynchronisation) {
  for (const auto* algorithm : algorithms_of<AllgatherArguments>()) {
    const World world = world_of(4, Reach::direct, std::string("allgather:") + algorithm->name);
    run_ranks(world, [&](int rank, LivedIn& collectives) {
      for (int i = 0; i < 300; ++i) {
        const int mine = 1000 * i + rank;
        int all[4] = {};
        ASSERT_TRUE(collectives.allgather({reinterpret_cast<const std::byte*>(&mine), sizeof mine,
                                           Blocks::regular(reinterpret_cast<std::byte*>(all), sizeof mine)}));
        for (int from = 0; from < 4; ++from) ASSERT_EQ(all[from], 1000 * i + from) << algorithm->name;
      }
    });
  }
}

}  // namespace
}  // namespace tutti::test
