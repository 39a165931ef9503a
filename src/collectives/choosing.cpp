// Which algorithms there are, and how a choice is made when a call is the first of its kind.
#include <algorithm>
#include <string_view>

#include "collectives/collectives.h"
#include "collectives/kinds.h"

namespace tutti {

namespace {

/// A number for an algorithm, which ranks tell each other to find out that they are in different calls.
std::uint16_t identity_of(std::string_view collective, std::string_view algorithm) {
  std::uint32_t hash = 2166136261u;  // FNV-1a
  for (const std::string_view name : {collective, std::string_view("/"), algorithm})
    for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619u;
  return static_cast<std::uint16_t>(hash ^ (hash >> 16));
}

template <class Arguments>
void add_names(selection::Known& known, std::span<const selection::Algorithm<Arguments>* const> algorithms) {
  for (const auto* algorithm : algorithms) {
    known.algorithms.emplace_back(algorithm->name);
    known.parameters.emplace_back(algorithm->parameter.name ? algorithm->parameter.name : "");
    known.aliases.emplace_back(algorithm->alias ? algorithm->alias : "");
  }
}

std::vector<selection::Known> known_in(bool one_node, bool several_nodes) {
  std::vector<selection::Known> all;
  for_each_collective([&]<class Arguments>(const char* collective) {
    selection::Known& known = all.emplace_back(selection::Known{collective, {}, {}, {}});
    if (one_node) add_names(known, algorithms_of<Arguments>());
    if (several_nodes) add_names(known, algorithms_between_nodes<Arguments>());
  });
  return all;
}

}  // namespace

std::vector<selection::Known> known_algorithms() {
  return known_in(true, false);
}
std::vector<selection::Known> known_between_nodes() {
  return known_in(false, true);
}
std::vector<selection::Known> all_known_algorithms() {
  return known_in(true, true);
}

void set_user_choice(selection::Knowledge& knowledge, const selection::UserChoice& said) {
  knowledge.user = said.among(known_algorithms());
  knowledge.user_between_nodes = said.among(known_between_nodes());
}

std::vector<CatalogueEntry> catalogue(int ranks) {
  selection::Shape shape;
  shape.ranks = ranks;
  shape.bytes = irregular_block_bytes;
  std::vector<CatalogueEntry> entries;
  for_each_collective([&]<class Arguments>(const char* collective) {
    for (const auto* algorithm : algorithms_of<Arguments>()) {
      const selection::Parameter& parameter = algorithm->parameter;
      CatalogueEntry entry{collective,
                           algorithm->name,
                           algorithm->requirement.words,
                           parameter.name ? parameter.name : "",
                           {},
                           algorithm->alias ? algorithm->alias : "",
                           algorithm->summary};
      for (int i = 0; const int value = parameter.candidate ? parameter.candidate(shape, i) : 0; ++i)
        entry.candidates.push_back(value);
      entries.push_back(std::move(entry));
    }
  });
  return entries;
}

// The choices of all collectives: not in each file that lets a communicator go.
Collectives::~Collectives() = default;

template <class Arguments>
const Collectives::Choice<Arguments>& Collectives::make(Choices<Arguments>& choices, const CallKey& key) {
  if (choices.of.empty()) choices.of.resize(2 * size_classes);
  const Node& node = communicator_.node();
  selection::Shape shape = shape_of(key.bytes, choices.regular, key.commutative);
  add_collective<Arguments>(shape, choices.collective);
  const auto chosen = selection::choose(choices.collective, algorithms_for<Arguments>(shape), shape, knowledge());
  const auto warn = [&](const char* asked_by, const std::string& asked) {
    node.log.warn("%s: %s of %zu bytes on %d %s cannot be done by %s; %s is used instead", asked_by, choices.collective,
                  key.bytes, shape.spans_nodes() ? shape.nodes : shape.ranks, shape.spans_nodes() ? "nodes" : "ranks",
                  asked.c_str(), chosen.algorithm ? chosen.algorithm->name : selection::host_algorithm);
  };
  if (chosen.reason == selection::Reason::refused && should_warn(choices.collective, Asked::by_user))
    warn("TUTTI_ALGORITHM", knowledge().user_of(shape).words(choices.collective));
  if (chosen.refused_entry && should_warn(choices.collective, Asked::by_table))
    warn("table", chosen.refused_entry->algorithm);
  auto& place = choices.of[index_of(key.bytes, key.commutative)];
  place = std::make_unique<Choice<Arguments>>();
  Choice<Arguments>& made = *place;
  made.name = chosen.algorithm ? chosen.algorithm->name : selection::host_algorithm;
  made.algorithm = chosen.algorithm;
  made.parameter = chosen.parameter;
  made.moving = chosen.moving;
  made.collective = choices.collective;
  made.regular = choices.regular;
  made.identity = identity_of(choices.collective, made.name);
  made.record =
      record_of({choices.collective, choices.regular, size_class_of(key.bytes), made.name,
                 chosen.algorithm ? chosen.algorithm->parameter.name : nullptr, chosen.parameter, chosen.reason});
  return made;
}

bool Collectives::should_warn(const char* collective, Asked by) {
  if (quiet_ || rank_ != 0) return false;
  int bit = by == Asked::by_user ? 0 : 32;
  bool found = false;
  for_each_collective([&]<class Arguments>(std::string_view name) {
    found = found || name == collective;
    if (!found) ++bit;
  });
  return communicator_.node().is_first_to_warn(bit);
}

CallRecord* Collectives::record_of(const CallRecord& wanted) {
  if (!communicator_.node().settings.counts()) return nullptr;
  for (CallRecord& record : records_)
    if (record.is_for(wanted)) return &record;
  return &records_.emplace_back(wanted);
}

void Collectives::choose_anew(const selection::UserChoice& user) {
  if (!own_knowledge_) own_knowledge_ = std::make_unique<selection::Knowledge>(knowledge_);
  set_user_choice(*own_knowledge_, user);
  quiet_ = true;
  last_ = &no_choice;
#define TUTTI_FORGET(Kind, name) name##_.of.clear();
  TUTTI_COLLECTIVES(TUTTI_FORGET, TUTTI_FORGET)
#undef TUTTI_FORGET
}

template <class Arguments>
Moving Collectives::moving_of(const Choice<Arguments>& chosen, const CallSizes& sizes) const {
  if (chosen.regular || spanning_) return chosen.moving;
  chosen.moving_of_class.resize(size_classes);
  std::optional<Moving>& known = chosen.moving_of_class[size_class_of(sizes.block)];
  if (known) return *known;
  selection::Shape shape = shape_of(sizes.block, true, true);
  add_collective<Arguments>(shape, chosen.collective);
  shape.parameter = chosen.parameter;
  double least = 0;
  selection::for_each_moving(*chosen.algorithm, shape, knowledge(), [&](Moving moving, double seconds) {
    if (!known || seconds < least) known = moving, least = seconds;
  });
  return *known;
}

#define TUTTI_INSTANTIATE(Of, name)                                                                     \
  template const Collectives::Choice<Of##Arguments>& Collectives::make(Choices<Of##Arguments>& choices, \
                                                                       const CallKey& key);             \
  template Moving Collectives::moving_of(const Choice<Of##Arguments>& chosen, const CallSizes& sizes) const;
TUTTI_KINDS(TUTTI_INSTANTIATE)
#undef TUTTI_INSTANTIATE

}  // namespace tutti
