#include "topology/partition.h"

#include <gtest/gtest.h>

namespace tutti::topology {
namespace {

TEST(Partition, SharesAreDisjointAndCoverTheWhole) {
  for (const std::size_t length : {0u, 1u, 7u, 8u, 9u, 100u, 1001u})
    for (std::size_t workers = 1; workers < 20; ++workers)
      for (const std::size_t granule : {1u, 8u, 16u}) {
        std::size_t at = 5;
        for (std::size_t i = 0; i < workers; ++i) {
          const Range share = share_of({5, 5 + length}, i, workers, granule);
          ASSERT_EQ(share.begin, at);
          ASSERT_LE(share.begin, share.end);
          if (i + 1 < workers && share.end != 5 + length) {
            ASSERT_EQ((share.end - 5) % granule, 0u);
          }
          at = share.end;
        }
        ASSERT_EQ(at, 5 + length);
      }
}

TEST(Partition, ElementsBelongToTheChunkInWhichTheyBegin) {
  // 12-byte elements in 4096-byte chunks: one straddles each boundary.
  const Range first = elements_in_bytes(0, 4096, 12);
  const Range second = elements_in_bytes(4096, 8192, 12);
  EXPECT_EQ(first.begin, 0u);
  EXPECT_EQ(first.end, second.begin);
  EXPECT_EQ(first.end, 342u);
  EXPECT_EQ(elements_in_bytes(0, 100, 1000).length(), 1u);
  EXPECT_TRUE(elements_in_bytes(100, 200, 1000).empty());
}

TEST(Partition, ALineHoldsWholeElementsOrWorkIsDividedByElement) {
  EXPECT_EQ(elements_in_line(8), 8u);
  EXPECT_EQ(elements_in_line(1), 64u);
  EXPECT_EQ(elements_in_line(12), 1u);
  EXPECT_EQ(elements_in_line(128), 1u);
}

}  // namespace
}  // namespace tutti::topology
