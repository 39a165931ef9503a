// As GoogleTest's own, but that each repetition of a test (--gtest_repeat) has another seed, and that the end says how
// much was explored.
#include <gtest/gtest.h>

#include <cstdio>
#include <thread>

#include "simulated/seeds.h"

namespace {

class Sower final : public testing::EmptyTestEventListener {
  void OnTestIterationStart(const testing::UnitTest&, int repetition) override {
    tutti::simulated::set_repetition(repetition);
  }
  void OnTestStart(const testing::TestInfo&) override {
    tutti::simulated::set_seed(tutti::simulated::seeds(1).front());
  }
};

}  // namespace

#if defined(TUTTI_THREAD_SANITIZER)
/// std::call_once keeps what it calls in variables of the thread, which fibres have in common.
extern "C" [[gnu::visibility("default")]] const char*
__tsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  return "race:_Prepare_execution\n";
}
#endif

int main(int argc, char** argv) {
#if defined(TUTTI_THREAD_SANITIZER)
  // Once there was another thread the library counts owners of shared pointers by atomics, which put fibres in order.
  std::thread([] {}).join();
#endif
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new Sower);
  tutti::simulated::tell_seed_of_crashes();
  const int status = RUN_ALL_TESTS();
  const tutti::simulated::Totals& all = tutti::simulated::totals();
  std::printf("%llu runs, %llu schedules, %llu accesses, %llu switches\n", static_cast<unsigned long long>(all.runs),
              static_cast<unsigned long long>(all.schedules), static_cast<unsigned long long>(all.steps),
              static_cast<unsigned long long>(all.switches));
  return status;
}
