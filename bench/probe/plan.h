// What `tutti probe` measures of a machine: which figures, between which of its processors, for which part of the time.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "probe/measures.h"
#include "topology/distance.h"
#include "topology/machine.h"

namespace tutti::bench {

struct ProbeOptions {
  double seconds = 60;
  int passes = 3;  ///< everything is measured so often, so that a slow moment of the machine does not hit one figure
  std::string only;
  std::vector<int> processors;
};

/// One figure: what it is of, its part of the time, how it is measured.
struct Figure {
  nlohmann::ordered_json of;
  std::string title;
  double weight;
  std::function<std::vector<double>(const Probing&)> measure;
};

/// All figures of this machine, and what is left out of them.
class Plan {
 public:
  /// options: must outlive the plan. Prints the machine and what is left out; throws std::runtime_error where the
  /// machine cannot be read.
  explicit Plan(const ProbeOptions& options);
  const std::vector<Figure>& figures() const { return figures_; }
  /// What a flag takes now, in seconds; negative if it cannot be measured.
  double flag_now(const Clock& clock) const;

 private:
  void choose_processors();
  void begin_with_the_nearest();
  nlohmann::ordered_json machine_line() const;
  void kernel_steps();
  void copies();
  void single_core();
  void readers();
  void at_once();
  void pairs_of_cores();
  void concurrent();
  void concurrent(const char* where, const std::vector<int>& pairs);

  /// Unless only others are asked for.
  void add(const std::string& title, double weight, nlohmann::ordered_json of,
           std::function<std::vector<double>(const Probing&)> measure);
  /// Null for a processor that hwloc does not know.
  const topology::ProcessingUnit* unit_of(int processor) const;
  /// By what two processors share; those that hwloc does not know share nothing.
  topology::Distance distance_between(int one, int other) const;
  std::size_t cache_bytes() const;
  /// Two processors: neighbours, the nearest there are.
  std::vector<int> two() const;

  const ProbeOptions& options_;
  std::optional<topology::Machine> machine_;
  std::vector<int> processors_;  ///< one a core, neighbours side by side
  bool cma_ = false, xpmem_ = false;
  std::string reason_;
  std::vector<Figure> figures_;
};

}  // namespace tutti::bench
