// Every algorithm as a pending call: parked wherever it has to wait, with others of the same communicator under way, and
// started again once it is over. (That it is right as a blocking one the tests of each collective show.)
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "collectives/thread_ranks.h"

namespace tutti::test {
namespace {

using Bytes = std::vector<std::byte>;

/// Byte `i` of what `from` sends, to `to` if each gets something else, in round `salt`.
std::byte byte_of(int from, int to, std::size_t i, int salt) {
  const std::size_t mixed = i * 2654435761u + static_cast<std::size_t>(from * 97 + to * 31 + salt * 13);
  return static_cast<std::byte>(mixed >> 3);
}
void fill(std::byte* block, std::size_t bytes, int from, int to, int salt) {
  for (std::size_t i = 0; i < bytes; ++i) block[i] = byte_of(from, to, i, salt);
}

void add(void*, void* destination, const void* const* sources, std::size_t count, std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i) {
    unsigned sum = 0;
    for (std::size_t s = 0; s < count; ++s)
      sum += std::to_integer<unsigned>(static_cast<const std::byte*>(sources[s])[i]);
    static_cast<std::byte*>(destination)[i] = static_cast<std::byte>(sum);
  }
}
const Combiner& sum() {
  static const Combiner combiner = [] {
    Combiner made;
    made.function = add;
    return made;
  }();
  return combiner;
}
/// The sum of what the ranks [0, end) send.
std::byte summed(int end, std::size_t i, int salt) {
  unsigned total = 0;
  for (int rank = 0; rank < end; ++rank) total += std::to_integer<unsigned>(byte_of(rank, 0, i, salt));
  return static_cast<std::byte>(total);
}

/// One rank's buffers for one call, and what they hold at the end.
struct Example {
  int rank, ranks, root;
  std::size_t bytes;
  Bytes send = {}, receive = {}, expected = {};
  std::vector<std::size_t> counts = {};
  int neighbors[2] = {};  ///< before and after this rank

  std::size_t count() const { return static_cast<std::size_t>(ranks); }
  std::byte* block(Bytes& buffer, int i) const { return buffer.data() + static_cast<std::size_t>(i) * bytes; }
};

BarrierArguments arguments_of(Example&, const BarrierArguments*) {
  return {};
}
void refill(Example&, const BarrierArguments*, int) {}

BcastArguments arguments_of(Example& of, const BcastArguments*) {
  of.receive.resize(of.bytes);
  return {of.receive.data(), of.bytes, of.root};
}
void refill(Example& of, const BcastArguments*, int salt) {
  fill(of.receive.data(), of.bytes, of.rank, 0, salt);
  of.expected.resize(of.bytes);
  fill(of.expected.data(), of.bytes, of.root, 0, salt);
}

/// It gets the sum of what the ranks before `end` send.
void refill_sum(Example& of, int end, int salt) {
  fill(of.send.data(), of.bytes, of.rank, 0, salt);
  of.receive.assign(of.receive.size(), std::byte{0x5a});
  of.expected = of.receive;
  for (std::size_t i = 0; i < of.receive.size(); ++i)
    if (end > 0) of.expected[i] = summed(end, i, salt);
}
ReduceArguments arguments_of(Example& of, const ReduceArguments*) {
  of.send.resize(of.bytes);
  of.receive.resize(of.rank == of.root ? of.bytes : 0);
  return {of.send.data(), of.rank == of.root ? of.receive.data() : nullptr, of.bytes, &sum(), of.root};
}
void refill(Example& of, const ReduceArguments*, int salt) {
  refill_sum(of, of.ranks, salt);
}
AllreduceArguments arguments_of(Example& of, const AllreduceArguments*) {
  of.send.resize(of.bytes);
  of.receive.resize(of.bytes);
  return {of.send.data(), of.receive.data(), of.bytes, &sum()};
}
void refill(Example& of, const AllreduceArguments*, int salt) {
  refill_sum(of, of.ranks, salt);
}
/// Exscan where the root is odd.
ScanArguments arguments_of(Example& of, const ScanArguments*) {
  of.send.resize(of.bytes);
  of.receive.resize(of.bytes);
  return {of.send.data(), of.receive.data(), of.bytes, &sum(), of.root % 2 == 1};
}
void refill(Example& of, const ScanArguments*, int salt) {
  refill_sum(of, of.root % 2 == 1 ? of.rank : of.rank + 1, salt);
}

ReduceScatterArguments arguments_of(Example& of, const ReduceScatterArguments*) {
  of.send.resize(of.bytes);
  // The first rank has what the others leave.
  of.counts.assign(of.count(), of.bytes / of.count());
  of.counts.front() += of.bytes % of.count();
  of.receive.resize(of.counts[static_cast<std::size_t>(of.rank)]);
  return {of.send.data(), of.receive.data(), of.counts.data(), of.bytes, &sum()};
}
void refill(Example& of, const ReduceScatterArguments*, int salt) {
  fill(of.send.data(), of.bytes, of.rank, 0, salt);
  of.receive.assign(of.receive.size(), std::byte{0x5a});
  of.expected = of.receive;
  const std::size_t each = of.bytes / of.count();
  const std::size_t before = of.rank == 0 ? 0 : of.bytes % of.count() + static_cast<std::size_t>(of.rank) * each;
  for (std::size_t i = 0; i < of.receive.size(); ++i) of.expected[i] = summed(of.ranks, before + i, salt);
}

ScatterArguments arguments_of(Example& of, const ScatterArguments*) {
  of.receive.resize(of.bytes);
  of.send.resize(of.rank == of.root ? of.bytes * of.count() : 0);
  return {Blocks::regular(of.send.data(), of.bytes), of.receive.data(), of.bytes, of.root};
}
void refill(Example& of, const ScatterArguments*, int salt) {
  for (int rank = 0; !of.send.empty() && rank < of.ranks; ++rank)
    fill(of.block(of.send, rank), of.bytes, of.root, rank, salt);
  of.receive.assign(of.receive.size(), std::byte{0x5a});
  of.expected.resize(of.bytes);
  fill(of.expected.data(), of.bytes, of.root, of.rank, salt);
}
void expect_blocks(Example& of, int salt, bool of_all_to_one) {
  of.receive.assign(of.receive.size(), std::byte{0x5a});
  of.expected = of.receive;
  for (int rank = 0; !of.receive.empty() && rank < of.ranks; ++rank)
    fill(of.block(of.expected, rank), of.bytes, rank, of_all_to_one ? 0 : of.rank, salt);
}
GatherArguments arguments_of(Example& of, const GatherArguments*) {
  of.send.resize(of.bytes);
  of.receive.resize(of.rank == of.root ? of.bytes * of.count() : 0);
  return {of.send.data(), of.bytes, Blocks::regular(of.receive.data(), of.bytes), of.root};
}
void refill(Example& of, const GatherArguments*, int salt) {
  fill(of.send.data(), of.bytes, of.rank, 0, salt);
  expect_blocks(of, salt, true);
}
AllgatherArguments arguments_of(Example& of, const AllgatherArguments*) {
  of.send.resize(of.bytes);
  of.receive.resize(of.bytes * of.count());
  return {of.send.data(), of.bytes, Blocks::regular(of.receive.data(), of.bytes)};
}
void refill(Example& of, const AllgatherArguments*, int salt) {
  fill(of.send.data(), of.bytes, of.rank, 0, salt);
  expect_blocks(of, salt, true);
}
AlltoallArguments arguments_of(Example& of, const AlltoallArguments*) {
  of.send.resize(of.bytes * of.count());
  of.receive.resize(of.bytes * of.count());
  return {Blocks::regular(of.send.data(), of.bytes), Blocks::regular(of.receive.data(), of.bytes)};
}
void refill(Example& of, const AlltoallArguments*, int salt) {
  for (int rank = 0; rank < of.ranks; ++rank) fill(of.block(of.send, rank), of.bytes, of.rank, rank, salt);
  expect_blocks(of, salt, false);
}
/// Everybody sends to the next rank.
NeighborArguments arguments_of(Example& of, const NeighborArguments*) {
  static const int first = 0;
  of.send.resize(of.bytes);
  of.receive.resize(of.bytes);
  of.neighbors[0] = (of.rank + of.ranks - 1) % of.ranks;
  of.neighbors[1] = (of.rank + 1) % of.ranks;
  NeighborArguments arguments;
  arguments.sources = of.neighbors;
  arguments.destinations = of.neighbors + 1;
  arguments.source_blocks = arguments.destination_blocks = &first;
  arguments.source_count = arguments.destination_count = 1;
  arguments.send = Blocks::regular(of.send.data(), of.bytes);
  arguments.receive = Blocks::regular(of.receive.data(), of.bytes);
  arguments.bytes = of.bytes;
  return arguments;
}
void refill(Example& of, const NeighborArguments*, int salt) {
  fill(of.send.data(), of.bytes, of.rank, 0, salt);
  of.receive.assign(of.bytes, std::byte{0x5a});
  of.expected.resize(of.bytes);
  fill(of.expected.data(), of.bytes, (of.rank + of.ranks - 1) % of.ranks, 0, salt);
}

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
