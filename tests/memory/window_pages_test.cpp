// Pages of a window that the program makes something else of.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "memory/window.h"
#include "window_blocks.h"

namespace tutti::memory {
namespace {

constexpr std::size_t page = 4096;

class WindowPages : public testing::Test {
 protected:
  void SetUp() override {
    WindowOptions options;
    options.huge = kind_of_test();
    options.bytes = 128 * mebibyte;
    std::string reason;
    window = Window::create(options, reason);
    ASSERT_TRUE(window) << reason;
    // A window keeps at least one segment; the block is aligned to pages and has some on both sides.
    block = static_cast<std::byte*>(window->allocate(8 * mebibyte, page));
    std::memset(block, 1, 8 * mebibyte);
    peer = static_cast<std::byte*>(
        mmap(nullptr, window->capacity(), PROT_READ | PROT_WRITE, MAP_SHARED, window->descriptor(), 0));
    ASSERT_NE(peer, MAP_FAILED);
  }
  void TearDown() override {
    munmap(peer, window->capacity());
    window.reset();
  }
  /// Maps something else over pages of the block.
  void map_over(std::size_t at, std::size_t bytes, int fill) {
    ASSERT_EQ(mmap(block + at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
              block + at);
    window->mapped_over(block + at, bytes);
    std::memset(block + at, fill, bytes);
  }
  std::byte* seen_by_peer(std::size_t at) { return peer + window->offset_of(block) + at; }
  /// The exit status of a child in which `check` says whether all is well.
  template <class Check>
  int in_child(Check check) {
    window->fork_prepare();
    const pid_t child = fork();
    if (child == 0) {
      window->fork_in_child();
      _exit(check() ? 0 : 1);
    }
    window->fork_in_parent();
    int status = -1;
    waitpid(child, &status, 0);
    return status;
  }
  std::unique_ptr<Window> window;
  std::byte* block = nullptr;
  std::byte* peer = nullptr;
};

TEST_F(WindowPages, OnlyWhatWasMappedOverIsForeignAndHoldsNoMemory) {
  EXPECT_FALSE(window->foreign().any());
  const std::size_t before = window->statistics().resident_bytes;
  map_over(2 * page, 100 * page, 7);
  EXPECT_FALSE(window->foreign().touches(block, 2 * page));
  EXPECT_TRUE(window->foreign().touches(block + page, page + 1));
  EXPECT_FALSE(window->foreign().touches(block + 102 * page, page));
  EXPECT_LE(window->statistics().resident_bytes, before - 100 * page);
}

TEST_F(WindowPages, ABlockThatIsFreedIsTheWindowsAgainAndPeersSeeTheNextOne) {
  map_over(2 * page, 100 * page, 7);
  ASSERT_TRUE(window->unmap(block + 200 * page, 50 * page));
  ASSERT_EQ(mprotect(block + 300 * page, 10 * page, PROT_NONE), 0);
  window->protected_as(block + 300 * page, 10 * page, PROT_NONE);
  window->release(block);
  EXPECT_FALSE(window->foreign().any());
  auto* const next = static_cast<std::byte*>(window->allocate(8 * mebibyte, page));
  ASSERT_EQ(next, block);
  std::memset(next, 9, 8 * mebibyte);
  for (std::size_t i = 0; i < 8 * mebibyte; i += page / 2) ASSERT_EQ(*seen_by_peer(i), std::byte{9}) << i;
}

TEST_F(WindowPages, AResizedBlockTakesAlongWhatTheProgramSees) {
  map_over(2 * page, 10 * page, 7);
  auto* const moved = static_cast<std::byte*>(window->reallocate(block, 30 * mebibyte));
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved[0], std::byte{1});
  EXPECT_EQ(moved[2 * page], std::byte{7});
  EXPECT_EQ(moved[12 * page], std::byte{1});
  ASSERT_NE(moved, block);
  EXPECT_FALSE(window->foreign().any());
}

TEST_F(WindowPages, ProtectionIsForgottenWhenThePagesAreOpenAgain) {
  window->protected_as(block, 4 * page, PROT_READ);
  EXPECT_TRUE(window->foreign().touches(block, page));
  window->protected_as(block, 2 * page, PROT_READ | PROT_WRITE);
  EXPECT_FALSE(window->foreign().touches(block, 2 * page));
  EXPECT_TRUE(window->foreign().touches(block + 2 * page, page));
  window->protected_as(block, 4 * page, PROT_READ | PROT_WRITE | PROT_EXEC);
  EXPECT_FALSE(window->foreign().any());
  // A key closes pages, whatever their protection, and changes of that leave it.
  window->protected_as(block, page, PROT_READ | PROT_WRITE, 3);
  window->protected_as(block, page, PROT_READ | PROT_WRITE);
  EXPECT_TRUE(window->foreign().touches(block, page));
  window->protected_as(block, page, PROT_READ | PROT_WRITE, 0);
  EXPECT_FALSE(window->foreign().any());
}

TEST_F(WindowPages, WhatIsProtectedStaysSoWhereMemoryBesideItIsOpened) {
  const int zeros = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(zeros, 0);
  std::vector<std::byte*> protected_pages;
  for (int i = 0; i < 60; ++i) {
    auto* const place = static_cast<std::byte*>(window->allocate(400 * kibibyte, page)) + page;
    ASSERT_EQ(mprotect(place, page, PROT_READ), 0);
    window->protected_as(place, page, PROT_READ);
    protected_pages.push_back(place);
  }
  // The kernel says whether it may be written.
  for (std::byte* const each : protected_pages) EXPECT_EQ(read(zeros, each, 1), -1);
  for (std::byte* const each : protected_pages) EXPECT_EQ(read(zeros, each + page, 1), 1);
  for (std::byte* const each : protected_pages) window->release(each - page);
  close(zeros);
}

TEST_F(WindowPages, WhatIsMappedOverStaysSoWhateverItsProtection) {
  map_over(0, 4 * page, 7);
  window->protected_as(block, 8 * page, PROT_READ | PROT_WRITE);
  EXPECT_TRUE(window->foreign().touches(block, 4 * page));
  EXPECT_FALSE(window->foreign().touches(block + 4 * page, 4 * page));
}

TEST_F(WindowPages, WhereMemoryWasUnmappedTheKernelPutsNothingElse) {
  ASSERT_TRUE(window->unmap(block + page, 64 * page));
  for (int i = 0; i < 100; ++i) {
    void* const other = mmap(block + page, 64 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_FALSE(window->contains(other));
    munmap(other, 64 * page);
  }
}

TEST_F(WindowPages, PagesAreEmptiedWhateverTheyAre) {
  map_over(page, page, 7);
  ASSERT_EQ(mprotect(block + 2 * page, page, PROT_READ), 0);
  window->protected_as(block + 2 * page, page, PROT_READ);
  ASSERT_TRUE(window->empty_pages(block, 4 * page, MADV_DONTNEED));
  for (std::size_t i = 0; i < 4 * page; ++i) ASSERT_EQ(block[i], std::byte{0}) << i;
  EXPECT_EQ(block[4 * page], std::byte{1});
}

TEST_F(WindowPages, WhatIsMovedOutHasItsContentsAndProtection) {
  map_over(page, page, 7);
  ASSERT_EQ(mprotect(block + 2 * page, page, PROT_NONE), 0);
  window->protected_as(block + 2 * page, page, PROT_NONE);
  auto* const to =
      static_cast<std::byte*>(mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_TRUE(window->move_out(block, 4 * page, to));
  ASSERT_TRUE(window->unmap(block, 4 * page));
  EXPECT_EQ(to[0], std::byte{1});
  EXPECT_EQ(to[page], std::byte{7});
  EXPECT_EQ(to[3 * page], std::byte{1});
  int probe[2];
  ASSERT_EQ(pipe(probe), 0);
  EXPECT_EQ(write(probe[1], to + 2 * page, 1), -1);  // the kernel cannot read it
  close(probe[0]);
  close(probe[1]);
  munmap(to, 4 * page);
}

TEST_F(WindowPages, AChildHasWhatTheProgramSawWithItsProtection) {
  map_over(page, page, 7);
  ASSERT_EQ(mprotect(block + 2 * page, page, PROT_READ), 0);
  window->protected_as(block + 2 * page, page, PROT_READ);
  ASSERT_TRUE(window->unmap(block + 3 * page, page));
  for (const bool inherited : {false, true}) {
    if (inherited) close(window->descriptor());  // as programs do that close what they have not opened
    EXPECT_EQ(in_child([&] {
                int probe[2];
                const auto is_open = [&](std::size_t i, int protection) {
                  // The kernel says whether it could read from or write to the page.
                  return pipe(probe) == 0 && (protection == PROT_READ ? write(probe[1], block + i * page, 1) == 1
                                                                      : write(probe[1], "", 1) == 1 &&
                                                                            read(probe[0], block + i * page, 1) == 1);
                };
                return block[0] == std::byte{1} && block[page] == std::byte{7} && block[2 * page] == std::byte{1} &&
                       block[4 * page] == std::byte{1} && is_open(0, PROT_WRITE) && is_open(1, PROT_WRITE) &&
                       is_open(2, PROT_READ) && !is_open(2, PROT_WRITE) && !is_open(3, PROT_READ);
              }),
              0)
        << inherited;
  }
  EXPECT_EQ(block[page], std::byte{7});
}

}  // namespace
}  // namespace tutti::memory
