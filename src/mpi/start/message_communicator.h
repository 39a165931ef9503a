// The communicator of the host over which the messages of all communicators that span nodes go, and its tags.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "mpi/mpi_header.h"
#include "mpi/start/node_ranks.h"
#include "network/tag_ranges.h"

namespace tutti::mpi {

/// One for the job, since hosts have few communicators. Its ranks are those of MPI_COMM_WORLD.
class MessageCommunicator {
 public:
  /// Collective over MPI_COMM_WORLD, whose entries these are.
  MessageCommunicator(int world_rank, const std::vector<Entry>& world);
  MessageCommunicator(const MessageCommunicator&) = delete;
  MessageCommunicator& operator=(const MessageCommunicator&) = delete;

  /// Whether the host has made it, as far as this rank knows.
  bool is_there() const { return made_ != MPI_COMM_NULL; }
  MPI_Comm get() const { return made_; }
  /// No message comes any more.
  void end();

  int rank_of(const Entry& entry) const {
    return ranks_on_node_.at(entry.node)[static_cast<std::size_t>(entry.node_rank)];
  }
  /// For what this rank receives; MPI_COMM_WORLD has the first.
  network::TagRanges& tags() { return tags_; }

 private:
  MPI_Comm made_ = MPI_COMM_NULL;
  std::map<std::uint64_t, std::vector<int>> ranks_on_node_;
  network::TagRanges tags_;
};

}  // namespace tutti::mpi
