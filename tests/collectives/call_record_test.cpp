// What is counted, and that what tools are told of a choice is what a communicator chooses.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "collectives/call_shape.h"
#include "collectives/prediction.h"
#include "collectives/thread_ranks.h"

namespace tutti::test {
namespace {

void broadcast(Collectives& collectives, std::size_t bytes) {
  std::vector<std::byte> buffer(bytes);
  ASSERT_TRUE(collectives.bcast({buffer.data(), bytes, 0}));
}

TEST(CallRecord, AChoiceHasOneRecordHoweverOftenItIsMadeAndUsed) {
  World world;
  world.is_new = true;
  world.settings.explain = std::string("1");
  run_ranks(world, [](int, Collectives& collectives) {
    for (const std::size_t bytes : {5, 8, 7, 9, 16}) {
      broadcast(collectives, bytes);
      ASSERT_EQ(collectives.last_bytes(), bytes);
      CallRecord* const record = collectives.take_last_record();
      ASSERT_TRUE(record);
      EXPECT_FALSE(collectives.take_last_record()) << "a call is counted once";
      record->count(bytes % 2 ? "odd" : "even", bytes, 3);
    }
    collectives.choose_anew({});
    broadcast(collectives, 8);
    collectives.take_last_record()->count("even", 8, 3);
    ASSERT_EQ(collectives.records().size(), 2u);
    const CallRecord& small = collectives.records()[0];
    EXPECT_EQ(small.size_class, 3u);
    EXPECT_EQ(small.calls, 4u);
    EXPECT_EQ(small.bytes, 28u);
    EXPECT_EQ(small.ticks, 12u);
    EXPECT_STREQ(small.mechanisms[0].name, "odd");
    EXPECT_EQ(small.mechanisms[0].calls, 2u);
    EXPECT_EQ(small.mechanisms[1].calls, 2u);
    EXPECT_EQ(collectives.records()[1].calls, 2u);
  });
}

TEST(CallRecord, ThereIsNoneUnlessItIsAskedFor) {
  for (const char* value : {"", "0", "off", "no"}) {
    World world;
    world.is_new = true;
    world.settings.explain = std::string(value);
    run_ranks(world, [](int, Collectives& collectives) {
      broadcast(collectives, 8);
      EXPECT_FALSE(collectives.take_last_record());
      EXPECT_TRUE(collectives.records().empty());
    });
  }
}

TEST(CallRecord, WhatWasChosenForTheHostIsCountedWithTheReason) {
  World world;
  world.is_new = true;
  world.settings.explain = std::string("told.json");
  world.algorithm = std::string("barrier:host");
  run_ranks(world, [](int, Collectives& collectives) {
    EXPECT_FALSE(collectives.barrier({}));
    const CallRecord* const record = collectives.take_last_record();
    ASSERT_TRUE(record);
    EXPECT_STREQ(record->algorithm, "host");
    EXPECT_EQ(record->reason, selection::Reason::user);
  });
}

TEST(CallShape, AToolIsToldWhatACommunicatorChooses) {
  for (const Reach reach : {Reach::direct, Reach::cma, Reach::staged, Reach::xpmem}) {
    World world;
    world.is_new = true;
    world.ranks = 5;
    world.reach = reach;
    world.may_stage = true;
    world.settings.explain = std::string("1");
    run_ranks(world, [&](int, Collectives& collectives) {
      const selection::Shape& mine = collectives.shape();
      Surroundings surroundings =
          surroundings_of(world.settings, mine.ranks, mine.levels, mine.ranks_per_core, mine.distances);
      surroundings.window = surroundings.ranks_are_threads = reach == Reach::direct;
      surroundings.xpmem = reach == Reach::xpmem;
      surroundings.cma = reach == Reach::cma;
      for (const std::size_t bytes : {1, 100, 16384, 16385, 1 << 20}) {
        broadcast(collectives, bytes);
        const CallRecord* const record = collectives.take_last_record();
        const auto told = predict("bcast", call_shape(surroundings, bytes, true, true), {});
        ASSERT_TRUE(told);
        EXPECT_EQ(told->algorithm, record->algorithm) << name_of(reach) << " " << bytes;
        EXPECT_EQ(told->parameter, record->parameter) << name_of(reach) << " " << bytes;
      }
    });
  }
}

}  // namespace
}  // namespace tutti::test
