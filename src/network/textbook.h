// What algorithms of the literature would cost that know nothing of nodes, or have one leader on each: what multi-object
// algorithms are compared with (PiP-MColl, section IV). They are not carried out, only counted.
#pragma once

#include <span>

#include "network/cost.h"

namespace tutti::network {

struct Textbook {
  const char* collective;
  const char* name;
  bool leaders;       ///< one rank of each node talks to other nodes; false: each for itself
  const char* words;  ///< what it does
  /// Whether it is defined for so many ranks; null: for any.
  bool (*can)(const Shape&);
  Cost (*cost)(const Shape&);
};

/// For Scatter, Allgather and Allreduce, ranks numbered node by node. Where each rank is for itself, the messages of all
/// ranks of a node share its link, and those that stay inside the node are copied there once.
std::span<const Textbook> textbook_algorithms();

/// Each rank for itself and all elements in each round, with twice as many ranks as in the one before: what MPIs do in Scan,
/// and in Allreduce of few elements.
Cost recursive_doubling(const Shape& shape);

}  // namespace tutti::network
