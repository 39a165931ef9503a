// A communicator whose ranks sit on several nodes, as one of them has it.
#pragma once

#include "engine/communicator.h"
#include "network/channel.h"
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

}  // namespace tutti
