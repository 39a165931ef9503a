#include "topology/placement.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "topology/positions.h"

namespace tutti::topology {

std::vector<int> positions_in(const Machine& machine, const CpuSet& mask) {
  std::vector<int> positions;
  if (mask.empty()) {
    positions.resize(machine.units().size());
    std::iota(positions.begin(), positions.end(), 0);
  }
  for (const int os_index : mask.members())
    if (const int position = machine.find(os_index); position >= 0) positions.push_back(position);
  return positions;
}

namespace {

RankPlace place_on_unit(const Machine& machine, int position) {
  const ProcessingUnit& unit = machine.units()[static_cast<std::size_t>(position)];
  return {unit.domain, unit.core, position};
}

RankPlace place_in_mask(const Machine& machine, const CpuSet& mask) {
  RankPlace place;
  bool first = true;
  for (const int position : positions_in(machine, mask)) {
    const RankPlace here = place_on_unit(machine, position);
    if (first) {
      place = here;
      first = false;
      continue;
    }
    for (std::size_t kind = 0; kind < level_kind_count; ++kind)
      place.domain[kind] = common(place.domain[kind], here.domain[kind]);
    place.core = common(place.core, here.core);
    place.unit = common(place.unit, here.unit);
  }
  return place;
}

/// How many ranks have each mask: unbound ranks, the common case, all share one.
std::map<CpuSet, int> count_masks(std::span<const CpuSet> affinity_of_rank) {
  std::map<CpuSet, int> ranks_of_mask;
  for (const CpuSet& mask : affinity_of_rank) ++ranks_of_mask[mask];
  return ranks_of_mask;
}

/// Ranks that cannot run outside `mask`, per unit of it.
double crowding_of(const CpuSet& mask, const std::map<CpuSet, int>& ranks_of_mask) {
  // Where each rank is bound to one unit there are as many masks as ranks; only equal masks lie in those.
  if (mask.count() == 1) return ranks_of_mask.at(mask);
  int confined = 0;
  for (const auto& [other, ranks] : ranks_of_mask)
    if (!other.empty() && other.is_subset_of(mask)) confined += ranks;
  return static_cast<double>(confined) / mask.count();
}

void measure_crowding(const Machine& machine, std::span<const CpuSet> affinity_of_rank, Placement& placement) {
  const auto ranks_of_mask = count_masks(affinity_of_rank);
  CpuSet all;
  for (const auto& entry : ranks_of_mask) all.insert(entry.first);
  placement.cores_available = all.empty() ? machine.unit_count() : all.count();
  if (placement.cores_available == 0) return;
  placement.ranks_per_core = static_cast<double>(affinity_of_rank.size()) / placement.cores_available;
  for (const auto& [mask, ranks] : ranks_of_mask)
    if (!mask.empty()) placement.ranks_per_core = std::max(placement.ranks_per_core, crowding_of(mask, ranks_of_mask));
}

}  // namespace

Placement place_by_affinity(const Machine& machine, std::span<const CpuSet> affinity_of_rank) {
  Placement placement;
  placement.ranks.reserve(affinity_of_rank.size());
  std::map<CpuSet, RankPlace> known;
  for (const CpuSet& mask : affinity_of_rank) {
    const auto [entry, is_new] = known.try_emplace(mask);
    if (is_new) entry->second = place_in_mask(machine, mask);
    placement.ranks.push_back(entry->second);
  }
  measure_crowding(machine, affinity_of_rank, placement);
  return placement;
}

Placement place(const Machine& machine, std::span<const CpuSet> affinity_of_rank) {
  if (machine.is_this_machine()) return place_by_affinity(machine, affinity_of_rank);
  Placement placement;
  placement.ranks.reserve(affinity_of_rank.size());
  for (std::size_t rank = 0; rank < affinity_of_rank.size(); ++rank)
    placement.ranks.push_back(place_on_unit(machine, static_cast<int>(rank % machine.units().size())));
  measure_crowding(machine, affinity_of_rank, placement);
  return placement;
}

void crowd_by_quotas(Placement& placement, std::span<const TimeQuota> quota_of_rank) {
  std::map<std::pair<std::uint64_t, double>, int> ranks_of_quota;
  for (const TimeQuota& quota : quota_of_rank)
    if (quota.processors > 0) ++ranks_of_quota[{quota.group, quota.processors}];
  for (const auto& [quota, ranks] : ranks_of_quota) {
    const double crowding = ranks / quota.second;
    if (crowding <= std::max(1.0, placement.ranks_per_core)) continue;
    placement.ranks_per_core = crowding;
    placement.least_time = quota.second;
  }
}

Placement subset(const Placement& placement, std::span<const int> ranks) {
  Placement part;
  part.cores_available = placement.cores_available;
  part.ranks_per_core = placement.ranks_per_core;
  part.least_time = placement.least_time;
  part.ranks.reserve(ranks.size());
  for (const int rank : ranks) part.ranks.push_back(placement.ranks[static_cast<std::size_t>(rank)]);
  return part;
}

}  // namespace tutti::topology
