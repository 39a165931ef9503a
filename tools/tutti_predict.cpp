// tutti-predict: prints, as JSON, what an algorithm of a collective is chosen from for one shape: every candidate with
// what the model says of it, the choice and its reason. It runs the library's own code, without any MPI. Exit status:
// 0, or 2 with one line on standard error.
//
// With --here it answers what a run here and now would do: with the settings of the environment, and the files of the
// user and the site. With --model-only it prints the model's parameters instead: those of the file, or the shipped ones.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/settings.h"
#include "collectives/call_shape.h"
#include "collectives/collectives.h"
#include "collectives/kinds.h"
#include "collectives/prediction.h"
#include "mpi/start/mechanisms.h"
#include "predict_nodes.h"
#include "predict_sources.h"
#include "selection/machine.h"
#include "selection/table.h"
#include "selection/words.h"
#include "topology/distance.h"
#include "topology/machine.h"
#include "topology/mapping.h"
#include "topology/tree.h"

namespace {

using namespace tutti;
using namespace tutti::prediction;
using nlohmann::ordered_json;

ordered_json json_of(const selection::Model& model) {
  ordered_json out = ordered_json::object();
  for (const selection::ModelField& field : selection::model_fields()) out[field.name] = model.*field.member;
  return out;
}

ordered_json json_of(const selection::MachineIdentity& machine) {
  return {{"processor", machine.processor}, {"cores", machine.cores}, {"topology", machine.topology}};
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

/// The environment's settings that choices are made from and no option overrides, as `name` and `value`.
class TakenSettings {
 public:
  explicit TakenSettings(const Settings& settings) : settings_(settings) {}

  template <class Value>
  void add(const char* variable, Value Settings::*member, bool overridden = false) {
    const char* const text = std::getenv(variable);
    if (!overridden && text && settings_.*member != Settings().*member)
      list_.push_back({{"name", variable}, {"value", text}});
  }
  const ordered_json& list() const { return list_; }

 private:
  const Settings& settings_;
  ordered_json list_ = ordered_json::array();
};

/// Those of --usable that the settings allow.
std::string allowed_of(const std::string& usable, const Settings& settings) {
  const unsigned allowed = mpi::asked_mechanisms(settings.mechanism, Log()).allowed();
  std::string list;
  for (const std::string& name : mpi::names_of_mechanisms(allowed)) {
    if (name == "window" && settings.window_size == 1) continue;
    if (("," + usable + ",").find("," + name + ",") == std::string::npos) continue;
    list.append(list.empty() ? "" : ",").append(name);
  }
  return list.empty() ? "staged" : list;
}

/// What cannot be used is a warning, as in a run, and the default holds.
void check_machine_settings(Settings& settings) {
  const Log log;
  std::string error;
  if (!topology::Machine::load(settings.topology, error)) {
    log.warn("TUTTI_TOPOLOGY=%s: %s; this machine is used", settings.topology.c_str(), error.c_str());
    settings.topology.clear();
  }
  if (!topology::parse_levels(settings.hierarchy, error)) {
    log.warn("TUTTI_HIERARCHY: %s; auto is used", error.c_str());
    settings.hierarchy = Settings().hierarchy;
  }
}

/// What holds where the options say nothing: with --here the environment's settings, else the defaults. Fills in the
/// options that are settings as well. taken: those of the environment that took part.
Settings settings_for(Options& options, ordered_json& taken) {
  Settings settings = options.here ? Settings::from_environment(environ, Log()) : Settings();
  if (options.here) check_machine_settings(settings);
  TakenSettings list(settings);
  list.add("TUTTI_ALGORITHM", &Settings::algorithm, !options.algorithm.empty());
  list.add("TUTTI_PROBE", &Settings::probe, !options.probe.empty());
  list.add("TUTTI_TABLE", &Settings::decision_table, !options.table.empty());
  list.add("TUTTI_SITE", &Settings::site, !options.probe.empty() && !options.table.empty());
  list.add("TUTTI_MECHANISM", &Settings::mechanism, !options.mechanisms.empty());
  list.add("TUTTI_WINDOW_SIZE", &Settings::window_size, !options.mechanisms.empty());
  list.add("TUTTI_WINDOW_MIN", &Settings::window_min);
  list.add("TUTTI_HIERARCHY", &Settings::hierarchy, !options.hierarchy.empty());
  list.add("TUTTI_TOPOLOGY", &Settings::topology, !options.topology.empty());
  list.add("TUTTI_EAGER_MAX", &Settings::eager_max, !options.eager_max.empty());
  list.add("TUTTI_FLAT_MAX", &Settings::flat_max, options.flat_max > 0);
  taken = list.list();
  if (options.algorithm.empty()) options.algorithm = settings.algorithm;
  if (options.hierarchy.empty()) options.hierarchy = settings.hierarchy;
  if (options.topology.empty()) options.topology = settings.topology;
  if (options.mechanisms.empty() && !options.usable.empty()) options.mechanisms = allowed_of(options.usable, settings);
  if (!options.eager_max.empty()) settings.eager_max = size_of(options.eager_max, "--eager-max");
  if (options.flat_max > 0) settings.flat_max = static_cast<std::size_t>(options.flat_max);
  return settings;
}

/// Of a communicator of all ranks: as described, or as --map places them on the machine.
Surroundings surroundings_of(const Options& options, const Settings& settings) {
  int ranks = options.ranks, levels = options.levels;
  double ranks_per_core = options.ranks_per_core;
  topology::Distances distances;
  if (!options.mapping.empty()) {
    std::string error;
    const auto spec = topology::parse_levels(options.hierarchy, error);
    if (!spec) throw UsageError(error);
    const auto mapping = topology::parse_mapping(options.mapping, error);
    if (!mapping) throw UsageError(error);
    const topology::Machine machine = machine_of(options);
    if (ranks == 0) ranks = machine.core_count();
    const auto placement = topology::place_by_affinity(machine, topology::map_ranks(machine, ranks, *mapping));
    const topology::Levels chosen = topology::choose_levels(*spec, placement);
    levels = static_cast<int>(topology::build(placement, chosen, 0).levels.size());
    distances = topology::distances(placement, chosen);
    if (ranks_per_core == 0) ranks_per_core = ranks_per_core_of(placement, ranks, placement.oversubscribed());
  }
  if (ranks < 1) throw UsageError("--ranks 0: expected a number of ranks, or --map as well");
  Surroundings surroundings =
      tutti::surroundings_of(settings, ranks, levels, ranks_per_core > 0 ? ranks_per_core : 1.0, distances);
  if (!options.slot_bytes.empty()) surroundings.common.slot_bytes = size_of(options.slot_bytes, "--slot-bytes");
  bool staged = options.mechanisms.empty();
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
    else if (name == "staged")
      staged = true;
    else
      throw UsageError("--mechanisms " + name + ": expected window, xpmem, cma, staged with commas between");
  }
  if (!staged) surroundings.common.moved_max = 0;
  return surroundings;
}

selection::Shape shape_of(const Options& options, const Surroundings& surroundings, std::string_view collective,
                          std::size_t bytes) {
  const bool regular = !is_irregular(collective) && !options.irregular;
  if (!options.mechanisms.empty())
    return call_shape(surroundings, regular ? bytes : irregular_block_bytes, regular, !options.ordered);
  selection::Shape shape = surroundings.common;
  shape.bytes = bytes;
  shape.regular = regular;
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
          {"seconds", predictions.seconds ? ordered_json(*predictions.seconds) : ordered_json(nullptr)},
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

ordered_json json_of(const Prediction& each) {
  const bool has_parameter = !each.parameter_name.empty();
  return {
      {"name", each.algorithm},
      {"parameter", has_parameter ? ordered_json(each.parameter) : ordered_json(nullptr)},
      {"parameter_name", has_parameter ? ordered_json(each.parameter_name) : ordered_json(nullptr)},
      {"eligible", each.eligible},
      {"allowed", each.allowed},
      {"seconds", each.seconds ? ordered_json(*each.seconds) : ordered_json(nullptr)},
      {"moving", each.moving.empty() ? ordered_json(nullptr) : ordered_json(each.moving)},
      {"why_unpredicted", each.why_unpredicted.empty() ? ordered_json(nullptr) : ordered_json(each.why_unpredicted)},
      {"requirements", each.requirements}};
}

/// What the choice takes by the model where buffers are not in the window, as it is made for those that are: by the
/// kernel, or by a copy that their owner lends. Copies are lent where they fit two segments. Null where that is no question.
ordered_json outside_the_window(const Options& options, const Surroundings& surroundings, selection::Shape shape,
                                const Predictions& chosen, const selection::Knowledge& knowledge) {
  const bool asked = surroundings.window && surroundings.cma && !surroundings.xpmem;
  if (!asked || shape.reach != selection::Reach::mapped || shape.bytes <= shape.eager_max) return nullptr;
  ordered_json ways = ordered_json::object();
  for (const selection::Reach reach : {selection::Reach::kernel, selection::Reach::staged}) {
    shape.reach = reach;
    ordered_json& seconds = ways[selection::name_of(reach)] = nullptr;
    const Predictions predictions = *predict(options.collective, shape, knowledge);
    for (const Prediction& each : predictions.candidates)
      if (each.algorithm == chosen.algorithm && each.parameter == chosen.parameter && each.seconds)
        seconds = *each.seconds;
  }
  return ways;
}

ordered_json describe(Options options) {
  ordered_json taken;
  const Settings settings = settings_for(options, taken);
  const KnownModel known = model_of(options, settings);
  selection::Knowledge knowledge;
  knowledge.model = known.model;
  knowledge.network = selection::parameters_of(known.model, known.network);
  if (options.model_only)
    return {{"model", json_of(known.model)},
            {"source", known.source},
            {"machine", json_of(selection::identity_of(machine_of(options)))},
            {"network", prediction::json_of(knowledge.network)},
            {"network_source", known.network_source()}};
  const KnownTable table = table_of(options, settings);
  knowledge.table = table.table;
  set_user_choice(knowledge, selection::UserChoice::parse(options.algorithm, all_known_algorithms(), Log()));
  const ordered_json sources{{"enabled", settings.enable},
                             {"environment", taken},
                             {"model_source", known.source},
                             {"table", table.source},
                             {"tables_passed_over", table.passed_over}};
  if (!options.nodes.empty()) {
    const network::Nodes nodes = parse_nodes(options.nodes);
    const std::size_t bytes = size_of(options.bytes, "--bytes");
    ordered_json told = options.overview ? overview_between_nodes(options, nodes, bytes, knowledge)
                                         : candidates_between_nodes(options, nodes, bytes, knowledge);
    told.update(sources);
    told["internode"] = selection::spans_nodes(settings.internode, known.network);
    told["network_source"] = known.network_source();
    return told;
  }
  const Surroundings surroundings = surroundings_of(options, settings);
  if (options.overview) {
    ordered_json told{{"shape",
                       {{"ranks", surroundings.common.ranks},
                        {"levels", surroundings.common.levels},
                        {"ranks_per_core", surroundings.common.ranks_per_core},
                        {"distances", json_of(surroundings.common.distances)}}}};
    told.update(sources);
    told["choices"] = overview(options, surroundings, knowledge);
    return told;
  }
  const selection::Shape shape = shape_of(options, surroundings, options.collective, size_of(options.bytes, "--bytes"));
  auto predictions = predict(options.collective, shape, knowledge);
  if (!predictions) throw no_such_collective(options.collective);
  ordered_json candidates = ordered_json::array();
  for (const Prediction& each : predictions->candidates) candidates.push_back(json_of(each));
  ordered_json told{{"collective", options.collective},
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
                      {"flat_max", shape.flat_max},
                      {"window_min", surroundings.window_min}}}};
  told.update(sources);
  told["table_entry"] = json_of(table.table ? table.table->find(options.collective, shape) : nullptr);
  told["candidates"] = candidates;
  told["choice"] = json_of(*predictions);
  told["outside_the_window"] = outside_the_window(options, surroundings, shape, *predictions, knowledge);
  return told;
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
  app.add_option("--usable", options.usable,
                 "As --mechanisms, but TUTTI_MECHANISM and TUTTI_WINDOW_SIZE leave some of them out; with --here");
  app.add_option(
      "--map", options.mapping,
      "core, numa, socket or unbound: ranks are placed so on the machine, which gives the levels; --ranks 0: "
      "one a core");
  app.add_option("--hierarchy", options.hierarchy, "As TUTTI_HIERARCHY; with --map");
  app.add_flag("--cma", options.cma, "Where staged: what does not fit a slot is copied by the kernel");
  app.add_flag("--irregular", options.irregular, "Sizes differ between ranks");
  app.add_flag("--ordered", options.ordered, "The operator does not commute");
  app.add_option("--eager-max", options.eager_max, "TUTTI_EAGER_MAX");
  app.add_option("--slot-bytes", options.slot_bytes, "Data area of an operation; by default as the library makes it");
  app.add_option("--flat-max", options.flat_max, "TUTTI_FLAT_MAX");
  app.add_option("--probe", options.probe,
                 "File of tutti probe; off, and without --here nothing: the shipped parameters");
  app.add_option("--table", options.table,
                 "File of tutti tune to choose by, if it fits; off, and without --here nothing: none");
  app.add_option("--host", options.host, "Host MPI that the table should fit: MPICH, Open MPI, Intel MPI");
  app.add_option("--topology", options.topology, "hwloc description or XML file that probe and table should fit");
  app.add_option("--algorithm", options.algorithm, "As TUTTI_ALGORITHM");
  app.add_option("--nodes", options.nodes,
                 "Of a communicator that spans nodes: 128x18 for 128 nodes of 18 ranks, or the ranks of each, 2,3,1");
  app.add_flag("--overview", options.overview, "The choice of every collective in every size class up to --bytes");
  app.add_flag("--here", options.here,
               "As a run started here: settings of the environment and files of the user and the site, where no option "
               "says otherwise");
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
