#include "engine/remains.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/communicator.h"
#include "memory/readable.h"

namespace tutti {
namespace {

/// Ranks of one process, and communicators of all of them.
class Ranks {
 public:
  explicit Ranks(int count) {
    std::string reason;
    for (int rank = 0; rank < count; ++rank) {
      auto node = std::make_unique<Node>();
      node->rank = rank;
      node->size = count;
      node->ranks_are_threads = true;
      node->arena = memory::Arena::create(std::size_t{64} << 20, reason);
      node->rows = std::make_unique<memory::Rows>(*node->arena, static_cast<std::size_t>(count));
      node->waiter = sync::make_waiter({});
      node->placement.ranks.resize(static_cast<std::size_t>(count));
      nodes.push_back(std::move(node));
    }
    for (auto& node : nodes)
      for (auto& other : nodes) node->peers.push_back({getpid(), other->arena->base()});
  }

  /// By rank.
  std::vector<CommunicatorLayout> layouts() {
    CommunicatorLayout layout;
    for (auto& node : nodes) {
      layout.node_ranks.push_back(node->rank);
      layout.offsets.push_back(*node->arena->reserve(shared_bytes(node->settings, node->size)));
      layout.rows.push_back(*node->rows->allocate());
    }
    std::vector<CommunicatorLayout> all(nodes.size(), layout);
    for (std::size_t i = 0; i < all.size(); ++i) all[i].rank = static_cast<int>(i);
    return all;
  }

  std::size_t readable(int rank) const {
    const memory::Arena& arena = *nodes[static_cast<std::size_t>(rank)]->arena;
    return memory::readable_bytes(arena.base(), arena.capacity());
  }

  std::vector<std::unique_ptr<Node>> nodes;
};

/// How one communicator's ranks use it.
void exchange(std::vector<std::unique_ptr<Communicator>>& communicators, int times) {
  std::vector<std::thread> threads;
  for (auto& each : communicators)
    threads.emplace_back([&communicator = *each, times] {
      for (int i = 0; i < times; ++i) {
        const std::uint64_t mine[3] = {static_cast<std::uint64_t>(communicator.rank()), 5,
                                       static_cast<std::uint64_t>(i)};
        std::vector<std::uint64_t> all(3 * static_cast<std::size_t>(communicator.size()));
        ASSERT_TRUE(communicator.exchange(mine, sizeof mine, all.data()));
        for (std::size_t rank = 0; 3 * rank < all.size(); ++rank) {
          ASSERT_EQ(all[3 * rank], rank);
          ASSERT_EQ(all[3 * rank + 2], static_cast<std::uint64_t>(i));
        }
      }
    });
  for (auto& thread : threads) thread.join();
}

std::vector<std::unique_ptr<Communicator>> build(Ranks& ranks, std::vector<CommunicatorLayout> layouts) {
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (std::size_t i = 0; i < layouts.size(); ++i)
    communicators.push_back(std::make_unique<Communicator>(*ranks.nodes[i], std::move(layouts[i])));
  return communicators;
}

TEST(Remains, AreUnusedOnceEveryRankHasParted) {
  Ranks ranks(3);
  const auto layouts = ranks.layouts();
  LeftBehind left;
  left.add(Remains(*ranks.nodes[0], layouts[0], Traces::none(), false, {}));
  left.look();
  EXPECT_TRUE(left.any());
  const Remains second(*ranks.nodes[1], layouts[1], Traces::none(), false, {});
  left.look();
  EXPECT_TRUE(left.any());
  EXPECT_FALSE(second.unused());
  const Remains third(*ranks.nodes[2], layouts[2], Traces::none(), false, {});
  EXPECT_TRUE(second.unused() && third.unused());
  left.look();
  EXPECT_FALSE(left.any());
}

TEST(Remains, OfWhatNobodyHasUsedTakeNoMemory) {
  Ranks ranks(2);
  for (int i = 0; i < 50; ++i) {
    const auto layouts = ranks.layouts();
    std::vector<Remains> remains;
    for (std::size_t rank = 0; rank < 2; ++rank)
      remains.emplace_back(*ranks.nodes[rank], layouts[rank], Traces::none(), false, std::vector<std::size_t>());
    for (const Remains& each : remains) each.give_back();
  }
  EXPECT_EQ(ranks.readable(0), 4096u);  // its rows
}

TEST(Remains, AreAsNewWhateverWasDoneBefore) {
  Ranks ranks(3);
  for (const int times : {1, 2, 5, 31, 32, 33, 100, 3}) {
    auto communicators = build(ranks, ranks.layouts());
    exchange(communicators, times);
    const std::size_t bytes = sizeof(Shared);
    std::vector<Remains> remains;
    std::vector<const std::byte*> parts;
    for (auto& each : communicators) {
      parts.push_back(reinterpret_cast<const std::byte*>(&each->blocking().slot(each->rank(), 0)) -
                      offsetof(Shared, slots));
      if (times == 2) each->given_to_host();
      remains.push_back(each->part());
    }
    communicators.clear();
    for (const Remains& each : remains) each.give_back();
    for (const std::byte* part : parts) {
      std::size_t others = 0;
      for (std::size_t at = 0; at < bytes; ++at) others += part[at] != std::byte{0};
      EXPECT_EQ(others, 0u) << times;
    }
  }
}

TEST(Remains, OfARankThatHasNotUsedItAreAsNewToo) {
  Ranks ranks(2);
  const auto layouts = ranks.layouts();
  auto only = std::make_unique<Communicator>(*ranks.nodes[0], layouts[0]);
  ASSERT_TRUE(ranks.nodes[1]->arena->open(layouts[1].offsets[1]));  // for the peer, which shares its view here
  only->revoke();
  std::vector<Remains> remains;
  remains.push_back(only->part());
  remains.emplace_back(*ranks.nodes[1], layouts[1], Traces::none(), false, std::vector<std::size_t>());
  only.reset();
  for (const Remains& each : remains) each.give_back();
  const std::size_t again = *ranks.nodes[1]->arena->reserve(shared_bytes(ranks.nodes[1]->settings, 2));
  ASSERT_EQ(again, layouts[1].offsets[1]);
  ASSERT_TRUE(ranks.nodes[1]->arena->open(again));
  for (std::size_t at = 0; at < sizeof(Shared); ++at)
    ASSERT_EQ(ranks.nodes[1]->arena->base()[again + at], std::byte{0}) << at;
}

TEST(Workspaces, OfCommunicatorsBesideEachOtherAreTheSame) {
  Ranks ranks(2);
  auto first = build(ranks, ranks.layouts());
  auto layouts = ranks.layouts();
  Communicator beside(*ranks.nodes[0], std::move(layouts[0]), nullptr, first[0].get());
  // Who revokes tells all ranks, in what they share.
  const Communicator others(*ranks.nodes[1], std::move(layouts[1]), nullptr, first[1].get());
  const auto staging_of = [](Communicator& communicator) {
    auto workspace = communicator.workspaces().take();
    std::byte* const staging = workspace->staging(0, std::size_t{1} << 20);
    communicator.given_back(std::move(workspace));
    return staging;
  };
  std::byte* const staging = staging_of(*first[0]);
  EXPECT_EQ(staging_of(beside), staging);
  EXPECT_EQ(staging_of(*first[0]), staging);
  // Where ranks were in different calls peers may still write there.
  auto workspace = beside.workspaces().take();
  beside.revoke();
  beside.given_back(std::move(workspace));
  EXPECT_NE(staging_of(*first[0]), staging);
}

TEST(Exchange, FailsForAllWhereARankComesToNoOperation) {
  Ranks ranks(3);
  auto communicators = build(ranks, ranks.layouts());
  exchange(communicators, 3);
  communicators[1]->revoke();
  std::vector<std::thread> threads;
  for (auto& each : communicators)
    threads.emplace_back([&communicator = *each] {
      const int mine = 1;
      int all[3];
      EXPECT_FALSE(communicator.exchange(&mine, sizeof mine, all));
    });
  for (auto& thread : threads) thread.join();
}

TEST(Arrangement, IsSharedByCommunicatorsOfTheSameRanksInTheSameOrder) {
  Ranks ranks(4);
  const Node& node = *ranks.nodes[0];
  Arrangements arrangements;
  const auto of = [&](const std::vector<int>& ranks_of) {
    return arrangements.of(node.settings, node.placement, ranks_of, 0);
  };
  const auto all = of({0, 1, 2, 3});
  EXPECT_EQ(of({0, 1, 2, 3}), all);
  EXPECT_NE(of({0, 2, 1, 3}), all);
  EXPECT_NE(of({0, 1}), all);
  EXPECT_EQ(&all->plan(2), &of({0, 1, 2, 3})->plan(2));
  EXPECT_EQ(all->plan(2).root, 2);
  // Those that are asked for again stay.
  for (int i = 0; i < 30; ++i) {
    of({0, i % 4});
    EXPECT_EQ(of({0, 1, 2, 3}), all);
  }
}

}  // namespace
}  // namespace tutti
