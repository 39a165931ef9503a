// What an algorithm says of itself, and how one is chosen: eligible ones, then what the user asked for, then the
// cheapest by the model.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "engine/communicator.h"
#include "selection/model.h"

namespace tutti::selection {

/// Declared beside the body of each algorithm.
template <class Arguments>
struct Algorithm {
  const char* name;
  const char* requirements;  ///< in words, for the user
  bool (*eligible)(const Shape&);
  Cost (*cost)(const Shape&);
  void (*run)(Communicator&, const Arguments&);
};

/// TUTTI_ALGORITHM: "bcast:xhc;allreduce:^share,^xhc". Names of one collective are either allowed or excluded (^).
class UserChoice {
 public:
  /// known: the algorithms by collective. An unknown name is one warning with the nearest right one, and is ignored.
  struct Known {
    std::string_view collective;
    std::vector<std::string> algorithms;
  };
  static UserChoice parse(std::string_view text, std::span<const Known> known, const Log& log);

  /// What the user said of this collective: nothing, or these only, or all but these.
  bool allows(std::string_view collective, std::string_view algorithm) const;
  bool mentions(std::string_view collective) const;

 private:
  struct Rule {
    std::string collective, algorithm;
    bool excluded;
  };
  std::vector<Rule> rules_;
};

/// The host MPI's own collective as a candidate: chosen if the user asks for it, or if nothing else is left.
inline constexpr const char* host_algorithm = "host";

/// The choice for one collective and shape: null stands for the host's own. `reason` is "asked for" or "model".
template <class Arguments>
const Algorithm<Arguments>* choose(std::string_view collective, std::span<const Algorithm<Arguments>* const> candidates,
                                   const Shape& shape, const UserChoice& user, const Model& model) {
  const Algorithm<Arguments>* best = nullptr;
  double best_seconds = 0;
  for (const auto* candidate : candidates) {
    if (!candidate->eligible(shape) || !user.allows(collective, candidate->name)) continue;
    const double seconds = candidate->cost(shape).seconds(shape, model);
    if (best && seconds >= best_seconds) continue;
    best = candidate;
    best_seconds = seconds;
  }
  if (best || (user.mentions(collective) && user.allows(collective, host_algorithm))) return best;
  // What the user asked for is not eligible here: the best of the others, on every rank alike.
  for (const auto* candidate : candidates) {
    if (!candidate->eligible(shape)) continue;
    const double seconds = candidate->cost(shape).seconds(shape, model);
    if (best && seconds >= best_seconds) continue;
    best = candidate;
    best_seconds = seconds;
  }
  return best;
}

}  // namespace tutti::selection
