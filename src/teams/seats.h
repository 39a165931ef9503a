// Threads of several processes as ranks: what those of a node know of each other, and the node as one of them has it.
//
// A process has a block in its arena with a seat for each of its threads. A thread takes its seat when it attaches: it says
// where it may run. When all seats of the node are taken each thread knows the same, and makes of that its own Node, with
// peers that are threads. Those of its own process have its memory; the others are reached as their processes are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/node.h"
#include "engine/remains.h"
#include "sync/waiter.h"
#include "topology/cpu_set.h"
#include "topology/machine.h"

namespace tutti::teams {

/// Of one thread, as the others on its node see it. Zero before use.
struct alignas(sync::line_bytes) Seat {
  enum Standing : std::uint32_t {
    free = 0,
    taken,   ///< what stands below is there
    ready,   ///< the thread has made what it needs
    failed,  ///< it could not
    gone,    ///< it has ended while it was attached
  };
  static constexpr std::size_t affinity_words = 32;  ///< 2048 processing units

  sync::Doorbell doorbell;
  sync::Word<std::uint32_t> standing;
  std::uint64_t affinity[affinity_words];
};

/// A rank of a team, as all ranks of its node know it.
struct Member {
  int process = 0;           ///< of those on the node that have a part in the team
  int thread = 0;            ///< of the process
  std::uint64_t shared = 0;  ///< offset of its part of the communicator in its process's arena
};

/// A process that has a part in a team.
struct Process {
  memory::Peer peer;        ///< as this process sees it
  std::uint64_t block = 0;  ///< offset of its seats in its arena
  int threads = 0;
  bool is_this = false;
};

/// The ranks of a team on one node, in their order.
struct Members {
  std::vector<Process> processes;
  std::vector<Member> all;
  std::uint64_t identity = 0;  ///< equal on all of them, for messages

  int size() const { return static_cast<int>(all.size()); }
  const Process& process_of(int rank) const {
    return processes[static_cast<std::size_t>(all[static_cast<std::size_t>(rank)].process)];
  }
  Seat& seat(int rank) const;
  bool in_one_process() const { return processes.size() == 1; }
};

/// Bytes of a process's block, zero before use, for `threads` of its own among `ranks` of the node.
std::size_t block_bytes(int threads, int ranks);

/// This thread has come, as `rank`, and may run on these units.
void take_seat(const Members& members, int rank, const topology::CpuSet& affinity);
/// Waits until all seats have come as far as `least`; false if one of them has failed or is gone.
bool wait_for_all(const Members& members, int rank, Seat::Standing least, sync::Waiter& waiter);
/// The first rank whose thread has ended while it was attached; -1: there is none.
int first_gone(const Members& members);

/// The node as `rank` has it, without a waiter, once all seats are taken. process: that of its process, or one with no more
/// than settings, a log and an arena, if that has none.
std::unique_ptr<Node> make_node(const Members& members, int rank, const Node& process,
                                const topology::Machine& machine);
/// By which its ranks wake each other.
std::vector<sync::Doorbell*> doorbells_of(const Members& members);
/// Of the communicator of all members, as `rank` has it.
CommunicatorLayout layout_of(const Members& members, int rank);

}  // namespace tutti::teams
