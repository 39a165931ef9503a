#include "memory/huge_pages.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/sanitizer.h"
#include "memory/pages.h"
#include "window_blocks.h"

namespace tutti::memory {
namespace {

constexpr std::size_t page = 4096;

std::unique_ptr<Window> window_of(HugeKind kind, std::size_t bytes, std::size_t sparse_bytes = SIZE_MAX) {
  WindowOptions options;
  options.bytes = bytes;
  options.huge = kind;
  options.sparse_bytes = sparse_bytes;
  std::string reason;
  auto window = Window::create(options, reason);
  EXPECT_TRUE(window) << reason;
  return window;
}

/// Stores a byte so often.
void touch(void* begin, std::size_t bytes, std::size_t every) {
  for (std::size_t at = 0; at < bytes; at += every) static_cast<volatile char*>(begin)[at] = 1;
}

std::size_t resident_mebibytes(const Window& window) {
  return window.statistics().resident_bytes / mebibyte;
}

/// What of shared memory this process has mapped in huge pages.
std::size_t mapped_huge_mebibytes() {
  std::ifstream file("/proc/self/smaps_rollup");
  std::size_t kibibytes = 0;
  for (std::string word; file >> word;)
    if (word == "ShmemPmdMapped:") file >> kibibytes;
  return kibibytes / 1024;
}

/// Of a window whose large blocks alone have huge pages, as they are touched; not to be had everywhere.
#define NEEDS_LARGE_BLOCKS_IN_HUGE_PAGES(window)                                                    \
  if ((window)->huge_pages().kind() > HugeKind::advise) GTEST_SKIP() << (window)->why_not_better(); \
  if ((window)->huge_pages().advice() != MADV_NOHUGEPAGE) GTEST_SKIP() << "all memory has huge pages"

TEST(HugePages, OneByteOfALargeBlockTakesAWholeOne) {
  const auto window = window_of(HugeKind::mount, 1024 * mebibyte);
  NEEDS_LARGE_BLOCKS_IN_HUGE_PAGES(window);
  for (const std::size_t bytes : {4 * mebibyte, 7 * mebibyte + 5, 64 * mebibyte}) {
    void* const block = window->allocate(bytes);
    EXPECT_LT(window->offset_of(block) % huge_page_bytes, page) << bytes;
    const std::size_t before = resident_mebibytes(*window);
    touch(block, bytes / huge_page_bytes * huge_page_bytes, huge_page_bytes);
    EXPECT_EQ(resident_mebibytes(*window) - before, bytes / huge_page_bytes * 2) << bytes;
    window->release(block);
    window->trim();
  }
}

TEST(HugePages, FreedBlocksAreKeptAsManyAsWithout) {
  const auto window = window_of(kind_of_test(), 1024 * mebibyte);
  std::vector<void*> blocks(4);
  for (void*& block : blocks) {
    block = window->allocate(16 * mebibyte - kibibyte);
    std::memset(block, 1, 16 * mebibyte - kibibyte);
  }
  for (void* const block : blocks) window->release(block);
  EXPECT_GE(resident_mebibytes(*window), 62u) << "the retention is 64 MiB";
}

TEST(HugePages, SmallBlocksTakeNoMoreThanIsTouched) {
  const auto window = window_of(HugeKind::mount, 2048 * mebibyte);
  NEEDS_LARGE_BLOCKS_IN_HUGE_PAGES(window);
  std::vector<void*> blocks(10000);
  for (void*& block : blocks) {
    block = window->allocate(64 * kibibyte);
    touch(block, page, page);
  }
  const std::size_t touched = blocks.size() * page / mebibyte;
  EXPECT_LE(resident_mebibytes(*window), touched + touched / 10);
  for (void* const block : blocks) window->release(block);
}

TEST(HugePages, SmallBlocksWhereALargeOneWasTakeNoMoreEither) {
  const auto window = window_of(HugeKind::mount, 1024 * mebibyte);
  NEEDS_LARGE_BLOCKS_IN_HUGE_PAGES(window);
  void* const large = window->allocate(200 * mebibyte);
  std::memset(large, 1, 200 * mebibyte);
  EXPECT_GE(resident_mebibytes(*window), 200u);
  window->release(large);
  EXPECT_LE(resident_mebibytes(*window), 2u);
  std::vector<void*> blocks(2000);
  for (void*& block : blocks) {
    block = window->allocate(64 * kibibyte);
    touch(block, page, page);
  }
  EXPECT_LE(resident_mebibytes(*window), 10u);
  for (void* const block : blocks) window->release(block);
}

TEST(HugePages, MiddlingBlocksHaveThemTogetherOnceThereAreMany) {
  const auto window = window_of(HugeKind::mount, 1024 * mebibyte);
  NEEDS_LARGE_BLOCKS_IN_HUGE_PAGES(window);
  constexpr std::size_t bytes = 800'000;
  std::vector<void*> blocks(48);
  const std::size_t huge_before = mapped_huge_mebibytes();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i] = window->allocate(bytes);
    std::memset(blocks[i], 1, bytes);
    if (i == 9) {
      EXPECT_EQ(mapped_huge_mebibytes(), huge_before) << "there are few";
    }
  }
  const std::size_t before = resident_mebibytes(*window), all = blocks.size() * 832 * kibibyte;
  EXPECT_GE(mapped_huge_mebibytes() - huge_before, 20u);
  EXPECT_LE(before, all / mebibyte + 2) << "each has a room of 832 KiB";
  for (void*& block : blocks) window->release(block);
  window->trim();
  EXPECT_LE(resident_mebibytes(*window), 1u);
  EXPECT_EQ(window->huge_pages().sparse_bytes(), 0u);
}

TEST(HugePages, SmallBlocksHaveThemBehindDenseOnes) {
  const auto window = window_of(HugeKind::mount, 1024 * mebibyte);
  NEEDS_LARGE_BLOCKS_IN_HUGE_PAGES(window);
  const std::size_t huge_before = mapped_huge_mebibytes();
  std::vector<void*> blocks(16'000);
  for (void*& block : blocks) {
    block = window->allocate(5 * kibibyte);
    std::memset(block, 1, 5 * kibibyte);
  }
  EXPECT_GE(mapped_huge_mebibytes() - huge_before, 40u);
  EXPECT_LE(resident_mebibytes(*window), blocks.size() * 5 / 1024 + 4);
  for (void*& block : blocks) window->release(block);
  window->trim();
  EXPECT_LE(resident_mebibytes(*window), 1u);
}

TEST(HugePages, WhereTheyComeSlowlyFewAreAskedFor) {
  constexpr int fill = 23;  // MADV_POPULATE_WRITE
  if (madvise(nullptr, 0, fill) != 0) GTEST_SKIP() << "they cannot be filled";
  for (const bool slow : {true, false}) {
    WindowOptions options;
    options.bytes = 1024 * mebibyte;
    options.sparse_bytes = SIZE_MAX;
    options.slow_huge_page = slow ? std::chrono::microseconds(1) : std::chrono::hours(1);
    std::string reason;
    const auto window = Window::create(options, reason);
    ASSERT_TRUE(window) << reason;
    NEEDS_LARGE_BLOCKS_IN_HUGE_PAGES(window);
    const std::size_t before = mapped_huge_mebibytes();
    void* const large = window->allocate(400 * mebibyte);
    const std::size_t tried = slow ? 4 : 2;
    EXPECT_EQ(resident_mebibytes(*window), tried) << "those that were tried out";
    std::memset(large, 1, 400 * mebibyte);
    EXPECT_EQ(mapped_huge_mebibytes() - before, slow ? tried : 400u);
    std::vector<void*> blocks(100);
    for (void*& block : blocks) std::memset(block = window->allocate(mebibyte), 1, mebibyte);
    EXPECT_EQ(mapped_huge_mebibytes() - before > 480, !slow);
    for (void* const block : blocks) window->release(block);
    window->release(large);
  }
}

TEST(HugePages, MiddlingBlocksAreWithinTheBound) {
  const auto window = window_of(HugeKind::mount, 1024 * mebibyte, 64 * mebibyte);
  NEEDS_LARGE_BLOCKS_IN_HUGE_PAGES(window);
  std::vector<void*> blocks(400);
  for (void*& block : blocks) {
    block = window->allocate(mebibyte);
    touch(block, page, page);
  }
  EXPECT_GE(resident_mebibytes(*window), 32u);
  EXPECT_LE(resident_mebibytes(*window), 64u + 6);
  for (void* const block : blocks) window->release(block);
}

TEST(HugePages, WhatIsTouchedHereAndThereStaysWithinTheBound) {
  const auto window = window_of(HugeKind::mount, 4096 * mebibyte, 128 * mebibyte);
  NEEDS_LARGE_BLOCKS_IN_HUGE_PAGES(window);
  void* const one = window->allocate(100 * mebibyte);
  void* const other = window->allocate(1024 * mebibyte);
  for (void* const block : {one, other}) touch(block, (block == one ? 100 : 1024) * mebibyte, 100 * page);
  EXPECT_EQ(window->huge_pages().sparse_bytes(), 128 * mebibyte);
  EXPECT_GE(resident_mebibytes(*window), 128u);
  EXPECT_LE(resident_mebibytes(*window), 128u + 1024 / 100 + 4);
  // What was asked for has gone with the block.
  window->release(one);
  window->release(other);
  window->trim();
  EXPECT_EQ(window->huge_pages().sparse_bytes(), 0u);
}

TEST(HugePages, WhatIsUsedDenselyDoesNotCount) {
  const auto window = window_of(HugeKind::mount, 1024 * mebibyte, 64 * mebibyte);
  NEEDS_LARGE_BLOCKS_IN_HUGE_PAGES(window);
  auto* const dense = static_cast<char*>(window->allocate(64 * mebibyte));
  std::memset(dense, 1, 64 * mebibyte);
  void* const next = window->allocate(64 * mebibyte);
  const std::size_t before = resident_mebibytes(*window);
  touch(next, 64 * mebibyte, huge_page_bytes);
  EXPECT_EQ(resident_mebibytes(*window) - before, 64u);
  EXPECT_EQ(window->huge_pages().sparse_bytes(), 64 * mebibyte);
}

TEST(HugePages, WhatWasInTwoCollectivesIsPutTogether) {
  if (!system_removes_pages()) GTEST_SKIP() << "what madvise is told does nothing here";
  const auto window = window_of(HugeKind::collapse, 512 * mebibyte);
  if (window->huge_pages().kind() != HugeKind::collapse) GTEST_SKIP() << window->why_not_better();
  const std::size_t bytes = 16 * mebibyte;
  auto* const block = static_cast<char*>(window->allocate(bytes));
  for (std::size_t i = 0; i < bytes; ++i) block[i] = static_cast<char>(i % 251);
  const std::size_t offset = window->offset_of(block);
  const std::size_t before = mapped_huge_mebibytes();
  HugePages& huge = window->huge_pages();
  EXPECT_TRUE(huge.is_waiting());
  huge.used(offset, offset + bytes);
  EXPECT_EQ(mapped_huge_mebibytes(), before);
  // Not all of it where that takes long, as on a busy machine.
  huge.used(offset, offset + bytes);
  touch(block, bytes, bytes);
  EXPECT_GE(mapped_huge_mebibytes(), before + 2);
  bool same = block[0] == 1;
  for (std::size_t i = 1; i < bytes; ++i) same = same && block[i] == static_cast<char>(i % 251);
  EXPECT_TRUE(same);
}

TEST(HugePages, ABlockBeyondTheBoundGetsThemAfterTwoCollectives) {
  const auto window = window_of(HugeKind::mount, 512 * mebibyte, 8 * mebibyte);
  NEEDS_LARGE_BLOCKS_IN_HUGE_PAGES(window);
  auto* const block = static_cast<char*>(window->allocate(16 * mebibyte));
  const std::size_t offset = window->offset_of(block);
  EXPECT_TRUE(window->huge_pages().is_waiting());
  for (int call = 0; call < 2; ++call) window->huge_pages().used(offset, offset + 16 * mebibyte);
  touch(block, 16 * mebibyte, huge_page_bytes);
  // Not all of it where that takes long, as on a busy machine.
  EXPECT_GE(resident_mebibytes(*window), 8u + 2u);
}

/// Of every kind that can be had: what a window is for.
TEST(HugePages, AWindowOfEachKindIsOne) {
  for (const HugeKind kind : {HugeKind::mount, HugeKind::advise, HugeKind::collapse, HugeKind::off}) {
    SCOPED_TRACE(name_of(kind));
    const auto window = window_of(kind, 512 * mebibyte);
    EXPECT_GE(window->huge_pages().kind(), kind);
    EXPECT_EQ(window->why_not_better().empty(), window->huge_pages().kind() == kind);
    EXPECT_NE(fcntl(window->descriptor(), F_GETFD) & FD_CLOEXEC, 0);
    auto* const block = static_cast<char*>(window->allocate(5 * mebibyte));
    block[4 * mebibyte + 1] = 'x';
    char seen = 0;
    // Another process opens it, too.
    const std::string path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(window->descriptor());
    const int again = open(path.c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_GE(again, 0) << std::strerror(errno);
    EXPECT_EQ(pread(again, &seen, 1, static_cast<off_t>(window->offset_of(block) + 4 * mebibyte + 1)), 1);
    EXPECT_EQ(seen, 'x');
    close(again);
    window->release(block);
    window->trim();
    if (system_removes_pages()) {
      EXPECT_LE(resident_mebibytes(*window), 1u);
    }
  }
}

/// Runs it in a child, and returns whether it says yes.
template <class Action>
bool in_child(Action action) {
  const pid_t child = fork();
  if (child == 0) _exit(action() ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string contents(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Children that have ended or not, the program's own and others; they stay.
bool has_children() {
  siginfo_t of{};
  return waitid(P_ALL, 0, &of, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

/// The child that makes a window's file ends by itself, and is taken from the list of processes when the window grows or
/// is asked for.
bool comes_to_have_no_children(const Window& window) {
  for (int tries = 0; has_children() && tries < 1000; ++tries) {
    usleep(10'000);
    if (window.descriptor() < 0) return false;
  }
  return !has_children();
}

TEST(HugePages, NoProcessMountOrDescriptorIsLeft) {
  EXPECT_TRUE(in_child([] {
    const std::string mounts = contents("/proc/self/mountinfo");
    const int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(lowest);
    const auto window = window_of(HugeKind::mount, 64 * mebibyte);
    const int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const bool none_to_wait_for = wait(nullptr) < 0 && errno == ECHILD;
    return window && none_to_wait_for && comes_to_have_no_children(*window) && next == lowest &&
           prctl(PR_GET_DUMPABLE) == 1 && contents("/proc/self/mountinfo") == mounts;
  }));
}

TEST(HugePages, AWindowThatIsGoneHasLeftNoChild) {
  EXPECT_TRUE(in_child([] {
    window_of(HugeKind::mount, 64 * mebibyte);
    return !has_children();
  }));
}

/// Whether a window is still made, of another kind, and says so in these words.
bool falls_back_by(const char* words) {
  const auto window = window_of(HugeKind::mount, 64 * mebibyte);
  if (!window) return false;
  void* const block = window->allocate(8 * mebibyte);
  if (block) std::memset(block, 1, 8 * mebibyte);
  const bool said = window->why_not_better().find(words) != std::string::npos;
  if (!said) std::fprintf(stderr, "it says: \"%s\"\n", window->why_not_better().c_str());
  return block && window->huge_pages().kind() != HugeKind::mount && said;
}

bool forbid_unshare(unsigned verdict) {
  sock_filter steps[] = {{0x20, 0, 0, 0}, {0x15, 0, 1, SYS_unshare}, {0x06, 0, 0, verdict}, {0x06, 0, 0, 0x7fff0000}};
  const sock_fprog filter{4, steps};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/// As root of a namespace of its own.
bool in_namespace() {
  const auto user = geteuid();
  const auto group = getegid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
  std::ofstream("/proc/self/gid_map") << "0 " << group << " 1";
  return true;
}

TEST(HugePages, WhereTheMountIsForbiddenTheNextKindServes) {
  if (window_of(HugeKind::mount, 64 * mebibyte)->huge_pages().kind() != HugeKind::mount)
    GTEST_SKIP() << "it is forbidden here anyway";
  EXPECT_TRUE(in_child([] { return forbid_unshare(0x00050000 | EPERM) && falls_back_by("unshare: "); }));
  EXPECT_TRUE(in_child([] { return forbid_unshare(0x80000000) && falls_back_by("was ended"); })) << "killed for it";
  if (sanitized) return;  // it may have a thread of its own, with which no process changes its namespace
  EXPECT_TRUE(in_child([] {
    if (!in_namespace()) return false;
    std::ofstream("/proc/sys/user/max_user_namespaces") << "0";
    return falls_back_by("unshare: No space");
  })) << "no user namespaces";
  EXPECT_TRUE(in_child([] {
    if (!in_namespace() || mount("none", "/proc", "tmpfs", 0, nullptr) != 0) return false;
    return falls_back_by("/proc/self/uid_map");
  })) << "no /proc";
}

TEST(HugePages, KindsHaveNames) {
  for (const HugeKind kind : {HugeKind::mount, HugeKind::advise, HugeKind::collapse, HugeKind::off})
    EXPECT_EQ(huge_kind_named(name_of(kind)), kind);
  EXPECT_EQ(huge_kind_named("auto"), HugeKind::mount);
}

}  // namespace
}  // namespace tutti::memory
