// Blocks that change their owner, between ranks that are threads: what of it is not MPI's, under the sanitizers of the
// compiler. With Tutti a block of one rank is there for all.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "comm/thread_ranks.h"
#include "tutti.h"

namespace {

/// As the library has it (preload/given.h).
struct Place {
  std::int32_t home;
  std::uint64_t offset, bytes, returned;
};

std::atomic<bool> blocks_are_seen{true};
std::atomic<int> gifts_that_were_seen{0};

}  // namespace

extern "C" {

// What libtutti.so has for lib/give.c.
__attribute__((visibility("default"))) int tutti_give(MPI_Comm, int rank, int, void* block, Place* place) {
  if (!blocks_are_seen || rank > 100) return 0;
  *place = {0, reinterpret_cast<std::uintptr_t>(block), 0, 0};
  return 1;
}
__attribute__((visibility("default"))) int tutti_take(const Place* place, void** block) {
  ++gifts_that_were_seen;
  *block = reinterpret_cast<void*>(static_cast<std::uintptr_t>(place->offset));
  return 1;
}

}  // extern "C"

namespace tutti::test {
namespace {

constexpr MPI_Aint bytes = 1000;

Machines ranks(int count) {
  std::string error;
  const auto resources = topology::Resources::load("package:1 core:4 pu:1", error);
  return {*resources, std::vector<Seat>(static_cast<std::size_t>(count)), {}};
}

int* block_of(int value) {
  int* block = nullptr;
  TUTTI_Alloc(bytes, &block);
  for (std::size_t i = 0; i < bytes / sizeof(int); ++i) block[i] = value;
  return block;
}
void expect_block(int* block, int value) {
  for (std::size_t i = 0; i < bytes / sizeof(int); ++i) ASSERT_EQ(block[i], value);
  TUTTI_Free(block);
}

class HandingOver : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    blocks_are_seen = GetParam();
    gifts_that_were_seen = 0;
  }
};

TEST_P(HandingOver, BlocksGoRound) {
  constexpr int count = 3, rounds = 100;
  run(ranks(count), [&](int rank) {
    int* block = block_of(rank);
    for (int round = 1; round <= rounds; ++round) {
      TUTTI_Request given;
      ASSERT_EQ(TUTTI_Igive(block, bytes, (rank + 1) % count, round, MPI_COMM_WORLD, &given), MPI_SUCCESS);
      MPI_Aint told = 0;
      MPI_Status status;
      ASSERT_EQ(TUTTI_Take(&block, &told, MPI_ANY_SOURCE, round, MPI_COMM_WORLD, &status), MPI_SUCCESS);
      EXPECT_EQ(told, bytes);
      EXPECT_EQ(status.MPI_SOURCE, (rank + count - 1) % count);
      EXPECT_EQ(status.bytes, bytes);
      TUTTI_Wait(&given, MPI_STATUS_IGNORE);
      EXPECT_EQ(given, TUTTI_REQUEST_NULL);
    }
    expect_block(block, (rank + count - rounds % count) % count);
  });
  EXPECT_EQ(gifts_that_were_seen, GetParam() ? count * rounds : 0);
}

TEST_P(HandingOver, WhatIsFoundForALaterOneGoesToTheEarliest) {
  run(ranks(2), [&](int rank) {
    if (rank == 1) {
      for (int i = 0; i < 40; ++i) TUTTI_Give(block_of(i), bytes, 0, i % 2, MPI_COMM_WORLD);
      return;
    }
    std::vector<TUTTI_Request> taken(40);
    std::vector<int*> blocks(40);
    for (std::size_t i = 0; i < 40; ++i)
      TUTTI_Itake(&blocks[i], nullptr, i % 3 ? 1 : MPI_ANY_SOURCE, static_cast<int>(i % 2), MPI_COMM_WORLD, &taken[i]);
    for (std::size_t i = 40; i-- > 0;) {
      TUTTI_Wait(&taken[i], MPI_STATUS_IGNORE);
      expect_block(blocks[i], static_cast<int>(i));
    }
  });
}

TEST_P(HandingOver, ThreadsOfARankTakeAtTheSameTime) {
  constexpr int threads = 3, each = 200;
  run(ranks(2), [&](int rank) {
    const MPI_Comm world = MPI_COMM_WORLD;
    std::vector<std::thread> all;
    std::atomic<long> sum{0};
    for (int thread = 0; thread < threads; ++thread)
      all.emplace_back([&, thread] {
        for (int i = 0; i < each; ++i) {
          if (rank == 0) {
            TUTTI_Give(block_of(thread * each + i), bytes, 1, i % 5, world);
            continue;
          }
          int* block = nullptr;
          if (i % 2) {
            TUTTI_Take(&block, nullptr, 0, MPI_ANY_TAG, world, MPI_STATUS_IGNORE);
          } else {
            TUTTI_Request taken;
            TUTTI_Itake(&block, nullptr, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &taken);
            int flag = 0;
            while (!flag) TUTTI_Test(&taken, &flag, MPI_STATUS_IGNORE);
          }
          sum += block[0];
          expect_block(block, block[0]);
        }
      });
    for (std::thread& thread : all) thread.join();
    constexpr long last = threads * each - 1;
    EXPECT_EQ(sum, rank == 0 ? 0 : last * (last + 1) / 2);
  });
}

TEST_P(HandingOver, AfterAnErrorTheBlockIsStillTheCallers) {
  run(ranks(1), [&](int) {
    int* const block = block_of(7);
    TUTTI_Request request = TUTTI_REQUEST_NULL;
    EXPECT_EQ(TUTTI_Give(block, bytes, 5, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    EXPECT_EQ(TUTTI_Igive(block, bytes, 5, 0, MPI_COMM_WORLD, &request), MPI_ERR_RANK);
    int* none = nullptr;
    EXPECT_EQ(TUTTI_Take(&none, nullptr, 5, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_RANK);
    EXPECT_EQ(TUTTI_Itake(&none, nullptr, 5, 0, MPI_COMM_WORLD, &request), MPI_SUCCESS);
    EXPECT_EQ(TUTTI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_RANK);
    expect_block(block, 7);
    const char message[100] = "no block";
    MPI_Send(message, 100, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    EXPECT_EQ(TUTTI_Take(&none, nullptr, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
  });
}

INSTANTIATE_TEST_SUITE_P(, HandingOver, testing::Values(true, false),
                         [](const auto& each) { return each.param ? "where_they_lie" : "copied"; });

}  // namespace
}  // namespace tutti::test
