// Where ranks sit: from affinity masks to one domain per level and rank. Pure.
#pragma once

#include <span>
#include <vector>

#include "base/control_groups.h"
#include "topology/cpu_set.h"
#include "topology/machine.h"

namespace tutti::topology {

/// Where one rank may run.
struct RankPlace {
  Domains domain = {-1, -1, -1, -1};  ///< -1: its affinity spans several domains of that level, or the level is absent
  int core = -1;                      ///< -1: its affinity spans several cores
  int unit = -1;                      ///< position in Machine::units(); -1: it may run on several
};

struct Placement {
  std::vector<RankPlace> ranks;
  /// Processing units in the union of all affinity masks. Always of the real masks, whatever machine is
  /// planned for.
  int cores_available = 0;
  /// Ranks that must share one processing unit where it is tightest: the most of ranks / units over the union
  /// of all masks and over each distinct mask (counting the ranks that cannot leave it), and where there are quotas of
  /// ranks / processors' worth of time. At most 1: each can have its own.
  double ranks_per_core = 0;
  double least_time = 0;  ///< processors' worth of time where a quota makes it tightest; 0: none does

  /// Spinning is harmful: some rank must wait for another to leave its processing unit.
  bool oversubscribed() const { return ranks_per_core > 1.0; }
};

/// Places rank i of affinity_of_rank[i]. An empty mask means unknown: unbound, and able to run anywhere.
/// If the machine is not the one we run on (Machine::is_this_machine), masks say nothing about it: rank i
/// then sits on unit i in machine order, wrapping round, while cores_available and ranks_per_core stay those
/// of the real masks.
Placement place(const Machine& machine, std::span<const CpuSet> affinity_of_rank);

/// As place, but the masks are taken as they are, even if the machine is a description.
Placement place_by_affinity(const Machine& machine, std::span<const CpuSet> affinity_of_rank);

/// The ranks of a control group that has less processor time than they could use take turns, as where cores are fewer: who
/// spins uses up what the others need. quota_of_rank: entry i is of rank i; only the least limit of each is known.
void crowd_by_quotas(Placement& placement, std::span<const TimeQuota> quota_of_rank);

/// The placement of a communicator: entry i describes ranks[i] of the given placement. How crowded the node
/// is stays, since the other ranks still run. Every number in `ranks` must be a rank of the placement.
Placement subset(const Placement& placement, std::span<const int> ranks);

}  // namespace tutti::topology
