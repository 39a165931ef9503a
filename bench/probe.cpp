// tutti-probe-measure: measures what this machine's memory, flags and kernel cost, for `tutti probe`. No MPI: it forks
// processes that are bound to cores and share memory (bench/probe/).
//
// On standard output one JSON object a line: {"measure": NAME, what it is of, "pass", "seconds": median, "lower",
// "upper": its 95 % confidence interval, "samples"}, or {"left_out": why}, with "figures": how many failed for this
// reason. On standard error {"progress": fraction, "title": what is next}.
//
// A flag is timed before and after every figure (state_gate.h). The first pass takes the machine as it is and shows in
// which state it mostly is; the later ones wait for that one, and begin with what was not yet measured in it. What was
// measured in another state has "in_state": false.
#include <signal.h>
#include <sys/prctl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "probe/lines.h"
#include "probe/plan.h"
#include "probe/team.h"
#include "state_gate.h"
#include "statistics.h"

namespace {

using namespace tutti::bench;
using nlohmann::ordered_json;

/// With the pause between two of them; so much of the time may be spent in waiting.
constexpr double seconds_between_looks = 0.025, most_waiting = 0.5;

/// One figure, measured once.
struct Measured {
  std::size_t figure;
  ordered_json line;
  double weight;
  double before, after;  ///< of the first pass: seconds that a flag took; negative if that cannot be told
  bool in_state = true;
};

/// What a flag takes in the state in which most was measured.
double usual_flag(const std::vector<Measured>& all) {
  double best = -1, most = -1;
  for (const Measured& candidate : all) {
    double weight = 0;
    for (const Measured& one : all)
      if (same_state(one.before, candidate.before) && same_state(one.after, candidate.before)) weight += one.weight;
    if (weight > most) best = candidate.before, most = weight;
  }
  std::vector<double> flags;
  for (const Measured& one : all)
    if (same_state(one.before, best)) flags.push_back(one.before);
  return flags.empty() ? best : median_of(flags).value;
}

class Run {
 public:
  explicit Run(const ProbeOptions& options) : options_(options), plan_(options) {
    for (const Figure& figure : plan_.figures()) weight_left_ += figure.weight * options.passes;
  }

  void measure() {
    for (std::size_t i = 0; i < plan_.figures().size(); ++i) measure(i, 0, nullptr);
    // What refuses all figures refuses them again.
    if (measured_.empty()) return report(-1);
    const double usual = usual_flag(measured_);
    for (Measured& one : measured_)
      one.in_state = one.before < 0 || (same_state(one.before, usual) && same_state(one.after, usual));
    const double patience = most_waiting * std::max(0.0, seconds_left()) / seconds_between_looks;
    StateGate gate([this] { return plan_.flag_now(clock_); }, usual, static_cast<int>(patience));
    for (int pass = 1; pass < options_.passes; ++pass)
      for (const std::size_t i : by_need()) measure(i, pass, &gate);
    report(usual);
  }

 private:
  double seconds_left() const { return options_.seconds - static_cast<double>(shared_now_ns() - begin_) * 1e-9; }
  void measure(std::size_t index, int pass, StateGate* gate);
  std::vector<std::size_t> by_need() const;
  void report(double usual) const;
  void report_failures() const;

  const ProbeOptions& options_;
  const std::uint64_t begin_ = shared_now_ns();
  const Clock clock_;
  const Plan plan_;
  std::vector<Measured> measured_;
  double weight_left_ = 0;
  double last_flag_ = 0;  ///< as it was after the figure before this one; 0: there was none
  std::size_t skipped_ = 0;
  std::map<std::string, std::set<std::size_t>> failed_;  ///< why, and the figures
};

/// gate: waited at before; null: the machine is taken as it is.
void Run::measure(std::size_t index, int pass, StateGate* gate) {
  const Figure& figure = plan_.figures()[index];
  if (seconds_left() <= 0) {
    ++skipped_;
    return;
  }
  std::cerr << ordered_json{{"progress", 1 - seconds_left() / options_.seconds}, {"title", figure.title}}.dump()
            << std::endl;
  // Where the patience is at an end, the state may be the right one all the same.
  const bool began = !gate || gate->open() || gate->still_open();
  if (!gate && last_flag_ == 0) last_flag_ = plan_.flag_now(clock_);
  ordered_json line = figure.of;
  line["pass"] = pass;
  try {
    // Processes, and memory that is touched first, take a part of what is planned.
    const double seconds = 0.6 * std::max(0.0, seconds_left()) * figure.weight / weight_left_;
    const std::vector<double> samples = figure.measure({clock_, seconds});
    const Median median = median_of(samples);
    line["seconds"] = median.value;
    line["lower"] = median.lower;
    line["upper"] = median.upper;
    line["samples"] = samples.size();
    Measured measured{index, std::move(line), figure.weight, last_flag_, -1, began};
    if (gate)
      measured.in_state = gate->still_open() && began;
    else
      measured.after = last_flag_ = plan_.flag_now(clock_);
    measured_.push_back(std::move(measured));
  } catch (const std::exception& problem) {
    failed_[problem.what()].insert(index);
  }
  weight_left_ -= figure.weight;
}

/// All figures: first those that were seldom measured in the state.
std::vector<std::size_t> Run::by_need() const {
  std::vector<int> times(plan_.figures().size());
  for (const Measured& one : measured_) times[one.figure] += one.in_state;
  std::vector<std::size_t> order(times.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return times[a] < times[b]; });
  return order;
}

/// A line for each reason. What another pass has measured is not left out.
void Run::report_failures() const {
  for (auto [reason, figures] : failed_) {
    for (const Measured& one : measured_) figures.erase(one.figure);
    if (figures.empty()) continue;
    std::set<std::string> titles;
    for (const std::size_t figure : figures) titles.insert(plan_.figures()[figure].title);
    std::string text = std::to_string(figures.size()) + " of " + std::to_string(plan_.figures().size()) + " figures";
    if (figures.size() < plan_.figures().size())
      for (const std::string& title : titles) text += (title == *titles.begin() ? " (" : ", ") + title;
    text += figures.size() < plan_.figures().size() ? "): " : ": ";
    print({{"left_out", text + reason}, {"figures", figures.size()}});
  }
}

void Run::report(double usual) const {
  std::size_t elsewhere = 0;
  for (const Measured& one : measured_) {
    ordered_json line = one.line;
    line["in_state"] = one.in_state;
    elsewhere += !one.in_state;
    print(line);
  }
  const std::string of_all =
      " of " + std::to_string(plan_.figures().size() * static_cast<std::size_t>(options_.passes)) + " measurements";
  if (elsewhere)
    leave_out(std::to_string(elsewhere) + of_all + ": the machine was not in the state in which a flag takes " +
              std::to_string(std::lround(usual * 1e9)) + " ns");
  if (skipped_) leave_out(std::to_string(skipped_) + of_all + ": the time was over; ask for more --seconds");
  report_failures();
}

}  // namespace

int main(int argc, char** argv) {
  ProbeOptions options;
  CLI::App app("Measures this machine for tutti probe: JSON lines.", "tutti-probe-measure");
  app.add_option("--seconds", options.seconds, "Time for all of it")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  app.add_option("--passes", options.passes, "How often everything is measured, one pass after the other")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  app.add_option("--only", options.only, "Measure only what has this name");
  app.add_option("--processors", options.processors, "Use these, not one of each core; one may occur twice")
      ->delimiter(',');
  CLI11_PARSE(app, argc, argv);
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // without whoever reads this there is nothing to do
  try {
    Run(options).measure();
    return std::cout ? 0 : 1;
  } catch (const std::exception& problem) {
    std::cerr << "tutti-probe-measure: " << problem.what() << std::endl;
    return 1;
  }
}
