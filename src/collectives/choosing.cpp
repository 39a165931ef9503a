// Which algorithms there are, and how a choice is made when a call is the first of its kind.
#include <algorithm>
#include <string_view>
#include <type_traits>

#include "collectives/collectives.h"
#include "collectives/identity.h"
#include "collectives/kinds.h"
#include "selection/unmapped.h"

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
void Collectives::make(Choices<Arguments>& choices, std::size_t size_class, std::size_t bytes, bool commutative) {
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
  if (make_tried(choices, size_class, shape, chosen)) return;
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

namespace {

/// A number for each collective that may be tried; -1 for the others.
int tried_place(std::string_view collective) {
  int place = 0, found = -1;
  for_each_collective([&]<class Arguments>(std::string_view name) {
    if (is_irregular(name) || std::is_same_v<Arguments, BarrierArguments>) return;
    if (name == collective) found = place;
    ++place;
  });
  return found < tried_collectives ? found : -1;
}

/// The number of a choice by trying: it does not depend on the order in which calls come. -1: there is none.
int tried_number(std::string_view collective, std::size_t size_class) {
  constexpr std::size_t first_class = 12;  // from 4 KiB to 32 MiB
  const int place = tried_place(collective);
  if (place < 0 || size_class < first_class || size_class >= first_class + tried_classes) return -1;
  return place * tried_classes + static_cast<int>(size_class - first_class);
}

/// A buffer of this rank's that is in the call, as its others are.
template <class Arguments>
const std::byte* buffer_of(const Arguments& arguments) {
  if constexpr (std::is_same_v<Arguments, BarrierArguments>)
    return nullptr;
  else if constexpr (std::is_same_v<Arguments, BcastArguments>)
    return arguments.buffer;
  else if constexpr (std::is_same_v<Arguments, ScatterArguments>)
    return arguments.receive ? arguments.receive : arguments.send.base;
  else if constexpr (std::is_same_v<Arguments, GatherArguments> || std::is_same_v<Arguments, AllgatherArguments>)
    return arguments.send ? arguments.send : arguments.receive.base;
  else if constexpr (requires { arguments.send.base; })
    return arguments.receive.base;
  else
    return arguments.send;
}

}  // namespace

bool Collectives::may_be_unmapped(const selection::Shape& shape) const {
  const Node& node = communicator_.node();
  return shape.reach == selection::Reach::mapped && node.cma && !node.exposures && !node.ranks_are_threads;
}

template <class Arguments>
std::unique_ptr<Collectives::Tried<Arguments>> Collectives::tried_of(
    const Choices<Arguments>& choices, std::size_t size_class,
    const std::vector<selection::Candidate<Arguments>>& candidates, int number) {
  auto tried = std::make_unique<Tried<Arguments>>(
      Tried<Arguments>{Attempts(communicator_, number, static_cast<int>(candidates.size())), {}});
  for (const auto& each : candidates) {
    Choice<Arguments>& made = tried->candidates.emplace_back(
        choice_of(choices, size_class,
                  selection::Chosen<Arguments>{each.algorithm, each.parameter, each.seconds, selection::Reason::tried,
                                               each.moving}));
    made.attempts = &tried->attempts;
    made.lending = each.lending;
  }
  return tried;
}

template <class Arguments>
bool Collectives::make_tried(Choices<Arguments>& choices, std::size_t size_class, const selection::Shape& shape,
                             const selection::Chosen<Arguments>& chosen) {
  const int number = tried_number(choices.collective, size_class);
  if (number < 0 || !selection::may_be_tried(shape)) return false;
  if (quiet_ || !communicator_.node().settings.try_choices) return false;
  const auto held = static_cast<std::size_t>(shape.buffers * static_cast<double>(shape.bytes));
  constexpr bool reduces = requires(const Arguments& arguments) {
    arguments.combiner;
  };
  constexpr bool is_cut = reduces || std::is_same_v<Arguments, BcastArguments>;
  const auto algorithms = algorithms_of<Arguments>();
  const auto mapped =
      selection::candidates_beside(chosen, choices.collective, algorithms, shape, knowledge(), {.reduce = reduces});
  if (mapped.empty()) return false;
  std::vector<selection::Candidate<Arguments>> unmapped;
  if (may_be_unmapped(shape))
    unmapped = selection::candidates_where_unmapped(chosen, choices.collective, algorithms, shape,
                                                    may_lend(is_cut ? std::min(held, 2 * segment_) : held), knowledge(),
                                                    {.reduce = reduces});
  const bool differ = !unmapped.empty() && !(unmapped.size() == 1 && unmapped[0].is_like(mapped[0]));
  if (mapped.size() < 2 && !differ) return false;
  choices.tried.resize(size_classes);
  choices.tried[size_class] = tried_of(choices, size_class, mapped, number);
  choices.tried_unmapped.resize(size_classes);
  if (differ) choices.tried_unmapped[size_class] = tried_of(choices, size_class, unmapped, tried_choices + number);
  if (!choices.memory) choices.memory.emplace(communicator_, 2 * tried_choices + tried_place(choices.collective));
  return true;
}

template <class Arguments>
Collectives::Tried<Arguments>* Collectives::find_tried(Choices<Arguments>& choices, std::size_t bytes,
                                                       bool commutative) {
  return commutative && !choices.tried.empty() ? choices.tried[size_class_of(bytes)].get() : nullptr;
}

template <class Arguments>
Collectives::Tried<Arguments>& Collectives::tried_for(Choices<Arguments>& choices, Tried<Arguments>& mapped,
                                                      const Key& key, const Arguments& given) {
  Tried<Arguments>* const unmapped = choices.tried_unmapped[size_class_of(key.bytes)].get();
  if (!unmapped) return mapped;
  const auto is_mapped = [&] { return memory::always_mapped(communicator_.node().reach(buffer_of(given), key.bytes)); };
  return choices.memory->are_mapped(is_mapped) ? mapped : *unmapped;
}

template <class Arguments>
const Collectives::Choice<Arguments>& Collectives::make_or_try(Choices<Arguments>& choices, const Key& key,
                                                               const Arguments& given, Channel::Kind kind) {
  if (spanning_) {
    make_between_nodes(choices, key, given);
    return *choices.of[index_of(key.bytes, key.commutative)];
  }
  if (!find_tried(choices, key.bytes, key.commutative))
    make(choices, size_class_of(key.bytes), key.bytes, key.commutative);
  Tried<Arguments>* const several = find_tried(choices, key.bytes, key.commutative);
  if (!several) return *choices.of[index_of(key.bytes, key.commutative)];
  // Nothing is learned from pending calls, nor agreed for them.
  if (kind == Channel::Kind::pending) return several->candidates[0];
  Tried<Arguments>& tried = tried_for(choices, *several, key, given);
  return tried.candidates[static_cast<std::size_t>(tried.attempts.next())];
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
#define TUTTI_FORGET(Kind, name) name##_.of.clear(), name##_.tried.clear(), name##_.tried_unmapped.clear();
  TUTTI_COLLECTIVES(TUTTI_FORGET, TUTTI_FORGET)
#undef TUTTI_FORGET
}

template <class Arguments>
Moving Collectives::moving_of(const Choices<Arguments>& choices, const Choice<Arguments>& chosen,
                              const Request& request) const {
  if (choices.regular) return chosen.moving;
  chosen.moving_of_class.resize(size_classes);
  std::optional<Moving>& known = chosen.moving_of_class[size_class_of(request.block)];
  if (known) return *known;
  selection::Shape shape = shape_of(request.block, true, true);
  add_collective<Arguments>(shape, choices.collective);
  shape.parameter = chosen.parameter;
  double least = 0;
  selection::for_each_moving(*chosen.algorithm, shape, knowledge().model, [&](Moving moving, double seconds) {
    if (!known || seconds < least) known = moving, least = seconds;
  });
  return *known;
}

#define TUTTI_INSTANTIATE(Of, name)                                                                                  \
  template const Collectives::Choice<Of##Arguments>& Collectives::make_or_try(                                       \
      Choices<Of##Arguments>& choices, const Key& key, const Of##Arguments& given, Channel::Kind kind);              \
  template Moving Collectives::moving_of(const Choices<Of##Arguments>& choices, const Choice<Of##Arguments>& chosen, \
                                         const Request& request) const;
#define TUTTI_NO_INSTANCE(Of, name)
TUTTI_COLLECTIVES(TUTTI_INSTANTIATE, TUTTI_NO_INSTANCE)
#undef TUTTI_INSTANTIATE
#undef TUTTI_NO_INSTANCE

}  // namespace tutti
