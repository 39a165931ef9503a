// A communicator whose ranks sit on several nodes, as one of them has it; and an algorithm for such communicators.
#pragma once

#include <cstddef>

#include "engine/communicator.h"
#include "engine/task.h"
#include "network/channel.h"
#include "network/cost.h"
#include "network/nodes.h"

namespace tutti {

/// Two levels: inside the node a communicator of its own, which nothing else uses, since its operations are counted; and
/// between nodes a channel. What it refers to outlives it.
struct Spanning {
  Communicator& inside;  ///< of this rank's node: rank there is the place on the node
  const network::Nodes& nodes;
  network::Channel& channel;  ///< its ranks are those of the whole communicator
  int rank = 0;               ///< in the whole communicator

  int node() const { return nodes.node_of(rank); }
};

template <class Arguments>
struct SpanningAlgorithm {
  const char* name;
  const char* rounds;  ///< between nodes, for N nodes of P ranks
  const char* bytes;   ///< that leave a node, of the one that sends most
  const char* source;  ///< paper and section; what of it is ours
  const char* needs;   ///< what it requires, in words
  bool (*can)(const network::Nodes&, const Arguments&);
  network::Cost (*cost)(const network::Shape&);
  Task (*body)(Operation&, const Spanning&, const Arguments&);
  bool gathers_runs = false;  ///< a node has a result of each run of ranks at a time
};

}  // namespace tutti
