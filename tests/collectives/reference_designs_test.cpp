// The designs that are there to be compared with are not what the model chooses for memory that peers can load from,
// nor for small messages. For others they may be: where buffers have to be copied into shared memory anyway, or by
// contended calls of the kernel, two copies through shared memory can be the better way (CMA-aware, section VII.F).
#include <gtest/gtest.h>

#include <string>

#include "collectives/collectives.h"
#include "collectives/thread_ranks.h"
#include "engine/communicator.h"
#include "topology/hierarchy.h"

namespace tutti {
namespace {

/// About as 2 sockets of 8 NUMA nodes have it.
topology::Distances far_apart(int levels) {
  const double each = 1.0 / levels;
  return {{0, 0.06, 0.44, 0.5}, {levels > 3 ? each : 0, levels > 2 ? each : 0, levels > 1 ? each : 0, each}};
}

template <class Arguments>
void expect_none_chosen(const char* collective) {
  const selection::Knowledge nothing_said;
  selection::Shape shape;
  shape.eager_max = 16 << 10;
  shape.flat_max = 16;
  // Above 16 some are left out where each choice costs much.
  const int step = test::short_sweep() ? 16 : 1;
  for (shape.ranks = 2; shape.ranks <= 256; shape.ranks += shape.ranks < 16 ? 1 : step) {
    shape.slot_bytes = slot_bytes_of(Settings(), shape.ranks);
    for (shape.levels = 1; shape.levels <= 4; ++shape.levels)
      for (std::size_t bytes = 1; bytes <= std::size_t{1} << 30; bytes *= 2)
        for (const auto reach : {selection::Reach::mapped, selection::Reach::staged})
          for (const double ranks_per_core : {1.0, 2.0, 8.0})
            for (const bool near : {true, false})
              for (const bool commutative : {false, true}) {
                if (reach == selection::Reach::staged && bytes > shape.eager_max) continue;
                // On crowded cores two levels take fewer turns than the four of some machines.
                if (ranks_per_core > 1 && shape.levels > 2) continue;
                // Groups that are wider are cut.
                if (ranks_per_core <= 1 && shape.levels == 1 && shape.ranks > topology::usual_widest) continue;
                // Within a cache that all share there are two levels at most.
                if (near && shape.levels > 2) continue;
                shape.distances = near ? topology::Distances() : far_apart(shape.levels);
                shape.bytes = bytes;
                shape.reach = reach;
                shape.ranks_per_core = std::min<double>(ranks_per_core, shape.ranks);
                shape.commutative = commutative;
                const auto chosen =
                    selection::choose(collective, algorithms_of<Arguments>(), shape, nothing_said).algorithm;
                if (!chosen) continue;
                ASSERT_NE(std::string(chosen->name).substr(0, 4), "smhc")
                    << collective << " ranks " << shape.ranks << " levels " << shape.levels << " bytes " << bytes
                    << " reach " << static_cast<int>(reach) << " ranks per core " << ranks_per_core
                    << (near ? " near" : " far");
              }
  }
}

TEST(ReferenceDesigns, AreNotChosenByTheModel) {
  expect_none_chosen<BcastArguments>("bcast");
  expect_none_chosen<ReduceArguments>("reduce");
  expect_none_chosen<AllreduceArguments>("allreduce");
}

TEST(ReferenceDesigns, AnswerToTheNamesOfThePaper) {
  const auto known = known_algorithms();
  const auto choice = selection::UserChoice::parse("reduce:xbrc;allreduce:^xbrc", known, Log());
  EXPECT_EQ(choice.words("reduce"), "share");
  EXPECT_EQ(choice.words("allreduce"), "^exchange");
}

}  // namespace
}  // namespace tutti
