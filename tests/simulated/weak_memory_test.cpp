// What weak memory shows, and what it does not: the usual small programs ("litmus tests"), in many orders. And what of the
// core relies on an order in a few words.
#include "simulated/weak_memory.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "simulated/seeds.h"
#include "sync/flag.h"
#include "sync/waiter.h"

namespace tutti::simulated {
namespace {

using sync::Word;
using Words = std::array<Word<std::uint64_t>, 4>;

constexpr auto relaxed = std::memory_order_relaxed, acquire = std::memory_order_acquire,
               release = std::memory_order_release, ordered = std::memory_order_seq_cst;

/// How often ranks with weak memory have found what, in 2000 orders. body: writes what its rank has found.
std::map<std::string, int> found_in(int ranks, const std::function<std::string(int, Words&)>& body) {
  std::map<std::string, int> times;
  constexpr std::uint64_t orders = 2000;
  for (std::uint64_t seed = 0; seed < orders; ++seed) {
    Words words;
    std::vector<std::string> found(static_cast<std::size_t>(ranks));
    Explorer(ranks, seed, true).run([&](int rank) { found[static_cast<std::size_t>(rank)] = body(rank, words); });
    std::string all;
    for (const std::string& each : found) all += each;
    ++times[all];
  }
  return times;
}
std::string text(std::uint64_t a, std::uint64_t b) {
  return std::to_string(a) + std::to_string(b);
}

std::map<std::string, int> message(std::memory_order stores, std::memory_order loads) {
  return found_in(2, [=](int rank, Words& words) -> std::string {
    if (rank == 0) {
      words[0].store(1, relaxed);
      words[1].store(1, stores);
      return "";
    }
    const std::uint64_t flag = words[1].load(loads);
    return text(flag, words[0].load(relaxed));
  });
}

TEST(WeakMemory, WhoFindsAReleasedFlagFindsWhatWasStoredBefore) {
  const auto found = message(release, acquire);
  EXPECT_EQ(found.count("10"), 0u);
  EXPECT_GT(found.at("11"), 0);
  EXPECT_GT(found.at("00"), 0);
}

TEST(WeakMemory, WithoutReleaseOrAcquireItMayNot) {
  EXPECT_GT(message(relaxed, acquire).at("10"), 0);
  EXPECT_GT(message(release, relaxed).at("10"), 0);
}

std::map<std::string, int> both_look(std::memory_order stores, std::memory_order loads, bool with_fence) {
  return found_in(2, [=](int rank, Words& words) {
    words[static_cast<std::size_t>(rank)].store(1, stores);
    if (with_fence) sync::thread_fence();
    return std::to_string(words[static_cast<std::size_t>(1 - rank)].load(loads));
  });
}

TEST(WeakMemory, OfTwoThatStoreAndLookOneFindsTheOther) {
  EXPECT_EQ(both_look(ordered, ordered, false).count("00"), 0u);
  EXPECT_EQ(both_look(relaxed, relaxed, true).count("00"), 0u);
}

TEST(WeakMemory, WithReleaseAndAcquireAloneNeitherMay) {
  EXPECT_GT(both_look(release, acquire, false).at("00"), 0);
}

TEST(WeakMemory, TwoReadersMayFindTwoStoresInDifferentOrders) {
  const auto found = found_in(4, [](int rank, Words& words) -> std::string {
    const auto i = static_cast<std::size_t>(rank % 2);
    if (rank < 2) {
      words[i].store(1, release);
      return "";
    }
    const std::uint64_t first = words[i].load(acquire);
    return text(first, words[1 - i].load(acquire));
  });
  EXPECT_GT(found.at("1010"), 0);
}

TEST(WeakMemory, AWordNeverGoesBack) {
  const auto found = found_in(2, [](int rank, Words& words) -> std::string {
    if (rank == 0) {
      words[0].store(1, relaxed);
      words[0].store(2, relaxed);
      return "";
    }
    const std::uint64_t first = words[0].load(relaxed);
    return text(first, words[0].load(relaxed));
  });
  for (const char* back : {"10", "20", "21"}) EXPECT_EQ(found.count(back), 0u) << back;
  EXPECT_GT(found.at("12"), 0);
  EXPECT_GT(found.at("01"), 0);
}

TEST(WeakMemory, WhatAnUpdateFollowsIsReleasedByItToo) {
  const auto found = found_in(3, [](int rank, Words& words) -> std::string {
    if (rank == 0) {
      words[0].store(1, relaxed);
      words[1].store(1, release);
      return "";
    }
    if (rank == 1) {
      std::uint64_t expected = 1;
      words[1].compare_exchange_weak(expected, 2, relaxed, relaxed);
      return "";
    }
    const std::uint64_t flag = words[1].load(acquire);
    return text(flag, words[0].load(relaxed));
  });
  EXPECT_EQ(found.count("20"), 0u);
  EXPECT_GT(found.at("21"), 0);
}

/// sync::Doorbell, with the kernel's part: who sleeps on a word does so only if it still has the value.
TEST(WeakMemory, NobodySleepsOnWhoWaitsForWhatIsThere) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    sync::Flag flag;
    sync::Doorbell bell;
    const auto body = [&](int rank) {
      if (rank == 0) {
        flag.set(1);
        sync::thread_fence();
        bell.ring();
        return;
      }
      while (!flag.has(1)) {
        bell.will_sleep();
        if (flag.has(1)) break;
        while (bell.sleeping.load(ordered) == 1) pause();
      }
    };
    ASSERT_NO_THROW(Explorer(2, seed, true).run(body)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tutti::simulated
