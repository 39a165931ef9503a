#include "collectives/collectives.h"

#include <algorithm>
#include <new>
#include <optional>
#include <string_view>

#include "collectives/between_nodes/algorithms.h"
#include "collectives/between_nodes/spanning.h"
#include "collectives/common/buffers/exposure.h"
#include "collectives/kinds.h"
#include "collectives/pieces.h"

namespace tutti {

const Collectives::AnyChoice Collectives::no_choice{};

Collectives::Collectives(Communicator& communicator, const selection::Knowledge& knowledge, const Spanning* spanning)
    : communicator_(communicator),
      knowledge_(knowledge),
      spanning_(spanning),
      rank_(spanning ? spanning->rank : communicator.rank()),
      limits_{communicator, communicator.size(), ring_bytes(communicator.node().settings),
              segment_bytes(communicator.node().settings)} {
  const Node& node = communicator.node();
  const double ranks_per_core = ranks_per_core_of(communicator.placement(), communicator.size(), node.oversubscribed);
  shape_ = surroundings_of(node.settings, communicator.size(), communicator.depth(), ranks_per_core,
                           communicator.distances())
               .common;
  if (spanning) {
    // What is equal on all nodes.
    shape_.ranks = spanning->nodes.ranks();
    shape_.levels = 2;
    shape_.ranks_per_core = 1;
  }
  cached_bytes_ = static_cast<double>(node.cache_bytes);
  limits_.ranks = shape_.ranks;
  if (spanning || !node.may_stage) shape_.moved_max = 0;
}

int Collectives::nodes() const {
  return spanning_ ? spanning_->nodes.count() : 1;
}

selection::Shape Collectives::shape_of(std::size_t bytes, bool regular, bool commutative) const {
  const Node& node = communicator_.node();
  const Surroundings surroundings{
      shape_,  node.settings.window_min, node.window_shared, node.ranks_are_threads, node.exposures != nullptr,
      node.cma};
  return call_shape(surroundings, bytes, regular, commutative);
}

selection::Shape Collectives::shape_of(std::string_view collective, std::size_t bytes) const {
  const bool irregular = is_irregular(collective);
  selection::Shape shape = shape_of(irregular ? irregular_block_bytes : bytes, !irregular, true);
  for_each_collective([&]<class Arguments>(std::string_view name) {
    if (name == collective) add_collective<Arguments>(shape, collective);
  });
  return shape;
}

template <class Arguments>
const Collectives::Choice<Arguments>& Collectives::choice(Choices<Arguments>& choices, const CallKey& key,
                                                          const Arguments& arguments) {
  communicator_.current_collective = choices.collective;
  const Choice<Arguments>* made = choices.of.empty() ? nullptr : choices.of[index_of(key.bytes, key.commutative)].get();
  if (!made) [[unlikely]]
    made = &make(choices, key, arguments);
  last_ = made;
  last_bytes_ = key.bytes;
  return *made;
}

template <class Arguments>
Collectives::Choices<Arguments>& Collectives::choices_for(const Arguments& arguments) {
  if constexpr (requires { second_choices(arguments); })
    if (Kind<Arguments>::is_second(arguments)) return second_choices(arguments);
  return first_choices(arguments);
}

namespace {

template <class Arguments>
std::uint64_t in_flight(const selection::Forms<Arguments>& forms, const Communicator& communicator,
                        const Arguments& arguments) {
  return forms.in_flight ? forms.in_flight(communicator, arguments) : data_areas;
}

/// A blocking operation, from its beginning to its end.
template <class Arguments>
void run(Channel& channel, Call& call, const selection::Forms<Arguments>& forms, const Arguments& arguments) {
  Operation operation(channel, call, in_flight(forms, channel.communicator(), arguments));
  operation.run(forms.flags, forms.body(operation, arguments));
}

/// Pending calls lend no longer copies: as many may be under way as there are slots.
constexpr std::size_t pending_lent_max = std::size_t{1} << 20;

/// An algorithm, as pending calls run it.
template <class Arguments>
struct Carrier {
  const selection::Algorithm<Arguments>& algorithm;
  Moving moving;
  Lending lending;

  FlagSet flags() const { return algorithm.forms.flags; }
  Task body(Operation& operation, const Arguments& arguments) const {
    return algorithm.forms.body(operation, arguments);
  }
  std::uint64_t in_flight(const Communicator& communicator, const Arguments& arguments) const {
    return tutti::in_flight(algorithm.forms, communicator, arguments);
  }
};
}  // namespace

template <class Arguments>
CallSignature Collectives::signature_of(const char* collective, const Choice<Arguments>& chosen, const CallKey& key) {
  return {collective, chosen.identity, Kind<Arguments>::announced(key.bytes)};
}

template <class Arguments>
Arguments Collectives::completed(const Choice<Arguments>& chosen, const Arguments& arguments, const CallSizes& sizes,
                                 Moving moving) const {
  Arguments completed = arguments;
  if constexpr (requires { arguments.parameter; }) {
    completed.parameter = chosen.parameter;
    constexpr bool makes_results = Kind<Arguments>::makes_results;
    const std::size_t streamed_min = makes_results ? selection::streamed_results_min : selection::streamed_to_peers_min;
    if (!sizes.small && !(makes_results && sizes.block < streamed_min)) {
      completed.store = store_for(sizes, streamed_min);
      if (stores_through_caches(moving) && completed.store == memory::Store::streaming_to_peers)
        completed.store = memory::Store::cached;
    }
  }
  return completed;
}

template <class Arguments>
bool Collectives::call(const Arguments& arguments) {
  const CallKey key = Kind<Arguments>::key(arguments, shape_.ranks);
  Choices<Arguments>& choices = choices_for(arguments);
  const Choice<Arguments>& chosen = choice(choices, key, arguments);
  if (!chosen.algorithm)
    return chosen.between_nodes && call_across(chosen, arguments, signature_of(choices.collective, chosen, key));
  if (const auto straight = chosen.algorithm->forms.straight; straight) [[likely]] {
    Call call(choices.collective, chosen.identity, Kind<Arguments>::announced(key.bytes));
    straight(communicator_.blocking(), call, arguments);
    truncated_ = call.truncated;
    lends_copies_ = false;
    return true;
  }
  const CallSizes sizes = Kind<Arguments>::sizes(arguments, limits_);
  const Moving moving = moving_of(choices, chosen, sizes);
  const Arguments whole = completed(chosen, arguments, sizes, moving);
  const Cut cut = cut_of(chosen, whole, sizes);
  Call call(choices.collective, chosen.identity, Kind<Arguments>::announced(key.bytes), cut.operations() > 1);
  call.moving = moving;
  call.lending = lending_of(moving, sizes, cut, 2 * limits_.segment);
  for (std::size_t index = 0; index < cut.operations(); ++index)
    run(communicator_.blocking(), call, chosen.algorithm->forms, part_of(whole, cut, index));
  truncated_ = call.truncated;
  lends_copies_ = call.lends_copies;
  return true;
}

template <class Arguments>
Cut Collectives::cut_of(const Choice<Arguments>& chosen, const Arguments& arguments, const CallSizes& sizes) const {
  if (chosen.algorithm->forms.straight) return {};
  return chosen.algorithm->cut ? chosen.algorithm->cut(communicator_, arguments) : sizes.cut;
}

Lending Collectives::lending_of(Moving moving, const CallSizes& sizes, const Cut& cut, std::size_t most) const {
  const Node& node = communicator_.node();
  const std::size_t held = sizes.held / std::max<std::size_t>(1, cut.operations());
  if (!node.cma || !node.may_stage || sizes.small || held <= limits_.small || held > most) return Lending::as_it_is;
  if (tutti::lends_copies(moving)) return moving == Moving::lent ? Lending::copied : Lending::copied_past_caches;
  return knowledge().model.is_lent_past_caches(shape_.distances) ? Lending::copied_past_caches : Lending::copied;
}

template <class Arguments>
PendingCall* Collectives::prepare_in(const Arguments& arguments, const Through& through, Allocate allocate, void* of) {
  const CallKey key = Kind<Arguments>::key(arguments, shape_.ranks);
  Choices<Arguments>& choices = choices_for(arguments);
  const Choice<Arguments>& chosen = choice(choices, key, arguments);
  if (chosen.between_nodes)
    return prepare_between_nodes_in(*through.across, *chosen.between_nodes, arguments,
                                    signature_of(choices.collective, chosen, key), allocate, of);
  if (!chosen.algorithm) return nullptr;
  const CallSizes sizes = Kind<Arguments>::sizes(arguments, limits_);
  Moving moving = moving_of(choices, chosen, sizes);
  if (tutti::lends_copies(moving) && sizes.held > pending_lent_max) moving = Moving::plain;
  const Arguments whole = completed(chosen, arguments, sizes, moving);
  const Cut cut = cut_of(chosen, whole, sizes);
  const Lending lending = lending_of(moving, sizes, cut, pending_lent_max);
  using Made = PendingCallInPieces<Arguments, Carrier<Arguments>>;
  return new (allocate(of, sizeof(Made)))
      Made(through.inside, choices.collective, chosen.identity, Kind<Arguments>::announced(key.bytes),
           Carrier<Arguments>{*chosen.algorithm, moving, lending}, whole, cut);
}

#define TUTTI_INSTANTIATE(Of, name)                                                                     \
  template bool Collectives::call(const Of##Arguments& arguments);                                      \
  template PendingCall* Collectives::prepare_in(const Of##Arguments& arguments, const Through& through, \
                                                Allocate allocate, void* of);
#define TUTTI_NO_INSTANCE(Of, name)
TUTTI_COLLECTIVES(TUTTI_INSTANTIATE, TUTTI_NO_INSTANCE)
#undef TUTTI_INSTANTIATE
#undef TUTTI_NO_INSTANCE

}  // namespace tutti
