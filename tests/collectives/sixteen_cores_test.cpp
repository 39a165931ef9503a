// What the model predicts for 16 ranks against what was measured with them, each on a core of its own
// (tutti/sim/machines/xeon-16-cores.json): its parameters are of the same machine, found just before.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collectives/described_machines.h"

namespace tutti {
namespace {

constexpr char machine_name[] = "xeon-16-cores";

struct Call {
  std::string collective;
  std::size_t bytes = 0;
  std::string algorithm;
  int parameter = 0;
  double measured = 0;  ///< seconds

  std::string name() const {
    return collective + " of " + std::to_string(bytes) + " by " + algorithm + "(" + std::to_string(parameter) + ")";
  }
};

std::vector<Call> measured_calls() {
  std::vector<Call> calls;
  const auto file = read_machine(machine_name);
  for (const auto& call : file["calls"])
    calls.push_back({call["collective"], call["bytes"], call["algorithm"], call["parameter"],
                     1e-6 * call["microseconds"].get<double>()});
  return calls;
}

/// Seconds that the model says; 0 if the algorithm does not do this call.
double predicted(const Described& machine, const Call& call) {
  for (const Prediction& each : ask(machine, "window", call.collective, call.bytes).told.candidates)
    if (each.algorithm == call.algorithm && each.parameter == call.parameter) return each.seconds.value_or(0);
  return 0;
}

/// By so much the prediction is off, in parts of what was measured.
std::vector<double> errors(const std::vector<std::string>& collectives) {
  const Described machine = machine_of(machine_name);
  std::vector<double> all;
  for (const Call& call : measured_calls()) {
    if (std::find(collectives.begin(), collectives.end(), call.collective) == collectives.end()) continue;
    const double seconds = predicted(machine, call);
    if (seconds > 0) all.push_back(std::abs(seconds - call.measured) / call.measured);
  }
  std::sort(all.begin(), all.end());
  return all;
}

const std::vector<std::string> compared{"bcast", "allreduce", "allgather", "alltoall"};

TEST(SixteenCores, SmallCallsTakeAboutWhatIsPredicted) {
  if (cache_line_bytes != 64) GTEST_SKIP() << "what was measured are lines of 64 bytes";
  const Described machine = machine_of(machine_name);
  int held = 0;
  for (const Call& call : measured_calls()) {
    // Where a message has few parts it takes few steps, which its cost does not say.
    if (call.bytes > 256 || call.algorithm == "scatter-allgather") continue;
    const double seconds = predicted(machine, call);
    if (seconds <= 0) continue;
    EXPECT_GT(seconds, call.measured / 2) << call.name();
    EXPECT_LT(seconds, call.measured * 2) << call.name();
    ++held;
  }
  EXPECT_GT(held, 150);
}

TEST(SixteenCores, MostCallsTakeAboutWhatIsPredicted) {
  const std::vector<double> all = errors(compared);
  ASSERT_EQ(all.size(), 400u);
  EXPECT_LT(all[all.size() / 2], 0.2);
  EXPECT_LT(all[all.size() * 9 / 10], 0.5);
}

/// Of the calls of which all algorithms were measured, where what is chosen took no more than a tenth longer than the
/// fastest.
int right_choices(const Described& machine, int& cells) {
  std::map<std::pair<std::string, std::size_t>, std::vector<Call>> by_cell;
  for (const Call& call : measured_calls()) by_cell[{call.collective, call.bytes}].push_back(call);
  int right = 0;
  for (const auto& [cell, calls] : by_cell) {
    if (std::find(compared.begin(), compared.end(), cell.first) == compared.end()) continue;
    ++cells;
    const Predictions told = ask(machine, "window", cell.first, cell.second).told;
    double fastest = calls.front().measured, chosen = HUGE_VAL;
    for (const Call& call : calls) {
      fastest = std::min(fastest, call.measured);
      if (call.algorithm == told.algorithm && call.parameter == told.parameter) chosen = call.measured;
    }
    if (chosen <= 1.1 * fastest) ++right;
  }
  return right;
}

// What was measured there is the time inside the call, which the model adds to: what the program pays afterwards.
TEST(SixteenCores, TheFastestIsMostlyChosen) {
  int cells = 0;
  EXPECT_GE(right_choices(machine_of(machine_name), cells), 31);
  EXPECT_EQ(cells, 40);
}

TEST(SixteenCores, WithShippedParametersAsWell) {
  Described machine = machine_of(machine_name);
  machine.model = {};
  int cells = 0;
  EXPECT_GE(right_choices(machine, cells), 27);
}

/// A Reduce of 256 B along one group of 16 took longer than with every MPI.
TEST(SixteenCores, SmallReductionsDoNotGoAlongOneGroup) {
  Described machine = machine_of(machine_name);
  for (int shipped = 0; shipped < 2; ++shipped, machine.model = {})
    for (const std::size_t bytes : {4, 64, 256, 1024, 4096})
      for (const char* collective : {"reduce", "allreduce"})
        EXPECT_NE(ask(machine, "window", collective, bytes).told.algorithm, "xhc") << collective << " of " << bytes;
}

/// What is chosen for a few bytes, as it was measured to be right.
TEST(SixteenCores, SmallCallsGoFlat) {
  const Described machine = machine_of(machine_name);
  for (const char* collective :
       {"bcast", "allreduce", "allgather", "alltoall", "reduce", "scatter", "gather", "reduce_scatter", "scan"})
    for (const std::size_t bytes : {4, 16, 64})
      EXPECT_EQ(ask(machine, "window", collective, bytes).told.algorithm, "eager") << collective << " of " << bytes;
}

}  // namespace
}  // namespace tutti
