// How an algorithm is chosen for a communicator whose ranks sit on several nodes: what is eligible, then what the user
// says, then the table, then the cheapest. All of it follows from what MPI makes equal on all ranks, and from files that
// rank 0 of the job has given to all, so that none has to be asked.
#include <algorithm>
#include <cmath>

#include "collectives/between_nodes/algorithms.h"
#include "collectives/between_nodes/spanning.h"
#include "collectives/collectives.h"
#include "collectives/identity.h"
#include "collectives/kinds.h"
#include "collectives/prediction.h"
#include "network/counted_rounds.h"

namespace tutti {

namespace {

/// The calls of a size class.
network::Shape shape_between_nodes(const network::Nodes& nodes, std::size_t size_class) {
  network::Shape shape;
  shape.nodes = nodes.count();
  shape.places = nodes.most_places();
  shape.bytes = std::ldexp(1.0, static_cast<int>(size_class));
  for (int node = 0; node < nodes.count(); ++node) shape.runs = std::max(shape.runs, nodes.runs_of(node));
  return shape;
}

/// What a table has for the calls of a size class; null if nothing. Sizes 0 and 1 are one class: that of 0.
const selection::SpanningEntry* entry_for(std::string_view collective, const network::Shape& shape, bool commutative,
                                          const selection::Table* table) {
  const std::size_t bytes = shape.bytes <= 1 ? 0 : static_cast<std::size_t>(shape.bytes);
  return table ? table->find_between_nodes(collective, shape.nodes, shape.places, bytes, commutative) : nullptr;
}

/// A null algorithm stands for the host's own.
template <class Arguments>
struct ChosenBetweenNodes {
  const SpanningAlgorithm<Arguments>* algorithm = nullptr;
  selection::Reason reason = selection::Reason::model;
  const selection::SpanningEntry* refused_entry = nullptr;  ///< what the table says, if that cannot do the call
};

/// What the table says, if that can and the user does not contradict; otherwise the cheapest of those that can and that
/// the user allows; if none of these can, of all.
template <class Arguments>
ChosenBetweenNodes<Arguments> choose_between_nodes(std::string_view collective, const network::Nodes& nodes,
                                                   const network::Shape& shape, bool commutative,
                                                   const selection::Knowledge& knowledge, const Arguments& arguments) {
  const selection::UserChoice& user = knowledge.user_between_nodes;
  ChosenBetweenNodes<Arguments> chosen;
  const selection::SpanningEntry* const entry = entry_for(collective, shape, commutative, knowledge.table.get());
  if (entry && user.allows(collective, entry->algorithm)) {
    if (entry->algorithm == selection::host_algorithm) return {nullptr, selection::Reason::table};
    for (const auto* each : algorithms_between_nodes<Arguments>())
      if (entry->algorithm == each->name && each->can(nodes, arguments)) return {each, selection::Reason::table};
    chosen.refused_entry = entry;
  }
  const auto cheapest = [&](bool ask_user) {
    const SpanningAlgorithm<Arguments>* best = nullptr;
    double least = 0;
    for (const auto* each : algorithms_between_nodes<Arguments>()) {
      if (ask_user && !user.allows(collective, each->name)) continue;
      if (!each->can(nodes, arguments)) continue;
      const double seconds = each->cost(shape).seconds(knowledge.network);
      if (best && seconds >= least) continue;
      best = each;
      least = seconds;
    }
    return best;
  };
  const bool asked = user.mentions(collective);
  const bool may_be_hosts = user.allows(collective, selection::host_algorithm);
  chosen.reason = asked ? selection::Reason::user : selection::Reason::model;
  chosen.algorithm = cheapest(true);
  // Long messages in the order of many runs of ranks: all results go everywhere, which is far more than what MPIs send.
  if (chosen.algorithm && chosen.algorithm->gathers_runs && may_be_hosts &&
      2 * network::recursive_doubling(shape.nodes, shape.places, shape.bytes).seconds(knowledge.network) <
          chosen.algorithm->cost(shape).seconds(knowledge.network))
    chosen.algorithm = nullptr;
  if (chosen.algorithm || !asked || may_be_hosts) return chosen;
  chosen.algorithm = cheapest(false);
  chosen.reason = selection::Reason::refused;
  return chosen;
}

/// A call as it is chosen for where nothing but its collective is known.
template <class Arguments>
Arguments usual_call(std::string_view collective, const Combiner& combiner) {
  Arguments call{};
  if constexpr (requires { call.regular; }) call.regular = !is_irregular(collective);
  if constexpr (requires { call.combiner; }) call.combiner = &combiner;
  return call;
}

template <class Arguments>
SpanningPredictions predict_among(std::string_view collective, const network::Nodes& nodes, const network::Shape& shape,
                                  bool commutative, const selection::Knowledge& knowledge) {
  SpanningPredictions out;
  Combiner combiner;
  combiner.commutative = commutative;
  const auto call = usual_call<Arguments>(collective, combiner);
  const auto add = [&](const char* name, const char* needs, bool can) -> SpanningPrediction& {
    SpanningPrediction each;
    each.algorithm = name;
    each.requirements = needs;
    each.eligible = can;
    each.allowed = knowledge.user_between_nodes.allows(collective, name);
    return out.candidates.emplace_back(std::move(each));
  };
  for (const auto* algorithm : algorithms_between_nodes<Arguments>()) {
    SpanningPrediction& each = add(algorithm->name, algorithm->needs, algorithm->can(nodes, call));
    if (each.eligible) each.cost = algorithm->cost(shape);
  }
  add(selection::host_algorithm, "nothing", true);
  const auto chosen = choose_between_nodes(collective, nodes, shape, commutative, knowledge, call);
  out.algorithm = chosen.algorithm ? chosen.algorithm->name : selection::host_algorithm;
  out.reason = chosen.reason;
  out.entry = entry_for(collective, shape, commutative, knowledge.table.get());
  return out;
}

}  // namespace

std::vector<selection::UserChoice::Known> known_between_nodes() {
  std::vector<selection::UserChoice::Known> known;
  for_each_collective([&]<class Arguments>(const char* collective) {
    selection::UserChoice::Known entry{collective, {}, {}, {}};
    for (const auto* algorithm : algorithms_between_nodes<Arguments>()) entry.algorithms.emplace_back(algorithm->name);
    known.push_back(std::move(entry));
  });
  return known;
}

std::vector<selection::UserChoice::Known> all_known_algorithms() {
  std::vector<selection::UserChoice::Known> known = known_algorithms();
  const auto between = known_between_nodes();
  for (std::size_t i = 0; i < known.size(); ++i) {
    for (const std::string& name : between[i].algorithms) {
      known[i].algorithms.push_back(name);
      known[i].parameters.emplace_back();
      known[i].aliases.emplace_back();
    }
  }
  return known;
}

void set_user_choice(selection::Knowledge& knowledge, const selection::UserChoice& said) {
  knowledge.user = said.among(known_algorithms());
  knowledge.user_between_nodes = said.among(known_between_nodes());
}

std::optional<SpanningPredictions> predict_between_nodes(std::string_view collective, const network::Nodes& nodes,
                                                         std::size_t bytes, bool commutative,
                                                         const selection::Knowledge& knowledge) {
  std::optional<SpanningPredictions> found;
  const network::Shape shape = shape_between_nodes(nodes, size_class_of(bytes));
  for_each_collective([&]<class Arguments>(std::string_view name) {
    if (name == collective) found = predict_among<Arguments>(collective, nodes, shape, commutative, knowledge);
  });
  return found;
}

template <class Arguments>
void Collectives::make_between_nodes(Choices<Arguments>& choices, const CallKey& key, const Arguments& arguments) {
  if (choices.of.empty()) choices.of.resize(2 * size_classes);
  const network::Nodes& nodes = spanning_->nodes;
  const std::size_t size_class = size_class_of(key.bytes);
  const auto chosen = choose_between_nodes(choices.collective, nodes, shape_between_nodes(nodes, size_class),
                                           key.commutative, knowledge(), arguments);
  Choice<Arguments> made;
  made.between_nodes = chosen.algorithm;
  made.name = chosen.algorithm ? chosen.algorithm->name : selection::host_algorithm;
  made.identity = identity_of(choices.collective, made.name);
  made.record = record_of({choices.collective, choices.regular, size_class, made.name, nullptr, 0, chosen.reason});
  if (chosen.reason == selection::Reason::refused && should_warn(choices.collective, Asked::by_user))
    communicator_.node().log.warn(
        "TUTTI_ALGORITHM: %s of %zu bytes on %d nodes cannot be done by %s; %s is used instead", choices.collective,
        key.bytes, nodes.count(), knowledge().user_between_nodes.words(choices.collective).c_str(), made.name);
  if (chosen.refused_entry && should_warn(choices.collective, Asked::by_table))
    communicator_.node().log.warn("table: %s of %zu bytes on %d nodes cannot be done by %s; %s is used instead",
                                  choices.collective, key.bytes, nodes.count(), chosen.refused_entry->algorithm.c_str(),
                                  made.name);
  choices.of[index_of(key.bytes, key.commutative)] = std::make_unique<Choice<Arguments>>(std::move(made));
}

template <class Arguments>
bool Collectives::call_across(const Choice<Arguments>& chosen, const Arguments& arguments,
                              const CallSignature& signature) {
  truncated_ = !call_between_nodes(*spanning_, *chosen.between_nodes, arguments, signature);
  lends_copies_ = false;
  return true;
}

#define TUTTI_INSTANTIATE(Of, name)                                                                           \
  template void Collectives::make_between_nodes(Choices<Of##Arguments>& choices, const CallKey& key,          \
                                                const Of##Arguments& arguments);                              \
  template bool Collectives::call_across(const Choice<Of##Arguments>& chosen, const Of##Arguments& arguments, \
                                         const CallSignature& signature);
#define TUTTI_NO_INSTANCE(Of, name)
TUTTI_COLLECTIVES(TUTTI_INSTANTIATE, TUTTI_NO_INSTANCE)
#undef TUTTI_INSTANTIATE
#undef TUTTI_NO_INSTANCE

}  // namespace tutti
