// tutti-table: looks at a decision table without any MPI and prints, as JSON, what the library would make of it:
// whether it can be read, which entries it leaves out, which are not eligible for the shapes they are for, where
// entries overlap, and which sizes between entries have none; of entries between nodes the same but for the last. Exit status: 0, 2 with one line on standard error.
#include "selection/table.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "base/settings.h"
#include "collectives/call_shape.h"
#include "collectives/collectives.h"
#include "collectives/kinds.h"
#include "collectives/prediction.h"
#include "engine/communicator.h"
#include "input_file.h"
#include "topology/machine.h"

namespace {

using namespace tutti;
using nlohmann::ordered_json;
using selection::TableEntry;

/// Communicators of so many sizes are looked at in an entry for more.
constexpr int rank_counts_max = 64;

std::string words_of(const TableEntry& entry) {
  const auto range = [](auto from, auto to) {
    return from == to ? std::to_string(from) : std::to_string(from) + " to " + std::to_string(to);
  };
  const std::string bytes = range(entry.bytes_from, entry.bytes_to) + " bytes";
  if (entry.spans_nodes())
    return entry.collective + ", " + range(entry.nodes_from, entry.nodes_to) + " nodes of " +
           range(entry.places_from, entry.places_to) + ", " + bytes;
  return entry.collective + ", " + range(entry.ranks_from, entry.ranks_to) + " ranks, " + bytes + ", " +
         std::string(selection::name_of(entry.reach)) +
         (entry.levels > 1 ? ", " + std::to_string(entry.levels) + " levels" : "");
}

/// Sizes that choices are made for: 0, 1 and the powers of two.
std::vector<std::size_t> classes_in(std::size_t from, std::size_t to) {
  std::vector<std::size_t> sizes;
  if (from == 0) sizes.push_back(0);
  for (std::size_t bytes = 1; bytes <= to && bytes < std::size_t{1} << 62; bytes *= 2)
    if (bytes >= from) sizes.push_back(bytes);
  return sizes;
}

selection::Shape shape_of(const TableEntry& entry, int ranks, std::size_t bytes) {
  const Settings settings;
  selection::Shape shape;
  shape.ranks = ranks;
  shape.bytes = bytes;
  shape.levels = entry.levels;
  shape.ranks_per_core = entry.ranks_per_core;
  shape.reach = entry.reach;
  shape.commutative = entry.commutative;
  shape.regular = !is_irregular(entry.collective);
  shape.eager_max = settings.eager_max;
  shape.flat_max = settings.flat_max;
  shape.slot_bytes = slot_bytes_of(settings, ranks);
  return shape;
}

/// Whether the entry's algorithm can do it; requirements: what it says it needs.
bool is_eligible(const TableEntry& entry, const selection::Shape& shape, std::string& requirements) {
  selection::Knowledge knowledge;
  if (entry.parameter > 0) {
    const std::vector<selection::Known> one{{entry.collective, {entry.algorithm}, {"x"}, {}}};
    knowledge.user = selection::UserChoice::parse(
        entry.collective + ":" + entry.algorithm + ",x=" + std::to_string(entry.parameter), one, Log());
  }
  const auto predictions = predict(entry.collective, shape, knowledge);
  if (!predictions) return false;
  for (const Prediction& each : predictions->candidates) {
    if (each.algorithm != entry.algorithm) continue;
    requirements = each.requirements;
    return each.eligible;
  }
  return false;
}

/// Where the entry's algorithm is not eligible, in words; empty if nowhere.
std::string why_not_eligible(const TableEntry& entry) {
  if (entry.algorithm == selection::host_algorithm) return "";
  if (entry.spans_nodes()) {
    std::string requirements;
    const std::vector<int> node_of_rank{0, 0, 1, 1};
    const auto shape =
        shape_between_nodes(network::Nodes(node_of_rank), entry.collective, entry.bytes_to, entry.commutative);
    return is_eligible(entry, shape, requirements)
               ? ""
               : entry.algorithm + " cannot do it (it requires: " + requirements + ")";
  }
  const int step = std::max(1, (entry.ranks_to - entry.ranks_from) / rank_counts_max);
  for (int ranks = entry.ranks_from; ranks <= entry.ranks_to && ranks >= 2; ranks += step)
    for (const std::size_t bytes : classes_in(entry.bytes_from, entry.bytes_to)) {
      // All sizes of these are chosen for as one.
      if (is_irregular(entry.collective) && bytes != irregular_block_bytes) continue;
      std::string requirements;
      if (!is_eligible(entry, shape_of(entry, ranks, bytes), requirements))
        return entry.algorithm + " cannot do " + std::to_string(bytes) + " bytes on " + std::to_string(ranks) +
               " ranks (it requires: " + requirements + ")";
    }
  return "";
}

/// Entries that are for the same communicators but for their number of ranks.
auto kind_of(const TableEntry& entry) {
  return std::tuple(entry.collective, entry.levels, entry.ranks_per_core, entry.reach, entry.commutative);
}

struct Findings {
  ordered_json problems = ordered_json::array();
  ordered_json gaps = ordered_json::array();
};

/// entries: of one kind, by ranks and then sizes.
void compare_neighbours(const std::vector<const TableEntry*>& entries, Findings& findings) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const TableEntry& one = *entries[i];
    for (std::size_t j = i + 1; j < entries.size() && entries[j]->ranks_from <= one.ranks_to; ++j) {
      const TableEntry& other = *entries[j];
      if (other.bytes_from <= one.bytes_to && one.bytes_from <= other.bytes_to)
        findings.problems.push_back(words_of(other) + ": overlaps with " + words_of(one) + "; the first counts");
    }
    if (i + 1 == entries.size() || entries[i + 1]->ranks_from != one.ranks_from) continue;
    const TableEntry& next = *entries[i + 1];
    if (next.bytes_from > one.bytes_to + 1 && !classes_in(one.bytes_to + 1, next.bytes_from - 1).empty())
      findings.gaps.push_back(words_of(one) + ": nothing from there to " + std::to_string(next.bytes_from) +
                              " bytes; the model chooses");
  }
}

bool overlap(const TableEntry& a, const TableEntry& b) {
  return a.collective == b.collective && a.commutative == b.commutative && a.nodes_from <= b.nodes_to &&
         b.nodes_from <= a.nodes_to && a.places_from <= b.places_to && b.places_from <= a.places_to &&
         a.bytes_from <= b.bytes_to && b.bytes_from <= a.bytes_to;
}

/// entries: those between nodes.
void find_overlaps(const std::vector<const TableEntry*>& entries, Findings& findings) {
  for (std::size_t i = 0; i < entries.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (overlap(*entries[j], *entries[i])) {
        findings.problems.push_back(words_of(*entries[i]) + ": overlaps with " + words_of(*entries[j]) +
                                    "; the first counts");
        break;
      }
}

Findings examine(const selection::Table& table) {
  Findings findings;
  std::map<decltype(kind_of({})), std::vector<const TableEntry*>> kinds;
  std::vector<const TableEntry*> between_nodes;
  for (const TableEntry& entry : table.entries()) {
    if (const std::string why = why_not_eligible(entry); !why.empty())
      findings.problems.push_back(words_of(entry) + ": " + why);
    entry.spans_nodes() ? between_nodes.push_back(&entry) : kinds[kind_of(entry)].push_back(&entry);
  }
  for (auto& [kind, entries] : kinds) {
    std::stable_sort(entries.begin(), entries.end(), [](const TableEntry* a, const TableEntry* b) {
      return std::tie(a->ranks_from, a->bytes_from) < std::tie(b->ranks_from, b->bytes_from);
    });
    compare_neighbours(entries, findings);
  }
  find_overlaps(between_nodes, findings);
  return findings;
}

ordered_json describe(const std::string& text, const std::string& topology) {
  const auto known = known_algorithms();
  const selection::ParsedTable parsed = selection::parse_table(text, known, known_between_nodes());
  if (!parsed.table) return {{"error", parsed.error}};
  const selection::TableOrigin& origin = parsed.table->origin();
  std::string error;
  const auto machine = topology::Machine::load(topology, error);
  // The host MPI is known only in a job.
  const std::string why =
      machine ? selection::why_other_origin(origin, {selection::identity_of(*machine), "", ""}) : error;
  Findings findings = examine(*parsed.table);
  return {{"error", nullptr},
          {"machine",
           {{"processor", origin.machine.processor},
            {"cores", origin.machine.cores},
            {"topology", origin.machine.topology}}},
          {"host", {{"name", origin.host}, {"version", origin.host_version}}},
          {"entries", parsed.table->entries().size()},
          {"other_machine", why.empty() ? ordered_json(nullptr) : ordered_json(why)},
          {"left_out", parsed.left_out},
          {"problems", std::move(findings.problems)},
          {"gaps", std::move(findings.gaps)}};
}

}  // namespace

int main(int argc, char** argv) {
  std::string path, topology;
  CLI::App app("Prints what the library makes of a decision table, as JSON.", "tutti-table");
  app.add_option("table", path, "File of tutti tune")->required();
  app.add_option("--topology", topology, "hwloc description or XML file of a machine instead of this one");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& problem) {
    std::cerr << "tutti-table: " << problem.what() << '\n';
    return 2;
  }
  std::string text;
  try {
    text = text_of_file(path);
  } catch (const std::runtime_error& problem) {
    std::cerr << "tutti-table: " << problem.what() << '\n';
    return 2;
  }
  std::cout << describe(text, topology).dump(1, ' ', false, ordered_json::error_handler_t::replace) << std::endl;
  return std::cout ? 0 : 1;
}
