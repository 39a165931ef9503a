#include "topology/mapping.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "base/nearest.h"

namespace tutti::topology {

namespace {

constexpr std::array<std::pair<std::string_view, Mapping>, 4> mapping_names{
    {{"core", Mapping::core}, {"numa", Mapping::numa}, {"socket", Mapping::socket}, {"unbound", Mapping::unbound}}};

/// A processing unit and when its turn comes.
struct Turn {
  int thread_of_core;  ///< first hardware threads of all cores come before second ones
  int round;           ///< the how-manieth of its domain
  int domain;
  int os_index;
};

/// Units in the order in which ranks take them; `domain_of` says over what they are dealt out.
template <typename DomainOf>
std::vector<int> deal(const Machine& machine, DomainOf domain_of) {
  std::map<int, int> threads_of_core;
  std::map<std::pair<int, int>, int> taken;  // by thread of the core and domain
  std::vector<Turn> turns;
  for (const ProcessingUnit& unit : machine.units()) {
    const int thread = threads_of_core[unit.core]++;
    const int domain = domain_of(unit);
    turns.push_back({thread, taken[{thread, domain}]++, domain, unit.os_index});
  }
  std::stable_sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) {
    return std::tie(a.thread_of_core, a.round, a.domain) < std::tie(b.thread_of_core, b.round, b.domain);
  });
  std::vector<int> order;
  order.reserve(turns.size());
  for (const Turn& turn : turns) order.push_back(turn.os_index);
  return order;
}

std::vector<int> unit_order(const Machine& machine, Mapping mapping) {
  if (mapping == Mapping::core) {
    // One domain a core, numbered in machine order, and so one round.
    return deal(machine, [](const ProcessingUnit& unit) { return unit.core; });
  }
  const std::size_t kind = index_of(mapping == Mapping::numa ? LevelKind::numa : LevelKind::socket);
  return deal(machine, [kind](const ProcessingUnit& unit) { return unit.domain[kind]; });
}

CpuSet every_unit(const Machine& machine) {
  CpuSet all;
  for (const ProcessingUnit& unit : machine.units()) all.insert(unit.os_index);
  return all;
}

}  // namespace

std::optional<Mapping> parse_mapping(std::string_view text, std::string& error) {
  std::vector<std::string> names;
  for (const auto& [name, mapping] : mapping_names) {
    if (edit_distance(text, name) == 0) return mapping;
    names.emplace_back(name);
  }
  error.assign("unknown mapping \"").append(text).append("\"; did you mean \"").append(nearest(text, names));
  error.append("\"? (mappings: core, numa, socket, unbound)");
  return std::nullopt;
}

std::vector<CpuSet> map_ranks(const Machine& machine, int ranks, Mapping mapping) {
  if (mapping == Mapping::unbound) return std::vector<CpuSet>(static_cast<std::size_t>(ranks), every_unit(machine));
  const std::vector<int> order = unit_order(machine, mapping);
  std::vector<CpuSet> masks;
  masks.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank)
    masks.push_back(CpuSet{order[static_cast<std::size_t>(rank) % order.size()]});
  return masks;
}

}  // namespace tutti::topology
