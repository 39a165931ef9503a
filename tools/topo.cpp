// tutti-topo: prints, as JSON, a machine, where ranks would sit on it, the hierarchy they would form, and how
// far its messages go. `tutti topo` draws what this prints. Exit status: 0, or 2 with one line on standard
// error.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "topology/mapping.h"
#include "topology/tree.h"
#include "traffic.h"

namespace {

using nlohmann::ordered_json;
using namespace tutti::topology;

constexpr int max_ranks = 1 << 16;

struct Options {
  std::string topology;
  std::string hierarchy = "auto";
  std::string mapping = "core";
  int ranks = 0;  ///< 0: one a core
  int root = 0;
  std::vector<std::size_t> messages;  ///< sizes of the calls whose messages are counted
};

/// What is wrong with the options, for the user.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

ordered_json or_null(int id) {
  return id < 0 ? ordered_json(nullptr) : ordered_json(id);
}

ordered_json json_of_domains(const Domains& domains) {
  ordered_json out = ordered_json::object();
  for (const LevelKind kind : all_level_kinds) out[std::string(name_of(kind))] = or_null(domains[index_of(kind)]);
  return out;
}

ordered_json json_of_machine(const Machine& machine, const std::string& description) {
  ordered_json domains = ordered_json::object();
  for (const LevelKind kind : all_level_kinds) domains[std::string(name_of(kind))] = machine.domain_count(kind);
  ordered_json units = ordered_json::array();
  for (const ProcessingUnit& unit : machine.units()) {
    ordered_json entry{{"os_index", unit.os_index}, {"core", unit.core}};
    entry.update(json_of_domains(unit.domain));
    units.push_back(entry);
  }
  return {{"description", description},         {"is_this_machine", machine.is_this_machine()},
          {"unit_count", machine.unit_count()}, {"core_count", machine.core_count()},
          {"domain_counts", domains},           {"l2_bytes", machine.l2_bytes()},
          {"l3_bytes", machine.l3_bytes()},     {"units", units}};
}

ordered_json json_of_ranks(const Machine& machine, const Placement& placement, const Hierarchy& hierarchy) {
  ordered_json ranks = ordered_json::array();
  for (int rank = 0; rank < hierarchy.rank_count; ++rank) {
    const RankPlace& place = placement.ranks[static_cast<std::size_t>(rank)];
    const RankPlan mine = plan(hierarchy, rank);
    const int os_index = place.unit < 0 ? -1 : machine.units()[static_cast<std::size_t>(place.unit)].os_index;
    ordered_json entry{{"rank", rank}, {"os_index", or_null(os_index)}, {"core", or_null(place.core)}};
    entry.update(json_of_domains(place.domain));
    entry["parent"] = or_null(mine.parent);
    entry["parent_level"] = or_null(mine.parent_level);
    entry["child_count"] = mine.child_count;
    ranks.push_back(entry);
  }
  return ranks;
}

ordered_json json_of_levels(const Hierarchy& hierarchy) {
  ordered_json levels = ordered_json::array();
  for (const Level& level : hierarchy.levels) {
    ordered_json groups = ordered_json::array();
    for (const Group& group : level.groups) groups.push_back({{"leader", group.leader}, {"members", group.members}});
    const std::string name = level.kind ? std::string(name_of(*level.kind)) : level.artificial ? "neighbors" : "top";
    levels.push_back({{"name", name}, {"groups", groups}});
  }
  return levels;
}

bool has_artificial_levels(const Hierarchy& hierarchy) {
  return std::any_of(hierarchy.levels.begin(), hierarchy.levels.end(),
                     [](const Level& level) { return level.artificial; });
}

/// What the user asked for and did not get, with the reason; and what is no boundary of the machine.
ordered_json notes_on(const LevelSpec& spec, const Machine& machine, const Hierarchy& hierarchy, int widest) {
  ordered_json notes = ordered_json::array();
  if (has_artificial_levels(hierarchy))
    notes.push_back("groups of more than " + std::to_string(widest) +
                    " ranks are cut into neighbours by core: what is between these is no boundary of the machine");
  for (const LevelKind kind : spec.kinds) {
    const std::string name(name_of(kind));
    const bool used = std::any_of(hierarchy.levels.begin(), hierarchy.levels.end(),
                                  [&](const Level& level) { return level.kind == kind; });
    if (used) continue;
    notes.push_back(machine.domain_count(kind) == 0 ? "level " + name + " is left out: this machine has none"
                                                    : "level " + name +
                                                          " is left out: it does not group these ranks "
                                                          "differently from the other levels");
  }
  return notes;
}

/// Blocks that all send to all, and all get from all, are counted up to here: all of them are in memory.
std::size_t most_of_a_block(std::size_t ranks) {
  constexpr std::size_t together = std::size_t{256} << 20;
  return std::min(std::size_t{16} << 10, std::bit_floor(together / (2 * ranks * ranks)));
}
/// Each is a thread of this process.
constexpr int most_counted_ranks = 512;

std::vector<tutti::TrafficAsked> calls_to_count(const Options& options, std::size_t ranks) {
  std::vector<tutti::TrafficAsked> calls;
  for (const std::size_t bytes : options.messages) {
    for (const std::string_view collective : tutti::counted_collectives()) {
      const bool is_block = collective == "allgather" || collective == "alltoall";
      calls.push_back({collective, is_block ? std::min(bytes, most_of_a_block(ranks)) : bytes, options.root});
    }
    for (const char* collective : {"reduce", "allreduce"}) calls.push_back({collective, bytes, options.root, false});
  }
  return calls;
}

ordered_json json_of(const tutti::ByBoundary& counts) {
  return {{"inter_socket", counts.inter_socket}, {"inter_numa", counts.inter_numa}, {"intra_numa", counts.intra_numa}};
}

ordered_json json_of(const tutti::Traffic& traffic) {
  return {{"algorithm", traffic.algorithm}, {"messages", json_of(traffic.messages)}, {"bytes", json_of(traffic.bytes)}};
}

/// What the collectives send between ranks: with the mapping that was asked for, and with ranks in the machine's order.
ordered_json json_of_traffic(const Options& options, const Machine& machine, const Placement& placement) {
  ordered_json out = ordered_json::array();
  const auto ranks = static_cast<int>(placement.ranks.size());
  tutti::Settings settings;
  settings.hierarchy = options.hierarchy;
  const auto calls = calls_to_count(options, placement.ranks.size());
  const auto mapped = tutti::count_traffic(placement, settings, calls);
  const auto ordered =
      tutti::count_traffic(place_by_affinity(machine, map_ranks(machine, ranks, Mapping::core)), settings, calls);
  for (std::size_t i = 0; i < calls.size(); ++i)
    out.push_back({{"collective", calls[i].collective},
                   {"bytes", calls[i].bytes},
                   {"commutative", calls[i].commutative},
                   {"ordered", json_of(ordered[i])},
                   {"mapped", json_of(mapped[i])}});
  return out;
}

/// Value of a step that explains failure in `error`.
template <typename Value>
Value require(std::optional<Value> value, const std::string& error) {
  if (!value) throw UsageError(error);
  return *std::move(value);
}

int checked_rank_count(const Options& options, const Machine& machine) {
  if (options.ranks < 0 || options.ranks > max_ranks)
    throw UsageError("--ranks " + std::to_string(options.ranks) + " is not between 1 and " + std::to_string(max_ranks));
  return options.ranks == 0 ? machine.core_count() : options.ranks;
}

ordered_json describe(const Options& options) {
  std::string error;
  // Each step has a line of its own: `error` must be filled before it is passed on.
  const auto spec_or = parse_levels(options.hierarchy, error);
  const LevelSpec spec = require(spec_or, error);
  const auto mapping_or = parse_mapping(options.mapping, error);
  const Mapping mapping = require(mapping_or, error);
  const auto machine_or = Machine::load(options.topology, error);
  const Machine machine = require(machine_or, error);
  const int ranks = checked_rank_count(options, machine);
  if (options.root < 0 || options.root >= ranks)
    throw UsageError("--root " + std::to_string(options.root) + " is not one of the ranks 0 to " +
                     std::to_string(ranks - 1));

  const Placement placement = place_by_affinity(machine, map_ranks(machine, ranks, mapping));
  const Levels chosen = choose_levels(spec, placement);
  const Hierarchy hierarchy = build(placement, chosen, options.root);
  const MessageCounts counts = message_counts(hierarchy, placement);
  ordered_json notes = notes_on(spec, machine, hierarchy, chosen.widest);
  ordered_json collectives = nullptr;
  if (!options.messages.empty() && ranks > most_counted_ranks)
    notes.push_back("messages by collective are counted on up to " + std::to_string(most_counted_ranks) + " ranks");
  else if (!options.messages.empty() && ranks > 1)
    collectives = json_of_traffic(options, machine, placement);
  ordered_json told = {
      {"machine", json_of_machine(machine, options.topology)},
      {"requested_hierarchy", to_string(spec)},
      {"hierarchy", to_string({false, chosen.kinds, has_artificial_levels(hierarchy) ? chosen.widest : 0})},
      {"mapping", options.mapping},
      {"rank_count", ranks},
      {"root", options.root},
      {"cores_available", placement.cores_available},
      {"ranks_per_core", placement.ranks_per_core},
      {"oversubscribed", placement.oversubscribed()},
      {"ranks", json_of_ranks(machine, placement, hierarchy)},
      {"levels", json_of_levels(hierarchy)},
      {"message_counts",
       {{"inter_socket", counts.inter_socket}, {"inter_numa", counts.inter_numa}, {"intra_numa", counts.intra_numa}}},
      {"notes", notes}};
  if (!collectives.is_null()) told["collectives"] = std::move(collectives);
  return told;
}

void add_options(CLI::App& app, Options& options) {
  app.add_option("--topology", options.topology, "hwloc synthetic description or XML file; without it, this machine");
  app.add_option("--hierarchy", options.hierarchy,
                 "auto, flat, or l2, l3, numa, socket and the size of the widest group joined by +")
      ->capture_default_str();
  app.add_option("--ranks", options.ranks, "how many ranks; without it, one a core");
  app.add_option("--root", options.root, "the rank that a broadcast starts from")->capture_default_str();
  app.add_option("--map", options.mapping, "how ranks sit on the machine: core, numa, socket, unbound, shuffle:SEED")
      ->capture_default_str();
  app.add_option("--messages", options.messages, "count what the collectives send with messages of so many bytes");
}

int fail(const std::string& message) {
  std::cerr << "tutti-topo: " << message << '\n';
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Prints a machine, its ranks and their hierarchy as JSON.", "tutti-topo");
  add_options(app, options);
  try {
    app.parse(argc, argv);
    std::cout << describe(options).dump(1, ' ', false, ordered_json::error_handler_t::replace) << '\n';
    return 0;
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& problem) {
    return fail(problem.what());
  } catch (const std::runtime_error& problem) {
    return fail(problem.what());
  }
}
