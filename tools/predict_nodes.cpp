#include "predict_nodes.h"

#include <charconv>
#include <string_view>
#include <vector>

#include "base/nearest.h"
#include "collectives/call_shape.h"
#include "collectives/collectives.h"
#include "collectives/kinds.h"
#include "collectives/prediction.h"
#include "selection/words.h"
#include "textbook.h"

namespace tutti::prediction {

using nlohmann::ordered_json;

namespace {

constexpr int ranks_max = 1 << 20;

/// A number from 1 on at the beginning of `text`, which is taken away; 0 if there is none.
int take_number(std::string_view& text) {
  int number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || number < 1 || number > ranks_max) return 0;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// The ranks of each node; empty if the text is none of what is meant.
std::vector<int> counts_of(std::string_view text) {
  const int first = take_number(text);
  if (first == 0) return {};
  if (text.starts_with("x")) {
    text.remove_prefix(1);
    const int each = take_number(text);
    if (each == 0 || !text.empty() || static_cast<long long>(first) * each > ranks_max) return {};
    return std::vector<int>(static_cast<std::size_t>(first), each);
  }
  std::vector<int> counts{first};
  long long all = first;
  while (text.starts_with(",")) {
    text.remove_prefix(1);
    const int next = take_number(text);
    all += next;
    if (next == 0 || all > ranks_max) return {};
    counts.push_back(next);
  }
  return text.empty() ? counts : std::vector<int>();
}

ordered_json json_of(const selection::Cost& cost, const network::Parameters& with) {
  return {{"seconds", cost.seconds(with)},
          {"between_seconds", cost.between.seconds(with)},
          {"inside_seconds", cost.inside_seconds(with)},
          {"meanwhile_seconds", cost.meanwhile_seconds(with)},
          {"rounds", cost.between.rounds},
          {"messages", cost.between.messages},
          {"bytes", cost.between.bytes}};
}

ordered_json json_of(const Prediction& each, const network::Parameters& with) {
  ordered_json out{{"name", each.algorithm},
                   {"eligible", each.eligible},
                   {"allowed", each.allowed},
                   {"requirements", each.requirements}};
  if (each.cost)
    out.update(json_of(*each.cost, with));
  else
    out["seconds"] = nullptr;
  return out;
}

ordered_json choice_of(const Predictions& predictions) {
  const bool by_host = predictions.algorithm == selection::host_algorithm;
  return {{"name", predictions.algorithm},
          {"parameter", nullptr},
          {"seconds", predictions.seconds ? ordered_json(*predictions.seconds) : ordered_json(nullptr)},
          {"reason", selection::name_of(predictions.reason)},
          {"words", selection::words_of(predictions.reason, by_host)}};
}

ordered_json json_of(const selection::TableEntry* entry) {
  if (!entry) return nullptr;
  return {{"name", entry->algorithm},
          {"parameter", nullptr},
          {"bytes_from", entry->bytes_from},
          {"bytes_to", entry->bytes_to}};
}

ordered_json shape_of(const Options& options, const network::Nodes& nodes) {
  int least = nodes.places(0);
  for (int node = 1; node < nodes.count(); ++node) least = std::min(least, nodes.places(node));
  return {{"ranks", nodes.ranks()},
          {"nodes", nodes.count()},
          {"ranks_per_node", {least, nodes.most_places()}},
          {"commutative", !options.ordered}};
}

ordered_json textbook_of(std::string_view collective, const Shape& shape, const network::Parameters& with) {
  ordered_json found = ordered_json::array();
  for (const Textbook& each : textbook_algorithms()) {
    if (collective != each.collective || (each.can && !each.can(shape))) continue;
    ordered_json one{{"name", each.name}, {"leaders", each.leaders}, {"words", each.words}};
    one.update(json_of(each.cost(shape), with));
    found.push_back(std::move(one));
  }
  return found;
}

}  // namespace

network::Nodes parse_nodes(const std::string& text) {
  const std::vector<int> counts = counts_of(text);
  if (counts.empty())
    throw UsageError("--nodes " + text +
                     ": expected nodes and ranks on each, such as 128x18, or the ranks of each node, such as 2,3,1");
  if (counts.size() < 2) throw UsageError("--nodes " + text + ": one node is not asked about with --nodes");
  std::vector<int> node_of_rank;
  for (std::size_t node = 0; node < counts.size(); ++node)
    node_of_rank.insert(node_of_rank.end(), static_cast<std::size_t>(counts[node]), static_cast<int>(node));
  return network::Nodes(node_of_rank);
}

ordered_json json_of(const network::Parameters& parameters) {
  return {{"between_start", parameters.between_start}, {"between_byte", parameters.between_byte},
          {"message_rate", parameters.message_rate},   {"inside_start", parameters.inside_start},
          {"inside_byte", parameters.inside_byte},     {"reduce_byte", parameters.reduce_byte}};
}

UsageError no_such_collective(const std::string& name) {
  std::vector<std::string> collectives;
  for (const auto& entry : known_algorithms()) collectives.emplace_back(entry.collective);
  return UsageError("--collective " + name + ": there is none; the nearest is " + nearest(name, collectives));
}

ordered_json candidates_between_nodes(const Options& options, const network::Nodes& nodes, std::size_t bytes,
                                      const selection::Knowledge& knowledge) {
  const bool regular = !is_irregular(options.collective);
  const selection::Shape shape =
      shape_between_nodes(nodes, options.collective, regular ? bytes : irregular_block_bytes, !options.ordered);
  const auto predictions = predict(options.collective, shape, knowledge);
  if (!predictions) throw no_such_collective(options.collective);
  ordered_json told{{"collective", options.collective}, {"shape", shape_of(options, nodes)}};
  told["shape"]["bytes"] = shape.bytes;
  told["shape"]["regular"] = regular;
  told["parameters"] = json_of(knowledge.network);
  told["table_entry"] = json_of(predictions->entry);
  ordered_json candidates = ordered_json::array();
  for (const Prediction& each : predictions->candidates) candidates.push_back(json_of(each, knowledge.network));
  told["candidates"] = std::move(candidates);
  told["textbook"] =
      textbook_of(options.collective, {nodes.count(), nodes.most_places(), shape.class_bytes()}, knowledge.network);
  told["choice"] = choice_of(*predictions);
  return told;
}

ordered_json overview_between_nodes(const Options& options, const network::Nodes& nodes, std::size_t most,
                                    const selection::Knowledge& knowledge) {
  ordered_json rows = ordered_json::array();
  for (const auto& entry : known_algorithms()) {
    const bool sized = entry.collective != "barrier" && !is_irregular(entry.collective);
    std::size_t bytes = sized ? 1 : 0;
    do {
      const std::size_t asked = is_irregular(entry.collective) ? irregular_block_bytes : bytes;
      const selection::Shape shape = shape_between_nodes(nodes, entry.collective, asked, !options.ordered);
      const auto predictions = predict(entry.collective, shape, knowledge);
      ordered_json row{{"collective", entry.collective},
                       {"bytes_to", sized ? ordered_json(bytes) : ordered_json(nullptr)}};
      row.update(choice_of(*predictions));
      rows.push_back(std::move(row));
      bytes *= 2;
    } while (sized && bytes <= most);
  }
  return {
      {"shape", shape_of(options, nodes)}, {"parameters", json_of(knowledge.network)}, {"choices", std::move(rows)}};
}

}  // namespace tutti::prediction
