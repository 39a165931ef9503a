// Ranks as threads on machines that are only described, with communicators of their own (mpi.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/mpi.h"
#include "topology/cpu_set.h"
#include "topology/resources.h"

namespace tutti::test {

/// Where a rank sits.
struct Seat {
  int node = 0;  ///< all nodes are machines of the same description
  int unit = 0;
  /// It may run in both, this unit and that one: the objects that do not hold both are not its.
  std::optional<int> or_unit = std::nullopt;
};

struct Machines {
  topology::Resources resources;
  std::vector<Seat> seats;              ///< by rank
  std::vector<topology::CpuSet> cards;  ///< units near to each network card, of every node
  bool with_tutti = true;               ///< false: split types by hardware are refused, as by an MPI alone

  /// By type of resources.
  std::vector<int> objects_of(int rank) const;
};

/// Runs `rank(number)` on a thread for each seat.
void run(const Machines& machines, const std::function<void(int)>& rank);

/// Its ranks' numbers among all, in its order; none of MPI_COMM_NULL.
std::vector<int> members_of(MPI_Comm comm);

/// Communicators and infos that are not freed.
int handles_left();

}  // namespace tutti::test
