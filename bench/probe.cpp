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
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "probe/measures.h"
#include "probe/team.h"
#include "processors.h"
#include "selection/machine.h"
#include "state_gate.h"
#include "statistics.h"
#include "topology/distance.h"
#include "topology/machine.h"

namespace {

using namespace tutti;
using namespace tutti::bench;
using nlohmann::ordered_json;

constexpr std::size_t K = 1024, M = K * 1024;
constexpr double seconds_of_a_look = 0.001;
/// With the pause between two of them; so much of the time may be spent in waiting.
constexpr double seconds_between_looks = 0.025, most_waiting = 0.5;

struct Options {
  double seconds = 60;
  int passes = 3;  ///< everything is measured so often, so that a slow moment of the machine does not hit one figure
  std::string only;
  std::vector<int> processors;
};

void print(const ordered_json& line) {
  std::cout << line.dump() << std::endl;
}

void leave_out(const std::string& why) {
  print({{"left_out", why}});
}

/// One figure: what it is of, its part of the time, how it is measured.
struct Figure {
  ordered_json of;
  std::string title;
  double weight;
  std::function<std::vector<double>(const Probing&)> measure;
};

/// All figures of this machine, and what is left out of them.
class Plan {
 public:
  explicit Plan(const Options& options) : options_(options) {
    std::string error;
    machine_ = topology::Machine::load("", error);
    if (!machine_) throw std::runtime_error(error);
    choose_processors();
    begin_with_the_nearest();
    print(machine_line());
    cma_ = kernel_copies_work(reason_);
    if (!cma_) leave_out("copies by the kernel: " + reason_);
    xpmem_ = usable_xpmem(reason_).has_value();
    if (!xpmem_) leave_out("copies through xpmem: " + reason_);
    if (processors_.size() < 2) leave_out("everything between two cores: there is one core to run on");
    leave_out("more readers and pairs at once than the " + std::to_string(processors_.size()) +
              (processors_.size() == 1 ? " core" : " cores") + " here: they would take turns");
    single_core();
    kernel_steps();
    copies();
    readers();
    pairs_of_cores();
    concurrent();
  }
  const std::vector<Figure>& figures() const { return figures_; }
  /// What a flag takes now, in seconds; negative if it cannot be measured.
  double flag_now(const Clock& clock) const;

 private:
  void choose_processors();
  void begin_with_the_nearest();
  ordered_json machine_line() const;
  void kernel_steps();
  void copies();
  void single_core();
  void readers();
  void pairs_of_cores();
  void concurrent();
  void concurrent(const char* where, const std::vector<int>& pairs);

  void add(const std::string& title, double weight, ordered_json of,
           std::function<std::vector<double>(const Probing&)> measure) {
    if (options_.only.empty() || of.at("measure") == options_.only)
      figures_.push_back({std::move(of), title, weight, std::move(measure)});
  }
  const topology::ProcessingUnit* unit_of(int processor) const {
    const int at = machine_->find(processor);
    return at < 0 ? nullptr : &machine_->units()[static_cast<std::size_t>(at)];
  }
  /// By what two processors share; those that hwloc does not know share nothing.
  topology::Distance distance_between(int one, int other) const {
    const auto place_of = [&](int processor) {
      const auto* const unit = unit_of(processor);
      return unit ? topology::RankPlace{unit->domain, unit->core, -1} : topology::RankPlace{};
    };
    return topology::distance_between(place_of(one), place_of(other));
  }
  std::size_t cache_bytes() const { return machine_->l2_bytes() ? machine_->l2_bytes() : 512 * K; }
  /// Two processors: neighbours, the nearest there are.
  std::vector<int> two() const {
    return {processors_.front(), processors_.size() > 1 ? processors_[1] : processors_.front()};
  }

  const Options& options_;
  std::optional<topology::Machine> machine_;
  std::vector<int> processors_;  ///< one a core, neighbours side by side
  bool cma_ = false, xpmem_ = false;
  std::string reason_;
  std::vector<Figure> figures_;
};

void Plan::choose_processors() {
  if (!options_.processors.empty()) {
    processors_ = options_.processors;
    return;
  }
  const auto usable = usable_processors();
  std::set<int> cores;
  int siblings = 0, refused = 0;
  for (const topology::ProcessingUnit& unit : machine_->units()) {
    if (std::find(usable.begin(), usable.end(), unit.os_index) == usable.end()) {
      ++refused;
      continue;
    }
    if (cores.insert(unit.core).second)
      processors_.push_back(unit.os_index);
    else
      ++siblings;
  }
  if (processors_.empty()) processors_ = usable;
  if (siblings) leave_out(std::to_string(siblings) + " hardware threads that share a core with another one");
  if (refused) leave_out(std::to_string(refused) + " processing units that this process may not run on");
}

/// What is measured of two processors is then of the first two, which no others are nearer than.
void Plan::begin_with_the_nearest() {
  std::size_t first = 0;
  const auto gap = [&](std::size_t i) { return distance_between(processors_[i], processors_[i + 1]); };
  for (std::size_t i = 1; i + 1 < processors_.size(); ++i)
    if (gap(i) < gap(first)) first = i;
  std::rotate(processors_.begin(), processors_.begin() + static_cast<std::ptrdiff_t>(first), processors_.end());
}

double Plan::flag_now(const Clock& clock) const {
  if (processors_.size() < 2) return -1;
  try {
    return median_of(flag_hop({clock, seconds_of_a_look}, two())).value;
  } catch (const std::exception&) {
    return -1;  // the figures say why
  }
}

ordered_json Plan::machine_line() const {
  const auto identity = selection::identity_of(*machine_);
  ordered_json units = ordered_json::array();
  for (const int processor : processors_) {
    ordered_json entry{{"processor", processor}};
    if (const auto* unit = unit_of(processor)) {
      entry["core"] = unit->core;
      for (const topology::LevelKind kind : topology::all_level_kinds)
        entry[std::string(topology::name_of(kind))] = unit->domain[topology::index_of(kind)];
    }
    units.push_back(entry);
  }
  return {{"measure", "machine"},
          {"processor", identity.processor},
          {"cores", identity.cores},
          {"units", machine_->unit_count()},
          {"topology", identity.topology},
          {"l2_bytes", machine_->l2_bytes()},
          {"l3_bytes", machine_->l3_bytes()},
          {"processors", units}};
}

void Plan::kernel_steps() {
  if (!cma_) return;
  const auto places = two();
  const auto step = [&](const char* name, KernelStep what, std::size_t pages, bool write) {
    const char* call = write ? "process_vm_writev" : "process_vm_readv";
    add("copies by the kernel", 1, {{"measure", "kernel_step"}, {"call", call}, {"step", name}, {"pages", pages}},
        [=](const Probing& probing) { return kernel_step(probing, places, what, pages, write); });
  };
  for (const bool write : {false, true}) {
    step("empty", KernelStep::empty, 1, write);
    step("access", KernelStep::access, 1, write);
    for (const std::size_t pages : {4, 16, 64, 256}) step("lock", KernelStep::lock, pages, write);
    for (const std::size_t pages : {1, 4, 16, 64, 256, 1024}) step("copy", KernelStep::copy, pages, write);
  }
}

void Plan::copies() {
  if (processors_.size() < 2) return;
  const auto places = two();
  struct Kind {
    const char* name;
    Copy copy;
    bool streaming;
  };
  const Kind kinds[] = {{"read", Copy::read, false},
                        {"own", Copy::own, false},
                        {"slot", Copy::slot, false},
                        {"stream", Copy::slot, true}};
  for (const Kind& kind : kinds)
    for (const std::size_t bytes : {4 * K, 16 * K, 64 * K, 256 * K, 1 * M, 4 * M})
      add("copies through mapped memory", 1, {{"measure", "mapped_copy"}, {"copy", kind.name}, {"bytes", bytes}},
          [=](const Probing& probing) { return mapped_copy(probing, places, kind.copy, bytes, kind.streaming); });
  for (const std::size_t bytes : {64 * K, 256 * K, 1 * M})
    add("copies beyond the private cache", 0.5, {{"measure", "spilled_copy"}, {"bytes", bytes}},
        [=, cache = cache_bytes()](const Probing& probing) {
          return spilled_copy(probing, places.front(), bytes, cache);
        });
  for (const std::size_t bytes : {8 * M, 16 * M, 32 * M})
    add("copies through mapped memory", 1, {{"measure", "mapped_copy"}, {"copy", "read"}, {"bytes", bytes}},
        [=](const Probing& probing) { return mapped_copy(probing, places, Copy::read, bytes, false); });
  for (const std::size_t bytes : {16 * K, 64 * K, 256 * K, 1 * M})
    add("copies through mapped memory", 1, {{"measure", "mapped_exchange"}, {"bytes", bytes}},
        [=](const Probing& probing) { return mapped_exchange(probing, places, bytes); });
  for (const std::size_t bytes : {64 * K, 256 * K, 1 * M})
    add("copies through mapped memory", 1,
        {{"measure", "mapped_streams"}, {"bytes", bytes}, {"processors", processors_.size()}},
        [=, all = processors_](const Probing& probing) { return mapped_streams(probing, all, bytes); });
  for (const std::size_t bytes : {16 * K, 64 * K, 256 * K, 1 * M, 4 * M})
    add("copies through a staging buffer", 1, {{"measure", "staged_copy"}, {"bytes", bytes}},
        [=](const Probing& probing) { return concurrent_pairs(probing, places, Way::staged, bytes, false); });
}

void Plan::single_core() {
  const int first = processors_.front();
  for (int kernel = 0; reduction_kernel_name(kernel); ++kernel)
    for (const std::size_t sources : {2, 4, 8}) {
      const std::size_t bytes = std::min<std::size_t>(16 * K, cache_bytes() / 2 / (sources + 1) / 64 * 64);
      add("reduction kernels", 0.3,
          {{"measure", "reduction"}, {"kernel", reduction_kernel_name(kernel)}, {"sources", sources}, {"bytes", bytes}},
          [=](const Probing& probing) { return reduction_sum(probing, first, sources, bytes, kernel); });
    }
  const auto places = processors_.size() > 1 ? two() : std::vector<int>{first};
  for (const int shared : {2, 4}) {
    add("ranks that share a core", 1, {{"measure", "turn"}, {"cores", places.size()}, {"ranks_per_core", shared}},
        [=](const Probing& probing) { return turn(probing, places, shared, 0); });
    // Source and destination of all of a core fill its cache.
    const std::size_t bytes = cache_bytes() / static_cast<std::size_t>(2 * shared) / 64 * 64;
    add("ranks that share a core", 1,
        {{"measure", "busy_turn"}, {"cores", places.size()}, {"ranks_per_core", shared}, {"bytes", bytes}},
        [=](const Probing& probing) { return turn(probing, places, shared, bytes); });
  }
  add("exposing a buffer", 0.5, {{"measure", "expose"}},
      [=](const Probing& probing) { return exposure(probing, first); });
}

/// 1, 2, 3, 4, 6, 8, 12, ... and the last one.
std::vector<std::size_t> some_counts(std::size_t most) {
  std::vector<std::size_t> counts;
  for (std::size_t step = 1; step <= most; step *= 2) {
    counts.push_back(step);
    if (step > 1 && step / 2 * 3 <= most) counts.push_back(step / 2 * 3);
  }
  if (counts.back() != most) counts.push_back(most);
  return counts;
}

void Plan::readers() {
  if (!cma_) return;
  const std::pair<const char*, Readers> kinds[] = {
      {"same", Readers::same}, {"different", Readers::different}, {"everybody", Readers::everybody}};
  for (const std::size_t count : some_counts(processors_.size())) {
    const std::vector<int> places(processors_.begin(), processors_.begin() + static_cast<std::ptrdiff_t>(count));
    for (const auto& [name, kind] : kinds) {
      if (kind == Readers::everybody && count < 2) continue;
      for (const std::size_t bytes : {16 * K, 64 * K, 256 * K, 1 * M})
        add("concurrent readers", 1,
            {{"measure", "readers"}, {"pattern", name}, {"readers", count}, {"bytes", bytes}, {"lock_only", false}},
            [=, readers = kind](const Probing& probing) {
              return concurrent_readers(probing, places, readers, bytes, false);
            });
    }
    for (const std::size_t pages : {16, 64, 256})
      add("concurrent readers", 1,
          {{"measure", "readers"},
           {"pattern", "same"},
           {"readers", count},
           {"bytes", pages * 4 * K},
           {"lock_only", true}},
          [=](const Probing& probing) {
            return concurrent_readers(probing, places, Readers::same, pages * 4 * K, true);
          });
  }
}

void Plan::pairs_of_cores() {
  const std::size_t count = processors_.size();
  if (count < 2) return;
  const std::size_t all = count * (count - 1);
  // Nearer and farther ones alike: by the distance in the list, each with all its beginnings in turn.
  std::vector<std::pair<int, int>> pairs;
  for (std::size_t distance = 1; distance < count; ++distance)
    for (std::size_t i = 0; i < count; ++i) pairs.emplace_back(processors_[i], processors_[(i + distance) % count]);
  // What there is time for: a third of it, with a few milliseconds for the processes of each.
  const auto keep = [&](double seconds_each) {
    const auto room = static_cast<std::size_t>(std::max(2.0, options_.seconds / 6 / seconds_each));
    std::vector<std::pair<int, int>> kept;
    for (std::size_t i = 0; i < std::min(room, all); ++i) kept.push_back(pairs[i * all / std::min(room, all)]);
    return kept;
  };
  const auto small = keep(0.02), large = keep(0.6);
  if (small.size() < all)
    leave_out(std::to_string(all - small.size()) + " of " + std::to_string(all) +
              " pairs of cores (flags, 1 MB): no time for all; ask for more --seconds");
  if (large.size() < all)
    leave_out(std::to_string(all - large.size()) + " of " + std::to_string(all) +
              " pairs of cores (100 MB): no time for all; ask for more --seconds");
  const double share = 20.0 / static_cast<double>(all);
  for (const auto& [from, to] : small) {
    const std::vector<int> places{from, to};
    const auto shares = topology::name_of(distance_between(from, to));
    add("flags between cores", share / 4, {{"measure", "hop"}, {"from", from}, {"to", to}, {"shares", shares}},
        [=](const Probing& probing) { return flag_hop(probing, places); });
    add("copies between cores", share / 2,
        {{"measure", "core_copy"}, {"from", from}, {"to", to}, {"shares", shares}, {"bytes", 1 * M}},
        [=](const Probing& probing) { return mapped_copy(probing, places, Copy::read, 1 * M, false); });
  }
  const std::size_t caches =
      machine_->l3_bytes() * static_cast<std::size_t>(std::max(1, machine_->domain_count(topology::LevelKind::l3)));
  for (const auto& [from, to] : large) {
    const std::vector<int> places{from, to};
    const bool streaming = 100 * M * 2 >= caches;
    add("large copies between cores", share,
        {{"measure", "core_copy"},
         {"from", from},
         {"to", to},
         {"shares", topology::name_of(distance_between(from, to))},
         {"bytes", 100 * M},
         {"streaming", streaming}},
        [=](const Probing& probing) { return mapped_copy(probing, places, Copy::read, 100 * M, streaming); });
  }
}

/// pairs: owner, reader, owner, reader, ...
void Plan::concurrent(const char* where, const std::vector<int>& pairs) {
  std::vector<std::pair<const char*, Way>> ways{{"mapped", Way::mapped}, {"staged", Way::staged}};
  if (cma_) ways.insert(ways.begin() + 1, {"cma", Way::cma});
  if (xpmem_) ways.emplace_back("xpmem", Way::xpmem);
  for (const std::size_t count : some_counts(pairs.size() / 2)) {
    const std::vector<int> places(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(2 * count));
    for (const auto& [name, way] : ways)
      for (const bool cold : {false, true})
        add("pairs of cores at once", 1,
            {{"measure", "pairs"}, {"where", where}, {"way", name}, {"cold", cold}, {"pairs", count}, {"bytes", 1 * M}},
            [=, mechanism = way](const Probing& probing) {
              return concurrent_pairs(probing, places, mechanism, 1 * M, cold);
            });
  }
}

void Plan::concurrent() {
  if (processors_.size() < 2) return;
  std::map<int, std::vector<int>> sockets;
  for (const int processor : processors_) {
    const auto* unit = unit_of(processor);
    sockets[unit ? unit->domain[topology::index_of(topology::LevelKind::socket)] : 0].push_back(processor);
  }
  std::vector<int> inside;
  for (const auto& [socket, members] : sockets)
    if (members.size() > inside.size()) inside = members;
  inside.resize(inside.size() / 2 * 2);
  if (!inside.empty()) concurrent("inside", inside);
  if (sockets.size() < 2) {
    leave_out("pairs of cores between sockets: there is one socket");
    return;
  }
  const auto& one = sockets.begin()->second;
  const auto& other = std::next(sockets.begin())->second;
  std::vector<int> between;
  for (std::size_t i = 0; i < std::min(one.size(), other.size()); ++i) {
    between.push_back(one[i]);
    between.push_back(other[i]);
  }
  concurrent("between", between);
}

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
  explicit Run(const Options& options) : options_(options), plan_(options) {
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

  const Options& options_;
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
  Options options;
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
