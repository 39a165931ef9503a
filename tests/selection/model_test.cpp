#include "selection/model.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "selection/shipped.h"

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

/// A model in which nothing is left to be paid after a call.
Model at_rest() {
  Model model;
  model.left_byte = model.found_byte = model.found_streamed_byte = 0;
  return model;
}

TEST(Cost, WhatOthersHaveReadOrStoredIsPaidForAfterTheCall) {
  Model model;
  model.remote_byte = model.write_byte = model.stream_byte = model.streams_byte = 1, model.private_cache = 200;
  model.left_byte = 3, model.found_byte = 4, model.found_streamed_byte = 5;
  const Shape shape = shape_of(10, Reach::mapped), large = shape_of(streamed_to_peers_min, Reach::mapped);
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .left_bytes = 10}.seconds(shape, model)), 10 + 10 * 3);
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .written_bytes = 10}.seconds(shape, model)), 10 + 10 * 4);
  EXPECT_DOUBLE_EQ((Cost{.beside = {.remote_bytes = 10, .written_bytes = 10}}.seconds(shape, model)), 10 + 10 * 4);
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .written_bytes = 10, .workers = 1}.seconds(large, model)), 10 + 10 * 5);
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 400, .left_bytes = 400}.seconds(shape, model)), 400 + 25 * 3)
      << "the rest has left the cache";
  EXPECT_DOUBLE_EQ((Cost{.left_bytes = 10}.seconds(shape_of(10, Reach::staged), model)), 0);
}

TEST(Cost, WhatIsLeftWithCoresOfAnotherCacheStaysDearForLonger) {
  Model model;
  model.remote_byte = 1, model.left_byte = 3, model.private_cache = 200, model.kept_far = 400;
  model.byte_numa = 1, model.store_numa = 2;
  Shape shape = shape_of(10, Reach::mapped);
  shape.distances.pairs = {0, 1, 0, 0};
  const auto seconds = [&](double bytes) {
    return Cost{.remote_bytes = bytes, .left_bytes = bytes}.seconds(shape, model);
  };
  EXPECT_DOUBLE_EQ(seconds(400), 400 + 400 * 3 * 2);
  EXPECT_DOUBLE_EQ(seconds(1600), 1600 + 400 * 3 * 2) << "the rest has left those caches";
}

TEST(Cost, HowBytesAreMovedHasItsPrices) {
  Model model;
  model.remote_byte = model.exchange_byte = 1, model.write_byte = 2, model.stream_byte = 3, model.streams_byte = 0.1;
  model.memory_byte = 4, model.left_byte = 30, model.found_byte = 40, model.found_streamed_byte = 50,
  model.take_byte = 60;
  model.private_cache = 1e9;
  Shape shape = shape_of(1 << 16, Reach::mapped);
  const auto seconds = [&](Moving moving, const Cost& cost) {
    shape.moving = moving;
    return cost.seconds(shape, model);
  };
  const Cost reads{.remote_bytes = 10, .left_bytes = 10}, stores{.remote_bytes = 10, .written_bytes = 10};
  EXPECT_DOUBLE_EQ(seconds(Moving::plain, reads), 10 * (1 + 30));
  EXPECT_DOUBLE_EQ(seconds(Moving::lent, reads), 10 * (2 + 1 + 60)) << "copied, read and taken over";
  EXPECT_DOUBLE_EQ(seconds(Moving::lent_beyond, reads), 10 * (3 + 4)) << "copied past the caches, read from memory";
  EXPECT_DOUBLE_EQ(seconds(Moving::plain, stores), 10 * (3 + 50));
  EXPECT_DOUBLE_EQ(seconds(Moving::caches, stores), 10 * (2 + 40));
  Cost idle_owner = reads;
  idle_owner.workers = 1;
  EXPECT_DOUBLE_EQ(seconds(Moving::lent_beyond, idle_owner), 10 * (3 + 4)) << "the first piece, which is all";
  idle_owner.remote_bytes = idle_owner.left_bytes = 10 * lent_at_once;
  EXPECT_DOUBLE_EQ(seconds(Moving::lent_beyond, idle_owner), lent_at_once * (3 + 10 * 4)) << "the rest meanwhile";
  model.private_cache = 1 << 16;
  EXPECT_DOUBLE_EQ(seconds(Moving::lent, {.left_bytes = 10}), 10 * 4) << "it does not stay in the caches";
}

TEST(Cost, WhatGoesThroughMemoryIsAsNearToAllCoresOfANode) {
  Model model = at_rest();
  model.remote_byte = 1, model.stream_byte = 2, model.streams_byte = 0.1, model.memory_byte = 3, model.byte_numa = 10;
  model.private_cache = 1e9;
  Shape shape = shape_of(1 << 16, Reach::mapped);
  shape.distances.pairs = shape.distances.boundaries = {0, 1, 0, 0};
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .across = Across::all}.seconds(shape, model)), 10 * 10);
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .written_bytes = 10, .across = Across::all}.seconds(shape, model)),
                   10 * 2);
  shape.moving = Moving::lent_beyond;
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .left_bytes = 10, .across = Across::all}.seconds(shape, model)),
                   10 * (2 + 3));
}

TEST(Cost, ReadWrittenAndExchangedBytesHaveTheirOwnPrices) {
  Model model = at_rest();
  model.remote_byte = 1, model.write_byte = 10, model.exchange_byte = 100;
  const Cost cost{.remote_bytes = 6, .written_bytes = 2, .exchanged_bytes = 1};
  EXPECT_DOUBLE_EQ(cost.seconds(shape_of(6, Reach::mapped), model), 3 * 1 + 2 * 10 + 1 * 100);
}

TEST(Cost, LargeBlocksAreStoredPastTheCachesOfTheirOwner) {
  Model model = at_rest();
  model.write_byte = 10, model.stream_byte = 2, model.streams_byte = 1;
  const Cost cost{.remote_bytes = 3, .written_bytes = 3};
  EXPECT_DOUBLE_EQ(cost.seconds(shape_of(streamed_to_peers_min - 1, Reach::mapped), model), 3 * 10);
  Shape shape = shape_of(streamed_to_peers_min, Reach::mapped);
  EXPECT_DOUBLE_EQ(cost.seconds(shape, model), 3 * 2);
  shape.ranks = 8;
  EXPECT_DOUBLE_EQ(cost.seconds(shape, model), 3 * 8 * 1) << "eight that store at once wait for memory";
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 3, .written_bytes = 3, .workers = 3}.seconds(shape, model)), 3 * 3 * 1);
}

TEST(Cost, CopiesByTheKernelPayForStartBytesAndPagesUnderContention) {
  Model model = at_rest();
  model.kernel_start = 1000, model.kernel_byte = 1, model.kernel_write_byte = 2, model.kernel_page = 1;
  model.page_bytes = 1, model.kernel_gamma_square = 0, model.kernel_gamma_linear = 3;
  const Cost cost{.remote_bytes = 100, .written_bytes = 40, .startups = 2, .concurrency = 2};
  EXPECT_DOUBLE_EQ(cost.seconds(shape_of(100, Reach::kernel), model), 2 * 1000 + 60 * 1 + 40 * 2 + 100 * 3 * 2);
}

TEST(Cost, OfTwoWhoWorkAtTheSameTimeTheSlowerCounts) {
  Model model = at_rest();
  model.remote_byte = 1, model.write_byte = 10, model.copy_byte = 2;
  const Beside root{.copied_bytes = 3, .remote_bytes = 2, .written_bytes = 1};
  const Shape shape = shape_of(10, Reach::mapped);
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .beside = root}.seconds(shape, model)), 3 * 2 + 1 * 1 + 1 * 10);
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 20, .beside = root}.seconds(shape, model)), 20);
}

TEST(Cost, OwnDataThatAPrivateCacheDoesNotHoldCostsMore) {
  Model model = at_rest();
  model.copy_byte = 1, model.spilled_byte = 3, model.private_cache = 40;
  const Shape shape = shape_of(20, Reach::mapped);  // two buffers of it
  EXPECT_DOUBLE_EQ((Cost{.copied_bytes = 20}.seconds(shape, model)), 20);
  EXPECT_DOUBLE_EQ((Cost{.copied_bytes = 20, .held_bytes = 60}.seconds(shape, model)), 60);
  EXPECT_DOUBLE_EQ((Cost{.copied_bytes = 20}.seconds(shape_of(21, Reach::mapped), model)), 60);
}

TEST(Cost, WhereRanksShareCoresTheWorkOfAllAddsUp) {
  Model model = at_rest();
  model.turn = model.busy_turn = 0, model.remote_byte = 1, model.copy_byte = 1;
  Shape shape = shape_of(10, Reach::mapped);
  shape.ranks = 8, shape.ranks_per_core = 4;
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10}.seconds(shape, model)), 8 * 10 / 2);
  // One core has four of the seven at work.
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .workers = 7, .beside = {.copied_bytes = 4}}.seconds(shape, model)),
                   4 * 10);
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .workers = 7, .beside = {.copied_bytes = 20}}.seconds(shape, model)),
                   (7 * 10 + 20) / 2.0);
  // Who works alone is no faster for the idle core.
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .workers = 1}.seconds(shape, model)), 10);
}

TEST(Cost, RanksOfOneCoreFindInItsCachesWhatTheOthersHave) {
  Model model = at_rest();
  model.turn = model.busy_turn = 0, model.remote_byte = 8, model.exchange_byte = 8, model.write_byte = 16,
  model.copy_byte = 1;
  Shape shape = shape_of(10, Reach::mapped);
  shape.ranks = 8, shape.ranks_per_core = 4;
  // Everybody with everybody: three of the seven peers are near.
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 70}.seconds(shape, model)), 4 * (40 * 8 + 30 * 1));
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 70, .written_bytes = 70}.seconds(shape, model)), 4 * (40 * 16 + 30 * 1));
  // All with one rank: those of the other core finish last. If they read the same, one of them fetches it.
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .workers = 7}.seconds(shape, model)), 4 * 10 * 8);
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .workers = 7, .common = true}.seconds(shape, model)), 10 * 8 + 3 * 10 * 1);
  // One with all.
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 70, .workers = 1}.seconds(shape, model)), 40 * 8 + 30 * 1);
}

TEST(Cost, OfThoseThatHaveReadASlotSomeShareTheCore) {
  Model model = at_rest();
  model.turn = model.busy_turn = 0, model.slot_byte = 16, model.copy_byte = 1;
  Shape shape = shape_of(10, Reach::mapped);
  shape.ranks = 8, shape.ranks_per_core = 4;
  EXPECT_DOUBLE_EQ((Cost{.slot_bytes = 70}.seconds(shape, model)), 4 * (40 * 16 + 30 * 1));
  EXPECT_DOUBLE_EQ((Cost{.slot_bytes = 70, .workers = 7}.seconds(shape, model)), 4 * 70 * 16);
}

TEST(Cost, NoMoreStoreAtOnceThanThereAreCores) {
  Model model = at_rest();
  model.turn = model.busy_turn = 0, model.stream_byte = 1, model.streams_byte = 1, model.copy_byte = 1;
  Shape shape = shape_of(streamed_to_peers_min, Reach::mapped);
  shape.ranks = 8, shape.ranks_per_core = 4;
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .written_bytes = 10, .workers = 7}.seconds(shape, model)), 4 * 10 * 2);
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .written_bytes = 10, .workers = 3.5}.seconds(shape, model)), 2 * 10 * 2);
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 70, .written_bytes = 70, .workers = 1}.seconds(shape, model)), 70 * 1);
}

TEST(Cost, WhatTheRanksOfACoreHoldIsInOnePrivateCache) {
  Model model = at_rest();
  model.turn = model.busy_turn = 0, model.copy_byte = 1, model.spilled_byte = 4, model.remote_byte = 8,
  model.exchange_byte = 8;
  model.private_cache = 80;
  Shape shape = shape_of(10, Reach::mapped);  // two buffers of it
  shape.ranks = 8, shape.ranks_per_core = 4;
  EXPECT_DOUBLE_EQ((Cost{.copied_bytes = 10}.seconds(shape, model)), 4 * 10 * 1);
  EXPECT_DOUBLE_EQ((Cost{.copied_bytes = 10, .held_bytes = 30}.seconds(shape, model)), 4 * 10 * 4);
  shape.bytes = 11;
  EXPECT_DOUBLE_EQ((Cost{.copied_bytes = 10}.seconds(shape, model)), 4 * 10 * 4);
  // What is fetched finds no room either: two thirds of the three more.
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .workers = 7}.seconds(shape, model)), 4 * 10 * (8 + 2));
}

TEST(Cost, ATurnTakesTheLongerTheMoreTheRanksOfACoreHold) {
  Model model = at_rest();
  model.turn = 1, model.busy_turn = 3, model.private_cache = 1 << 20;
  const auto turns = [&](std::size_t bytes) {
    Shape shape = shape_of(bytes, Reach::mapped);
    shape.ranks = 8, shape.ranks_per_core = 4;
    return Cost{.rounds = 2}.seconds(shape, model);
  };
  EXPECT_DOUBLE_EQ(turns(0), 2 * 4 * 1);
  EXPECT_DOUBLE_EQ(turns(std::size_t{64} << 10), 2 * 4 * 2) << "4 ranks, 2 buffers each: half of it";
  EXPECT_DOUBLE_EQ(turns(std::size_t{128} << 10), 2 * 4 * 3);
  EXPECT_DOUBLE_EQ(turns(std::size_t{1} << 20), 2 * 4 * 3);
  model.busy_turn = 0.5;
  EXPECT_DOUBLE_EQ(turns(std::size_t{1} << 20), 2 * 4 * 1) << "no probe measures less but by chance";
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

  Model model = at_rest();
  model.kernel_start = 1000, model.remote_byte = 1, model.kernel_byte = 0, model.kernel_page = 0, model.node_byte = 0;
  shape.reach = Reach::staged;
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .startups = 1}.seconds(shape, model)), 10);
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .startups = 1, .by_kernel = true}.seconds(shape, model)), 1000);
}

TEST(Cost, RanksThatTakeTurnsDoNotContendInTheKernel) {
  Model model = at_rest();
  model.turn = model.busy_turn = 0, model.copy_byte = model.remote_byte = model.exchange_byte;
  const Cost cost{.remote_bytes = 4096, .startups = 1, .concurrency = 4};
  Shape crowded = shape_of(4096, Reach::kernel);
  crowded.ranks_per_core = 4;
  const double alone = Cost{.remote_bytes = 4096, .startups = 1}.seconds(shape_of(4096, Reach::kernel), model);
  EXPECT_DOUBLE_EQ(cost.seconds(crowded, model), 4 * alone);
}

TEST(Cost, WhatHasLeftTheCachesCostsWhatMemoryCosts) {
  Model model = at_rest();
  model.remote_byte = 1, model.memory_byte = 3, model.shared_cache = 100;
  const auto seconds = [&](std::size_t bytes) {
    return Cost{.remote_bytes = static_cast<double>(bytes)}.seconds(shape_of(bytes, Reach::mapped), model);
  };
  // Two ranks with two buffers each.
  EXPECT_DOUBLE_EQ(seconds(25), 25 * 1);
  EXPECT_DOUBLE_EQ(seconds(50), 50 * (1 + 0.5 * 2));
  EXPECT_NEAR(seconds(1000000) / 1000000, 3, 1e-3);
}

/// All pairs of ranks and all levels at one distance.
topology::Distances all_at(topology::Distance distance) {
  topology::Distances distances{{}, {}};
  distances.pairs[index_of(distance)] = distances.levels[index_of(distance)] = 1;
  distances.boundaries = distances.levels;
  return distances;
}

/// Half of the pairs share a cache, half nothing; of the levels it is three of four that share a cache, and one of
/// two if those are left out that are artificial.
Shape spread_shape() {
  Shape shape = shape_of(10, Reach::mapped);
  shape.distances = {{0.5, 0, 0, 0.5}, {0.75, 0, 0, 0.25}, {0.5, 0, 0, 0.5}};
  return shape;
}

TEST(Cost, HopsAndBytesOfTheFarthestCount) {
  Model model = at_rest();
  model.hop = 1, model.remote_byte = 1, model.hop_machine = 5, model.byte_machine = 3;
  EXPECT_DOUBLE_EQ((Cost{.hops = 2, .remote_bytes = 10}.seconds(spread_shape(), model)), 2 * 5 + 10 * 3);
}

TEST(Cost, OfBytesOfAllOthersTheMeanDistanceCounts) {
  Model model = at_rest();
  model.hop = 1, model.remote_byte = 1, model.hop_machine = 5, model.byte_machine = 3;
  const Cost cost{.hops = 2, .remote_bytes = 10, .across = Across::all};
  EXPECT_DOUBLE_EQ(cost.seconds(spread_shape(), model), 2 * 5 + 10 * (0.5 * 1 + 0.5 * 3));
}

TEST(Cost, FromLevelToLevelTheMeanOfTheLevelsCountsAndForBytesOfThoseOfTheMachine) {
  Model model = at_rest();
  model.hop = 1, model.remote_byte = 1, model.hop_machine = 5, model.byte_machine = 3;
  const Cost cost{.hops = 2, .remote_bytes = 10, .across = Across::levels};
  EXPECT_DOUBLE_EQ(cost.seconds(spread_shape(), model), 2 * (0.75 + 0.25 * 5) + 10 * (0.5 + 0.5 * 3));
}

TEST(Cost, EachDistanceHasItsFactors) {
  Model model = at_rest();
  model.hop = 1, model.remote_byte = 1;
  model.hop_numa = 2, model.hop_socket = 3, model.hop_machine = 4;
  model.byte_numa = 5, model.byte_socket = 6, model.byte_machine = 7;
  const double expected[] = {1 + 1, 2 + 5, 3 + 6, 4 + 7};
  for (const topology::Distance distance : topology::all_distances) {
    Shape shape = shape_of(1, Reach::mapped);
    shape.distances = all_at(distance);
    for (const Across across : {Across::farthest, Across::all, Across::levels})
      EXPECT_DOUBLE_EQ((Cost{.hops = 1, .remote_bytes = 1, .across = across}.seconds(shape, model)),
                       expected[index_of(distance)])
          << topology::name_of(distance);
  }
}

TEST(Cost, DistanceCountsForWhatIsAnotherCoresAlone) {
  Model model = at_rest();
  model.byte_machine = 3, model.store_machine = 5;
  Shape near = shape_of(10, Reach::mapped), far = near;
  far.distances = all_at(topology::Distance::machine);
  for (const Cost& own : {Cost{.copied_bytes = 10}, Cost{.reduced_bytes = 10}, Cost{.exposures = 2}})
    EXPECT_EQ(own.seconds(far, model), own.seconds(near, model));
  for (const Cost& loaded : {Cost{.remote_bytes = 10}, Cost{.remote_bytes = 10, .exchanged_bytes = 10}})
    EXPECT_DOUBLE_EQ(loaded.seconds(far, model), 3 * loaded.seconds(near, model));
  const Cost stored{.remote_bytes = 10, .written_bytes = 10}, sent{.slot_bytes = 10};
  EXPECT_DOUBLE_EQ(stored.seconds(far, model), 5 * stored.seconds(near, model));
  EXPECT_DOUBLE_EQ(sent.seconds(far, model), 3 * sent.seconds(near, model)) << "half of them are taken back before";
  near.bytes = far.bytes = std::size_t{1} << 20;
  EXPECT_NEAR(sent.seconds(far, model) / sent.seconds(near, model), 5, 0.01);
  model.left_byte = 1;
  EXPECT_DOUBLE_EQ((Cost{.left_bytes = 10}.seconds(far, model)), 5 * 10) << "what is left is stored to";
}

TEST(Model, CopiesAreLentPastTheCachesWhereTheyComeSoonerFromMemory) {
  const Model amd = shipped_model(Maker::amd), other;
  EXPECT_FALSE(amd.is_lent_past_caches(all_at(topology::Distance::cache)));
  EXPECT_TRUE(amd.is_lent_past_caches(all_at(topology::Distance::numa)));
  EXPECT_FALSE(other.is_lent_past_caches(all_at(topology::Distance::cache)));
}

TEST(Cost, CoresThatShareACacheShareTheWayPastIt) {
  Model model = at_rest();
  model.stream_byte = 1, model.streams_byte = 0.1, model.cache_streams_byte = 3;
  const Cost cost{.remote_bytes = 10, .written_bytes = 10};
  Shape near = shape_of(streamed_to_peers_min, Reach::mapped), apart = near;
  near.distances = all_at(topology::Distance::cache), apart.distances = all_at(topology::Distance::numa);
  EXPECT_DOUBLE_EQ(cost.seconds(near, model), 10 * 2 * 3);
  EXPECT_DOUBLE_EQ(cost.seconds(apart, model), 10 * 1);
}

TEST(Cost, WhatIsLentThroughTheRingIsNotWaitedFor) {
  Model model = at_rest();
  model.hop = 1000, model.expose = 100;
  Shape shape = shape_of(4096, Reach::mapped);
  shape.eager_max = 8192, shape.moving = Moving::lent;
  const Cost cost{.hops = 2, .exposures = 1};
  EXPECT_DOUBLE_EQ(cost.seconds(shape, model), 1000);
  shape.eager_max = 4096;
  EXPECT_DOUBLE_EQ(cost.seconds(shape, model), 2 * 1000 + 100);
}

TEST(Cost, OfCopiesByTheKernelDistanceCountsForTheBytes) {
  Model model = at_rest();
  model.kernel_start = 1000, model.kernel_byte = 2, model.kernel_page = 1, model.remote_byte = 1;
  model.page_bytes = 1, model.byte_machine = 3;
  Shape far = shape_of(100, Reach::kernel);
  far.distances = all_at(topology::Distance::machine);
  const Cost cost{.remote_bytes = 100, .startups = 2};
  EXPECT_DOUBLE_EQ(cost.seconds(far, model), 2 * 1000 + 100 * (2 + (3 - 1)) + 100);
}

/// Nothing is held up by anything but what a test says.
Model unbounded() {
  Model model = at_rest();
  model.rank_byte = model.node_byte = model.link_byte = model.total_byte = 0;
  model.remote_byte = model.write_byte = model.exchange_byte = 1;
  model.byte_numa = model.byte_socket = model.byte_machine = 1;
  model.store_numa = model.store_socket = model.store_machine = 1;
  return model;
}

/// Two sockets of four ranks, with a cache for two of them.
Shape two_sockets_of_four() {
  Shape shape = shape_of(10, Reach::mapped);
  shape.ranks = 8;
  shape.distances.pairs = {1 / 7.0, 2 / 7.0, 0, 4 / 7.0};
  shape.distances.levels = shape.distances.boundaries = {0, 0.5, 0, 0.5};
  return shape;
}

TEST(Ceilings, WhoeverIsAloneIsHeldUpByNone) {
  Model model = unbounded();
  model.rank_byte = model.node_byte = model.link_byte = model.total_byte = 100;
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .workers = 1}.seconds(two_sockets_of_four(), model)), 10);
}

TEST(Ceilings, ThoseWhoCopyFromOneRankShareItsMemory) {
  Model model = unbounded();
  model.rank_byte = 1;
  const Shape shape = two_sockets_of_four();
  for (const Cost& cost :
       {Cost{.remote_bytes = 10, .concurrency = 7}, Cost{.remote_bytes = 10, .written_bytes = 10, .concurrency = 7},
        Cost{.remote_bytes = 10, .exchanged_bytes = 10, .concurrency = 7}})
    EXPECT_DOUBLE_EQ(cost.seconds(shape, model), 7 * 10);
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .concurrency = 7, .common = true}.seconds(shape, model)), 3.5 * 10)
      << "one fetches for the two of a cache";
  EXPECT_DOUBLE_EQ(
      (Cost{.remote_bytes = 10, .concurrency = 7, .beside = {.remote_bytes = 5, .written_bytes = 5}}.seconds(shape,
                                                                                                             model)),
      7 * 10 + 5)
      << "what the root stores meanwhile comes from there as well";
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .concurrency = 7, .crowded_bytes = 0}.seconds(shape, model)), 7 * 10);
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .crowded_bytes = 4, .crowd = 7}.seconds(shape, model)), 6 + 7 * 4);
}

TEST(Ceilings, ANodeALinkAndTheMachineAreSharedByThoseWhoUseThem) {
  const Shape shape = two_sockets_of_four();
  const Cost each{.remote_bytes = 10, .across = Across::all};
  Model model = unbounded();
  model.node_byte = 1;
  // 6 of the 7 others are outside the cache.
  EXPECT_DOUBLE_EQ(each.seconds(shape, model), 8 * 6 / 7.0 * 4 / 8 * 10);
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .concurrency = 7}.seconds(shape, model)), 7 * 10) << "all from one node";
  model = unbounded();
  model.link_byte = 1;
  EXPECT_DOUBLE_EQ(each.seconds(shape, model), 8 * 4 / 7.0 / 2 * 10);
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .concurrency = 7}.seconds(shape, model)), 3.5 * 10);
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .crossing = 3}.seconds(shape, model)), 3 * 10);
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .concurrency = 7, .across = Across::levels}.seconds(shape, model)), 10)
      << "one leader";
  model = unbounded();
  model.total_byte = 1;
  EXPECT_DOUBLE_EQ(each.seconds(shape, model), 8 * 6 / 7.0 * 10);
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .across = Across::levels}.seconds(shape, model)), 8 / 2.0 * 10)
      << "of each cache one reads from elsewhere";
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .streams = 3, .across = Across::all}.seconds(shape, model)),
                   3 * 6 / 7.0 * 10);
}

TEST(Ceilings, WhatHasLeftTheCachesComesNoFasterThanMemoryGivesIt) {
  Model model = unbounded();
  model.shared_cache = 100, model.memory_byte = 1, model.streams_byte = 1;
  const Shape shape = two_sockets_of_four();  // 8 ranks with 2 buffers: 160
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .across = Across::all}.seconds(shape, model)),
                   std::max(10.0, (1 - 100 / 160.0) * 8 * 6 / 7.0 * 10));
}

TEST(Ceilings, HoldForCopiesByTheKernelToo) {
  Model model = unbounded();
  model.kernel_start = 0, model.kernel_byte = 1, model.kernel_page = 0, model.rank_byte = 1;
  Shape shape = two_sockets_of_four();
  shape.reach = Reach::kernel;
  EXPECT_DOUBLE_EQ((Cost{.remote_bytes = 10, .startups = 1, .concurrency = 7}.seconds(shape, model)), 7 * 10);
}

TEST(Cost, APageIsLockedWhateverIsCopiedOfIt) {
  Model model = unbounded();
  model.kernel_start = 0, model.kernel_byte = 0, model.kernel_page = 1000, model.page_bytes = 65536;
  model.kernel_gamma_square = 0, model.kernel_gamma_linear = 2;
  const Cost cost{.remote_bytes = 3000, .startups = 3, .concurrency = 2};
  EXPECT_DOUBLE_EQ(cost.seconds(shape_of(1000, Reach::kernel), model), 3 * 1000 * 4);
  const Cost long_one{.remote_bytes = 655360, .startups = 1};
  EXPECT_DOUBLE_EQ(long_one.seconds(shape_of(655360, Reach::kernel), model), 10 * 1000);
}

TEST(Cost, PagesOfTheCrowdedBytesAreLockedByTheCrowd) {
  Model model = unbounded();
  model.kernel_start = 0, model.kernel_byte = 0, model.kernel_page = 1000;
  model.kernel_gamma_square = 1, model.kernel_gamma_linear = 0;
  Shape shape = shape_of(40960, Reach::kernel);
  const Cost cost{.remote_bytes = 40960, .startups = 1, .crowded_bytes = 4096, .crowd = 3};
  EXPECT_DOUBLE_EQ(cost.seconds(shape, model), 9 * 1000 + 1 * 1000 * 9);
  // What leaders lend is loaded from shared memory: no pages, no calls.
  const Cost lent{.remote_bytes = 40960, .startups = 1, .lent_bytes = 36864, .crowded_bytes = 4096, .crowd = 3};
  model.remote_byte = 2;
  EXPECT_DOUBLE_EQ(lent.seconds(shape, model), 36864 * 2 + 1000 * 9);
}

TEST(Shape, BlocksThatFitTheDataAreaNeedNoKernel) {
  Shape shape = shape_of(10, Reach::kernel);
  shape.slot_bytes = 30;
  EXPECT_EQ(shape.reach_of_blocks(3), Reach::staged);
  EXPECT_EQ(shape.reach_of_blocks(4), Reach::kernel);
  shape.reach = Reach::staged, shape.kernel_beyond_slot = true;
  EXPECT_EQ(shape.reach_of_blocks(3), Reach::staged);
  EXPECT_EQ(shape.reach_of_blocks(4), Reach::kernel);
  shape.reach = Reach::mapped;
  EXPECT_EQ(shape.reach_of_blocks(3), Reach::mapped);
}

TEST(Shape, GroupsAreOfEqualSizeWhereNothingIsKnownOfThem) {
  Shape shape;
  shape.ranks = 64, shape.levels = 2;
  EXPECT_DOUBLE_EQ(shape.branching().children, 14);
  EXPECT_DOUBLE_EQ(shape.branching().largest, 8);
  EXPECT_DOUBLE_EQ(shape.branching().on_the_way, 8);
  EXPECT_DOUBLE_EQ(shape.branching().group, 8);
  shape.distances.branching = {3, 2, 2, 2};
  EXPECT_EQ(shape.branching().children, 3);
}

TEST(Cost, ShippedParametersKnowNoLimitOfTheCaches) {
  const Model model;
  const Cost cost{.remote_bytes = 1};
  EXPECT_DOUBLE_EQ(cost.seconds(shape_of(std::size_t{1} << 30, Reach::mapped), model), model.remote_byte);
}

}  // namespace
}  // namespace tutti::selection
