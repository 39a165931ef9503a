// What a communicator whose ranks sit on several nodes has besides that of its node's ranks: which rank is where, and the
// channels between nodes, over messages of the host on communicators of their own.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/spanning.h"
#include "mpi/mpi_header.h"
#include "mpi/network_channel.h"
#include "network/nodes.h"

namespace tutti::mpi {

/// MPI_TAG_UB.
int largest_tag();

/// A communicator of the same ranks in the same order, without the program's attributes. Collective over `communicator`;
/// returns a code of the host.
int make_another(MPI_Comm communicator, MPI_Comm& made);
/// What a channel calls.
PointToPoint calls_of_host();

/// A communicator of the host for messages of ours alone, with the ranks of another one.
class MessageCommunicator {
 public:
  /// Collective over `communicator`.
  explicit MessageCommunicator(MPI_Comm communicator);
  ~MessageCommunicator();
  MessageCommunicator(const MessageCommunicator&) = delete;
  MessageCommunicator& operator=(const MessageCommunicator&) = delete;

  /// Programs have use for the host's communicators, too, of which MPICH has 2048: collectives of those that are many are the
  /// host's.
  static bool may_be_made();

  /// Whether the host has made it: on all ranks alike, as far as it reports errors on all.
  bool is_there() const { return made_ != MPI_COMM_NULL; }
  MPI_Comm get() const { return made_; }
  /// No message comes any more. After MPI_Finalize has begun it is left to the host.
  void end();

  /// Tags that nobody else has, for one persistent call; in the same order on all ranks. False: there are none left.
  bool take(Tags& tags);

 private:
  MPI_Comm made_ = MPI_COMM_NULL;
  long long taken_ = 0;  ///< tags
};

class SpanningState {
 public:
  /// Collective over `communicator`, whose rank i is on the node that node_of_rank[i] stands for.
  SpanningState(MPI_Comm communicator, const std::vector<int>& node_of_rank, int rank);
  /// For one persistent call: the same ranks, and tags of its own on a communicator that such calls share. Collective over
  /// `communicator`, whose state `of` is.
  SpanningState(MPI_Comm communicator, SpanningState& of);
  /// With channels that somebody else has made.
  SpanningState(std::shared_ptr<const network::Nodes> nodes, int rank, std::unique_ptr<network::Channel> blocking,
                std::unique_ptr<network::Channel> pending)
      : nodes_(std::move(nodes)),
        rank_(rank),
        blocking_channel_(std::move(blocking)),
        pending_channel_(std::move(pending)) {}
  SpanningState(const SpanningState&) = delete;
  SpanningState& operator=(const SpanningState&) = delete;

  bool is_there() const { return messages_->is_there(); }
  /// No collective comes any more.
  void end_messages() {
    messages_->end();
    if (of_persistent_calls_) of_persistent_calls_->end();
  }
  const network::Nodes& nodes() const { return *nodes_; }
  /// inside: of the ranks of this node, for this alone; outlives this.
  void set_inside(Communicator& inside);
  /// After set_inside(). Each has a channel of its own, since another thread may go on with pending calls.
  const Spanning& of_blocking_calls() const { return *blocking_; }
  const Spanning& of_pending_calls() const { return *pending_; }

 private:
  const std::shared_ptr<const network::Nodes> nodes_;  ///< one for a communicator and its persistent calls
  const int rank_;
  std::shared_ptr<MessageCommunicator> messages_;
  std::shared_ptr<MessageCommunicator> of_persistent_calls_;  ///< the last one, which still has tags
  Tags tags_;
  std::unique_ptr<network::Channel> blocking_channel_, pending_channel_;
  std::optional<Spanning> blocking_, pending_;
};

}  // namespace tutti::mpi
