// The sanitizers see what the compiler does not instrument: a fault that they are there to find is found.
#include "base/sanitizer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "memory/region.h"
#include "memory/stream.h"

#if defined(TUTTI_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#endif

#if defined(TUTTI_THREAD_SANITIZER) || defined(TUTTI_ADDRESS_SANITIZER)

namespace tutti::memory {
namespace {

constexpr std::size_t bytes = 4096;

Peer own_process() {
  Peer peer;
  peer.process = getpid();
  return peer;
}

Region by_the_kernel(std::vector<char>& there) {
  return Region(Kind::cma, reinterpret_cast<std::uintptr_t>(there.data()));
}

#if defined(TUTTI_THREAD_SANITIZER)

/// Ends the process after one thread has done `first` and another, without any order for the sanitizer, `second`.
[[noreturn]] void end_after(const std::function<void()>& first, const std::function<void()>& second) {
  std::atomic<bool> over{false};
  std::thread thread([&] {
    first();
    over.store(true, std::memory_order_relaxed);
  });
  while (!over.load(std::memory_order_relaxed)) std::this_thread::yield();
  second();
  thread.join();
  std::exit(0);
}

class ThreadSanitizerDeathTest : public testing::Test {
 protected:
  ThreadSanitizerDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  std::vector<char> here = std::vector<char>(bytes, 'a'), there = std::vector<char>(bytes, 'b');
  const testing::ExitedWithCode with_a_report{66};
};

TEST_F(ThreadSanitizerDeathTest, StoresPastTheCachesAreSeen) {
  const auto store = [&] { stream_copy(there.data(), here.data(), bytes); };
  EXPECT_EXIT(end_after(store, [&] { there[bytes / 2] = 'c'; }), with_a_report, "data race");
}

TEST_F(ThreadSanitizerDeathTest, ReadsByTheKernelAreSeen) {
  const auto read = [&] { own_process().copy_from(by_the_kernel(there), 0, here.data(), bytes); };
  EXPECT_EXIT(end_after(read, [&] { there[bytes / 2] = 'c'; }), with_a_report, "data race");
}

TEST_F(ThreadSanitizerDeathTest, WritesByTheKernelAreSeen) {
  const auto write = [&] { own_process().copy_to(by_the_kernel(there), 0, here.data(), bytes); };
  EXPECT_EXIT(end_after(write, [&] { there[bytes / 2] = 'c'; }), with_a_report, "data race");
}

#elif defined(TUTTI_ADDRESS_SANITIZER)

class AddressSanitizerDeathTest : public testing::Test {
 protected:
  AddressSanitizerDeathTest() { ASAN_POISON_MEMORY_REGION(there.data() + bytes / 2, 64); }
  ~AddressSanitizerDeathTest() override { ASAN_UNPOISON_MEMORY_REGION(there.data() + bytes / 2, 64); }

  std::vector<char> here = std::vector<char>(bytes, 'a'), there = std::vector<char>(bytes, 'b');
};

TEST_F(AddressSanitizerDeathTest, StoresPastTheCachesAreSeen) {
  EXPECT_DEATH(stream_copy(there.data(), here.data(), bytes), "ERROR: AddressSanitizer");
}

TEST_F(AddressSanitizerDeathTest, CopiesByTheKernelAreSeen) {
  EXPECT_DEATH(own_process().copy_from(by_the_kernel(there), 0, here.data(), bytes), "ERROR: AddressSanitizer");
  EXPECT_DEATH(own_process().copy_to(by_the_kernel(there), 0, here.data(), bytes), "ERROR: AddressSanitizer");
}

#endif

}  // namespace
}  // namespace tutti::memory

#endif
