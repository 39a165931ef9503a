// What owners of other processes do with blocks of a window: here through a second mapping of its file.
#include "memory/returned.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "memory/view.h"
#include "memory/window.h"
#include "memory/window_heap.h"

namespace tutti::memory {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

class ReturnedBlocks : public testing::Test {
 protected:
  void SetUp() override {
    std::string reason;
    WindowOptions options;
    options.bytes = 256 * mebibyte;
    options.least_bytes = 64 * mebibyte;
    window_ = Window::create(options, reason);
    ASSERT_TRUE(window_) << reason;
    view_ = View::create(window_->descriptor(), window_->capacity(), {huge_page_bytes, nullptr, false});
    ASSERT_TRUE(view_);
    ASSERT_TRUE(view_->reach(0, window_->capacity() / 2));
    void* const room = window_->allocate(sizeof(Returned), alignof(Returned));
    ASSERT_TRUE(room);
    returned_ = new (room) Returned;
  }

  /// Where others see it.
  template <class Type>
  Type* seen(Type* own) const {
    return reinterpret_cast<Type*>(view_->base() + window_->offset_of(own));
  }
  void push(void* block) { seen(returned_)->push(static_cast<std::byte*>(seen(block)), window_->offset_of(block)); }
  template <class Release>
  void take_all(Release release) {
    returned_->take_all(
        window_->base(), [](std::byte*) {}, release);
  }

  std::unique_ptr<Window> window_;
  std::unique_ptr<View> view_;
  Returned* returned_ = nullptr;
};

TEST_F(ReturnedBlocks, OthersSeeTheirSize) {
  std::vector<void*> blocks;
  for (const std::size_t alignment : {std::size_t{16}, std::size_t{4096}, mebibyte})
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{100}, std::size_t{2048}, std::size_t{70'000}, mebibyte,
                                    3 * mebibyte, 17 * mebibyte}) {
      void* const block = window_->allocate(bytes, alignment);
      ASSERT_TRUE(block);
      if (window_->offset_of(block) + bytes > window_->capacity() / 2) continue;
      const std::size_t there = tutti_window_heap_usable_size(seen(block));
      EXPECT_EQ(there, window_->usable_size(block)) << bytes << " at a multiple of " << alignment;
      EXPECT_GE(there, bytes);
      blocks.push_back(block);
    }
  EXPECT_GE(blocks.size(), 14u);
}

TEST_F(ReturnedBlocks, TheOwnerGetsEachOnce) {
  std::set<void*> away;
  for (int i = 0; i < 1000; ++i) away.insert(window_->allocate(64 + static_cast<std::size_t>(i) * 16));
  EXPECT_FALSE(returned_->any());
  for (void* const block : away) push(block);
  EXPECT_TRUE(returned_->any());
  take_all([&](std::byte* block) {
    EXPECT_EQ(away.erase(block), 1u);
    window_->release(block);
  });
  EXPECT_TRUE(away.empty());
  EXPECT_FALSE(returned_->any());
  take_all([&](std::byte*) { ADD_FAILURE() << "there was nothing"; });
}

TEST_F(ReturnedBlocks, ThreadsReturnWhileTheOwnerTakes) {
  constexpr int threads = 3, each = 20'000;
  std::vector<std::vector<void*>> away(threads);
  for (auto& blocks : away)
    for (int i = 0; i < each; ++i) blocks.push_back(window_->allocate(48));
  for (auto& blocks : away)
    for (void* const block : blocks) std::memset(block, 1, 48);
  std::vector<std::thread> others;
  for (auto& blocks : away)
    others.emplace_back([&] {
      for (void* const block : blocks) {
        std::memset(seen(block), 2, 48);
        push(block);
      }
    });
  std::set<void*> home;
  while (home.size() < std::size_t{threads} * each)
    take_all([&](std::byte* block) {
      EXPECT_TRUE(home.insert(block).second);
      // What others did with it is over.
      EXPECT_TRUE(std::all_of(block + 8, block + 48, [](std::byte byte) { return byte == std::byte{2}; }));
      std::memset(block, 3, 48);
    });
  for (std::thread& other : others) other.join();
  EXPECT_FALSE(returned_->any());
}

}  // namespace
}  // namespace tutti::memory
