// What the choice of an algorithm is made from, laid open: every candidate with what the model says of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "selection/algorithm.h"

namespace tutti {

/// One algorithm, with one value of its parameter if it has one; or the MPI's own, which is always eligible.
struct Prediction {
  std::string algorithm;
  std::string requirements;
  std::string parameter_name;  ///< empty if it has none
  int parameter = 0;
  bool eligible = false;
  bool allowed = false;           ///< by the user
  std::optional<double> seconds;  ///< by the model; nothing if it is not eligible, or why_unpredicted is not empty
  std::string moving;           ///< the way of moving bytes (engine/moving.h) in which it takes so long; empty without
  std::string why_unpredicted;  ///< in words
  std::optional<selection::Cost> cost;  ///< between nodes: what `seconds` are made of
};

/// All candidates of one collective for one shape, in the order of the catalogue, then the MPI's own, and the
/// one that is taken.
struct Predictions {
  std::vector<Prediction> candidates;
  std::string algorithm;  ///< chosen; "host" if it is the MPI's own
  int parameter = 0;
  std::optional<double> seconds;  ///< by the model; nothing if it is the MPI's own
  selection::Reason reason = selection::Reason::model;
  const selection::TableEntry* entry = nullptr;  ///< what the table has for such calls, whether it is taken or not
};

/// Nothing if there is no collective of this name (as in TUTTI_ALGORITHM). What Collectives would choose for the shape,
/// whose `buffers` follow from the collective; for one that spans nodes, of shape_between_nodes().
std::optional<Predictions> predict(std::string_view collective, const selection::Shape& shape,
                                   const selection::Knowledge& knowledge);

}  // namespace tutti
