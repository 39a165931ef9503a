// tutti-predict: prints, as JSON, what an algorithm of a collective is chosen from for one shape: every candidate with
// what the model says of it, the choice and its reason. It runs the library's own code, without any MPI. Exit status:
// 0, or 2 with one line on standard error.
//
// With --model-only it prints the model's parameters instead: those of the file, or the shipped ones.
#include <CLI/CLI.hpp>
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "base/nearest.h"
#include "base/settings.h"
#include "collectives/call_shape.h"
#include "collectives/collectives.h"
#include "collectives/kinds.h"
#include "collectives/prediction.h"
#include "input_file.h"
#include "selection/machine.h"
#include "selection/table.h"
#include "selection/words.h"
#include "topology/distance.h"
#include "topology/machine.h"
#include "topology/mapping.h"
#include "topology/tree.h"

namespace {

using namespace tutti;
using nlohmann::ordered_json;

/// What is wrong with the options, for the user.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Options {
  std::string collective = "bcast";
  std::string bytes = "64K";
  int ranks = 2;
  int levels = 1;
  double ranks_per_core = 0;  ///< 0: by --map, or 1
  std::string reach = "mapped";
  std::string mechanisms;
  std::string mapping;
  std::string hierarchy = "auto";
  bool cma = false;
  bool irregular = false;
  bool ordered = false;
  std::string eager_max, slot_bytes;
  int flat_max = 0;
  std::string probe;
  std::string table;
  std::string host;
  std::string algorithm;
  std::string topology;
  bool overview = false;
  bool model_only = false;
};

/// The parameters and where they are from.
struct KnownModel {
  selection::Model model;
  ordered_json source;
};

ordered_json json_of(const selection::Model& model) {
  ordered_json out = ordered_json::object();
  for (const selection::ModelField& field : selection::model_fields()) out[field.name] = model.*field.member;
  return out;
}

KnownModel model_of(const Options& options) {
  if (options.probe.empty()) return {{}, {{"path", nullptr}, {"words", "shipped values"}}};
  std::string error;
  const auto probe = selection::parse_probe(text_of_file(options.probe), error);
  if (!probe) throw UsageError(options.probe + ": " + error);
  const auto machine = topology::Machine::load(options.topology, error);
  if (!machine) throw UsageError(error);
  const std::string why = selection::why_other_machine(probe->machine, selection::identity_of(*machine));
  // Who asks what the library would do is told that; others may predict for whatever was measured.
  const bool refused = !why.empty() && !options.mechanisms.empty();
  return {refused ? selection::Model() : probe->model,
          {{"path", options.probe},
           {"words", refused ? "shipped values" : "measured " + probe->date},
           {"date", probe->date},
           {"kernel", probe->kernel},
           {"processor", probe->machine.processor},
           {"cores", probe->machine.cores},
           {"topology", probe->machine.topology},
           {"fits", why.empty()},
           {"why_not", why.empty() ? ordered_json(nullptr) : ordered_json(why)}}};
}

/// The table, if it is for the machine and the host MPI that are asked about, and where it is from. Without --host any
/// fits.
struct KnownTable {
  std::shared_ptr<const selection::Table> table;
  ordered_json source;
};

KnownTable table_of(const Options& options) {
  if (options.table.empty()) return {nullptr, nullptr};
  const auto known = known_algorithms();
  selection::ParsedTable parsed = selection::parse_table(text_of_file(options.table), known);
  if (!parsed.table) throw UsageError(options.table + ": " + parsed.error);
  std::string error;
  const auto machine = topology::Machine::load(options.topology, error);
  if (!machine) throw UsageError(error);
  const selection::TableOrigin& origin = parsed.table->origin();
  const std::string why = selection::why_other_origin(origin, {selection::identity_of(*machine), options.host, ""});
  const ordered_json source{
      {"path", options.table},
      {"words", "measured with " + origin.host + " " + origin.host_version + " on " + origin.machine.processor},
      {"fits", why.empty()},
      {"why_not", why.empty() ? ordered_json(nullptr) : ordered_json(why)},
      {"left_out", parsed.left_out}};
  if (!why.empty()) return {nullptr, source};
  return {std::make_shared<const selection::Table>(std::move(*parsed.table)), source};
}

ordered_json json_of(const topology::DistanceShares& shares) {
  ordered_json out = ordered_json::object();
  for (const topology::Distance distance : topology::all_distances)
    out[std::string(topology::name_of(distance))] = shares[topology::index_of(distance)];
  return out;
}

ordered_json json_of(const topology::Distances& distances) {
  return {{"widest", topology::name_of(distances.widest())},
          {"pairs", json_of(distances.pairs)},
          {"levels", json_of(distances.levels)}};
}

/// What the table has for a shape; null if nothing.
ordered_json json_of(const selection::TableEntry* entry) {
  if (!entry) return nullptr;
  return {{"name", entry->algorithm},
          {"parameter", entry->parameter ? ordered_json(entry->parameter) : ordered_json(nullptr)},
          {"bytes_from", entry->bytes_from},
          {"bytes_to", entry->bytes_to}};
}

std::size_t size_of(const std::string& text, const char* option) {
  std::size_t bytes = 0;
  if (!parse_bytes(text, bytes)) throw UsageError(std::string(option) + " " + text + ": expected a size such as 64K");
  return bytes;
}

/// Of a communicator of all ranks: as described, or as --map places them on the machine.
Surroundings surroundings_of(const Options& options) {
  Settings settings;
  if (!options.eager_max.empty()) settings.eager_max = size_of(options.eager_max, "--eager-max");
  if (options.flat_max > 0) settings.flat_max = static_cast<std::size_t>(options.flat_max);
  int ranks = options.ranks, levels = options.levels;
  double ranks_per_core = options.ranks_per_core;
  topology::Distances distances;
  if (!options.mapping.empty()) {
    std::string error;
    const auto spec = topology::parse_levels(options.hierarchy, error);
    if (!spec) throw UsageError(error);
    const auto mapping = topology::parse_mapping(options.mapping, error);
    if (!mapping) throw UsageError(error);
    const auto machine = topology::Machine::load(options.topology, error);
    if (!machine) throw UsageError(error);
    if (ranks == 0) ranks = machine->core_count();
    const auto placement = topology::place_by_affinity(*machine, topology::map_ranks(*machine, ranks, *mapping));
    const auto hierarchy = topology::build(placement, topology::choose_levels(*spec, placement), 0);
    levels = static_cast<int>(hierarchy.levels.size());
    distances = topology::distances(placement, hierarchy);
    if (ranks_per_core == 0) ranks_per_core = ranks_per_core_of(placement, ranks, placement.oversubscribed());
  }
  if (ranks < 1) throw UsageError("--ranks 0: expected a number of ranks, or --map as well");
  Surroundings surroundings =
      tutti::surroundings_of(settings, ranks, levels, ranks_per_core > 0 ? ranks_per_core : 1.0, distances);
  if (!options.slot_bytes.empty()) surroundings.common.slot_bytes = size_of(options.slot_bytes, "--slot-bytes");
  std::string list = options.mechanisms;
  while (!list.empty()) {
    const auto comma = list.find(',');
    const std::string name = list.substr(0, comma);
    list = comma == std::string::npos ? "" : list.substr(comma + 1);
    if (name == "window")
      surroundings.window = true;
    else if (name == "xpmem")
      surroundings.xpmem = true;
    else if (name == "cma")
      surroundings.cma = true;
    else if (name != "staged")
      throw UsageError("--mechanisms " + name + ": expected window, xpmem, cma, staged with commas between");
  }
  return surroundings;
}

selection::Shape shape_of(const Options& options, const Surroundings& surroundings, std::string_view collective,
                          std::size_t bytes) {
  if (!options.mechanisms.empty()) {
    const bool regular = !is_irregular(collective) && !options.irregular;
    return call_shape(surroundings, regular ? bytes : irregular_block_bytes, regular, !options.ordered);
  }
  selection::Shape shape = surroundings.common;
  shape.bytes = bytes;
  shape.regular = !options.irregular;
  shape.commutative = !options.ordered;
  shape.reach = options.reach == "mapped"   ? selection::Reach::mapped
                : options.reach == "kernel" ? selection::Reach::kernel
                                            : selection::Reach::staged;
  shape.kernel_beyond_slot = options.cma;
  return shape;
}

ordered_json json_of(const Predictions& predictions) {
  const bool by_host = predictions.algorithm == selection::host_algorithm;
  return {{"name", predictions.algorithm},
          {"parameter", predictions.parameter ? ordered_json(predictions.parameter) : ordered_json(nullptr)},
          {"seconds", predictions.seconds},
          {"reason", selection::name_of(predictions.reason)},
          {"words", selection::words_of(predictions.reason, by_host)}};
}

/// The choice of every collective in every size class.
ordered_json overview(const Options& options, const Surroundings& surroundings, const selection::Knowledge& knowledge) {
  const std::size_t most = size_of(options.bytes, "--bytes");
  ordered_json rows = ordered_json::array();
  for (const auto& entry : known_algorithms()) {
    const bool sized = entry.collective != "barrier" && !is_irregular(entry.collective);
    std::size_t bytes = sized ? 1 : 0;
    do {
      const auto shape = shape_of(options, surroundings, entry.collective, bytes);
      ordered_json row{{"collective", entry.collective},
                       {"bytes_to", sized ? ordered_json(bytes) : ordered_json(nullptr)},
                       {"reach", selection::name_of(shape.reach)}};
      row.update(json_of(*predict(entry.collective, shape, knowledge)));
      rows.push_back(row);
      bytes *= 2;
    } while (sized && bytes <= most);
  }
  return rows;
}

ordered_json describe(const Options& options) {
  const KnownModel known = model_of(options);
  if (options.model_only) return {{"model", json_of(known.model)}, {"source", known.source}};
  selection::Knowledge knowledge;
  knowledge.model = known.model;
  const KnownTable table = table_of(options);
  knowledge.table = table.table;
  const auto names = known_algorithms();
  knowledge.user = selection::UserChoice::parse(options.algorithm, names, Log());
  const Surroundings surroundings = surroundings_of(options);
  if (options.overview)
    return {{"shape",
             {{"ranks", surroundings.common.ranks},
              {"levels", surroundings.common.levels},
              {"ranks_per_core", surroundings.common.ranks_per_core},
              {"distances", json_of(surroundings.common.distances)}}},
            {"model_source", known.source},
            {"table", table.source},
            {"choices", overview(options, surroundings, knowledge)}};
  const selection::Shape shape = shape_of(options, surroundings, options.collective, size_of(options.bytes, "--bytes"));
  const auto predictions = predict(options.collective, shape, knowledge);
  if (!predictions) {
    std::vector<std::string> collectives;
    collectives.reserve(names.size());
    for (const auto& entry : names) collectives.emplace_back(entry.collective);
    throw UsageError("--collective " + options.collective + ": there is none; the nearest is " +
                     nearest(options.collective, collectives));
  }
  ordered_json candidates = ordered_json::array();
  for (const Prediction& each : predictions->candidates) {
    const bool has_parameter = !each.parameter_name.empty();
    candidates.push_back({{"name", each.algorithm},
                          {"parameter", has_parameter ? ordered_json(each.parameter) : ordered_json(nullptr)},
                          {"parameter_name", has_parameter ? ordered_json(each.parameter_name) : ordered_json(nullptr)},
                          {"eligible", each.eligible},
                          {"allowed", each.allowed},
                          {"seconds", each.eligible ? ordered_json(each.seconds) : ordered_json(nullptr)},
                          {"requirements", each.requirements}});
  }
  return {{"collective", options.collective},
          {"shape",
           {{"bytes", shape.bytes},
            {"ranks", shape.ranks},
            {"levels", shape.levels},
            {"ranks_per_core", shape.ranks_per_core},
            {"distances", json_of(shape.distances)},
            {"regular", shape.regular},
            {"commutative", shape.commutative},
            {"reach", selection::name_of(shape.reach)},
            {"eager_max", shape.eager_max},
            {"slot_bytes", shape.slot_bytes},
            {"flat_max", shape.flat_max}}},
          {"model_source", known.source},
          {"table", table.source},
          {"table_entry", json_of(table.table ? table.table->find(options.collective, shape) : nullptr)},
          {"candidates", candidates},
          {"choice", json_of(*predictions)}};
}

void add_options(CLI::App& app, Options& options) {
  app.add_option("--collective", options.collective, "As in TUTTI_ALGORITHM")->capture_default_str();
  app.add_option("--bytes", options.bytes, "Of the message, or of one block")->capture_default_str();
  app.add_option("--ranks", options.ranks, "Of the communicator")->check(CLI::Range(0, 1 << 20))->capture_default_str();
  app.add_option("--levels", options.levels, "Depth of the hierarchy")->check(CLI::Range(1, 16))->capture_default_str();
  app.add_option("--ranks-per-core", options.ranks_per_core, "More than 1: ranks take turns; default: by --map, or 1")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--reach", options.reach, "How buffers are reached")
      ->check(CLI::IsMember({"mapped", "kernel", "staged"}))
      ->capture_default_str();
  app.add_option("--mechanisms", options.mechanisms,
                 "window, xpmem, cma, staged, with commas: shape and reach are then made as the library makes them, "
                 "sizes counted in classes");
  app.add_option(
      "--map", options.mapping,
      "core, numa, socket or unbound: ranks are placed so on the machine, which gives the levels; --ranks 0: "
      "one a core");
  app.add_option("--hierarchy", options.hierarchy, "As TUTTI_HIERARCHY; with --map")->capture_default_str();
  app.add_flag("--cma", options.cma, "Where staged: what does not fit a slot is copied by the kernel");
  app.add_flag("--irregular", options.irregular, "Sizes differ between ranks");
  app.add_flag("--ordered", options.ordered, "The operator does not commute");
  app.add_option("--eager-max", options.eager_max, "TUTTI_EAGER_MAX");
  app.add_option("--slot-bytes", options.slot_bytes, "Data area of an operation; by default as the library makes it");
  app.add_option("--flat-max", options.flat_max, "TUTTI_FLAT_MAX");
  app.add_option("--probe", options.probe, "File of tutti probe; without it the shipped parameters");
  app.add_option("--table", options.table, "File of tutti tune to choose by, if it fits");
  app.add_option("--host", options.host, "Host MPI that the table should fit: MPICH, Open MPI, Intel MPI");
  app.add_option("--topology", options.topology, "hwloc description or XML file that probe and table should fit");
  app.add_option("--algorithm", options.algorithm, "As TUTTI_ALGORITHM");
  app.add_flag("--overview", options.overview, "The choice of every collective in every size class up to --bytes");
  app.add_flag("--model-only", options.model_only, "Print the model's parameters and where they are from");
}

int fail(const std::string& message) {
  std::cerr << "tutti-predict: " << message << '\n';
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Prints what an algorithm is chosen from, as JSON.", "tutti-predict");
  add_options(app, options);
  try {
    app.parse(argc, argv);
    std::cout << describe(options).dump(1, ' ', false, ordered_json::error_handler_t::replace) << std::endl;
    return std::cout ? 0 : 1;
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& problem) {
    return fail(problem.what());
  } catch (const std::runtime_error& problem) {
    return fail(problem.what());
  }
}
