#include "selection/table.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/nearest.h"
#include "selection/file_text.h"

namespace tutti::selection {

namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 3> reach_names{"mapped", "kernel", "staged"};
/// More than any tuning writes; what a damaged file may ask for.
constexpr std::size_t entries_max = 1'000'000;
constexpr std::int64_t largest = std::int64_t{1} << 62;
constexpr std::string_view stem = "tutti-table-";

std::string in_quotes(const std::string& text) {
  return "\"" + text + "\"";
}

const json* member(const json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() ? &*found : nullptr;
}

/// The value, if it is a whole number from `least` to `most`.
std::optional<std::int64_t> whole(const json* value, std::int64_t least, std::int64_t most) {
  if (!value || !value->is_number_integer()) return std::nullopt;
  if (value->is_number_unsigned() && value->get<std::uint64_t>() > static_cast<std::uint64_t>(most))
    return std::nullopt;
  const auto number = value->get<std::int64_t>();
  return number < least || number > most ? std::nullopt : std::optional(number);
}

/// [from, to], both included.
template <class Number>
bool read_range(const json* value, std::int64_t least, std::int64_t most, Number& from, Number& to) {
  if (!value || !value->is_array() || value->size() != 2) return false;
  const auto low = whole(&(*value)[0], least, most), high = whole(&(*value)[1], least, most);
  if (!low || !high || *high < *low) return false;
  from = static_cast<Number>(*low);
  to = static_cast<Number>(*high);
  return true;
}

/// What of an entry for communicators that span nodes is not as it must be; empty if all is.
std::string read_nodes(const json& object, TableEntry& entry) {
  if (!read_range(member(object, "nodes"), 2, INT_MAX, entry.nodes_from, entry.nodes_to))
    return "\"nodes\" is not [from, to] with numbers from 2 on";
  if (!read_range(member(object, "ranks_per_node"), 1, INT_MAX, entry.places_from, entry.places_to))
    return "\"ranks_per_node\" is not [from, to] with numbers from 1 on";
  return "";
}

/// The same of one for ranks that share memory.
std::string read_ranks(const json& object, TableEntry& entry) {
  if (!read_range(member(object, "ranks"), 2, INT_MAX, entry.ranks_from, entry.ranks_to))
    return "\"ranks\" is not [from, to] with numbers from 2 on";
  const auto levels = whole(member(object, "levels"), 1, INT_MAX);
  if (!levels) return "\"levels\" is no number from 1 on";
  entry.levels = static_cast<int>(*levels);
  const json* per_core = member(object, "ranks_per_core");
  if (!per_core || !per_core->is_number() || !(per_core->get<double>() > 0) || !std::isfinite(per_core->get<double>()))
    return "\"ranks_per_core\" is no number above 0";
  entry.ranks_per_core = per_core->get<double>();
  const auto reach = std::find(reach_names.begin(), reach_names.end(), text_of(object, "reach"));
  if (reach == reach_names.end()) return "\"reach\" is not mapped, kernel or staged";
  entry.reach = static_cast<Reach>(reach - reach_names.begin());
  const json* parameter = member(object, "parameter");
  const auto value = parameter ? whole(parameter, 0, INT_MAX) : 0;
  if (!value) return "\"parameter\" is no number from 0 on";
  entry.parameter = static_cast<int>(*value);
  return "";
}

/// The same of either.
std::string read_entry(const json& object, bool spans_nodes, TableEntry& entry) {
  if (!object.is_object()) return "it is no object";
  entry.collective = text_of(object, "collective");
  if (entry.collective.empty()) return "\"collective\" is no name";
  if (std::string wrong = spans_nodes ? read_nodes(object, entry) : read_ranks(object, entry); !wrong.empty())
    return wrong;
  if (!read_range(member(object, "bytes"), 0, largest, entry.bytes_from, entry.bytes_to))
    return "\"bytes\" is not [from, to] with numbers from 0 on";
  const json* commutative = member(object, "commutative");
  if (commutative && !commutative->is_boolean()) return "\"commutative\" is not true or false";
  entry.commutative = !commutative || commutative->get<bool>();
  entry.algorithm = text_of(object, "algorithm");
  return entry.algorithm.empty() ? "\"algorithm\" is no name" : "";
}

/// Why an entry cannot be used, in words; empty if it can. Gives the algorithm its own name if it is under another.
std::string why_unusable(TableEntry& entry, std::span<const Known> known) {
  const auto of =
      std::find_if(known.begin(), known.end(), [&](const Known& k) { return k.collective == entry.collective; });
  if (of == known.end()) return "there is no collective " + in_quotes(entry.collective);
  if (!entry.spans_nodes() && entry.collective.starts_with("neighbor"))
    return "the ranks of " + entry.collective + " do not know each other's sizes, so they cannot choose by a table";
  if (entry.algorithm == host_algorithm) return "";
  if (of->algorithms.empty()) return entry.collective + " has no algorithm between nodes";
  if (const auto alias = std::find(of->aliases.begin(), of->aliases.end(), entry.algorithm); alias != of->aliases.end())
    entry.algorithm = of->algorithms[static_cast<std::size_t>(alias - of->aliases.begin())];
  const auto name = std::find(of->algorithms.begin(), of->algorithms.end(), entry.algorithm);
  if (name == of->algorithms.end())
    return entry.collective + " has no algorithm " + in_quotes(entry.algorithm) +
           (entry.spans_nodes() ? " between nodes" : "") + " (the nearest is " +
           in_quotes(nearest(entry.algorithm, of->algorithms)) + ")";
  const auto i = static_cast<std::size_t>(name - of->algorithms.begin());
  const std::string takes = i < of->parameters.size() ? of->parameters[i] : "";
  if (takes.empty() && entry.parameter != 0) return entry.algorithm + " of " + entry.collective + " has no parameter";
  if (!takes.empty() && entry.parameter == 0)
    return entry.algorithm + " of " + entry.collective + " needs a \"parameter\", its " + takes;
  return "";
}

/// All entries of a list, in words which ones are left out; what is wrong with the first that is none.
std::string read_entries(const json& list, bool spans_nodes, std::span<const Known> known,
                         std::vector<TableEntry>& entries, std::vector<std::string>& left_out) {
  std::size_t number = 0;
  for (const json& object : list) {
    TableEntry entry;
    const std::string which = (spans_nodes ? "entry between nodes " : "entry ") + std::to_string(++number) + ": ";
    if (const std::string wrong = read_entry(object, spans_nodes, entry); !wrong.empty()) return which + wrong;
    if (const std::string why = why_unusable(entry, known); !why.empty())
      left_out.push_back(which + why);
    else
      entries.push_back(std::move(entry));
  }
  return "";
}

/// "tutti-table-2" is 2; 0 if it is none of ours.
int table_version(const std::string& schema) {
  return schema.compare(0, stem.size(), stem) == 0 ? std::atoi(schema.c_str() + stem.size()) : 0;
}

/// Empty, or what is wrong with the document as a whole.
std::string read_head(const json& document, TableOrigin& origin) {
  if (document.is_discarded()) return "it is no JSON, or cut off";
  const std::string schema = text_of(document, "schema");
  const int version = table_version(schema);
  if (version < 1)
    return "it is no table of tutti tune (\"schema\" is not " + in_quotes(std::string(table_schema)) + ")";
  if (version > 1)
    return "its schema " + in_quotes(schema) + " is newer than " + in_quotes(std::string(table_schema)) +
           ", which this version reads";
  const json* machine = member(document, "machine");
  const json* host = member(document, "host");
  origin.machine.processor = machine ? text_of(*machine, "processor") : "";
  origin.machine.topology = machine ? text_of(*machine, "topology") : "";
  origin.machine.cores = static_cast<int>(machine ? whole(member(*machine, "cores"), 1, 1 << 20).value_or(0) : 0);
  if (origin.machine.cores == 0 || origin.machine.topology.empty())
    return "it does not say on what machine it was measured (\"machine\": processor, topology, cores)";
  origin.host = host ? text_of(*host, "name") : "";
  origin.host_version = host ? text_of(*host, "version") : "";
  origin.date = text_of(document, "date");
  if (origin.host.empty()) return "it does not say with what MPI it was measured (\"host\": name, version)";
  const json* entries = member(document, "entries");
  if (!entries || !entries->is_array()) return "it has no \"entries\"";
  const json* between = member(document, "between_nodes");
  if (between && !between->is_array()) return "its \"between_nodes\" is no list";
  if (entries->size() + (between ? between->size() : 0) > entries_max) return "it has more than a million entries";
  return "";
}

bool same(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() || a == b;
}

}  // namespace

bool TableEntry::fits(const Shape& shape) const {
  if (shape.spans_nodes() != spans_nodes() || shape.commutative != commutative) return false;
  // Sizes 0 and 1 are one class. Between nodes it is that of 0.
  const std::size_t bytes = spans_nodes() && shape.bytes <= 1 ? 0 : shape.bytes;
  if (bytes < bytes_from || bytes > bytes_to) return false;
  if (spans_nodes())
    return shape.nodes >= nodes_from && shape.nodes <= nodes_to && shape.places >= places_from &&
           shape.places <= places_to;
  return shape.ranks >= ranks_from && shape.ranks <= ranks_to && shape.levels == levels && shape.reach == reach &&
         std::abs(shape.ranks_per_core - ranks_per_core) < 0.01;
}

const TableEntry* Table::find(std::string_view collective, const Shape& shape) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const TableEntry& entry) {
    return entry.collective == collective && entry.fits(shape);
  });
  return found == entries_.end() ? nullptr : &*found;
}

ParsedTable parse_table(std::string_view text, std::span<const Known> known,
                        std::span<const Known> known_between_nodes) {
  ParsedTable out;
  const json document = json::parse(text.begin(), text.end(), nullptr, false);
  TableOrigin origin;
  out.error = read_head(document, origin);
  if (!out.error.empty()) return out;
  std::vector<TableEntry> entries;
  out.error = read_entries(*member(document, "entries"), false, known, entries, out.left_out);
  const json* between = member(document, "between_nodes");
  if (out.error.empty() && between)
    out.error = read_entries(*between, true, known_between_nodes, entries, out.left_out);
  if (out.error.empty()) out.table.emplace(std::move(origin), std::move(entries));
  return out;
}

std::string why_other_origin(const TableOrigin& measured, const TableOrigin& here) {
  if (std::string why = why_other_machine(measured.machine, here.machine); !why.empty()) return why;
  if (!same(measured.host, here.host) || !same(measured.host_version, here.host_version))
    return "it was measured with " + measured.host + " " + measured.host_version + ", this is " + here.host + " " +
           here.host_version;
  return "";
}

std::string_view name_of(Reach reach) {
  return reach_names[static_cast<std::size_t>(reach)];
}

}  // namespace tutti::selection
