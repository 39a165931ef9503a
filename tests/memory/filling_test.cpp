// Copies that peers read while their owner is still making them (Kind::filling).
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "memory/arena.h"
#include "memory/region.h"

namespace tutti::memory {
namespace {

constexpr std::size_t step = 10'000;

/// A copy in an arena, as its owner and as a peer has it.
struct Copy {
  explicit Copy(std::size_t bytes) : content(bytes) {
    std::string reason;
    arena = Arena::create(std::size_t{8} << 20, reason);
    const std::size_t offset = *arena->allocate(sizeof(Filled) + bytes) + sizeof(Filled);
    memory = arena->base() + offset;
    region = {Kind::filling, offset};
    peer.arena = arena->base();
    for (std::size_t i = 0; i < bytes; ++i) content[i] = static_cast<std::byte>(i * 31 + i / 256);
  }
  /// Some of it, then says so.
  void fill(std::size_t end) {
    std::memcpy(memory + filled, content.data() + filled, end - filled);
    filled = end;
    Filled::of(memory).bytes.store(end, std::memory_order_release);
  }
  void fill_slowly() {
    while (filled < content.size()) {
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
      fill(std::min(filled + step, content.size()));
    }
  }
  std::vector<std::byte> content;
  std::unique_ptr<Arena> arena;
  std::byte* memory = nullptr;
  std::size_t filled = 0;
  Region region;
  Peer peer;
};

TEST(Filling, ACopyIsReadAsItIsMade) {
  Copy copy(200'000);
  std::vector<std::byte> read(copy.content.size() - 77);
  std::thread reader([&] { copy.peer.copy_from(copy.region, 77, read.data(), read.size()); });
  copy.fill_slowly();
  reader.join();
  EXPECT_EQ(std::memcmp(read.data(), copy.content.data() + 77, read.size()), 0);
}

TEST(Filling, WhatIsThereIsReadBeforeTheRest) {
  Copy copy(200'000);
  copy.fill(50'000);
  std::vector<std::byte> read(40'000);
  copy.peer.copy_from(copy.region, 10'000, read.data(), read.size());
  EXPECT_EQ(std::memcmp(read.data(), copy.content.data() + 10'000, read.size()), 0);
  EXPECT_EQ(copy.peer.pointer(copy.region, 49'000, 1'000), copy.memory + 49'000);
}

TEST(Filling, APointerIsToWhatIsThere) {
  Copy copy(100'000);
  std::vector<std::byte> read;
  std::thread reader([&] {
    for (std::size_t at = 0; at < copy.content.size(); at += 4'000) {
      while (!copy.peer.is_filled(copy.region, at + 4'000)) std::this_thread::yield();
      const std::byte* const part = copy.peer.pointer(copy.region, at, 4'000);
      read.insert(read.end(), part, part + 4'000);
    }
  });
  copy.fill_slowly();
  reader.join();
  EXPECT_EQ(read, copy.content);
}

TEST(Filling, PeersMapItLikeTheArena) {
  Copy copy(100);
  EXPECT_TRUE(always_mapped(copy.region.kind()));
  EXPECT_TRUE(copy.region.loads_and_stores());
  EXPECT_STREQ(name_of(copy.region.kind()), "staged");
}

}  // namespace
}  // namespace tutti::memory
