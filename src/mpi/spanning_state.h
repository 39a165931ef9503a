// What a communicator whose ranks sit on several nodes has besides that of its node's ranks: which rank is where, and the
// channel between nodes, over messages of the host on a communicator of its own.
#pragma once

#include <optional>
#include <vector>

#include "collectives/between_nodes/spanning.h"
#include "mpi/mpi_header.h"
#include "mpi/network_channel.h"
#include "network/nodes.h"

namespace tutti::mpi {

class SpanningState {
 public:
  /// Collective over `communicator`, whose rank i is on the node that node_of_rank[i] stands for.
  SpanningState(MPI_Comm communicator, const std::vector<int>& node_of_rank, int rank);
  ~SpanningState() { end_messages(); }
  SpanningState(const SpanningState&) = delete;
  SpanningState& operator=(const SpanningState&) = delete;

  /// Whether the host has made that communicator: on all ranks alike, as far as it reports errors on all.
  bool is_there() const { return messages_ != MPI_COMM_NULL; }
  /// No collective comes any more: frees the communicator of the messages. After MPI_Finalize has begun it is left to the
  /// host.
  void end_messages();
  const network::Nodes& nodes() const { return nodes_; }
  /// inside: of the ranks of this node, for this alone; outlives what is returned.
  const Spanning& with(Communicator& inside);

 private:
  const network::Nodes nodes_;
  const int rank_;
  MPI_Comm messages_ = MPI_COMM_NULL;
  std::optional<NetworkChannel> channel_;
  std::optional<Spanning> spanning_;
};

}  // namespace tutti::mpi
