// What a communicator whose ranks sit on several nodes has besides that of its node's ranks: which rank is where, and the
// channels between nodes, over messages of the host.
#pragma once

#include <optional>
#include <vector>

#include "collectives/between_nodes/spanning.h"
#include "mpi/mpi_header.h"
#include "mpi/network_channel.h"
#include "mpi/start/message_communicator.h"
#include "network/nodes.h"

namespace tutti::mpi {

class SpanningState {
 public:
  /// all: what the ranks have told, each a first tag; this rank's tags are given back by end().
  SpanningState(const MessageCommunicator& messages, const std::vector<Entry>& all, int rank);
  SpanningState(const SpanningState&) = delete;
  SpanningState& operator=(const SpanningState&) = delete;

  /// No operation of this rank comes any more, while what the ranks of the node share is still there. Other ranks may be in
  /// some: what they receive has tags of theirs.
  void end();
  const network::Nodes& nodes() const { return nodes_; }
  /// inside: of the ranks of this node, for this alone; outlives this.
  void set_inside(Communicator& inside);
  /// After set_inside(). Each has a channel of its own, since another thread may go on with pending calls.
  const Spanning& of_blocking_calls() const { return *blocking_; }
  const Spanning& of_pending_calls() const { return *pending_; }

 private:
  const network::Nodes nodes_;
  const int rank_;
  const MPI_Comm communicator_;
  std::vector<End> ends_;  ///< by rank
  std::optional<NetworkChannel> blocking_channel_, pending_channel_;
  std::optional<Spanning> blocking_, pending_;
};

}  // namespace tutti::mpi
