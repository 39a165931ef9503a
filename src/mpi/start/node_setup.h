// Start-up: which ranks share the node, their memory mapped, each mechanism tried, the outcome agreed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/collectives.h"
#include "messages/messages.h"
#include "mpi/host.h"
#include "mpi/start/node_ranks.h"
#include "mpi/start/sources.h"
#include "mpi/start/xpmem_setup.h"
#include "mpi/wait/peer_watch.h"
#include "partitioned/announcements.h"
#include "selection/machine.h"

namespace tutti::mpi {

/// What belongs to the whole job: made in MPI_Init, kept until the process ends (peers may still look at it).
struct Job {
  ~Job();

  Node node;
  selection::Knowledge knowledge;
  std::string model_file;                             ///< that the parameters in `knowledge` are from; empty: none
  std::string network_file;                           ///< the same of those between nodes
  std::optional<selection::MeasuredNetwork> network;  ///< what that file says between nodes
  bool spans_nodes = false;         ///< communicators whose ranks sit on several nodes are ours (TUTTI_INTERNODE)
  Source table_source;              ///< of the table in it
  selection::TableOrigin origin;    ///< machine and host MPI, as tables have them
  std::uint64_t node_identity = 0;  ///< equal on all ranks of this job and node, different otherwise
  std::vector<Entry> world;         ///< for the state of MPI_COMM_WORLD
  Arrangements arrangements;        ///< of its communicators
  LeftBehind left_behind;
  std::unique_ptr<partitioned::Announcements> announcements;
  std::unique_ptr<messages::Messages> messages;  ///< null: all are the host's (TUTTI_MESSAGES)
  XpmemShare xpmem;                              ///< with a segment if the ranks of the node have agreed on it
  MPI_Request host_turn = MPI_REQUEST_NULL;
  PeerWatch* watch = nullptr;     ///< of the node's processes
  bool threads_may_call = false;  ///< on all ranks, any thread may call the host at any time
  bool active = false;            ///< false: every collective goes to the host
  bool all_take_part = false;     ///< every rank of MPI_COMM_WORLD has the library, and the user wants it
  std::string why_inactive;
  unsigned mechanisms = 0;  ///< that work between all ranks
  std::string no_window;    ///< why what this rank allocates is not in memory that its peers map; empty: it is
};

/// Uses of the mechanisms that work only those that `text` allows, in the words of TUTTI_MECHANISM. False, with nothing
/// changed, if none of those it names is there. To be called by all ranks of the node alike, between operations.
bool restrict_mechanisms(Job& job, const std::string& text);

/// Those that work between all ranks of the job, as TUTTI_MECHANISM names them; none where the library is inactive.
std::vector<std::string> names_of_mechanisms(const Job& job);

/// Before the host's own MPI_Init: lets the other ranks of the node know that this one takes part.
void announce();

/// Collective over MPI_COMM_WORLD, after the host's own MPI_Init; not active if some ranks of the node do not take
/// part.
std::unique_ptr<Job> start_job();

}  // namespace tutti::mpi
