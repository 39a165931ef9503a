#include "memory/view.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/sanitizer.h"
#include "memory/region.h"
#include "readable.h"
#include "system.h"
#include "window_blocks.h"

namespace tutti::memory {
namespace {

constexpr std::size_t gibibyte = 1024 * mebibyte;
constexpr std::size_t step = 2 * mebibyte;

/// A window of this process, and itself as a peer that sees it through a view.
struct Seen {
  explicit Seen(std::size_t bytes, Viewed* viewed = nullptr) {
    WindowOptions options;
    options.huge = kind_of_test();
    options.bytes = bytes;
    std::string reason;
    window = Window::create(options, reason);
    view = View::create(window->descriptor(), window->capacity(),
                        {step, viewed, window->huge_pages().kind() != HugeKind::off});
    peer.process = getpid();
    peer.window = view->base();
    peer.window_view = view.get();
    peer.window_address = reinterpret_cast<std::uintptr_t>(window->base());
  }
  Region region(const void* block) const { return {Kind::window, window->offset_of(block)}; }

  std::unique_ptr<Window> window;
  std::unique_ptr<View> view;
  Peer peer;
};

/// What the kernel counts as this process's of the mapping that begins at `base`, and of those next to it.
std::size_t resident_from(const std::byte* base, std::size_t bytes) {
  std::ifstream maps("/proc/self/smaps");
  std::size_t kibibytes = 0;
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2)
      inside = begin - reinterpret_cast<std::uintptr_t>(base) < bytes;
    else if (unsigned long rss = 0; inside && std::sscanf(line.c_str(), "Rss: %lu kB", &rss) == 1)
      kibibytes += rss;
  }
  return kibibytes * kibibyte;
}

/// Address space is limited to so much more than there is now, as long as this exists.
class Limit {
 public:
  explicit Limit(std::size_t more) {
    getrlimit(RLIMIT_AS, &before_);
    rlimit less = before_;
    less.rlim_cur = address_space() + more;
    setrlimit(RLIMIT_AS, &less);
  }
  ~Limit() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

TEST(View, ShowsWhatTheOwnerHasWrittenAndTheOtherWayRound) {
  Seen seen(gibibyte);
  for (const std::size_t bytes : {20 * kibibyte, 3 * mebibyte, 200 * mebibyte}) {
    auto* const block = static_cast<char*>(seen.window->allocate(bytes));
    block[0] = 1;
    block[bytes - 1] = 2;
    char* const from_there = reinterpret_cast<char*>(seen.peer.pointer(seen.region(block), 0, bytes));
    ASSERT_TRUE(from_there);
    EXPECT_NE(from_there, block);
    EXPECT_EQ(from_there[0], 1);
    EXPECT_EQ(from_there[bytes - 1], 2);
    from_there[bytes / 2] = 3;
    EXPECT_EQ(block[bytes / 2], 3);
  }
}

TEST(View, CanBeReadOnlyWhereItWasUsed) {
  const Seen seen(16 * gibibyte);
  void* const below = seen.window->allocate(gibibyte);
  auto* const block = static_cast<char*>(seen.window->allocate(20 * kibibyte));
  ASSERT_TRUE(below && block);
  EXPECT_FALSE(seen.view->has(seen.window->offset_of(block), 20 * kibibyte));
  EXPECT_EQ(readable_bytes(seen.view->base(), 16 * gibibyte), 0u);
  seen.peer.pointer(seen.region(block), 100, 10 * kibibyte);
  EXPECT_TRUE(seen.view->has(seen.window->offset_of(block), 1));
  EXPECT_LE(readable_bytes(seen.view->base(), 16 * gibibyte), 2 * step);
  const std::size_t before = seen.window->statistics().resident_bytes;
  read_all(seen.view->base(), 16 * gibibyte);
  EXPECT_LE(seen.window->statistics().resident_bytes, before + 2 * step);
}

TEST(View, OfNothingIsWhereItIsSaidToBe) {
  const Seen seen(64 * mebibyte);
  const std::size_t end = seen.window->capacity();
  EXPECT_EQ(seen.peer.pointer({Kind::window, end}, 0, 0), seen.view->base() + end);
  EXPECT_FALSE(seen.view->reach(end, 1));
  EXPECT_FALSE(seen.view->reach(end - 1, 2));
  EXPECT_TRUE(seen.view->reach(end - 1, 1));
  EXPECT_TRUE(seen.view->has(end - 1, 1));
}

TEST(View, KnowsOfManyStepsWhetherAllAreThere) {
  const Seen seen(4 * gibibyte);
  EXPECT_TRUE(seen.view->reach(0, 700 * mebibyte));
  EXPECT_TRUE(seen.view->reach(702 * mebibyte, 800 * mebibyte));
  EXPECT_TRUE(seen.view->has(5, 690 * mebibyte));
  EXPECT_TRUE(seen.view->has(702 * mebibyte, 800 * mebibyte));
  EXPECT_FALSE(seen.view->has(0, gibibyte)) << "one step in between is missing";
  EXPECT_FALSE(seen.view->has(703 * mebibyte, gibibyte)) << "the last ones are missing";
  EXPECT_TRUE(seen.view->reach(700 * mebibyte, 1));
  EXPECT_TRUE(seen.view->has(0, gibibyte));
}

TEST(View, WhatWasUsedIsGivenUpBeyondABoundAndHadAgain) {
  Viewed viewed(32 * mebibyte);
  const Seen seen(gibibyte, &viewed);
  const std::size_t bytes = 100 * mebibyte;
  auto* const block = static_cast<unsigned char*>(seen.window->allocate(bytes));
  std::memset(block, 1, bytes);
  const auto resident = [&] { return resident_from(seen.view->base(), gibibyte); };
  for (int round = 0; round < 3; ++round) {
    for (std::size_t at = 0; at < bytes; at += mebibyte) {
      const auto* const there =
          reinterpret_cast<const unsigned char*>(seen.peer.pointer(seen.region(block), at, mebibyte));
      for (std::size_t i = 0; i < mebibyte; i += 4096) ASSERT_EQ(there[i], 1);
    }
    EXPECT_GE(resident(), bytes);
    EXPECT_GE(viewed.bytes(), bytes);
    EXPECT_TRUE(viewed.is_too_much());
    viewed.give_up();
    EXPECT_FALSE(viewed.is_too_much());
    // What is kept is kept, and what is counted is there, but for the ends of the block and what goes at once.
    EXPECT_LE(resident(), 33 * mebibyte);
    EXPECT_GE(resident(), 24 * mebibyte);
    EXPECT_NEAR(static_cast<double>(viewed.bytes()), static_cast<double>(resident()), 2.0 * mebibyte);
  }
}

TEST(View, WhatIsWithinTheBoundIsNotTouched) {
  Viewed viewed(32 * mebibyte);
  const Seen seen(gibibyte, &viewed);
  void* const block = seen.window->allocate(30 * mebibyte);
  const std::size_t offset = seen.window->offset_of(block);
  seen.peer.pointer(seen.region(block), 0, 30 * mebibyte);
  EXPECT_FALSE(viewed.is_too_much());
  viewed.give_up();
  EXPECT_TRUE(seen.view->has(offset, 30 * mebibyte));
  seen.peer.pointer(seen.region(block), 0, 30 * mebibyte);
  EXPECT_LE(viewed.bytes(), 31 * mebibyte) << "nothing is counted twice";
}

TEST(View, AllViewsShareTheBound) {
  Viewed viewed(8 * mebibyte);
  std::vector<std::unique_ptr<Seen>> peers;
  for (int i = 0; i < 4; ++i) {
    peers.push_back(std::make_unique<Seen>(gibibyte, &viewed));
    void* const block = peers.back()->window->allocate(6 * mebibyte);
    peers.back()->peer.pointer(peers.back()->region(block), 0, 6 * mebibyte);
  }
  EXPECT_GE(viewed.bytes(), 24 * mebibyte);
  viewed.give_up();
  EXPECT_LE(viewed.bytes(), 8 * mebibyte);
  EXPECT_GE(viewed.bytes(), 4 * mebibyte);
}

TEST(View, WhatIsTooMuchIsGivenUpNoFasterThanIsAllowed) {
  Viewed viewed(0);
  const Seen seen(4 * gibibyte, &viewed);
  void* const block = seen.window->allocate(gibibyte);
  const auto now = Viewed::Clock::now();
  const auto use = [&](std::size_t bytes) { seen.peer.pointer(seen.region(block), 0, bytes); };
  use(gibibyte);
  const std::size_t all = viewed.bytes();
  const auto given_up = [&](std::chrono::milliseconds since) {
    const std::size_t before = viewed.bytes();
    viewed.give_up(now + since);
    return (before - viewed.bytes()) / mebibyte;
  };
  using std::chrono_literals::operator""ms;
  EXPECT_NEAR(static_cast<double>(given_up(0ms)), 256, 8) << "what was saved up";
  EXPECT_EQ(given_up(0ms), 0u);
  EXPECT_NEAR(static_cast<double>(given_up(1000ms)), 128, 8) << "what was earned since";
  EXPECT_NEAR(static_cast<double>(given_up(60000ms)), 256, 8) << "more than that is not saved up";
  given_up(120000ms);
  given_up(180000ms);
  EXPECT_EQ(viewed.bytes(), 0u);
  use(gibibyte);
  EXPECT_EQ(viewed.bytes(), all) << "it can be had again";
}

TEST(View, ThreadsThatReachAtOnceSeeTheSame) {
  Seen seen(4 * gibibyte);
  constexpr int blocks = 64;
  std::vector<unsigned char*> block;
  for (int i = 0; i < blocks; ++i) {
    block.push_back(static_cast<unsigned char*>(seen.window->allocate(3 * mebibyte)));
    block.back()[mebibyte] = static_cast<unsigned char>(i);
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < blocks; ++i) {
        const int chosen = (i * 7 + t * 13) % blocks;
        const auto* seen_from_there =
            seen.peer.pointer(seen.region(block[static_cast<std::size_t>(chosen)]), mebibyte, 1);
        if (static_cast<int>(*seen_from_there) != chosen) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(View, WhatCannotBeMappedIsCopied) {
  if (!test::address_space_can_be_limited()) GTEST_SKIP() << "RLIMIT_AS does not hold here";
  if (sanitized) GTEST_SKIP() << "a sanitizer needs more address space than a limit may leave";
  Seen seen(4 * gibibyte);
  seen.peer.copies = true;
  const std::size_t bytes = 300 * mebibyte;
  auto* const block = static_cast<char*>(seen.window->allocate(bytes));
  block[bytes - 1] = 5;
  const std::size_t end = bytes - 100;
  char copy[100] = {};
  std::byte* mapped = nullptr;
  {
    const Limit limit(100 * mebibyte);
    mapped = seen.peer.pointer(seen.region(block), 0, bytes);
    seen.peer.copy_from(seen.region(block), end, copy, 100);
    copy[0] = 6;
    seen.peer.copy_to(seen.region(block), end, copy, 100);
  }
  EXPECT_FALSE(mapped);
  EXPECT_EQ(copy[99], 5);
  EXPECT_EQ(block[end], 6);
  EXPECT_TRUE(seen.peer.pointer(seen.region(block), 0, bytes)) << "without the limit";
}

TEST(View, LeavesMostOfALimitedAddressSpaceToTheProgramIfThereIsAnotherWay) {
  if (!test::address_space_can_be_limited()) GTEST_SKIP() << "RLIMIT_AS does not hold here";
  if (sanitized) GTEST_SKIP() << "a sanitizer needs more address space than a limit may leave";
  Seen seen(4 * gibibyte);
  const std::size_t bytes = gibibyte;
  void* const block = seen.window->allocate(bytes);
  {
    const Limit limit(2 * gibibyte);
    seen.peer.copies = true;
    EXPECT_FALSE(seen.peer.pointer(seen.region(block), 0, bytes)) << "more than a quarter";
    EXPECT_TRUE(seen.peer.pointer(seen.region(block), 0, bytes / 4));
    seen.peer.copies = false;
    EXPECT_TRUE(seen.peer.pointer(seen.region(block), 0, bytes)) << "there is no other way";
    seen.peer.copies = true;
    EXPECT_TRUE(seen.peer.pointer(seen.region(block), 0, bytes)) << "it is mapped already";
  }
}

TEST(View, WithoutAnyWayItIsSaidWhatIsMissing) {
  if (!test::address_space_can_be_limited()) GTEST_SKIP() << "RLIMIT_AS does not hold here";
  if (sanitized) GTEST_SKIP() << "a sanitizer needs more address space than a limit may leave";
  const Seen seen(4 * gibibyte);
  void* const block = seen.window->allocate(300 * mebibyte);
  std::string said;
  {
    const Limit limit(100 * mebibyte);
    try {
      seen.peer.pointer(seen.region(block), 0, 300 * mebibyte);
    } catch (const std::runtime_error& problem) {
      said = problem.what();
    }
  }
  EXPECT_NE(said.find("RLIMIT_AS"), std::string::npos) << said;
}

TEST(View, WhatIsTakenAheadCanBeReachedUnderALimit) {
  if (sanitized) GTEST_SKIP() << "a sanitizer needs more address space than a limit may leave";
  const Seen seen(4 * gibibyte);
  const std::size_t taken = seen.view->take(300 * mebibyte);
  EXPECT_GE(taken, 300 * mebibyte);
  EXPECT_EQ(readable_bytes(seen.view->base(), 4 * gibibyte), 0u);
  // Any number of bytes.
  EXPECT_GE(seen.view->take(300 * mebibyte + 12345), 300 * mebibyte + 12345);
  EXPECT_GE(seen.view->take(taken + 1), taken + 1);
}

TEST(View, WhatIsTakenAheadIsReachedAndNoMore) {
  if (!test::address_space_can_be_limited()) GTEST_SKIP() << "RLIMIT_AS does not hold here";
  if (sanitized) GTEST_SKIP() << "a sanitizer needs more address space than a limit may leave";
  const Seen seen(4 * gibibyte);
  const std::size_t taken = seen.view->take(300 * mebibyte);
  const Limit limit(0);
  EXPECT_TRUE(seen.view->reach(taken - 1, 1));
  EXPECT_FALSE(seen.view->reach(taken, 1));
  EXPECT_EQ(seen.view->take(gibibyte), taken);
}

}  // namespace
}  // namespace tutti::memory
