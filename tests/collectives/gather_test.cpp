// Every algorithm of Gather and Gatherv puts each rank's block where the root wants it and touches nothing else.
#include "collectives/rooted_blocks.h"

namespace tutti::test {
namespace {

void check_gather(int rank, LivedIn& collectives, const std::string& words, std::size_t size, bool regular, int root,
                  bool in_place, int salt) {
  const int ranks = collectives.communicator().size();
  RootedBlocks all(ranks, size, regular, salt);
  const auto own = static_cast<std::size_t>(rank);
  const std::size_t bytes = all.sizes[own];
  std::vector<std::byte> send = guarded_block(bytes, rank, salt);
  const bool kept = rank == root && in_place;
  if (kept) all.fill(rank, salt);
  GatherArguments arguments;
  arguments.send = kept ? nullptr : send.data();
  arguments.bytes = bytes;
  if (rank == root) arguments.receive = all.blocks();
  arguments.root = root;
  arguments.regular = regular;
  ASSERT_TRUE(collectives.gather(arguments));
  ASSERT_EQ(first_difference(send, guarded_block(bytes, rank, salt)), send.size()) << words;
  send.assign(bytes + 1, std::byte{0});  // nobody may still be reading
  if (rank == root) {
    RootedBlocks expected(ranks, size, regular, salt);
    expected.fill_all(salt);
    ASSERT_EQ(first_difference(all.bytes, expected.bytes), all.bytes.size())
        << words << " ranks " << ranks << " bytes " << size << " root " << root;
  }
  all.bytes.assign(all.bytes.size(), std::byte{0});  // nobody may still be writing
}

class Gather : public testing::TestWithParam<Reach> {};

TEST_P(Gather, GivesTheRootEveryBlock) {
  for (const int ranks : rank_counts())
    for (const Tried& tried : tried_algorithms<GatherArguments>(ranks))
      sweep_ranks(blocks_world(ranks, GetParam(), "gather:" + tried.choice), [&](int rank, LivedIn& collectives) {
        int salt = 0;
        for (const std::size_t size : block_sizes)
          for (const int root : {0, ranks - 1, ranks / 2}) {
            ++salt;
            check_gather(rank, collectives, tried.choice, size, true, root, salt % 2 == 0, salt);
            if (testing::Test::HasFatalFailure()) return;
            if (std::string(tried.name) != "eager") {
              ASSERT_STREQ(collectives.last_algorithm(), tried.name);
            }
          }
      });
}

TEST_P(Gather, OfUnequalBlocksOnlyTheRootKnowsAllSizes) {
  for (const int ranks : rank_counts())
    for (const Tried& tried : tried_algorithms<GatherArguments>(ranks)) {
      selection::Shape irregular;
      irregular.regular = false;
      bool able = false;
      for (const auto* algorithm : algorithms_of<GatherArguments>())
        able = able || (std::string(algorithm->name) == tried.name && algorithm->eligible(irregular));
      if (!able) continue;
      sweep_ranks(blocks_world(ranks, GetParam(), "gatherv:" + tried.choice), [&](int rank, LivedIn& collectives) {
        int salt = 0;
        for (const std::size_t size : block_sizes)
          for (const int root : {0, ranks - 1, ranks / 2}) {
            ++salt;
            check_gather(rank, collectives, tried.choice, size, false, root, salt % 2 == 0, salt);
            if (testing::Test::HasFatalFailure()) return;
            ASSERT_STREQ(collectives.last_algorithm(), tried.name);
          }
      });
    }
}

TEST_P(Gather, OfSizesThatDoNotMatchCopiesTheSmallerAndGoesOn) {
  for (const int ranks : {2, 5})
    for (const Tried& tried : tried_algorithms<GatherArguments>(ranks))
      sweep_ranks(blocks_world(ranks, GetParam(), "gatherv:" + tried.choice), [&](int rank, LivedIn& collectives) {
        for (const std::size_t sent : {std::size_t{0}, std::size_t{50}, std::size_t{40000}})
          for (const std::size_t wanted : {std::size_t{0}, std::size_t{60}, std::size_t{30000}, std::size_t{50000}}) {
            std::vector<std::byte> send(sent + 1, std::byte{7});
            std::vector<std::byte> all(wanted * static_cast<std::size_t>(ranks) + 1, guard);
            const std::vector<std::size_t> sizes(static_cast<std::size_t>(ranks), wanted);
            std::vector<std::ptrdiff_t> offsets;
            for (int i = 0; i < ranks; ++i) offsets.push_back(static_cast<std::ptrdiff_t>(wanted) * i);
            GatherArguments arguments;
            arguments.send = send.data();
            arguments.bytes = sent;
            if (rank == 0) arguments.receive = Blocks::irregular(all.data(), sizes.data(), offsets.data());
            arguments.regular = false;
            ASSERT_TRUE(collectives.gather(arguments));
            if (rank != 0) continue;
            const std::size_t common = std::min(sent, wanted);
            for (std::size_t r = 0; r < sizes.size(); ++r)
              for (std::size_t i = 0; i < common; ++i)
                ASSERT_EQ(all[r * wanted + i], std::byte{7}) << tried.choice << " " << sent << " " << wanted;
            ASSERT_EQ(all.back(), guard);
          }
      });
}

INSTANTIATE_TEST_SUITE_P(Reaches, Gather, all_reaches(),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(GatherOrder, CallsOfManySizesAndRootsFollowEachOther) {
  for (const int ranks : rank_counts())
    sweep_ranks(blocks_world(ranks, Reach::direct, ""), [&](int rank, LivedIn& collectives) {
      for (int call = 0; call < 300; ++call) {
        check_gather(rank, collectives, collectives.last_algorithm(), static_cast<std::size_t>(1 + call * call % 5000),
                     call % 3 != 0, call % ranks, call % 2 == 0, call);
        if (testing::Test::HasFatalFailure()) return;
      }
    });
}

}  // namespace
}  // namespace tutti::test
