// tutti-sim: what collectives take on a described machine, simulated, as JSON; beside it what the model says. Exit status:
// 0, or 2 with one line on standard error.
//
// With --cells it reads lines "collective bytes algorithm" and writes a line of JSON for each.
#include <CLI/CLI.hpp>
#include <chrono>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "collectives/prediction.h"
#include "simulation/calls.h"

namespace {

using namespace tutti;
using namespace tutti::simulated;
using nlohmann::ordered_json;

struct Options {
  std::string machine, collective = "bcast", algorithms, reach = "mapped", mapping = "core", hierarchy, chunk, changes,
                       trace;
  std::vector<std::string> sizes;
  int ranks = 0, nodes = 0, root = 0, calls = 0;
  bool flat = false, meets = false, cells = false, parameters = false, describe = false;
};

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + " cannot be read");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::size_t size_of(const std::string& text) {
  std::size_t bytes = 0;
  if (!parse_bytes(text, bytes)) throw std::runtime_error(text + ": expected a size such as 64K");
  return bytes;
}

const char* name_of(Span::Kind kind) {
  constexpr const char* names[] = {"call", "wait", "copy", "reduce", "kernel", "store", "message"};
  return names[static_cast<int>(kind)];
}

ordered_json json_of(const std::vector<Span>& spans) {
  ordered_json list = ordered_json::array();
  for (const Span& span : spans)
    list.push_back({{"rank", span.rank},
                    {"what", name_of(span.kind)},
                    {"begin", span.begin},
                    {"end", span.end},
                    {"bytes", span.bytes},
                    {"peer", span.peer < 0 ? ordered_json(nullptr) : ordered_json(span.peer)}});
  return list;
}

std::string name_of(const Prediction& candidate) {
  if (!candidate.parameter) return candidate.algorithm;
  return candidate.algorithm + "," + candidate.parameter_name + "=" + std::to_string(candidate.parameter);
}

bool is_asked(const std::string& list, const Prediction& candidate) {
  const std::string names = ";" + list + ";";
  return list.empty() || names.find(";" + candidate.algorithm + ";") != std::string::npos ||
         names.find(";" + name_of(candidate) + ";") != std::string::npos;
}

/// All algorithms at one size.
ordered_json answer(Ranks& ranks, Question question, const Options& options, ordered_json& trace) {
  const Predictions told = predict(ranks, question);
  ordered_json candidates = ordered_json::array();
  const Prediction* by_model = nullptr;
  double best = HUGE_VAL;
  std::string winner;
  for (const Prediction& candidate : told.candidates) {
    if (!candidate.eligible || candidate.algorithm == "host") continue;
    if (candidate.algorithm == told.algorithm && candidate.parameter == told.parameter) by_model = &candidate;
    if (!is_asked(options.algorithms, candidate)) continue;
    question.algorithm = name_of(candidate);
    std::vector<Span> spans;
    const Times times = measure(ranks, question, options.trace.empty() ? nullptr : &spans);
    if (times.algorithm != candidate.algorithm) continue;
    if (!options.trace.empty())
      trace.push_back({{"bytes", question.bytes}, {"name", question.algorithm}, {"spans", json_of(spans)}});
    candidates.push_back({{"name", question.algorithm},
                          {"cost", times.cost},
                          {"inside", times.inside},
                          {"model", candidate.seconds ? ordered_json(*candidate.seconds) : ordered_json(nullptr)}});
    if (times.cost < best) best = times.cost, winner = question.algorithm;
  }
  return {{"bytes", question.bytes},
          {"winner", winner},
          {"model", by_model ? ordered_json(name_of(*by_model)) : ordered_json(nullptr)},
          {"candidates", candidates}};
}

void answer_cells(Ranks& ranks, const Options& options) {
  Question question;
  question.meets = options.meets;
  question.calls = options.calls;
  while (std::cin >> question.collective >> question.bytes >> question.algorithm) {
    ordered_json line{{"collective", question.collective}, {"bytes", question.bytes}, {"asked", question.algorithm}};
    if (question.algorithm == "auto") question.algorithm.clear();
    const Times times = measure(ranks, question);
    line.update({{"algorithm", times.algorithm}, {"cost", times.cost}, {"inside", times.inside}});
    std::cout << line.dump() << std::endl;
  }
}

void run(const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  if (options.describe) {
    for (const ParameterField& field : parameter_fields())
      std::cout << "| `" << field.name << "` | " << field.unit << " | " << Parameters().*field.member << " | "
                << field.meaning << " |\n";
    return;
  }
  Machine machine = Machine::read(text_of(options.machine));
  if (!options.changes.empty()) {
    // For who fits: "hop=1e-7,next_look=0.3".
    std::stringstream list(options.changes);
    for (std::string each; std::getline(list, each, ',');) {
      const auto equals = each.find('=');
      read(nlohmann::json{{each.substr(0, equals), std::stod(each.substr(equals + 1))}}, machine.model,
           machine.parameters);
    }
  }
  if (options.parameters) {
    for (const selection::ModelField& field : selection::model_fields())
      std::cout << field.name << " " << machine.model.*field.member << "\n";
    for (const ParameterField& field : parameter_fields())
      std::cout << field.name << " " << machine.parameters.*field.member << "\n";
    return;
  }
  Job job;
  job.nodes = options.nodes > 0 ? options.nodes : machine.nodes;
  job.ranks = options.ranks > 0 ? options.ranks : machine.ranks;
  job.mapping = options.mapping;
  if (options.reach != "mapped" && options.reach != "kernel" && options.reach != "staged")
    throw std::runtime_error("--reach " + options.reach + ": expected mapped, kernel or staged");
  if (!options.hierarchy.empty()) job.settings.hierarchy = options.hierarchy;
  if (!options.chunk.empty()) job.settings.chunk = options.chunk;
  if (options.flat) job.settings.flat_max = static_cast<std::size_t>(job.ranks);
  job.reach = options.reach == "mapped" ? Reach::mapped : options.reach == "kernel" ? Reach::kernel : Reach::staged;
  Ranks ranks(machine, job);
  const double set_up = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (options.cells) return answer_cells(ranks, options);
  ordered_json sizes = ordered_json::array(), trace = ordered_json::array();
  Question question;
  question.collective = options.collective;
  question.root = options.root;
  question.calls = options.calls;
  question.meets = options.meets;
  for (const std::string& size : options.sizes) {
    question.bytes = size_of(size);
    sizes.push_back(answer(ranks, question, options, trace));
  }
  const ordered_json told{{"collective", options.collective},
                          {"topology", machine.description},
                          {"ranks", ranks.count()},
                          {"nodes", job.nodes},
                          {"reach", options.reach},
                          {"meets", options.meets},
                          {"sizes", sizes},
                          {"events", ranks.timed().events()},
                          {"setup_seconds", set_up},
                          {"seconds", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()}};
  std::cout << told.dump(1) << "\n";
  if (!options.trace.empty()) std::ofstream(options.trace) << trace.dump() << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("what collectives take on a described machine, simulated");
  app.add_option("--machine", options.machine, "its file");
  app.add_option("--collective", options.collective);
  app.add_option("--sizes", options.sizes)->delimiter(',');
  app.add_option("--ranks", options.ranks, "of a node");
  app.add_option("--nodes", options.nodes);
  app.add_option("--root", options.root);
  app.add_option("--algorithms", options.algorithms, "xhc;throttled,k=4");
  app.add_option("--reach", options.reach, "mapped, kernel or staged");
  app.add_option("--map", options.mapping);
  app.add_option("--hierarchy", options.hierarchy, "levels: numa+socket, flat");
  app.add_option("--chunk", options.chunk, "of a pipeline: 16K");
  app.add_option("--calls", options.calls, "that count");
  app.add_option("--set", options.changes, "parameters: hop=1e-7,next_look=0.3");
  app.add_option("--trace", options.trace, "file for what ranks do in the last call of each");
  app.add_flag("--flat", options.flat, "algorithms for few ranks, too");
  app.add_flag("--meets", options.meets, "ranks meet before each call");
  app.add_flag("--cells", options.cells, "questions by lines: collective bytes algorithm");
  app.add_flag("--parameters", options.parameters, "all of the machine's, and nothing else");
  app.add_flag("--describe", options.describe, "what is not the model's, for docs/sim.md");
  CLI11_PARSE(app, argc, argv);
  try {
    run(options);
  } catch (const std::exception& error) {
    std::cerr << "tutti-sim: " << error.what() << "\n";
    return 2;
  }
  return 0;
}
