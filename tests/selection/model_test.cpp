#include "selection/model.h"

#include <gtest/gtest.h>

namespace tutti::selection {
namespace {

Shape shape_of(std::size_t bytes, Reach reach) {
  Shape shape;
  shape.bytes = bytes;
  shape.reach = reach;
  return shape;
}

TEST(Model, GammaIsOneAloneAndGrows) {
  const Model model;
  EXPECT_EQ(model.gamma(1), 1);
  EXPECT_EQ(model.gamma(0.5), 1);
  EXPECT_DOUBLE_EQ(model.gamma(2), 4 * model.kernel_gamma_square + 2 * model.kernel_gamma_linear);
}

TEST(Cost, ReadWrittenAndExchangedBytesHaveTheirOwnPrices) {
  Model model;
  model.remote_byte = 1, model.write_byte = 10, model.exchange_byte = 100;
  const Cost cost{.remote_bytes = 6, .written_bytes = 2, .exchanged_bytes = 1};
  EXPECT_DOUBLE_EQ(cost.seconds(shape_of(6, Reach::mapped), model), 3 * 1 + 2 * 10 + 1 * 100);
}

TEST(Cost, CopiesByTheKernelPayForStartBytesAndPagesUnderContention) {
  Model model;
  model.kernel_start = 1000, model.kernel_byte = 1, model.kernel_write_byte = 2, model.kernel_page = 4096;
  model.kernel_gamma_square = 0, model.kernel_gamma_linear = 3;
  const Cost cost{.remote_bytes = 100, .written_bytes = 40, .startups = 2, .concurrency = 2};
  EXPECT_DOUBLE_EQ(cost.seconds(shape_of(100, Reach::kernel), model), 2 * 1000 + 60 * 1 + 40 * 2 + 100 * 3 * 2);
}

TEST(Cost, WhatDoesNotFitASlotIsCopiedByTheKernelWhereThatCan) {
  Shape shape = shape_of(10, Reach::staged);
  shape.slot_bytes = 16;
  EXPECT_EQ(shape.reach_of(20), Reach::staged);
  shape.kernel_beyond_slot = true;
  EXPECT_EQ(shape.reach_of(20), Reach::kernel);
  EXPECT_EQ(shape.reach_of(16), Reach::staged);
  shape.reach = Reach::mapped;
  EXPECT_EQ(shape.reach_of(20), Reach::mapped);

  Model model;
  model.kernel_start = 1000, model.remote_byte = 1, model.kernel_byte = 0, model.kernel_page = 0;
  shape.reach = Reach::staged;
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .startups = 1}.seconds(shape, model)), 10);
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .startups = 1, .by_kernel = true}.seconds(shape, model)), 1000);
}

TEST(Cost, RanksThatTakeTurnsDoNotContendInTheKernel) {
  Model model;
  model.turn = 0;
  const Cost cost{.remote_bytes = 4096, .startups = 1, .concurrency = 4};
  Shape crowded = shape_of(4096, Reach::kernel);
  crowded.ranks_per_core = 4;
  const double alone = Cost{.remote_bytes = 4096, .startups = 1}.seconds(shape_of(4096, Reach::kernel), model);
  EXPECT_DOUBLE_EQ(cost.seconds(crowded, model), 4 * alone);
}

TEST(Cost, WhatHasLeftTheCachesCostsWhatMemoryCosts) {
  Model model;
  model.remote_byte = 1, model.memory_byte = 3, model.shared_cache = 100;
  const auto seconds = [&](std::size_t bytes) {
    return Cost{.remote_bytes = static_cast<double>(bytes)}.seconds(shape_of(bytes, Reach::mapped), model);
  };
  // Two ranks with two buffers each.
  EXPECT_DOUBLE_EQ(seconds(25), 25 * 1);
  EXPECT_DOUBLE_EQ(seconds(50), 50 * (1 + 0.5 * 2));
  EXPECT_NEAR(seconds(1000000) / 1000000, 3, 1e-3);
}

TEST(Cost, ShippedParametersKnowNoLimitOfTheCaches) {
  const Model model;
  const Cost cost{.remote_bytes = 1};
  EXPECT_DOUBLE_EQ(cost.seconds(shape_of(std::size_t{1} << 30, Reach::mapped), model), model.remote_byte);
}

}  // namespace
}  // namespace tutti::selection
