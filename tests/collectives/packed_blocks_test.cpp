// Packed blocks: every length around what fits into the post and the data area reaches its reader, who knows its index
// alone.
#include "collectives/common/buffers/packed_blocks.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "collectives/block_patterns.h"
#include "collectives/thread_ranks.h"

namespace tutti::test {
namespace {

using Form = PackedBlocks::Form;
using Place = PackedBlocks::Place;
using Sizes = PackedBlocks::Sizes;

TEST(PackedForm, IsTheSameAfterItHasTravelledInTheFlag) {
  for (const Place place : {Place::none, Place::post, Place::area, Place::delivered})
    for (const Sizes sizes : {Sizes::told, Sizes::even, Sizes::same})
      for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{112}, Form::bytes_max}) {
        const Form form = Form::of(Form{place, sizes, bytes}.progress());
        EXPECT_LE(form.progress(), progress_max);
        EXPECT_EQ(form.place, place);
        EXPECT_EQ(form.sizes, sizes);
        EXPECT_EQ(form.bytes, bytes);
      }
}

/// Lengths of `count` blocks, the last one `longest`; uneven: the others are shorter, some of them nothing.
std::vector<std::size_t> lengths_of(std::size_t count, std::size_t longest, bool uneven) {
  std::vector<std::size_t> lengths(count, longest);
  for (std::size_t i = 0; uneven && i + 1 < count; ++i) lengths[i] = i % 3 == 0 ? 0 : longest - longest / (i + 1);
  return lengths;
}

/// Whether packed blocks may take as much of the post or area as they say, and are in the post whenever they fit there.
void check_form(const Form& form, std::size_t count, const std::vector<std::size_t>& lengths, std::size_t area_bytes) {
  const std::size_t longest = *std::max_element(lengths.begin(), lengths.end());
  const bool even = *std::min_element(lengths.begin(), lengths.end()) == longest;
  EXPECT_EQ(form.place == Place::post, count * (longest + (even ? 0 : 1)) <= Post::inline_bytes);
  if (form.place == Place::none) return;
  EXPECT_LE(count * form.distance(), form.place == Place::post ? Post::inline_bytes : area_bytes);
}

/// One operation: rank 0 sends, the others open every block, with as much room as it needs, less, and more.
void send_and_open(Communicator& communicator, const std::vector<std::size_t>& lengths, int call) {
  const std::size_t count = lengths.size();
  BlockBuffer sent(lengths, 3);
  PackedBlocks::Lengths of;
  for (std::size_t i = 0; i < count; ++i) {
    fill_block(sent.block(i), lengths[i], 0, static_cast<int>(i), call);
    of.add(i, lengths[i], sent.block(i));
  }
  const Form form = PackedBlocks::form_for(communicator, of);
  check_form(form, count, lengths, communicator.slot_bytes());
  if (form.place == Place::none) return;
  Call this_call("Packed blocks", 1, count);
  Operation operation(communicator.blocking(), this_call, PackedBlocks::in_flight(form));
  PackedBlocks packed(operation);
  if (communicator.rank() == 0) {
    for (std::size_t i = 0; i < count; ++i) packed.write(form, i, sent.block(i), lengths[i]);
    packed.send(form, count);
    sent.bytes.assign(sent.bytes.size(), std::byte{0xee});
  } else {
    operation.wait_until(0, [&] { return operation.slot(0).post.flag.has(operation.stamp()); });
    for (std::size_t i = 0; i < count; ++i)
      for (const std::size_t room : {lengths[i], lengths[i] / 2, lengths[i] + 5}) {
        std::vector<std::byte> got(lengths[i] + 6, guard), expected = got;
        std::copy_n(sent.block(i), std::min(room, lengths[i]), expected.begin());
        ASSERT_TRUE(packed.open(0, i, got.data(), room));
        ASSERT_EQ(got, expected) << count << " blocks, " << i << " of " << lengths[i] << " bytes, room " << room;
        ASSERT_EQ(this_call.truncated, room < lengths[i]);
        this_call.truncated = false;
      }
  }
  operation.complete();
}

class PackedReach : public testing::TestWithParam<Reach> {};

TEST_P(PackedReach, EveryLengthArrivesAndWhatDoesNotFitIsNoted) {
  World world;
  world.ranks = 3;
  world.reach = GetParam();
  run_ranks(world, [&](int, LivedIn& collectives) {
    Communicator& communicator = collectives.communicator();
    int call = 0;
    for (const std::size_t count : {1, 2, 3, 7, 40, 112, 113}) {
      std::vector<std::size_t> longest = {0, 1, 2047, 2048, 2049};
      for (const std::size_t room : {Post::inline_bytes, communicator.slot_bytes()})
        for (std::size_t less = 0; less < 20 && less <= room / count; ++less) longest.push_back(room / count - less);
      for (const std::size_t bytes : longest)
        for (const bool uneven : {false, true}) {
          send_and_open(communicator, lengths_of(count, bytes, uneven), ++call);
          if (testing::Test::HasFatalFailure()) return;
        }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Reaches, PackedReach, testing::Values(Reach::direct, Reach::staged),
                         [](const auto& info) { return std::string(name_of(info.param)); });

/// Rank 0 sends to rank 1, which does not even come before rank 0 has left all calls that the ring has room for.
template <class Call>
void expect_nobody_waits(const std::string& algorithm, const Call& call) {
  for (const std::size_t bytes : {std::size_t{40}, std::size_t{1000}}) {
    World world;
    world.algorithm = algorithm;
    std::atomic<bool> left{false};
    run_ranks(world, [&](int rank, LivedIn& collectives) {
      while (rank == 1 && !left) std::this_thread::yield();
      for (std::uint64_t i = 0; i < data_areas; ++i) call(rank, collectives, bytes);
      left = true;
    });
  }
}

TEST(PackedSenders, DoNotWaitForTheirNeighbors) {
  expect_nobody_waits("neighborv:direct", [](int rank, LivedIn& collectives, std::size_t bytes) {
    const int other = 1 - rank;
    const std::size_t sizes[] = {bytes, bytes / 2};
    const std::ptrdiff_t offsets[] = {0, static_cast<std::ptrdiff_t>(bytes)};
    const int twice[] = {other, other}, blocks[] = {0, 1};
    std::vector<std::byte> buffer(2 * bytes, static_cast<std::byte>(rank));
    NeighborArguments arguments;
    arguments.sources = arguments.destinations = twice;
    arguments.source_blocks = arguments.destination_blocks = blocks;
    (rank == 0 ? arguments.destination_count : arguments.source_count) = 2;
    arguments.send = arguments.receive = Blocks::irregular(buffer.data(), sizes, offsets);
    arguments.regular = false;
    ASSERT_TRUE(collectives.neighbor(arguments));
    const auto from_0 = static_cast<std::ptrdiff_t>(bytes + bytes / 2);
    ASSERT_EQ(std::count(buffer.begin(), buffer.begin() + from_0, std::byte{0}), from_0);
  });
}

TEST(PackedSenders, OfAlltoallvDoNotWaitForTheirReaders) {
  expect_nobody_waits("alltoallv:direct", [](int rank, LivedIn& collectives, std::size_t bytes) {
    const std::size_t out[] = {0, rank == 0 ? bytes : 0}, in[] = {rank == 1 ? bytes : 0, 0};
    const std::ptrdiff_t offsets[] = {0, 0};
    const std::vector<std::byte> send(bytes, std::byte{7});
    std::vector<std::byte> receive(bytes);
    AlltoallArguments arguments;
    arguments.send = Blocks::irregular(send.data(), out, offsets);
    arguments.receive = Blocks::irregular(receive.data(), in, offsets);
    arguments.regular = false;
    ASSERT_TRUE(collectives.alltoall(arguments));
    ASSERT_EQ(receive == send, rank == 1);
  });
}

}  // namespace
}  // namespace tutti::test
