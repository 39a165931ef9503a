// Ranks that exchange a block each, by reading and by storing in turn: what the first calls of a size do. Buffers are
// made once a size: to make them for each call takes longer than the calls, under ThreadSanitizer.
#include "collectives/block_patterns.h"
#include "collectives/common/store_ways.h"
#include "collectives/thread_ranks.h"

namespace tutti::test {
namespace {

World world_of(Reach reach, const std::string& algorithm, int ranks = 2, bool oversubscribed = false) {
  World world;
  world.oversubscribed = oversubscribed;
  world.ranks = ranks;
  world.reach = reach;
  world.algorithm = algorithm;
  return world;
}

/// So many ranks, with a core each and sharing cores.
std::vector<std::pair<int, bool>> both_for(const std::vector<int>& counts) {
  std::vector<std::pair<int, bool>> both;
  for (const int count : counts)
    for (const bool oversubscribed : {false, true}) both.emplace_back(count, oversubscribed);
  return both;
}

/// More than it takes to have tried both ways.
constexpr int calls = 20;
/// Below and above what is stored past the peer's caches.
constexpr std::size_t sizes[] = {0, 1, 4097, 16383, 16384, 70001};

class ExchangeBlocks : public testing::TestWithParam<Reach> {};

TEST_P(ExchangeBlocks, AlltoallDeliversByBothWays) {
  for (const auto& [ranks, oversubscribed] : both_for({2, 3, 5})) {
    run_ranks(world_of(GetParam(), "alltoall:cooperative", ranks, oversubscribed),
              [ranks = ranks](int rank, Collectives& collectives) {
                for (const std::size_t bytes : sizes) {
                  const std::size_t all = static_cast<std::size_t>(ranks) * bytes;
                  std::vector<std::byte> send(all), expected(all), receive(all);
                  for (int call = 0; call < calls; ++call) {
                    receive.assign(all, std::byte{0xee});
                    for (int other = 0; other < ranks; ++other) {
                      fill_block(send.data() + static_cast<std::size_t>(other) * bytes, bytes, rank, other, call);
                      fill_block(expected.data() + static_cast<std::size_t>(other) * bytes, bytes, other, rank, call);
                    }
                    AlltoallArguments arguments;
                    arguments.send = Blocks::regular(send.data(), bytes);
                    arguments.receive = Blocks::regular(receive.data(), bytes);
                    ASSERT_TRUE(collectives.alltoall(arguments));
                    send.assign(send.size(), std::byte{0xdd});
                    ASSERT_EQ(first_difference(receive, expected), receive.size())
                        << ranks << " ranks, " << bytes << " bytes, call " << call;
                    if (bytes > 0) {
                      ASSERT_STREQ(collectives.last_algorithm(), "cooperative");
                    }
                  }
                }
                if (rank == 0) {
                  const Ways& ways = collectives.communicator().ways(Learned::alltoall, sizes[std::size(sizes) - 1]);
                  ASSERT_TRUE(ways.knows(way_stores) && ways.knows(way_reads));
                }
              });
  }
}

/// Of the largest block, little more than what is stored: filling and comparing is what takes long.
constexpr std::size_t stored_bytes = 17'000;

/// Of many ranks only what they store.
std::vector<std::size_t> most_of(int ranks) {
  return ranks > 5 ? std::vector<std::size_t>{stored_bytes} : std::vector<std::size_t>{9, 70, 4097, stored_bytes};
}

/// More than a run of each way takes (Ways::next_of_run).
constexpr int calls_in_runs = 40;
/// The first of them. Those after them are alike, so that ranks come to know which way is faster.
constexpr int calls_that_vary = 8;

/// What `from` sends to `to`, of `most`: nothing, all, a few bytes, or half.
std::size_t varying(std::size_t most, int from, int to, int call) {
  const std::size_t sizes[] = {0, most, std::min<std::size_t>(most, 5), most / 2};
  return sizes[static_cast<std::size_t>(from + 2 * to + call % 3) % std::size(sizes)];
}

TEST_P(ExchangeBlocks, AlltoallvDeliversByBothWaysWhateverEachRankHasForEachOther) {
  for (const auto& [ranks, oversubscribed] : both_for({2, 3, 5, 13, 14})) {
    run_ranks(world_of(GetParam(), "alltoallv:cooperative", ranks, oversubscribed),
              [ranks = ranks](int rank, Collectives& collectives) {
                const auto count = static_cast<std::size_t>(ranks);
                for (const std::size_t most : most_of(ranks)) {
                  std::vector<std::byte> send(count * most), expected(count * most), receive(count * most);
                  for (int call = 0; call < calls_in_runs; ++call) {
                    expected.assign(expected.size(), std::byte{0xee});
                    receive = expected;
                    std::vector<std::size_t> sent(count), received(count);
                    std::vector<std::ptrdiff_t> offsets(count);
                    for (std::size_t i = 0; i < count; ++i) {
                      const int other = static_cast<int>(i);
                      sent[i] = call < calls_that_vary ? varying(most, rank, other, call) : most;
                      received[i] = call < calls_that_vary ? varying(most, other, rank, call) : most;
                      // The last block lies first.
                      offsets[i] = static_cast<std::ptrdiff_t>((count - 1 - i) * most);
                      fill_block(send.data() + offsets[i], sent[i], rank, other, call);
                      fill_block(expected.data() + offsets[i], received[i], other, rank, call);
                    }
                    AlltoallArguments arguments;
                    arguments.regular = false;
                    arguments.send = Blocks::irregular(send.data(), sent.data(), offsets.data());
                    arguments.receive = Blocks::irregular(receive.data(), received.data(), offsets.data());
                    ASSERT_TRUE(collectives.alltoall(arguments));
                    send.assign(send.size(), std::byte{0xdd});
                    ASSERT_EQ(first_difference(receive, expected), receive.size())
                        << ranks << " ranks, " << most << " bytes, call " << call;
                    ASSERT_FALSE(collectives.communicator().truncated);
                    ASSERT_STREQ(collectives.last_algorithm(), "cooperative");
                  }
                }
                if (rank != 0 || count > Offer::blocks_max || GetParam() == Reach::staged) return;
                const Ways& ways = collectives.communicator().ways(Learned::alltoallv, count * stored_bytes);
                ASSERT_TRUE(ways.knows(0) && ways.knows(1));
              });
  }
}

TEST_P(ExchangeBlocks, AllgatherOfManyDeliversByBothWaysInPlaceTooAndWithSizesThatDiffer) {
  for (const auto& [ranks, oversubscribed] : both_for({3, 5, 13})) {
    run_ranks(world_of(GetParam(), "allgather:cooperative;allgatherv:cooperative", ranks, oversubscribed),
              [ranks = ranks](int rank, Collectives& collectives) {
                const auto count = static_cast<std::size_t>(ranks);
                const auto self = static_cast<std::size_t>(rank);
                for (const std::size_t most : most_of(ranks)) {
                  std::vector<std::byte> expected(count * most), receive(count * most), send(most);
                  for (int call = 0; call < calls_in_runs; ++call) {
                    const bool in_place = call % 2 == 1;
                    const bool regular = call >= calls_that_vary;
                    expected.assign(expected.size(), std::byte{0xee});
                    receive = expected;
                    std::vector<std::size_t> sizes_of(count, most);
                    std::vector<std::ptrdiff_t> offsets(count);
                    for (std::size_t i = 0; i < count; ++i) {
                      if (!regular) sizes_of[i] = varying(most, static_cast<int>(i), 0, call);
                      offsets[i] = static_cast<std::ptrdiff_t>(i * most);
                      fill_block(expected.data() + offsets[i], sizes_of[i], static_cast<int>(i), 0, call);
                    }
                    fill_block(in_place ? receive.data() + offsets[self] : send.data(), sizes_of[self], rank, 0, call);
                    AllgatherArguments arguments;
                    arguments.send = in_place ? nullptr : send.data();
                    arguments.bytes = sizes_of[self];
                    arguments.receive = regular ? Blocks::regular(receive.data(), most)
                                                : Blocks::irregular(receive.data(), sizes_of.data(), offsets.data());
                    ASSERT_TRUE(collectives.allgather(arguments));
                    send.assign(send.size(), std::byte{0xdd});
                    ASSERT_EQ(first_difference(receive, expected), receive.size())
                        << ranks << " ranks, " << most << " bytes, call " << call;
                    receive.assign(receive.size(), std::byte{0xdd});
                    ASSERT_STREQ(collectives.last_algorithm(), "cooperative");
                  }
                }
                if (rank != 0 || GetParam() == Reach::staged) return;
                const Ways& ways = collectives.communicator().ways(Learned::allgather, count * stored_bytes);
                ASSERT_TRUE(ways.knows(0) && ways.knows(1));
              });
  }
}

TEST_P(ExchangeBlocks, AllgatherDeliversByBothWaysInPlaceTooAndWithSizesThatDiffer) {
  run_ranks(world_of(GetParam(), "allgather:cooperative;allgatherv:cooperative"),
            [](int rank, Collectives& collectives) {
              for (const std::size_t bytes : sizes)
                for (int call = 0; call < calls; ++call) {
                  const std::size_t of[2] = {bytes, call % 4 < 2 ? bytes : bytes / 2};
                  const std::ptrdiff_t offsets[2] = {0, static_cast<std::ptrdiff_t>(bytes)};
                  const auto self = static_cast<std::size_t>(rank);
                  const bool in_place = call % 2 == 1;
                  std::vector<std::byte> send(of[self]), expected(bytes + of[1]), receive(bytes + of[1]);
                  for (std::size_t from = 0; from < 2; ++from)
                    fill_block(expected.data() + offsets[from], of[from], static_cast<int>(from), 0, call);
                  fill_block(send.data(), of[self], rank, 0, call);
                  if (in_place) fill_block(receive.data() + offsets[self], of[self], rank, 0, call);
                  AllgatherArguments arguments;
                  arguments.send = in_place ? nullptr : send.data();
                  arguments.bytes = of[self];
                  arguments.receive = of[1] == bytes ? Blocks::regular(receive.data(), bytes)
                                                     : Blocks::irregular(receive.data(), of, offsets);
                  ASSERT_TRUE(collectives.allgather(arguments));
                  send.assign(send.size(), std::byte{0xdd});
                  ASSERT_EQ(first_difference(receive, expected), receive.size()) << bytes << " bytes, call " << call;
                }
            });
}

INSTANTIATE_TEST_SUITE_P(Reaches, ExchangeBlocks,
                         testing::Values(Reach::direct, Reach::xpmem, Reach::cma, Reach::staged),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace tutti::test
