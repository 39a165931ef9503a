#include <algorithm>
#include <array>

#include "all_blocks.h"
#include "collective.h"
#include "layout.h"
#include "messages.h"
#include "neighbors.h"
#include "one_message.h"
#include "rooted_blocks.h"

namespace tutti::bench {

namespace {

/// Makes a Kind; more: what its constructor takes after the place.
template <class Kind, auto... more>
std::unique_ptr<Collective> make(const Place& place) {
  return std::make_unique<Kind>(place, more...);
}

constexpr bool even = true;
constexpr bool uneven_counts = false;
using AlltoallForm = Alltoall::Form;
using NeighborForm = Neighbors::Form;

constexpr std::array table{
    // name, name in TUTTI_ALGORITHM, has sizes, has blocks, with neighbours
    CollectiveEntry{"barrier", "barrier", false, false, false, make<Barrier>},
    CollectiveEntry{"bcast", "bcast", true, false, false, make<Bcast>},
    CollectiveEntry{"reduce", "reduce", true, false, false, make<Reduce>},
    CollectiveEntry{"allreduce", "allreduce", true, false, false, make<Allreduce>},
    CollectiveEntry{"scatter", "scatter", true, true, false, make<Scatter, even>},
    CollectiveEntry{"scatterv", "scatterv", true, true, false, make<Scatter, uneven_counts>},
    CollectiveEntry{"gather", "gather", true, true, false, make<Gather, even>},
    CollectiveEntry{"gatherv", "gatherv", true, true, false, make<Gather, uneven_counts>},
    CollectiveEntry{"allgather", "allgather", true, true, false, make<Allgather, even>},
    CollectiveEntry{"allgatherv", "allgatherv", true, true, false, make<Allgather, uneven_counts>},
    CollectiveEntry{"alltoall", "alltoall", true, true, false, make<Alltoall, AlltoallForm::kEven>},
    CollectiveEntry{"alltoallv", "alltoallv", true, true, false, make<Alltoall, AlltoallForm::kCounts>},
    CollectiveEntry{"alltoallw", "alltoallv", true, true, false, make<Alltoall, AlltoallForm::kTypes>},
    CollectiveEntry{"reduce_scatter", "reduce_scatter", true, true, false, make<ReduceScatter, uneven_counts>},
    CollectiveEntry{"reduce_scatter_block", "reduce_scatter", true, true, false, make<ReduceScatter, even>},
    CollectiveEntry{"scan", "scan", true, false, false, make<Scan>},
    CollectiveEntry{"exscan", "exscan", true, false, false, make<Exscan>},
    CollectiveEntry{"neighbor_allgather", "neighbor", true, true, true, make<NeighborAllgather, NeighborForm::kEven>},
    CollectiveEntry{"neighbor_allgatherv", "neighborv", true, true, true,
                    make<NeighborAllgather, NeighborForm::kCounts>},
    CollectiveEntry{"neighbor_alltoall", "neighbor", true, true, true, make<NeighborAlltoall, NeighborForm::kEven>},
    CollectiveEntry{"neighbor_alltoallv", "neighborv", true, true, true, make<NeighborAlltoall, NeighborForm::kCounts>},
    CollectiveEntry{"neighbor_alltoallw", "neighborv", true, true, true, make<NeighborAlltoall, NeighborForm::kTypes>},
    CollectiveEntry{"latency", nullptr, true, false, false, make<PingPong>},
    CollectiveEntry{"bandwidth", nullptr, true, false, false, make<Window, false>},
    CollectiveEntry{"bidirectional", nullptr, true, false, false, make<Window, true>},
    CollectiveEntry{"sendrecv", nullptr, true, false, false, make<Sendrecv>},
    CollectiveEntry{"halo_2", nullptr, true, false, false, make<Halo, 2>},
    CollectiveEntry{"halo_4", nullptr, true, false, false, make<Halo, 4>},
};

}  // namespace

std::size_t CollectiveEntry::chosen_by(std::size_t bytes, int ranks) const {
  const std::string_view as = chosen_as;
  if (as == "reduce_scatter") return bytes * static_cast<std::size_t>(ranks);  // all that is reduced
  if (as == "allgatherv") return uneven(bytes / 4, 1) * 4;                     // the largest block
  return bytes;
}

std::span<const CollectiveEntry> collective_table() {
  return table;
}

const CollectiveEntry* find_collective(std::string_view name) {
  const auto* found = std::find_if(table.begin(), table.end(), [&](const auto& entry) { return name == entry.name; });
  return found == table.end() ? nullptr : found;
}

}  // namespace tutti::bench
