// What the child of a fork has of a window.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "memory/window.h"
#include "readable.h"
#include "system.h"
#include "window_blocks.h"

namespace tutti::memory {
namespace {

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
  options.huge = kind_of_test();
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
  if (!test::children_can_lack_pages()) GTEST_SKIP() << "MADV_DONTFORK is not heeded here";
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
