// Every algorithm as a pending call: parked wherever it has to wait, with others of the same communicator under way, and
// started again once it is over. (That it is right as a blocking one the tests of each collective show.)
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "collectives/examples.h"
#include "collectives/thread_ranks.h"

namespace tutti::test {
namespace {

constexpr int calls = 4;
constexpr int rounds = 2;

/// Starts some calls, drives them in an order of this rank's own until all are over, and again.
template <class Arguments>
void drive(int rank, int ranks, LivedIn& collectives, std::size_t bytes, const std::string& what) {
  const Arguments* const kind = nullptr;
  std::mt19937 random(static_cast<unsigned>(rank) * 7919u + static_cast<unsigned>(bytes));
  std::vector<Example> examples;
  std::vector<std::unique_ptr<PendingCall>> pending;
  for (int i = 0; i < calls; ++i) examples.push_back({rank, ranks, i % ranks, bytes});
  for (Example& example : examples) pending.push_back(collectives.prepare(arguments_of(example, kind)));
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < calls; ++i) {
      const auto index = static_cast<std::size_t>(i);
      ASSERT_TRUE(pending[index]) << what;
      refill(examples[index], kind, round * calls + i);
      pending[index]->start();
    }
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < calls; ++i) open.push_back(i);
    while (!open.empty()) {
      const std::size_t at = random() % open.size();
      if (!pending[open[at]]->progress()) {
        collectives.turn();
        continue;
      }
      const Example& over = examples[open[at]];
      ASSERT_TRUE(over.receive == over.expected)
          << what << ", call " << open[at] << " of round " << round << ", rank " << rank;
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
}

class Forms : public testing::TestWithParam<Reach> {
 protected:
  template <class Arguments>
  void sweep(const char* collective) {
    for (const auto* algorithm : algorithms_of<Arguments>())
      for (const int ranks : short_sweep() ? std::vector{2, 5} : std::vector{2, 3, 5, 16}) {
        World world;
        world.ranks = ranks;
        world.reach = GetParam();
        world.algorithm = std::string(collective) + ":" + algorithm->name;
        if (std::is_same_v<Arguments, ScanArguments>) world.algorithm += std::string(";exscan:") + algorithm->name;
        world.settings.hierarchy = "l3+numa+socket";
        world.settings.chunk = "8K";
        world.settings.segment = 32 * 1024;
        world.settings.flat_max = 32;
        if (!is_swept(world)) continue;
        // Small, packed, in one operation, and in several where messages are cut.
        std::vector<std::size_t> sizes{8, 600, 20'000, 70'003};
        if (short_sweep()) sizes = {600, 70'003};
        if (ranks > 5)
          sizes =
              full_sweep() ? std::vector<std::size_t>{8, 600, 20'000, 30'001} : std::vector<std::size_t>{600, 30'001};
        run_ranks(world, [&](int rank, LivedIn& collectives) {
          const NeverWaiting pending_only(collectives.communicator().node());
          for (const std::size_t bytes : sizes)
            drive<Arguments>(rank, ranks, collectives, bytes,
                             world.algorithm + ", " + name_of(GetParam()) + ", " + std::to_string(ranks) + " ranks, " +
                                 std::to_string(bytes) + " bytes");
        });
        if (HasFailure()) return;
      }
  }
};

#define TUTTI_TEST_FORM(Kind, name) \
  TEST_P(Forms, Kind) {             \
    sweep<Kind##Arguments>(#name);  \
  }
TUTTI_KINDS(TUTTI_TEST_FORM)

INSTANTIATE_TEST_SUITE_P(Reaches, Forms, all_reaches(),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace tutti::test
