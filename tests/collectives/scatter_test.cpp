// Every algorithm of Scatter and Scatterv gives each rank its block and touches nothing else.
#include "collectives/rooted_blocks.h"

namespace tutti::test {
namespace {

/// What one call of one rank is given; the receive buffer with a guard byte behind it.
void check_scatter(int rank, LivedIn& collectives, const std::string& words, std::size_t size, bool regular, int root,
                   bool in_place, int salt) {
  const int ranks = collectives.communicator().size();
  RootedBlocks all(ranks, size, regular, salt);
  const auto own = static_cast<std::size_t>(rank);
  const std::size_t bytes = all.sizes[own];
  std::vector<std::byte> receive(bytes + 1, guard);
  ScatterArguments arguments;
  if (rank == root) {
    all.fill_all(salt);
    arguments.send = all.blocks();
  }
  const bool kept = rank == root && in_place;
  arguments.receive = kept ? nullptr : receive.data();
  arguments.bytes = bytes;
  arguments.root = root;
  arguments.regular = regular;
  ASSERT_TRUE(collectives.scatter(arguments));
  if (!kept) {
    ASSERT_EQ(first_difference(receive, guarded_block(bytes, rank, salt)), receive.size())
        << words << " ranks " << ranks << " bytes " << bytes << " root " << root << " rank " << rank;
  }
  ASSERT_EQ(receive[bytes], guard) << words;
  if (rank == root) {
    RootedBlocks before(ranks, size, regular, salt);
    before.fill_all(salt);
    ASSERT_EQ(first_difference(all.bytes, before.bytes), all.bytes.size()) << words;
  }
  all.bytes.assign(all.bytes.size(), std::byte{0});  // nobody may still be reading
  receive.assign(receive.size(), std::byte{0});      // or writing
}

class Scatter : public testing::TestWithParam<Reach> {};

TEST_P(Scatter, GivesEachRankItsBlock) {
  for (const int ranks : rank_counts())
    for (const Tried& tried : tried_algorithms<ScatterArguments>(ranks))
      sweep_ranks(blocks_world(ranks, GetParam(), "scatter:" + tried.choice), [&](int rank, LivedIn& collectives) {
        int salt = 0;
        for (const std::size_t size : block_sizes)
          for (const int root : {0, ranks - 1, ranks / 2}) {
            ++salt;
            check_scatter(rank, collectives, tried.choice, size, true, root, salt % 2 == 0, salt);
            if (testing::Test::HasFatalFailure()) return;
            if (std::string(tried.name) != "eager") {
              ASSERT_STREQ(collectives.last_algorithm(), tried.name);
            }
          }
      });
}

TEST_P(Scatter, OfUnequalBlocksOnlyTheRootKnowsAllSizes) {
  for (const int ranks : rank_counts())
    for (const Tried& tried : tried_algorithms<ScatterArguments>(ranks)) {
      selection::Shape irregular;
      irregular.regular = false;
      bool able = false;
      for (const auto* algorithm : algorithms_of<ScatterArguments>())
        able = able || (std::string(algorithm->name) == tried.name && algorithm->eligible(irregular));
      if (!able) continue;
      sweep_ranks(blocks_world(ranks, GetParam(), "scatterv:" + tried.choice), [&](int rank, LivedIn& collectives) {
        int salt = 0;
        for (const std::size_t size : block_sizes)
          for (const int root : {0, ranks - 1, ranks / 2}) {
            ++salt;
            check_scatter(rank, collectives, tried.choice, size, false, root, salt % 2 == 0, salt);
            if (testing::Test::HasFatalFailure()) return;
            ASSERT_STREQ(collectives.last_algorithm(), tried.name);
          }
      });
    }
}

TEST_P(Scatter, OfSizesThatDoNotMatchCopiesTheSmallerAndGoesOn) {
  for (const int ranks : {2, 5})
    for (const Tried& tried : tried_algorithms<ScatterArguments>(ranks))
      sweep_ranks(blocks_world(ranks, GetParam(), "scatterv:" + tried.choice), [&](int rank, LivedIn& collectives) {
        for (const std::size_t sent : {std::size_t{0}, std::size_t{50}, std::size_t{40000}})
          for (const std::size_t wanted : {std::size_t{0}, std::size_t{60}, std::size_t{30000}, std::size_t{50000}}) {
            std::vector<std::byte> all(sent * static_cast<std::size_t>(ranks) + 1, std::byte{7});
            std::vector<std::byte> receive(wanted + 1, guard);
            const std::vector<std::size_t> sizes(static_cast<std::size_t>(ranks), sent);
            std::vector<std::ptrdiff_t> offsets;
            for (int i = 0; i < ranks; ++i) offsets.push_back(static_cast<std::ptrdiff_t>(sent) * i);
            ScatterArguments arguments;
            if (rank == 0) arguments.send = Blocks::irregular(all.data(), sizes.data(), offsets.data());
            arguments.receive = receive.data();
            arguments.bytes = wanted;
            arguments.regular = false;
            ASSERT_TRUE(collectives.scatter(arguments));
            const std::size_t common = std::min(sent, wanted);
            for (std::size_t i = 0; i < common; ++i)
              ASSERT_EQ(receive[i], std::byte{7}) << tried.choice << " " << sent << " " << wanted;
            ASSERT_EQ(receive[wanted], guard);
          }
      });
}

/// What each rank is sent, and what it has room for.
void check_lengths(int rank, LivedIn& collectives, const std::vector<std::size_t>& sent, std::size_t room) {
  const int ranks = collectives.communicator().size();
  std::size_t longest = 0;
  for (const std::size_t size : sent) longest = std::max(longest, size);
  std::vector<std::byte> all(longest * static_cast<std::size_t>(ranks) + 1);
  std::vector<std::ptrdiff_t> offsets;
  for (int i = 0; i < ranks; ++i) {
    offsets.push_back(static_cast<std::ptrdiff_t>(longest) * i);
    if (rank == 0) fill_block(all.data() + offsets.back(), sent[static_cast<std::size_t>(i)], i, 0, 0);
  }
  std::vector<std::byte> receive(room + 1, guard);
  ScatterArguments arguments;
  if (rank == 0) arguments.send = Blocks::irregular(all.data(), sent.data(), offsets.data());
  arguments.receive = receive.data();
  arguments.bytes = room;
  arguments.regular = false;
  const Collectives::Done done = collectives.scatter(arguments);
  ASSERT_TRUE(done);
  all.assign(all.size(), std::byte{0});  // nobody may still be reading
  const std::size_t own = sent[static_cast<std::size_t>(rank)];
  std::vector<std::byte> expected = guarded_block(std::min(own, room), rank, 0);
  expected.resize(room + 1, guard);
  ASSERT_EQ(first_difference(receive, expected), receive.size()) << "rank " << rank << " " << own << " " << room;
  if (rank != 0 && room > 0) {
    ASSERT_EQ(done.truncated, own > room);
  }
}

TEST_P(Scatter, OfUnequalBlocksAsLongAsAPackedOneMayBe) {
  for (const int ranks : {2, 3, 5, 9, 60})
    sweep_ranks(blocks_world(ranks, GetParam(), "scatterv:parallel-read"), [&](int rank, LivedIn& collectives) {
      const auto blocks = static_cast<std::size_t>(ranks - 1);
      for (const std::size_t share :
           {Post::inline_bytes / blocks, collectives.communicator().slot_bytes() / blocks, std::size_t{2048}})
        for (std::size_t size = share - std::min<std::size_t>(share, 24); size <= share + 2; size += ranks > 9 ? 13 : 1)
          for (const std::size_t room : {size, size / 2, size + 100}) {
            std::vector<std::size_t> sent(static_cast<std::size_t>(ranks), size);
            sent[0] = 0;
            check_lengths(rank, collectives, sent, room);
            if (ranks > 2) sent[1] = 0;
            if (ranks > 2) sent[2] = 3 * size;
            check_lengths(rank, collectives, sent, room);
            if (testing::Test::HasFatalFailure()) return;
          }
    });
}

INSTANTIATE_TEST_SUITE_P(Reaches, Scatter, all_reaches(),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(ScatterOrder, CallsOfManySizesAndRootsFollowEachOther) {
  for (const int ranks : rank_counts())
    sweep_ranks(blocks_world(ranks, Reach::direct, ""), [&](int rank, LivedIn& collectives) {
      for (int call = 0; call < 300; ++call) {
        check_scatter(rank, collectives, collectives.last_algorithm(), static_cast<std::size_t>(1 + call * call % 5000),
                      call % 3 != 0, call % ranks, call % 2 == 0, call);
        if (testing::Test::HasFatalFailure()) return;
      }
    });
}

}  // namespace
}  // namespace tutti::test
