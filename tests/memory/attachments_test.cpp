// Exposing memory, attaching to it, and what happens when it goes.
#include "memory/attachments.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "memory/xpmem_stand_in.h"

namespace tutti::memory {
namespace {

using test::TwiceMapped;
using test::XpmemBalance;
using test::XpmemStandIn;

constexpr std::size_t page = 4096;

/// An owner's table and a peer that attaches.
struct Pair {
  explicit Pair(std::size_t capacity = 8) {
    const Xpmem xpmem = XpmemStandIn::calls();
    segment = expose_address_space(xpmem);
    clock.add(running);
    peer = std::make_unique<Attachments>(xpmem, get_segment(xpmem, segment), *table, clock, capacity);
  }
  ~Pair() {
    peer.reset();
    XpmemStandIn::calls().remove(segment);
    EXPECT_EQ(XpmemStandIn::balance(), XpmemBalance{});
  }
  std::byte* reach(TwiceMapped& memory) {
    return peer->reach(exposures.expose(memory.begin(), memory.bytes()), 0, memory.bytes());
  }
  void begin_operation() { running = clock.now(); }
  void end_operation() { running = 0; }

  std::unique_ptr<ExposureTable> table = std::make_unique<ExposureTable>();
  Exposures exposures{*table};
  OperationClock clock;
  OperationClock::Since running{0};
  std::int64_t segment;
  std::unique_ptr<Attachments> peer;
};

std::deque<TwiceMapped> buffers(std::size_t count, std::size_t bytes = 5 * page) {
  std::deque<TwiceMapped> all;
  for (std::size_t i = 0; i < count; ++i) all.emplace_back(bytes);
  return all;
}

TEST(Attachments, StoresOfEitherSideAreSeenByTheOther) {
  Pair pair;
  TwiceMapped memory(10 * page);
  std::byte* const own = memory.begin() + 100;
  const Region region = pair.exposures.expose(own, 5 * page);
  EXPECT_EQ(region.kind(), Kind::xpmem);
  EXPECT_TRUE(region.loads_and_stores());
  std::byte* const theirs = pair.peer->reach(region, 7, 3 * page);
  ASSERT_NE(theirs, own + 7);
  own[7] = std::byte{1};
  EXPECT_EQ(theirs[0], std::byte{1});
  theirs[3 * page - 1] = std::byte{2};
  EXPECT_EQ(own[7 + 3 * page - 1], std::byte{2});
}

TEST(Attachments, ABufferIsAttachedOnceForAllItsPieces) {
  Pair pair;
  TwiceMapped memory(100 * page);
  const Region region = pair.exposures.expose(memory.begin(), memory.bytes());
  for (std::size_t at = 0; at < memory.bytes(); at += 1000)
    pair.peer->reach(region, at, std::min<std::size_t>(1000, memory.bytes() - at));
  EXPECT_EQ(pair.peer->statistics().misses, 1u);
  EXPECT_EQ(pair.peer->statistics().hits, memory.bytes() / 1000);
  EXPECT_EQ(XpmemStandIn::balance().attachments, 1);
}

TEST(Attachments, ThereAreNeverManyMoreThanTheCapacity) {
  constexpr std::size_t capacity = 4;
  Pair pair(capacity);
  auto many = buffers(300);
  for (int round = 0; round < 3; ++round)
    for (auto& memory : many) {
      pair.begin_operation();
      memory.begin()[3] = std::byte{static_cast<unsigned char>(round + 1)};
      ASSERT_EQ(pair.reach(memory)[3], memory.begin()[3]);
      pair.end_operation();
      ASSERT_LE(pair.peer->statistics().attached, capacity + 1);
    }
  EXPECT_GT(pair.peer->statistics().evictions, 800u);
  EXPECT_LE(pair.peer->statistics().most, capacity + 1);
}

TEST(Attachments, TheLeastRecentlyUsedGoesFirst) {
  Pair pair(3);
  auto four = buffers(4);
  const auto operation = [&](std::size_t i) {
    pair.begin_operation();
    pair.reach(four[i]);
    pair.end_operation();
  };
  for (const std::size_t i : {0u, 1u, 2u, 0u, 3u}) operation(i);  // 3 takes the place of 1
  const auto misses = pair.peer->statistics().misses;
  for (const std::size_t i : {0u, 2u, 3u}) operation(i);
  EXPECT_EQ(pair.peer->statistics().misses, misses);
  operation(1);
  EXPECT_EQ(pair.peer->statistics().misses, misses + 1);
}

TEST(Attachments, WhatARunningOperationUsesStaysAttached) {
  Pair pair(2);
  auto many = buffers(50);
  std::vector<std::byte*> pointers;
  pair.begin_operation();
  for (auto& memory : many) pointers.push_back(pair.reach(memory));
  for (std::size_t i = 0; i < many.size(); ++i) {
    many[i].begin()[0] = std::byte{static_cast<unsigned char>(i)};
    ASSERT_EQ(pointers[i][0], std::byte{static_cast<unsigned char>(i)});
  }
  EXPECT_EQ(pair.peer->statistics().attached, many.size());
  pair.end_operation();
  pair.begin_operation();
  TwiceMapped another(page);
  pair.reach(another);
  // What was attached at the very moment at which this operation began counts as used by it.
  EXPECT_LE(pair.peer->statistics().attached, 3u);
}

TEST(Attachments, AnotherCommunicatorsOperationKeepsWhatItUses) {
  Pair pair(1);
  OperationClock::Since other{pair.clock.now()};
  pair.clock.add(other);
  auto some = buffers(10);
  std::byte* const kept = pair.reach(some[0]);
  for (auto& memory : some) {
    pair.begin_operation();
    pair.reach(memory);
    pair.end_operation();
  }
  some[0].begin()[9] = std::byte{77};
  EXPECT_EQ(kept[9], std::byte{77});
  pair.clock.remove(other);
}

TEST(Attachments, MemoryThatComesToTheSameAddressIsAttachedAnew) {
  Pair pair;
  TwiceMapped memory(5 * page);
  memory.begin()[0] = std::byte{1};
  ASSERT_EQ(pair.reach(memory)[0], std::byte{1});
  pair.exposures.unmapped(memory.begin() + 2 * page, 10);
  memory.map_anew();
  memory.begin()[0] = std::byte{2};
  EXPECT_EQ(pair.reach(memory)[0], std::byte{2});
  EXPECT_EQ(pair.peer->statistics().stale, 1u);
  // The test can fail: without a word from the owner the old memory is seen.
  memory.map_anew();
  memory.begin()[0] = std::byte{3};
  EXPECT_EQ(pair.reach(memory)[0], std::byte{2});
}

TEST(Attachments, StaleOnesStayWhileAnOperationRunsAndGoWithTheNextUse) {
  Pair pair;
  auto two = buffers(2);
  pair.begin_operation();
  std::byte* const used = pair.reach(two[0]);
  pair.exposures.unmapped_all();
  pair.reach(two[1]);
  used[0] = std::byte{5};
  EXPECT_EQ(two[0].begin()[0], std::byte{5});
  EXPECT_EQ(pair.peer->statistics().attached, 2u);
  pair.end_operation();
  pair.exposures.unmapped_all();
  pair.reach(two[1]);
  EXPECT_EQ(pair.peer->statistics().attached, 1u);
}

TEST(Attachments, ARegionWhoseRowWasTakenForAnotherIsReachedAllTheSame) {
  Pair pair;
  TwiceMapped memory(5 * page);
  const Region region = pair.exposures.expose(memory.begin(), memory.bytes());
  auto many = buffers(ExposureTable::rows + 10);
  for (auto& other : many) pair.exposures.expose(other.begin(), other.bytes());
  memory.begin()[page] = std::byte{4};
  EXPECT_EQ(pair.peer->reach(region, page, 10)[0], std::byte{4});
  // It was in no table, so that nobody would have told of its end.
  memory.map_anew();
  memory.begin()[page] = std::byte{5};
  EXPECT_EQ(pair.reach(memory)[page], std::byte{5});
}

TEST(Attachments, ARefusalIsTriedAgainWithMoreRoomAndThenSaid) {
  Pair pair(8);
  auto some = buffers(5);
  for (auto& memory : some) pair.reach(memory);
  XpmemStandIn::refuse_attach = 1;
  TwiceMapped memory(page);
  memory.begin()[0] = std::byte{6};
  EXPECT_EQ(pair.reach(memory)[0], std::byte{6});
  EXPECT_EQ(pair.peer->statistics().attached, 1u);
  XpmemStandIn::refuse_attach = 2;
  try {
    pair.reach(some[0]);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("xpmem_attach of 20480 bytes"), std::string::npos) << error.what();
  }
}

TEST(Attachments, NothingIsAttachedForNothing) {
  Pair pair;
  TwiceMapped memory(page);
  EXPECT_NE(pair.peer->reach(pair.exposures.expose(memory.begin(), page), page, 0), nullptr);
  EXPECT_EQ(pair.peer->statistics().misses, 0u);
}

TEST(Exposures, NeighboursAreJoinedUnlessOneIsMuchLarger) {
  const auto table = std::make_unique<ExposureTable>();
  Exposures exposures(*table);
  const auto at = [](std::uintptr_t address) { return reinterpret_cast<void*>(address); };
  for (std::uintptr_t i = 0; i < 100; ++i) exposures.expose(at(0x10000000 + i * 5 * page), 5 * page);
  EXPECT_LT(exposures.count(), 30u);
  for (std::uintptr_t i = 0; i < 100; ++i) exposures.expose(at(0x10000000 + i * 5 * page), 5 * page);
  EXPECT_LT(exposures.count(), 30u);

  Exposures other(*table);
  other.expose(at(0x80000000), 1000 * page);
  other.expose(at(0x80000000 + 1000 * page), page);
  EXPECT_EQ(other.count(), 2u);
  // Inside of one: the same.
  other.expose(at(0x80000000 + 10 * page + 5), page);
  EXPECT_EQ(other.count(), 2u);
}

TEST(Exposures, UnmappingTakesAwayWhatItTouchesAndNothingElse) {
  const auto table = std::make_unique<ExposureTable>();
  Exposures exposures(*table);
  const auto at = [](std::uintptr_t address) { return reinterpret_cast<void*>(address); };
  for (std::uintptr_t i = 0; i < 10; ++i) exposures.expose(at(0x10000000 + i * 0x100000), 3 * page);
  exposures.unmapped(at(0x10000000 + 3 * page), 0x100000 - 3 * page);  // between two
  EXPECT_EQ(exposures.count(), 10u);
  exposures.unmapped(at(0x10000000 + 2 * page), 1);
  EXPECT_EQ(exposures.count(), 9u);
  exposures.unmapped(at(0x10000000 + 5 * 0x100000), SIZE_MAX);
  EXPECT_EQ(exposures.count(), 4u);
  exposures.unmapped_all();
  EXPECT_EQ(exposures.count(), 0u);
}

TEST(Exposures, AnAddressThatDoesNotFitIsNotExposed) {
  const auto table = std::make_unique<ExposureTable>();
  Exposures exposures(*table);
  EXPECT_EQ(exposures.expose(reinterpret_cast<void*>(std::uintptr_t{1} << 50), 10).kind(), Kind::none);
}

TEST(Exposures, AReaderNeverSeesHalfOfAChange) {
  const auto table = std::make_unique<ExposureTable>();
  Exposures exposures(*table);
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop) {
      for (std::size_t row = 0; row < 4; ++row) {
        const auto extent = table->read(row);
        if (extent.begin == extent.end) continue;
        // The writer's extents are as many pages long as their number says.
        EXPECT_EQ((extent.end - extent.begin) / page, (extent.begin >> 24) & 0xff);
      }
    }
  });
  for (int round = 0; round < 20000; ++round) {
    const auto pages = static_cast<std::uintptr_t>(round % 200 + 1);
    exposures.expose(reinterpret_cast<void*>(pages << 24), pages * page);
    exposures.unmapped_all();
  }
  stop = true;
  reader.join();
}

TEST(Xpmem, WithoutTheDeviceTheReasonNamesIt) {
  std::string reason;
  EXPECT_FALSE(load_xpmem("/dev/no-such-device", reason));
  EXPECT_NE(reason.find("/dev/no-such-device"), std::string::npos) << reason;
}

TEST(Xpmem, ARefusedGrantIsNotReleased) {
  const Xpmem xpmem = XpmemStandIn::calls();
  const std::int64_t segment = expose_address_space(xpmem);
  XpmemStandIn::refuse_get = 1;
  EXPECT_LT(get_segment(xpmem, segment), 0);
  xpmem.remove(segment);
  EXPECT_EQ(XpmemStandIn::balance(), XpmemBalance{});
}

}  // namespace
}  // namespace tutti::memory
