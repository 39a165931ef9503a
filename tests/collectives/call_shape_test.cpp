#include "collectives/call_shape.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

using selection::Reach;

Surroundings of_two_ranks() {
  Settings settings;
  settings.window_min = 2048;
  settings.eager_max = 4096;
  Surroundings surroundings = surroundings_of(settings, 2, 1, 1);
  surroundings.window = surroundings.cma = true;
  return surroundings;
}

Reach reach_of(const Surroundings& surroundings, std::size_t bytes) {
  return call_shape(surroundings, bytes, true, true).reach;
}

TEST(CallShape, IsThatOfTheLargestOfTheClass) {
  const Surroundings surroundings = of_two_ranks();
  EXPECT_EQ(call_shape(surroundings, 0, true, true).bytes, 0U);
  EXPECT_EQ(call_shape(surroundings, 1025, true, true).bytes, 2048U);
  EXPECT_EQ(call_shape(surroundings, 2048, true, true).bytes, 2048U);
  EXPECT_EQ(call_shape(surroundings, 2049, true, true).bytes, 4096U);
}

TEST(CallShape, BuffersOfAClassWhoseLargestIsInTheWindowAreMapped) {
  const Surroundings surroundings = of_two_ranks();
  EXPECT_EQ(reach_of(surroundings, 1024), Reach::staged);
  EXPECT_EQ(reach_of(surroundings, 2048), Reach::mapped);
  EXPECT_EQ(reach_of(surroundings, 1 << 20), Reach::mapped);
}

TEST(CallShape, WithoutAWindowTheKernelCopiesWhatDoesNotGoThroughSlots) {
  Surroundings surroundings = of_two_ranks();
  surroundings.window = false;
  EXPECT_EQ(reach_of(surroundings, 4096), Reach::staged);
  EXPECT_EQ(reach_of(surroundings, 4097), Reach::kernel);
  surroundings.xpmem = true;
  EXPECT_EQ(reach_of(surroundings, 4096), Reach::staged);
  EXPECT_EQ(reach_of(surroundings, 4097), Reach::mapped);
  surroundings.xpmem = surroundings.cma = false;
  EXPECT_EQ(reach_of(surroundings, 4097), Reach::staged);
}

TEST(CallShape, OfThreadsEverythingIsMapped) {
  Surroundings surroundings = of_two_ranks();
  surroundings.ranks_are_threads = true;
  EXPECT_EQ(reach_of(surroundings, 16), Reach::mapped);
}

}  // namespace
}  // namespace tutti
