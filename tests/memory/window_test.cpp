#include "memory/window.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/sanitizer.h"
#include "readable.h"

namespace tutti::memory {
namespace {

constexpr std::size_t kibibyte = 1024;
constexpr std::size_t mebibyte = 1024 * kibibyte;

std::unique_ptr<Window> make_window(std::size_t bytes, std::size_t retain_bytes = WindowOptions().retain_bytes) {
  WindowOptions options;
  options.bytes = bytes;
  options.retain_bytes = retain_bytes;
  std::string reason;
  auto window = Window::create(options, reason);
  EXPECT_TRUE(window) << reason;
  return window;
}

/// A block filled with bytes that follow from a seed, so that a foreign write anywhere in it is noticed.
struct Block {
  std::uint64_t* data = nullptr;
  std::size_t words = 0;
  std::uint64_t seed = 0;

  void fill(std::size_t from = 0) {
    for (std::size_t i = from; i < words; ++i) data[i] = seed + i;
  }
  bool intact(std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i)
      if (data[i] != seed + i) return false;
    return true;
  }
};

bool all_zero(const void* data, std::size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(data);
  // Each byte is as the one before it; a sanitizer looks at a loop's accesses one by one.
  return bytes == 0 || (at[0] == 0 && std::memcmp(at, at + 1, bytes - 1) == 0);
}

/// Whether the page would be part of a core dump; by its flags in /proc/self/smaps.
bool is_dumped(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2)
      inside = begin <= reinterpret_cast<std::uintptr_t>(address) && reinterpret_cast<std::uintptr_t>(address) < end;
    else if (inside && line.rfind("VmFlags:", 0) == 0)
      return line.find(" dd") == std::string::npos;
  }
  return false;
}

TEST(Window, ACoreDumpHoldsTheBlocksAndNotTheWholeWindow) {
  const auto window = make_window(1024 * mebibyte);
  void* const small = window->allocate(20000);
  EXPECT_TRUE(is_dumped(small));
  EXPECT_FALSE(is_dumped(window->base() + window->capacity() - 4096));
  auto* const large = static_cast<std::byte*>(window->allocate(300 * mebibyte));
  EXPECT_TRUE(is_dumped(small));
  EXPECT_TRUE(is_dumped(large));
  EXPECT_TRUE(is_dumped(large + 300 * mebibyte - 1));
  EXPECT_FALSE(is_dumped(window->base() + window->capacity() - 4096));
  window->release(small);
  window->release(large);
}

TEST(Window, CapacityIsTheSizeAskedForRoundedToTheUnit) {
  const auto window = make_window(40 * mebibyte);
  EXPECT_EQ(window->capacity(), 64 * mebibyte);
  EXPECT_EQ(lseek(window->descriptor(), 0, SEEK_END), static_cast<off_t>(64 * mebibyte));
  EXPECT_NE(fcntl(window->descriptor(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(Window, BlocksLieInTheWindowAndAreAligned) {
  const auto window = make_window(1024 * mebibyte);
  for (std::size_t alignment = 16; alignment <= 16 * mebibyte; alignment *= 2)
    for (const std::size_t bytes :
         {std::size_t{1}, 16 * kibibyte, 100 * kibibyte + 3, 3 * mebibyte, 20 * mebibyte + 1}) {
      void* const block = window->allocate(bytes, alignment);
      ASSERT_TRUE(block) << bytes << " at " << alignment;
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0u);
      EXPECT_TRUE(window->contains(block));
      EXPECT_TRUE(window->contains(static_cast<char*>(block) + bytes - 1));
      EXPECT_GE(window->usable_size(block), bytes);
      EXPECT_EQ(window->base() + window->offset_of(block), block);
      std::memset(block, 0xA5, window->usable_size(block));
      window->release(block);
    }
  EXPECT_FALSE(window->allocate(16, 32 * mebibyte));
  int on_stack = 0;
  EXPECT_FALSE(window->contains(&on_stack));
  EXPECT_FALSE(window->contains(nullptr));
  EXPECT_FALSE(window->contains(window->base() + window->extent()));
}

TEST(Window, ZeroedBlocksAreZeroAfterReuse) {
  const auto window = make_window(1024 * mebibyte);
  for (const std::size_t bytes : {20 * kibibyte, 300 * kibibyte, 5 * mebibyte, 33 * mebibyte + 5, 120 * mebibyte}) {
    for (int round = 0; round < 3; ++round) {
      void* const dirty = window->allocate(bytes);
      ASSERT_TRUE(dirty);
      std::memset(dirty, 0xFF, bytes);
      window->release(dirty);
      void* const zeroed = window->allocate_zeroed(bytes, 64);
      ASSERT_TRUE(zeroed);
      EXPECT_TRUE(all_zero(zeroed, bytes)) << bytes;
      std::memset(zeroed, 0xFF, bytes);
      window->release(zeroed);
    }
  }
}

TEST(Window, ExhaustionIsNullAndLeavesTheRestUsable) {
  const auto window = make_window(128 * mebibyte);
  EXPECT_FALSE(window->allocate(200 * mebibyte));
  EXPECT_FALSE(window->allocate(SIZE_MAX - 100));
  EXPECT_FALSE(window->allocate(SIZE_MAX / 2));
  std::vector<void*> blocks;
  errno = 0;
  while (void* const block = window->allocate(mebibyte)) blocks.push_back(block);
  EXPECT_EQ(errno, 0);
  EXPECT_GT(blocks.size(), 100u);
  EXPECT_GE(window->statistics().refusals, 4u);
  for (void* const block : blocks) window->release(block);
  void* const again = window->allocate(60 * mebibyte);
  EXPECT_TRUE(again) << "what was released can be used for something larger";
  window->release(again);
}

TEST(Window, AThreadsBlocksOutliveItAndItsMemoryIsReused) {
  const auto window = make_window(64 * mebibyte);
  // Each round needs more than half of the window: it fits only if the round before has been given back
  // completely.
  for (int round = 0; round < 20; ++round) {
    std::vector<void*> blocks;
    std::thread([&] {
      for (int i = 0; i < 18; ++i) blocks.push_back(window->allocate(2 * mebibyte));
    }).join();
    for (void* const block : blocks) {
      ASSERT_TRUE(block) << "round " << round;
      std::memset(block, round, 100);
      window->release(block);
    }
  }
}

TEST(Window, ReallocateKeepsTheContentsAndStaysInPlaceWhenItCan) {
  const auto window = make_window(2048 * mebibyte);
  Block block{static_cast<std::uint64_t*>(window->allocate(16 * kibibyte)), 2 * kibibyte, 7};
  block.fill();
  for (std::size_t bytes = 16 * kibibyte; bytes < 100 * mebibyte; bytes += bytes / 3) {
    const std::size_t kept = block.words;
    block.data = static_cast<std::uint64_t*>(window->reallocate(block.data, bytes));
    ASSERT_TRUE(block.data);
    EXPECT_TRUE(block.intact(kept));
    block.words = bytes / 8;
    block.fill(kept);
  }
  const std::uint64_t copies = window->statistics().releases;
  EXPECT_LT(copies, 20u) << "growing step by step must not copy each time";
  block.data = static_cast<std::uint64_t*>(window->reallocate(block.data, 20 * kibibyte));
  EXPECT_TRUE(block.intact(20 * kibibyte / 8));
  EXPECT_LT(window->usable_size(block.data), mebibyte) << "a block that shrinks a lot does not keep its room";
  window->release(block.data);
}

TEST(Window, ThreadsHammeringNeverSeeEachOthersBytes) {
  const auto window = make_window(1024 * mebibyte);
  std::mutex exchange_lock;
  std::vector<Block> exchange;  // blocks that another thread will release
  std::atomic<int> damaged{0};
  const auto work = [&](unsigned thread) {
    std::mt19937 random(thread);
    std::vector<Block> mine;
    for (int step = 0; step < 1500; ++step) {
      const unsigned action = random() % 8;
      if (action < 4 || mine.empty()) {
        const std::size_t words = (std::size_t{1} << (8 + random() % 10)) + random() % 999;
        const bool zeroed = random() % 4 == 0;
        const std::size_t alignment = std::size_t{16} << (random() % 9);
        void* const data =
            zeroed ? window->allocate_zeroed(words * 8, alignment) : window->allocate(words * 8, alignment);
        if (!data) continue;
        if (zeroed && !all_zero(data, words * 8)) damaged++;
        mine.push_back({static_cast<std::uint64_t*>(data), words, random()});
        mine.back().fill();
        continue;
      }
      const std::size_t which = random() % mine.size();
      Block block = mine[which];
      if (!block.intact(block.words)) damaged++;
      if (action == 4) {
        const std::size_t words = 1 + random() % 200000;
        void* const moved = window->reallocate(block.data, words * 8);
        if (!moved) continue;
        block.data = static_cast<std::uint64_t*>(moved);
        if (!block.intact(std::min(words, block.words))) damaged++;
        block.words = words;
        block.fill();
        mine[which] = block;
        continue;
      }
      mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(which));
      if (action == 5) {
        const std::lock_guard guard(exchange_lock);
        exchange.push_back(block);
        block = exchange.front();
        exchange.erase(exchange.begin());
        if (!block.intact(block.words)) damaged++;
      }
      window->release(block.data);
    }
    for (const Block& block : mine) {
      if (!block.intact(block.words)) damaged++;
      window->release(block.data);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) threads.emplace_back(work, t + 1);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(damaged, 0);
  for (const Block& block : exchange) window->release(block.data);
  const auto statistics = window->statistics();
  EXPECT_EQ(statistics.allocations, statistics.releases);
  window->trim();
  EXPECT_LT(window->statistics().resident_bytes, mebibyte);
}

TEST(Window, LargeFreesAndTrimGiveMemoryBackAndSmallOnesAreKept) {
  const auto window = make_window(1024 * mebibyte, 64 * mebibyte);
  const std::size_t before = window->statistics().resident_bytes;
  void* const kept = window->allocate(20 * mebibyte);
  std::memset(kept, 1, 20 * mebibyte);
  window->release(kept);
  EXPECT_GE(window->statistics().resident_bytes, before + 20 * mebibyte) << "kept for the next time";
  void* const neighbour = window->allocate(100 * kibibyte);
  std::memset(neighbour, 2, 100 * kibibyte);
  window->trim();
  EXPECT_LT(window->statistics().resident_bytes, before + 2 * mebibyte);
  EXPECT_EQ(static_cast<char*>(neighbour)[99 * kibibyte], 2) << "live blocks are not touched";

  void* const large = window->allocate(80 * mebibyte);
  for (std::size_t at = 0; at < 80 * mebibyte; at += 4096) static_cast<char*>(large)[at] = 1;
  EXPECT_GE(window->statistics().resident_bytes, 80 * mebibyte);
  window->release(large);
  EXPECT_LT(window->statistics().resident_bytes, before + 2 * mebibyte)
      << "more than is worth keeping goes back at once";
  window->release(neighbour);
}

TEST(Window, ManySmallFreesGiveMemoryBackToo) {
  const auto window = make_window(1024 * mebibyte, 64 * mebibyte);
  std::vector<void*> blocks;
  for (int i = 0; i < 150; ++i) {
    blocks.push_back(window->allocate(mebibyte));
    for (std::size_t at = 0; at < mebibyte; at += 4096) static_cast<char*>(blocks.back())[at] = 1;
  }
  EXPECT_GE(window->statistics().resident_bytes, 150 * mebibyte);
  for (void* const block : blocks) window->release(block);
  EXPECT_LE(window->statistics().resident_bytes, 70 * mebibyte);
}

TEST(Window, UntouchedMemoryCostsNothing) {
  const auto window = make_window(std::size_t{64} << 30);
  void* const sparse = window->allocate_zeroed(std::size_t{20} << 30);
  ASSERT_TRUE(sparse);
  static_cast<char*>(sparse)[std::size_t{15} << 30] = 1;
  EXPECT_LT(window->statistics().resident_bytes, mebibyte);
  window->release(sparse);
}

TEST(Window, TakesAddressSpaceAsItFills) {
  if (sanitized) GTEST_SKIP() << "a sanitizer lays out the address space";
  const std::size_t before = address_space();
  const auto window = make_window(std::size_t{64} << 30);
  void* const small = window->allocate(20 * kibibyte);
  EXPECT_LE(address_space() - before, 64 * mebibyte);
  void* const large = window->allocate(1024 * mebibyte);
  const std::size_t with_large = address_space() - before;
  EXPECT_GE(with_large, 1024 * mebibyte);
  EXPECT_LE(with_large, 1200 * mebibyte);
  window->release(large);
  EXPECT_LE(address_space() - before, 128 * mebibyte) << "what the C library's malloc gives back, too";
  window->release(small);
}

TEST(Window, CanBeReadOnlyWhereBlocksAre) {
  const auto window = make_window(std::size_t{4} << 30, 64 * mebibyte);
  EXPECT_EQ(readable_bytes(window->base(), window->capacity()), 0u);
  ASSERT_TRUE(window->allocate(20 * kibibyte));
  EXPECT_LE(readable_bytes(window->base(), window->capacity()), 4 * mebibyte);
  void* const large = window->allocate(100 * mebibyte);
  const std::size_t both = readable_bytes(window->base(), window->capacity());
  EXPECT_GE(both, 100 * mebibyte);
  EXPECT_LE(both, 110 * mebibyte);
  std::memset(large, 1, 100 * mebibyte);
  window->release(large);
  EXPECT_LE(readable_bytes(window->base(), window->capacity()), 8 * mebibyte);
  std::vector<void*> blocks;
  for (int i = 0; i < 40; ++i) blocks.push_back(window->allocate(3 * mebibyte));
  for (void* const block : blocks) std::memset(block, 1, 3 * mebibyte);
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (i != 20) window->release(blocks[i]);
  window->trim();
  EXPECT_LE(readable_bytes(window->base(), window->capacity()), 16 * mebibyte) << "between live blocks, too";
  const std::size_t resident = window->statistics().resident_bytes;
  read_all(window->base(), window->capacity());
  EXPECT_LE(window->statistics().resident_bytes, resident + 8 * mebibyte);
  EXPECT_EQ(static_cast<char*>(blocks[20])[mebibyte], 1);
  for (int i = 0; i < 40; ++i) {
    void* const again = window->allocate_zeroed(3 * mebibyte);
    ASSERT_TRUE(again);
    EXPECT_TRUE(all_zero(again, 3 * mebibyte)) << "what was closed can be used again";
  }
}

TEST(Window, ALimitThatIsSetLateRefusesBlocksAndNothingElse) {
  if (sanitized) GTEST_SKIP() << "a sanitizer needs more address space than a limit may leave";
  const auto window = make_window(std::size_t{16} << 30);
  Block before{static_cast<std::uint64_t*>(window->allocate(mebibyte)), mebibyte / 8, 7};
  before.fill();
  rlimit unlimited{};
  getrlimit(RLIMIT_AS, &unlimited);
  rlimit limit = unlimited;
  limit.rlim_cur = address_space() + 200 * mebibyte;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  int refused = 0, small = 0;
  for (int i = 0; i < 2000; ++i) refused += !window->allocate(std::size_t{1} << 30);
  std::vector<void*> blocks;
  while (void* const block = window->allocate(300 * kibibyte)) blocks.push_back(block);
  for (int i = 0; i < 2000; ++i) small += window->allocate(300 * kibibyte) != nullptr;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &unlimited), 0);
  EXPECT_EQ(refused, 2000);
  EXPECT_EQ(small, 0);
  EXPECT_GT(blocks.size(), 100u);
  for (void* const block : blocks) std::memset(block, 1, 300 * kibibyte);
  EXPECT_TRUE(before.intact(before.words));
  EXPECT_TRUE(window->allocate(std::size_t{15} << 30)) << "what was refused is not lost";
}

TEST(Window, ThreadsThatGrowAtOnceGetBlocksOfTheirOwn) {
  const auto window = make_window(std::size_t{16} << 30);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::vector<Block> mine;
      for (int i = 0; i < 40; ++i) {
        const std::size_t bytes = (i % 4 == 3 ? 40 : 2) * mebibyte;
        Block block{static_cast<std::uint64_t*>(window->allocate(bytes)), 512,
                    static_cast<std::uint64_t>(t * 1000000 + i * 1000)};
        if (!block.data) return void(++wrong);
        block.fill();
        block.data[bytes / 8 - 1] = block.seed;
        mine.push_back(block);
        if (i % 8 == 7) {
          window->release(mine[static_cast<std::size_t>(i / 2)].data);
          mine[static_cast<std::size_t>(i / 2)].words = 0;
        }
      }
      for (const Block& block : mine) wrong += !block.intact(block.words);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Window, AnotherMappingOfTheDescriptorSeesTheSameBytes) {
  const auto window = make_window(64 * mebibyte);
  auto* const peer =
      static_cast<char*>(mmap(nullptr, window->capacity(), PROT_READ, MAP_SHARED, window->descriptor(), 0));
  ASSERT_NE(peer, MAP_FAILED);
  auto* const block = static_cast<char*>(window->allocate(mebibyte));
  std::strcpy(block + 500000, "seen");
  EXPECT_STREQ(peer + window->offset_of(block) + 500000, "seen");
  EXPECT_NE(ftruncate(window->descriptor(), 4096), 0) << "nobody can take the pages from under a peer";
  munmap(peer, window->capacity());
}

TEST(Window, WindowsComeAndGoAndStayApart) {
  const auto other = make_window(32 * mebibyte);
  void* const others = other->allocate(mebibyte);
  std::memset(others, 3, mebibyte);
  for (int i = 0; i < 200; ++i) {
    const auto window = make_window(32 * mebibyte);
    ASSERT_TRUE(window);
    void* const block = window->allocate_zeroed(mebibyte);
    ASSERT_TRUE(block);
    ASSERT_TRUE(window->contains(block));
    ASSERT_FALSE(other->contains(block));
    ASSERT_TRUE(all_zero(block, mebibyte));
    std::memset(block, i + 1, mebibyte);
    if (i % 2) window->release(block);
  }
  EXPECT_EQ(static_cast<char*>(others)[12345], 3);
}

TEST(Window, ADescriptorThatTheProgramClosedIsNotMistakenForTheWindow) {
  const auto window = make_window(32 * mebibyte);
  const int descriptor = window->descriptor();
  close(descriptor);
  EXPECT_EQ(window->descriptor(), -1);
  ASSERT_EQ(dup2(STDERR_FILENO, descriptor), descriptor);
  EXPECT_EQ(window->descriptor(), -1);
  void* const block = window->allocate(mebibyte);
  EXPECT_TRUE(block);
  window->release(block);
  window->trim();
  close(descriptor);
}

TEST(Window, AForkedChildHasItsOwnCopyAndCannotAllocate) {
  const auto window = make_window(256 * mebibyte);
  auto* const block = static_cast<std::uint64_t*>(window->allocate(40 * mebibyte));
  auto* const untouched = static_cast<char*>(window->allocate(mebibyte));
  Block mine{block, 5 * mebibyte, 11};
  mine.fill();
  window->fork_prepare();
  const pid_t child = fork();
  if (child == 0) {
    window->fork_in_child();
    bool good = window->child() == Window::Child::snapshot && mine.intact(mine.words) && window->descriptor() == -1 &&
                !window->allocate(mebibyte) && window->usable_size(block) >= 40 * mebibyte && untouched[77] == 0;
    mine.seed = 99;
    mine.fill();
    untouched[77] = 5;
    good = good && mine.intact(mine.words);
    window->release(block);
    _exit(good ? 0 : 1);
  }
  EXPECT_EQ(window->fork_in_parent(), Window::Child::snapshot);
  ASSERT_GT(child, 0);
  mine.seed = 12;
  mine.fill();
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(mine.intact(mine.words));
  EXPECT_EQ(untouched[77], 0);
}

std::size_t available_in_test = 0;

/// Forks with so much memory available and ends the child with what `in_child` says; true if that is true.
template <class Check>
bool forked_child_finds(Window& window, Window::Child expected, Check in_child) {
  window.fork_prepare();
  const pid_t child = fork();
  if (child == 0) {
    window.fork_in_child();
    _exit(window.child() == expected && in_child() ? 0 : 1);
  }
  const bool told = window.fork_in_parent() == expected;
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0 && told;
}

/// Whether a byte can be read, found out without a signal.
bool readable(const char* byte) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  const bool good = write(ends[1], byte, 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return good;
}

TEST(Window, WhatThereIsNoMemoryForIsNotCopiedIntoAChild) {
  WindowOptions options;
  options.bytes = 1024 * mebibyte;
  options.available = []() noexcept { return available_in_test; };
  std::string reason;
  const auto window = Window::create(options, reason);
  ASSERT_TRUE(window) << reason;
  auto* const before = static_cast<char*>(window->allocate(mebibyte));
  auto* const large = static_cast<char*>(window->allocate(100 * mebibyte));
  auto* const after = static_cast<char*>(window->allocate(10 * mebibyte));
  std::memset(before, 1, mebibyte);
  std::memset(large, 2, 100 * mebibyte);
  std::memset(after, 3, 10 * mebibyte);
  const auto small_ones_are_there = [&] {
    return before[mebibyte - 1] == 1 && after[10 * mebibyte - 1] == 3 && window->usable_size(large) >= 100 * mebibyte;
  };

  available_in_test = 200 * mebibyte;
  EXPECT_TRUE(forked_child_finds(*window, Window::Child::snapshot,
                                 [&] { return small_ones_are_there() && large[100 * mebibyte - 1] == 2; }));
  available_in_test = 50 * mebibyte;
  EXPECT_TRUE(forked_child_finds(*window, Window::Child::partial, [&] {
    const bool good = small_ones_are_there() && !readable(large) && !readable(large + 100 * mebibyte - 1);
    window->release(large);
    window->release(before);
    return good;
  }));
  available_in_test = 0;
  std::vector<void*> more;
  for (int i = 0; i < 10; ++i) {
    more.push_back(window->allocate(10 * mebibyte));
    std::memset(more.back(), 4, 10 * mebibyte);
  }
  EXPECT_TRUE(forked_child_finds(*window, Window::Child::nothing, [&] {
    window->release(before);  // must do nothing
    return !readable(before) && !readable(large) && window->usable_size(before) == 0;
  }));
  EXPECT_EQ(large[5], 2);
}

TEST(Window, AChildGetsItsCopyEvenIfTheProgramClosedTheDescriptor) {
  const auto window = make_window(256 * mebibyte);
  auto* const block = static_cast<char*>(window->allocate(20 * mebibyte));
  std::memset(block, 7, 20 * mebibyte);
  close(window->descriptor());
  EXPECT_TRUE(forked_child_finds(*window, Window::Child::snapshot, [&] {
    const bool good = block[0] == 7 && block[20 * mebibyte - 1] == 7 &&
                      !readable(reinterpret_cast<char*>(window->base()) + 200 * mebibyte);
    std::memset(block, 8, 20 * mebibyte);
    return good;
  }));
  EXPECT_EQ(block[0], 7);
}

TEST(Window, AChildHasWhatTheWindowHasGrownByAndNothingOfWhatItGaveBack) {
  const auto window = make_window(std::size_t{8} << 30, 64 * mebibyte);
  auto* const first = static_cast<char*>(window->allocate(mebibyte));
  void* const gone = window->allocate(1024 * mebibyte);
  auto* const last = static_cast<char*>(window->allocate(100 * mebibyte));
  ASSERT_TRUE(first && gone && last);
  first[0] = 1;
  last[100 * mebibyte - 1] = 2;
  const auto both_are_there = [&] { return first[0] == 1 && last[100 * mebibyte - 1] == 2; };
  EXPECT_TRUE(forked_child_finds(*window, Window::Child::snapshot, both_are_there));
  window->release(gone);
  EXPECT_TRUE(forked_child_finds(*window, Window::Child::snapshot, both_are_there));
  window->release(last);
  EXPECT_TRUE(forked_child_finds(*window, Window::Child::snapshot, [&] {
    return first[0] == 1 && !readable(reinterpret_cast<char*>(window->base()) + 500 * mebibyte);
  }));
  close(window->descriptor());
  void* const closed_descriptor = window->allocate(300 * mebibyte);
  EXPECT_TRUE(closed_descriptor) << "growth needs no descriptor";
  EXPECT_TRUE(forked_child_finds(*window, Window::Child::snapshot, [&] { return first[0] == 1; }));
}

/// What the kernel counts as this process's memory.
std::size_t resident_memory() {
  std::size_t size = 0, pages = 0;
  std::ifstream("/proc/self/statm") >> size >> pages;
  return pages * 4096;
}

TEST(Window, AChildIsNotGivenWhatIsFree) {
  const auto window = make_window(1024 * mebibyte);
  std::vector<char*> blocks;
  for (int i = 0; i < 60; ++i) {
    blocks.push_back(static_cast<char*>(window->allocate(mebibyte)));
    std::memset(blocks.back(), i + 1, mebibyte);
  }
  for (int i = 0; i < 60; ++i)
    if (i % 20 != 10) window->release(blocks[static_cast<std::size_t>(i)]);
  EXPECT_GE(window->statistics().resident_bytes, 40 * mebibyte) << "kept for reuse";
  std::size_t before = 0;
  window->fork_prepare();
  const pid_t child = fork();
  if (child == 0) {
    before = resident_memory();
    window->fork_in_child();
    bool good = resident_memory() < before + 16 * mebibyte;
    for (int i = 10; i < 60; i += 20) {
      const char* const block = blocks[static_cast<std::size_t>(i)];
      for (std::size_t at = 0; at < mebibyte; ++at) good = good && block[at] == i + 1;
    }
    _exit(good ? 0 : 1);
  }
  window->fork_in_parent();
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  auto* const again = static_cast<char*>(window->allocate(mebibyte));
  std::memset(again, 1, mebibyte);
  window->release(again);
}

/// Whether a child finds the block as it is.
bool child_finds(Window& window, const Block& block) {
  return forked_child_finds(window, Window::Child::snapshot, [&] { return block.intact(block.words); });
}

TEST(Window, WhatTheParentCannotCopyTheChildDoes) {
  const auto window = make_window(256 * mebibyte);
  Block block{static_cast<std::uint64_t*>(window->allocate(50 * mebibyte)), 50 * mebibyte / 8, 5};
  block.fill();
  EXPECT_TRUE(child_finds(*window, block));
  const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(block.data) + 4095) / 4096 * 4096;
  ASSERT_EQ(mprotect(reinterpret_cast<void*>(begin), 40 * mebibyte, PROT_NONE), 0);
  EXPECT_TRUE(child_finds(*window, block));
  ASSERT_EQ(mprotect(reinterpret_cast<void*>(begin), 40 * mebibyte, PROT_READ | PROT_WRITE), 0);
  EXPECT_TRUE(block.intact(block.words));
}

volatile pid_t stopped_child = 0;

TEST(Window, AStoppedChildKeepsTimersWaitingASecondAndNoLonger) {
  const auto window = make_window(256 * mebibyte);
  Block block{static_cast<std::uint64_t*>(window->allocate(20 * mebibyte)), 20 * mebibyte / 8, 3};
  block.fill();
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) { kill(stopped_child, SIGCONT); };
  sigaction(SIGALRM, &action, &before);
  window->fork_prepare();
  const pid_t child = fork();
  if (child == 0) {
    raise(SIGSTOP);
    window->fork_in_child();
    _exit(block.intact(block.words) ? 0 : 1);
  }
  stopped_child = child;
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  alarm(1);
  EXPECT_EQ(window->fork_in_parent(), Window::Child::snapshot);
  sigaction(SIGALRM, &before, nullptr);
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Window, WhileAStoppedChildIsWaitedForTheParentCanBeEnded) {
  int numbers[2];
  ASSERT_EQ(pipe(numbers), 0);
  const auto begin = std::chrono::steady_clock::now();
  const pid_t parent = fork();
  if (parent == 0) {
    // It waits for a child that never goes on.
    signal(SIGTERM, SIG_DFL);
    const auto window = make_window(256 * mebibyte);
    std::memset(window->allocate(20 * mebibyte), 1, 20 * mebibyte);
    window->fork_prepare();
    const pid_t child = fork();
    if (child == 0) {
      raise(SIGSTOP);
      _exit(0);
    }
    int status = -1;
    waitpid(child, &status, WUNTRACED);
    if (write(numbers[1], &child, sizeof child) != sizeof child) _exit(1);
    window->fork_in_parent();
    _exit(2);
  }
  pid_t child = 0;
  ASSERT_EQ(read(numbers[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  kill(parent, SIGTERM);
  int status = 0, ended = 0;
  while ((ended = waitpid(parent, &status, WNOHANG)) == 0 &&
         std::chrono::steady_clock::now() - begin < std::chrono::seconds(10))
    usleep(10000);
  kill(child, SIGKILL);
  if (ended == 0) kill(parent, SIGKILL), waitpid(parent, &status, 0);
  EXPECT_EQ(ended, parent) << "it was still waiting";
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  close(numbers[0]);
  close(numbers[1]);
}

TEST(Window, AChildMadeBehindOurBackHasNoWindow) {
  const auto window = make_window(64 * mebibyte);
  auto* const block = static_cast<volatile char*>(window->allocate(mebibyte));
  block[0] = 1;
  const pid_t child = fork();
  if (child == 0) {
    // Reading through a system call fails instead of ending the process noisily.
    const ssize_t written = write(STDERR_FILENO, const_cast<char*>(block), 1);
    _exit(written < 0 && errno == EFAULT ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tutti::memory
