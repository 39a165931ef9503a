#include "mpi/start/node_machine.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "topology/level.h"

namespace tutti::mpi {

namespace {

/// Of this machine, serialised; empty if nobody has looked. Never destroyed: MPI_Init may be called by a constructor.
std::vector<std::uint8_t>& machine_of_this_process() {
  static auto& bytes = *new std::vector<std::uint8_t>;
  return bytes;
}

std::vector<topology::CpuSet> affinities_of(const std::vector<Card>& cards) {
  std::vector<topology::CpuSet> affinities;
  for (const Card& card : cards)
    affinities.push_back(topology::CpuSet::from_words({card.affinity, card.affinity + affinity_words}));
  return affinities;
}

topology::Placement placement_of(const Node& node, const std::vector<Card>& cards) {
  const std::optional<topology::Machine> machine = published_machine(node);
  topology::Placement placement = topology::place(machine.value_or(topology::Machine()), affinities_of(cards));
  std::vector<TimeQuota> quotas;
  for (const Card& card : cards) quotas.push_back(card.quota);
  topology::crowd_by_quotas(placement, quotas);
  return placement;
}

}  // namespace

void look_at_machine() {
  std::string error;
  if (const auto machine = topology::Machine::load("", error)) machine_of_this_process() = machine->serialise();
}

void publish_machine(const Node& node, ArenaHeader* header) {
  const auto publish = [header](const std::vector<std::uint8_t>& bytes) {
    if (bytes.size() > header_bytes - sizeof(ArenaHeader)) return;
    std::memcpy(header->machine, bytes.data(), bytes.size());
    header->machine_bytes = bytes.size();
  };
  if (node.settings.topology.empty() && !machine_of_this_process().empty()) return publish(machine_of_this_process());
  std::string error;
  auto machine = topology::Machine::load(node.settings.topology, error);
  if (!machine && !node.settings.topology.empty()) {
    node.log.warn("TUTTI_TOPOLOGY=%s: %s; this machine is used", node.settings.topology.c_str(), error.c_str());
    machine = topology::Machine::load("", error);
  }
  if (!machine) {
    node.log.warn("%s; a flat machine is assumed", error.c_str());
    return;
  }
  publish(machine->serialise());
}

std::optional<topology::Machine> published_machine(const Node& node) {
  const auto* header = reinterpret_cast<const ArenaHeader*>(node.peers.front().arena);
  if (!header->machine_bytes) return std::nullopt;
  return topology::Machine::deserialise({header->machine, header->machine_bytes});
}

void set_up_placement(Node& node, const NodeRanks& here) {
  const std::optional<topology::Machine> machine = published_machine(node);
  if (machine && machine->l3_bytes())
    node.cache_bytes =
        machine->l3_bytes() * static_cast<std::size_t>(std::max(1, machine->domain_count(topology::LevelKind::l3)));
  if (node.settings.cache) node.cache_bytes = node.settings.cache;
  node.placement = placement_of(node, here.cards);
  node.oversubscribed = node.placement.oversubscribed();
}

void share_cores_of_machine(Node& node, const std::vector<Card>& cards) {
  node.oversubscribed = placement_of(node, cards).oversubscribed();
}

void check_hierarchy(const Node& node) {
  std::string error;
  const auto spec = topology::parse_levels(node.settings.hierarchy, error);
  if (!spec) {
    node.log.warn("TUTTI_HIERARCHY: %s; auto is used", error.c_str());
    return;
  }
  for (const topology::LevelKind kind : spec->kinds) {
    const bool there = std::any_of(node.placement.ranks.begin(), node.placement.ranks.end(),
                                   [&](const auto& place) { return place.domain[topology::index_of(kind)] >= 0; });
    if (!there)
      node.log.warn("TUTTI_HIERARCHY: this machine, or the binding of the ranks, has no level %s; it is left out",
                    std::string(topology::name_of(kind)).c_str());
  }
}

}  // namespace tutti::mpi
