// What the choice of an algorithm is made from, laid open: every candidate with what the model says of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "selection/algorithm.h"

namespace tutti {

/// One algorithm, with one value of its parameter if it has one.
struct Prediction {
  std::string algorithm;
  std::string requirements;
  std::string parameter_name;  ///< empty if it has none
  int parameter = 0;
  bool eligible = false;
  bool allowed = false;  ///< by the user
  double seconds = 0;    ///< by the model; only if it is eligible
};

/// All candidates of one collective for one shape, in the order in which they are tried, and the one that is taken.
struct Predictions {
  std::vector<Prediction> candidates;
  std::string algorithm;  ///< chosen; "host" if it is the MPI's own
  int parameter = 0;
  double seconds = 0;
  selection::Reason reason = selection::Reason::model;
};

/// Nothing if there is no collective of this name (as in TUTTI_ALGORITHM). What Collectives would choose for the shape,
/// whose `buffers` follow from the collective.
std::optional<Predictions> predict(std::string_view collective, const selection::Shape& shape,
                                   const selection::Knowledge& knowledge);

}  // namespace tutti
