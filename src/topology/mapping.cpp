#include "topology/mapping.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <random>
#include <tuple>
#include <utility>

#include "base/nearest.h"

namespace tutti::topology {

namespace {

constexpr std::array<std::pair<std::string_view, Mapping>, 4> mapping_names{
    {{"core", Mapping::core}, {"numa", Mapping::numa}, {"socket", Mapping::socket}, {"unbound", Mapping::unbound}}};
constexpr std::string_view shuffle_prefix = "shuffle:";

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

std::vector<int> unit_order(const Machine& machine, Mapping::Kind kind_of_mapping) {
  using Kind = Mapping::Kind;
  if (kind_of_mapping == Kind::core || kind_of_mapping == Kind::shuffled) {
    // One domain a core, numbered in machine order, and so one round.
    return deal(machine, [](const ProcessingUnit& unit) { return unit.core; });
  }
  const std::size_t kind = index_of(kind_of_mapping == Kind::numa ? LevelKind::numa : LevelKind::socket);
  return deal(machine, [kind](const ProcessingUnit& unit) { return unit.domain[kind]; });
}

/// Fisher and Yates. What std::shuffle makes of a generator differs between libraries.
void shuffle(std::vector<CpuSet>& masks, std::uint32_t seed) {
  std::mt19937 random(seed);
  for (std::size_t left = masks.size(); left > 1; --left) std::swap(masks[left - 1], masks[random() % left]);
}

CpuSet every_unit(const Machine& machine) {
  CpuSet all;
  for (const ProcessingUnit& unit : machine.units()) all.insert(unit.os_index);
  return all;
}

}  // namespace

std::optional<Mapping> parse_mapping(std::string_view text, std::string& error) {
  if (text.starts_with(shuffle_prefix)) {
    const std::string_view digits = text.substr(shuffle_prefix.size());
    std::uint32_t seed = 0;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), seed);
    if (problem == std::errc() && end == digits.data() + digits.size()) return Mapping::shuffled(seed);
    error.assign("mapping \"").append(text).append("\": expected a number after shuffle:, as in shuffle:1");
    return std::nullopt;
  }
  std::vector<std::string> names;
  for (const auto& [name, mapping] : mapping_names) {
    if (edit_distance(text, name) == 0) return mapping;
    names.emplace_back(name);
  }
  names.emplace_back("shuffle:1");
  error.assign("unknown mapping \"").append(text).append("\"; did you mean \"").append(nearest(text, names));
  error.append("\"? (mappings: core, numa, socket, unbound, shuffle:SEED)");
  return std::nullopt;
}

std::vector<CpuSet> map_ranks(const Machine& machine, int ranks, Mapping mapping) {
  if (mapping == Mapping::unbound) return std::vector<CpuSet>(static_cast<std::size_t>(ranks), every_unit(machine));
  const std::vector<int> order = unit_order(machine, mapping.kind);
  std::vector<CpuSet> masks;
  masks.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank)
    masks.push_back(CpuSet{order[static_cast<std::size_t>(rank) % order.size()]});
  if (mapping.kind == Mapping::Kind::shuffled) shuffle(masks, mapping.seed);
  return masks;
}

}  // namespace tutti::topology
