// tutti-predict: prints, as JSON, what an algorithm of a collective is chosen from for one shape: every candidate with what
// the model says of it, the choice and its reason. It runs the library's own code, without any MPI. Exit status: 0, or 2
// with one line on standard error.
//
// With --model-only it prints the model's parameters instead: those of the file, or the shipped ones.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "base/nearest.h"
#include "base/settings.h"
#include "collectives/collectives.h"
#include "collectives/prediction.h"
#include "selection/machine.h"
#include "topology/machine.h"

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
  double ranks_per_core = 1;
  std::string reach = "mapped";
  bool cma = false;
  bool irregular = false;
  bool ordered = false;
  std::string eager_max, slot_bytes;
  int flat_max = 0;
  std::string probe;
  std::string algorithm;
  std::string topology;
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
  std::ifstream file(options.probe, std::ios::binary);
  if (!file) throw UsageError(options.probe + " cannot be read: " + std::strerror(errno));
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  std::string error;
  const auto probe = selection::parse_probe(text, error);
  if (!probe) throw UsageError(options.probe + ": " + error);
  const auto machine = topology::Machine::load(options.topology, error);
  if (!machine) throw UsageError(error);
  const std::string why = selection::why_other_machine(probe->machine, selection::identity_of(*machine));
  return {probe->model,
          {{"path", options.probe},
           {"words", "measured " + probe->date},
           {"date", probe->date},
           {"kernel", probe->kernel},
           {"processor", probe->machine.processor},
           {"cores", probe->machine.cores},
           {"topology", probe->machine.topology},
           {"fits", why.empty()},
           {"why_not", why.empty() ? ordered_json(nullptr) : ordered_json(why)}}};
}

std::size_t size_of(const std::string& text, const char* option) {
  std::size_t bytes = 0;
  if (!parse_bytes(text, bytes)) throw UsageError(std::string(option) + " " + text + ": expected a size such as 64K");
  return bytes;
}

/// What the library makes of the settings for one data area.
std::size_t slot_bytes_of(std::size_t eager_max, int ranks) {
  Settings settings;
  settings.eager_max = eager_max;
  return (shared_bytes(settings, ranks) - sizeof(Shared)) / data_areas;
}

selection::Shape shape_of(const Options& options) {
  const Settings settings;
  selection::Shape shape;
  shape.ranks = options.ranks;
  shape.bytes = size_of(options.bytes, "--bytes");
  shape.regular = !options.irregular;
  shape.levels = options.levels;
  shape.ranks_per_core = options.ranks_per_core;
  shape.eager_max = options.eager_max.empty() ? settings.eager_max : size_of(options.eager_max, "--eager-max");
  shape.slot_bytes = options.slot_bytes.empty() ? slot_bytes_of(shape.eager_max, shape.ranks)
                                                : size_of(options.slot_bytes, "--slot-bytes");
  shape.flat_max = options.flat_max > 0 ? static_cast<std::size_t>(options.flat_max) : settings.flat_max;
  shape.commutative = !options.ordered;
  shape.reach = options.reach == "mapped"   ? selection::Reach::mapped
                : options.reach == "kernel" ? selection::Reach::kernel
                                            : selection::Reach::staged;
  shape.kernel_beyond_slot = options.cma;
  return shape;
}

const char* name_of(selection::Reason reason) {
  switch (reason) {
    case selection::Reason::user:
      return "user";
    case selection::Reason::refused:
      return "refused";
    default:
      return "model";
  }
}

ordered_json describe(const Options& options) {
  const KnownModel known = model_of(options);
  if (options.model_only) return {{"model", json_of(known.model)}, {"source", known.source}};
  selection::Knowledge knowledge;
  knowledge.model = known.model;
  const auto names = known_algorithms();
  knowledge.user = selection::UserChoice::parse(options.algorithm, names, Log());
  const selection::Shape shape = shape_of(options);
  const auto predictions = predict(options.collective, shape, knowledge);
  if (!predictions) {
    std::vector<std::string> collectives;
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
            {"regular", shape.regular},
            {"commutative", shape.commutative},
            {"reach", options.reach},
            {"eager_max", shape.eager_max},
            {"slot_bytes", shape.slot_bytes},
            {"flat_max", shape.flat_max}}},
          {"model_source", known.source},
          {"candidates", candidates},
          {"choice",
           {{"name", predictions->algorithm},
            {"parameter", predictions->parameter ? ordered_json(predictions->parameter) : ordered_json(nullptr)},
            {"seconds", predictions->seconds},
            {"reason", name_of(predictions->reason)}}}};
}

void add_options(CLI::App& app, Options& options) {
  app.add_option("--collective", options.collective, "As in TUTTI_ALGORITHM")->capture_default_str();
  app.add_option("--bytes", options.bytes, "Of the message, or of one block")->capture_default_str();
  app.add_option("--ranks", options.ranks, "Of the communicator")->check(CLI::Range(1, 1 << 20))->capture_default_str();
  app.add_option("--levels", options.levels, "Depth of the hierarchy")->check(CLI::Range(1, 16))->capture_default_str();
  app.add_option("--ranks-per-core", options.ranks_per_core, "More than 1: ranks take turns")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app.add_option("--reach", options.reach, "How buffers are reached")
      ->check(CLI::IsMember({"mapped", "kernel", "staged"}))
      ->capture_default_str();
  app.add_flag("--cma", options.cma, "Where staged: what does not fit a slot is copied by the kernel");
  app.add_flag("--irregular", options.irregular, "Sizes differ between ranks");
  app.add_flag("--ordered", options.ordered, "The operator does not commute");
  app.add_option("--eager-max", options.eager_max, "TUTTI_EAGER_MAX");
  app.add_option("--slot-bytes", options.slot_bytes, "Data area of an operation; by default as the library makes it");
  app.add_option("--flat-max", options.flat_max, "TUTTI_FLAT_MAX");
  app.add_option("--probe", options.probe, "File of tutti probe; without it the shipped parameters");
  app.add_option("--topology", options.topology, "hwloc description or XML file that the probe should fit");
  app.add_option("--algorithm", options.algorithm, "As TUTTI_ALGORITHM");
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
  } catch (const UsageError& problem) {
    return fail(problem.what());
  }
}
