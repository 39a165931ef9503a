#include "simulated/seeds.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace tutti::simulated {

namespace {

std::uint64_t seed_now = 0;
int repetition_now = 0;
char last_words[512];
std::uint64_t runs_of_seed = 0;
Totals all;

std::string how_to_repeat() {
  const testing::TestInfo* const test = testing::UnitTest::GetInstance()->current_test_info();
  return "to repeat it: TUTTI_SEED=" + std::to_string(seed_now) +
         " build/simulated/tests/simulated/test_simulated --gtest_filter=" + test->test_suite_name() + "." +
         test->name();
}

void add(const Explorer& explorer) {
  ++all.runs;
  all.schedules += explorer.schedules();
  all.steps += explorer.steps();
  all.switches += explorer.switches();
}

}  // namespace

void set_seed(std::uint64_t seed) {
  seed_now = seed;
  runs_of_seed = 0;
  // For who may not allocate memory any more.
  std::snprintf(last_words, sizeof last_words, "%s\n", how_to_repeat().c_str());
}

void tell_seed_of_crashes() {
  constexpr std::size_t stack_bytes = std::size_t{64} << 10;
  static char stack[stack_bytes];
  stack_t other{};
  other.ss_sp = stack;
  other.ss_size = stack_bytes;
  sigaltstack(&other, nullptr);
  struct sigaction action {};
  action.sa_handler = [](int number) {
    if (write(STDERR_FILENO, last_words, std::strlen(last_words)) >= 0) raise(number);
  };
  action.sa_flags = SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE}) sigaction(number, &action, nullptr);
}

std::optional<std::uint64_t> asked_seed() {
  const char* const text = std::getenv("TUTTI_SEED");
  if (!text) return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

std::vector<std::uint64_t> seeds(std::uint64_t count) {
  if (const auto asked = asked_seed()) return {*asked};
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 0; i < count; ++i) all.push_back(static_cast<std::uint64_t>(repetition_now) * count + i);
  return all;
}

void set_repetition(int repetition) {
  repetition_now = repetition;
}

void run_by_seed(int ranks, const std::function<void(int)>& body) {
  const bool had_failed = testing::Test::HasFailure();
  // Of each two runs one is that of a processor which keeps the order of accesses.
  const std::uint64_t run = runs_of_seed++;
  Explorer explorer(ranks, Random(seed_now)() + run, (seed_now + run) % 2 == 1);
  try {
    explorer.run(body);
  } catch (const std::exception& found) {
    throw std::runtime_error(std::string(found.what()) + "\n" + how_to_repeat());
  }
  add(explorer);
  if (!had_failed && testing::Test::HasFailure()) std::printf("%s\n", how_to_repeat().c_str());
}

const Totals& totals() {
  return all;
}

}  // namespace tutti::simulated
