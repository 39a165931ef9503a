// What algorithms of the literature would cost that know nothing of nodes, or have one leader on each: what multi-object
// algorithms are compared with (PiP-MColl, section IV). They are not carried out, only counted.
#pragma once

#include <span>

#include "selection/model.h"

namespace tutti::prediction {

/// The call, and the nodes.
struct Shape {
  int nodes = 1;
  int places = 1;    ///< ranks of each node
  double bytes = 0;  ///< of a block, or of the whole message of an Allreduce

  int ranks() const { return nodes * places; }
};

struct Textbook {
  const char* collective;
  const char* name;
  bool leaders;       ///< one rank of each node talks to other nodes; false: each for itself
  const char* words;  ///< what it does
  /// Whether it is defined for so many ranks; null: for any.
  bool (*can)(const Shape&);
  selection::Cost (*cost)(const Shape&);
};

/// For Scatter, Allgather and Allreduce, ranks numbered node by node. Where each rank is for itself, the messages of all
/// ranks of a node share its link, and those that stay inside the node are copied there once.
std::span<const Textbook> textbook_algorithms();

}  // namespace tutti::prediction
