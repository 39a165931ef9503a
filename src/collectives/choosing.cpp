// Which algorithms there are, and how a choice is made when a call is the first of its kind.
#include <algorithm>
#include <string_view>

#include "collectives/collectives.h"
#include "collectives/identity.h"
#include "collectives/kinds.h"

namespace tutti {

std::vector<selection::UserChoice::Known> known_algorithms() {
  std::vector<selection::UserChoice::Known> known;
  for_each_collective([&]<class Arguments>(const char* collective) {
    selection::UserChoice::Known entry{collective, {}, {}, {}};
    for (const auto* algorithm : algorithms_of<Arguments>()) {
      entry.algorithms.emplace_back(algorithm->name);
      entry.parameters.emplace_back(algorithm->parameter.name ? algorithm->parameter.name : "");
      entry.aliases.emplace_back(algorithm->alias ? algorithm->alias : "");
    }
    known.push_back(std::move(entry));
  });
  return known;
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
void Collectives::make_inside(Choices<Arguments>& choices, std::size_t size_class, std::size_t bytes,
                              bool commutative) {
  if (choices.of.empty()) choices.of.resize(2 * size_classes);
  const Node& node = communicator_.node();
  selection::Shape shape = shape_of(bytes, choices.regular, commutative);
  add_collective<Arguments>(shape, choices.collective);
  const auto chosen = selection::choose(choices.collective, algorithms_of<Arguments>(), shape, knowledge());
  if (chosen.reason == selection::Reason::refused && should_warn(choices.collective, Asked::by_user)) {
    node.log.warn("TUTTI_ALGORITHM: %s of %zu bytes on %d ranks cannot be done by %s; %s is used instead",
                  choices.collective, bytes, shape.ranks, knowledge().user.words(choices.collective).c_str(),
                  chosen.algorithm ? chosen.algorithm->name : selection::host_algorithm);
  }
  if (chosen.refused_entry && should_warn(choices.collective, Asked::by_table)) {
    node.log.warn("table: %s of %zu bytes on %d ranks cannot be done by %s; %s is used instead", choices.collective,
                  bytes, shape.ranks, chosen.refused_entry->algorithm.c_str(),
                  chosen.algorithm ? chosen.algorithm->name : selection::host_algorithm);
  }
  choices.of[index_of(bytes, commutative)] =
      std::make_unique<Choice<Arguments>>(choice_of(choices, size_class, chosen));
}

template <class Arguments>
Collectives::Choice<Arguments> Collectives::choice_of(const Choices<Arguments>& choices, std::size_t size_class,
                                                      const selection::Chosen<Arguments>& chosen) {
  Choice<Arguments> made;
  made.name = chosen.algorithm ? chosen.algorithm->name : selection::host_algorithm;
  made.algorithm = chosen.algorithm;
  made.parameter = chosen.parameter;
  made.moving = chosen.moving;
  made.identity = identity_of(choices.collective, made.name);
  made.record =
      record_of({choices.collective, choices.regular, size_class, made.name,
                 chosen.algorithm ? chosen.algorithm->parameter.name : nullptr, chosen.parameter, chosen.reason});
  return made;
}

template <class Arguments>
const Collectives::Choice<Arguments>& Collectives::make(Choices<Arguments>& choices, const CallKey& key,
                                                        const Arguments& arguments) {
  if (spanning_)
    make_between_nodes(choices, key, arguments);
  else
    make_inside(choices, size_class_of(key.bytes), key.bytes, key.commutative);
  return *choices.of[index_of(key.bytes, key.commutative)];
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
  if (!communicator_.node().settings.explains()) return nullptr;
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
Moving Collectives::moving_of(const Choices<Arguments>& choices, const Choice<Arguments>& chosen,
                              const CallSizes& sizes) const {
  if (choices.regular) return chosen.moving;
  chosen.moving_of_class.resize(size_classes);
  std::optional<Moving>& known = chosen.moving_of_class[size_class_of(sizes.block)];
  if (known) return *known;
  selection::Shape shape = shape_of(sizes.block, true, true);
  add_collective<Arguments>(shape, choices.collective);
  shape.parameter = chosen.parameter;
  double least = 0;
  selection::for_each_moving(*chosen.algorithm, shape, knowledge().model, [&](Moving moving, double seconds) {
    if (!known || seconds < least) known = moving, least = seconds;
  });
  return *known;
}

#define TUTTI_INSTANTIATE(Of, name)                                                                                  \
  template const Collectives::Choice<Of##Arguments>& Collectives::make(                                              \
      Choices<Of##Arguments>& choices, const CallKey& key, const Of##Arguments& arguments);                          \
  template Moving Collectives::moving_of(const Choices<Of##Arguments>& choices, const Choice<Of##Arguments>& chosen, \
                                         const CallSizes& sizes) const;
#define TUTTI_NO_INSTANCE(Of, name)
TUTTI_COLLECTIVES(TUTTI_INSTANTIATE, TUTTI_NO_INSTANCE)
#undef TUTTI_INSTANTIATE
#undef TUTTI_NO_INSTANCE

}  // namespace tutti
