#include "memory/window.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/sanitizer.h"
#include "memory/pages.h"
#include "readable.h"
#include "system.h"
#include "window_blocks.h"

namespace tutti::memory {
namespace {

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

TEST(Window, LargeBlocksBeginAtManyPlacesOfAPage) {
  const auto window = make_window(1024 * mebibyte);
  constexpr std::size_t page = 4096, line = 64, many = 16;
  for (const std::size_t bytes : {std::size_t{160'000}, 256 * kibibyte, 1 * mebibyte, 5 * mebibyte, 17 * mebibyte}) {
    std::set<std::size_t> places;
    std::vector<void*> blocks;
    for (std::size_t i = 0; i < many; ++i) {
      blocks.push_back(window->allocate(bytes));
      ASSERT_TRUE(blocks.back());
      std::memset(blocks.back(), 1, bytes);
      EXPECT_EQ(window->offset_of(blocks.back()) % line, 0u);
      places.insert(window->offset_of(blocks.back()) % page);
    }
    EXPECT_EQ(places.size(), many) << bytes;
    for (void* const block : blocks) window->release(block);
  }
  // An alignment that was asked for stays.
  void* const aligned = window->allocate(mebibyte, page);
  EXPECT_EQ(window->offset_of(aligned) % page, 0u);
  window->release(aligned);
}

TEST(Window, ZeroedBlocksOccupyNothingUntilTheyAreTouched) {
  for (const std::size_t bytes : {4 * mebibyte, 5 * mebibyte, 40 * mebibyte}) {
    const auto window = make_window(1024 * mebibyte);
    const std::size_t before = window->statistics().resident_bytes;
    void* const block = window->allocate_zeroed(bytes);
    ASSERT_TRUE(block);
    // But for where the allocator keeps its list of free blocks, which may be in a huge page.
    EXPECT_LE(window->statistics().resident_bytes, before + 2 * mebibyte + 128 * kibibyte) << bytes;
    EXPECT_TRUE(all_zero(block, bytes)) << bytes;
    window->release(block);
  }
}

TEST(Window, ZeroedBlocksAreZeroWhereOnlySomePagesHaveBeenWritten) {
  const auto window = make_window(1024 * mebibyte);
  constexpr std::size_t page = 4096;
  for (const std::size_t bytes : {150 * kibibyte + 9, 4 * mebibyte, 5 * mebibyte + 100, 20 * mebibyte})
    for (const std::size_t step : {page, 7 * page, 16 * page, 64 * page, 300 * page}) {
      auto* const dirty = static_cast<std::byte*>(window->allocate(bytes));
      ASSERT_TRUE(dirty);
      for (std::size_t at = 0; at < bytes; at += step) dirty[at] = std::byte{0xFF};
      dirty[bytes - 1] = std::byte{0xFF};
      window->release(dirty);
      void* const zeroed = window->allocate_zeroed(bytes, 64);
      ASSERT_TRUE(zeroed);
      EXPECT_TRUE(all_zero(zeroed, bytes)) << bytes << " written every " << step;
      window->release(zeroed);
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
  if (system_removes_pages()) {
    EXPECT_LT(window->statistics().resident_bytes, mebibyte);
  }
}

TEST(Window, LargeFreesAndTrimGiveMemoryBackAndSmallOnesAreKept) {
  if (!system_removes_pages()) GTEST_SKIP() << "what madvise is told does nothing here";
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
  if (!system_removes_pages()) GTEST_SKIP() << "what madvise is told does nothing here";
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
  if (!system_removes_pages()) GTEST_SKIP() << "what madvise is told does nothing here";
  const auto window = make_window(std::size_t{64} << 30);
  void* const sparse = window->allocate_zeroed(std::size_t{20} << 30);
  ASSERT_TRUE(sparse);
  static_cast<char*>(sparse)[std::size_t{15} << 30] = 1;
  EXPECT_LT(window->statistics().resident_bytes, mebibyte);
  window->release(sparse);
}

TEST(Window, TakesAddressSpaceAsItFills) {
  if (!test::proc_tells_of_the_program()) GTEST_SKIP() << "/proc tells of what emulates the program";
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
  if (!test::address_space_can_be_limited()) GTEST_SKIP() << "RLIMIT_AS does not hold here";
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
  if (window->huge_pages().kind() != HugeKind::mount) {
    EXPECT_NE(ftruncate(window->descriptor(), 4096), 0) << "nobody can take the pages from under a peer";
  }
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

}  // namespace
}  // namespace tutti::memory
