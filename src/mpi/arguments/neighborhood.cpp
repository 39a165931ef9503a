#include "mpi/arguments/neighborhood.h"

#include <cstddef>

namespace tutti::mpi {

namespace {

/// In each dimension the neighbour in negative direction, then the one in positive. What is sent in one direction
/// arrives from the opposite one, also where both neighbours are the same process.
Neighborhood cartesian(MPI_Comm communicator) {
  Neighborhood found{true, {}, {}, {}, {}};
  int dimensions = 0;
  host.Cartdim_get(communicator, &dimensions);
  for (int d = 0; d < dimensions; ++d) {
    int negative = MPI_PROC_NULL, positive = MPI_PROC_NULL;
    host.Cart_shift(communicator, d, 1, &negative, &positive);
    for (const int neighbor : {negative, positive}) found.destinations.push_back(neighbor < 0 ? -1 : neighbor);
    found.source_blocks.push_back(2 * d + 1);
    found.source_blocks.push_back(2 * d);
  }
  found.sources = found.destinations;
  found.destination_blocks = found.source_blocks;
  return found;
}

using Lists = std::vector<std::vector<int>>;

/// Where `rank` occurs in `list` for the n-th time, n counted from 0; -1 if it does not.
int position_of(int rank, int n, const std::vector<int>& list) {
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list[i] == rank && n-- == 0) return static_cast<int>(i);
  return -1;
}

/// How often list[i] occurs before i.
int occurrences_before(std::size_t i, const std::vector<int>& list) {
  int count = 0;
  for (std::size_t j = 0; j < i; ++j) count += list[j] == list[i];
  return count;
}

/// Edges between two ranks match in the order in which both have them. `theirs`: of each rank, whom it sends to;
/// `takers`: of each rank, whom it receives from. An edge that only one of the two has is none.
void match(Neighborhood& found, int rank, const Lists& theirs, const Lists& takers) {
  /// The blocks that belong to those of `neighbors`, of which those without one are left out.
  const auto blocks_of = [rank](std::vector<int>& neighbors, const Lists& lists) {
    const std::vector<int> all = neighbors;
    std::vector<int> blocks(all.size(), -1);
    for (std::size_t i = 0; i < all.size(); ++i) {
      // Hosts have been seen to name ranks that there are not, where messages between nodes went wrong.
      if (all[i] >= 0 && static_cast<std::size_t>(all[i]) < lists.size())
        blocks[i] = position_of(rank, occurrences_before(i, all), lists[static_cast<std::size_t>(all[i])]);
      if (blocks[i] < 0) neighbors[i] = -1;
    }
    return blocks;
  };
  found.source_blocks = blocks_of(found.sources, theirs);
  found.destination_blocks = blocks_of(found.destinations, takers);
}

/// Every rank knows all neighbours of all.
Neighborhood graph(MPI_Comm communicator, int rank, int size) {
  Lists lists(static_cast<std::size_t>(size));
  for (int each = 0; each < size; ++each) {
    auto& list = lists[static_cast<std::size_t>(each)];
    int count = 0;
    host.Graph_neighbors_count(communicator, each, &count);
    list.resize(static_cast<std::size_t>(count));
    host.Graph_neighbors(communicator, each, count, list.data());
  }
  const auto& mine = lists[static_cast<std::size_t>(rank)];
  Neighborhood found{true, mine, mine, {}, {}};
  match(found, rank, lists, lists);
  return found;
}

/// The lists of all ranks.
Lists all_lists(MPI_Comm communicator, const std::vector<int>& mine, int size) {
  const auto ranks = static_cast<std::size_t>(size);
  const int count = static_cast<int>(mine.size());
  std::vector<int> counts(ranks), displacements(ranks);
  host.Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, communicator);
  int total = 0;
  for (std::size_t i = 0; i < ranks; ++i) {
    displacements[i] = total;
    total += counts[i];
  }
  std::vector<int> all(static_cast<std::size_t>(total) + 1);
  host.Allgatherv(mine.data(), count, MPI_INT, all.data(), counts.data(), displacements.data(), MPI_INT, communicator);
  Lists lists(ranks);
  for (std::size_t i = 0; i < ranks; ++i)
    lists[i].assign(all.begin() + displacements[i], all.begin() + displacements[i] + counts[i]);
  return lists;
}

Neighborhood distributed_graph(MPI_Comm communicator, int rank, int size) {
  int sources = 0, destinations = 0, weighted = 0;
  host.Dist_graph_neighbors_count(communicator, &sources, &destinations, &weighted);
  Neighborhood found{true,
                     std::vector<int>(static_cast<std::size_t>(sources)),
                     std::vector<int>(static_cast<std::size_t>(destinations)),
                     {},
                     {}};
  // The address that stands for no weights is an object of some hosts, which cannot be referred to here.
  std::vector<int> weights(static_cast<std::size_t>(sources + destinations) + 1);
  host.Dist_graph_neighbors(communicator, sources, found.sources.data(), weights.data(), destinations,
                            found.destinations.data(), weights.data() + sources);
  match(found, rank, all_lists(communicator, found.destinations, size), all_lists(communicator, found.sources, size));
  return found;
}

}  // namespace

Neighborhood find_neighborhood(MPI_Comm communicator, int rank, int size) {
  int topology = MPI_UNDEFINED;
  host.Topo_test(communicator, &topology);
  switch (topology) {
    case MPI_CART:
      return cartesian(communicator);
    case MPI_GRAPH:
      return graph(communicator, rank, size);
    case MPI_DIST_GRAPH:
      return distributed_graph(communicator, rank, size);
    default:
      return {};
  }
}

}  // namespace tutti::mpi
