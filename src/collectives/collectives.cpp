#include "collectives/collectives.h"

#include <algorithm>
#include <new>
#include <string_view>

#include "collectives/common/buffers/exposure.h"
#include "collectives/kinds.h"
#include "collectives/pieces.h"
#include "engine/spanning.h"

namespace tutti {

const Collectives::AnyChoice Collectives::no_choice{};

Collectives::Collectives(Communicator& communicator, const selection::Knowledge& knowledge, const Spanning* spanning)
    : communicator_(communicator),
      knowledge_(knowledge),
      spanning_(spanning),
      rank_(spanning ? spanning->rank : communicator.rank()),
      limits_{communicator,
              rank_,
              spanning ? spanning->nodes.ranks() : communicator.size(),
              spanning ? spanning->nodes.most_places() : 0,
              ring_bytes(communicator.node().settings),
              segment_bytes(communicator.node().settings)} {
  const Node& node = communicator.node();
  const double ranks_per_core = ranks_per_core_of(communicator.placement(), communicator.size(), node.oversubscribed);
  shape_ = surroundings_of(node.settings, communicator.size(), communicator.depth(), ranks_per_core,
                           communicator.distances())
               .common;
  if (spanning) add_nodes(shape_, spanning->nodes);
  cached_bytes_ = static_cast<double>(node.cache_bytes);
  if (!node.may_stage) shape_.moved_max = 0;
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
const Collectives::Choice<Arguments>& Collectives::choice(Choices<Arguments>& choices, const CallKey& key) {
  communicator_.current_collective = choices.collective;
  const Choice<Arguments>* made = choices.of.empty() ? nullptr : choices.of[index_of(key.bytes, key.commutative)].get();
  if (!made) [[unlikely]]
    made = &make(choices, key);
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

/// A blocking operation, from its beginning to its end.
template <class Arguments>
void run(Channel& channel, Call& call, const selection::Forms<Arguments>& forms, const Arguments& arguments) {
  Operation operation(channel, call, in_flight(forms, channel.communicator(), arguments));
  try {
    operation.run(forms.flags, forms.body(operation, arguments));
  } catch (const network::Failure& failure) {
    operation.complete();
    channel.communicator().fail(failure.kind);
    throw;
  }
}

/// For algorithms that know nothing of gaps.
template <class Arguments>
void pack_sent(const Arguments& arguments, int ranks) {
  if constexpr (requires { arguments.sent; }) pack(arguments.sent, arguments.send, static_cast<std::size_t>(ranks));
}

/// Pending calls lend no longer copies: as many may be under way as there are slots.
constexpr std::size_t pending_lent_max = std::size_t{1} << 20;

}  // namespace

template <class Arguments>
Arguments Collectives::completed(const Choice<Arguments>& chosen, const Arguments& arguments, const CallSizes& sizes,
                                 Moving moving) const {
  Arguments completed = arguments;
  if constexpr (requires { arguments.parameter; }) {
    completed.parameter = chosen.parameter;
    constexpr bool makes_results = Kind<Arguments>::makes_results;
    const std::size_t streamed_min = makes_results ? selection::streamed_results_min : selection::streamed_to_peers_min;
    if (!sizes.small && !spanning_ && !(makes_results && sizes.block < streamed_min)) {
      completed.store = store_for(sizes, streamed_min);
      if (stores_through_caches(moving) && completed.store == memory::Store::streaming_to_peers)
        completed.store = memory::Store::cached;
    }
  }
  return completed;
}

template <class Arguments>
Collectives::Done Collectives::call(const Arguments& arguments) {
  const CallKey key = Kind<Arguments>::key(arguments, shape_.ranks);
  const Choice<Arguments>& chosen = choice(choices_for(arguments), key);
  if (!chosen.algorithm) return {};
  if (const auto straight = chosen.algorithm->forms.straight; straight) [[likely]] {
    pack_sent(arguments, shape_.ranks);
    Call call(chosen.collective, chosen.identity, Kind<Arguments>::announced(key.bytes));
    straight(communicator_.blocking(), call, arguments);
    return {true, call.truncated};
  }
  const Plan<Arguments> planned = plan(chosen, key.bytes, arguments, spanning_, false);
  if (!chosen.algorithm->traits.takes_spread || planned.cut.operations() > 1) pack_sent(arguments, shape_.ranks);
  Call call = planned.call();
  for (std::size_t index = 0; index < planned.cut.operations(); ++index)
    run(communicator_.blocking(), call, chosen.algorithm->forms, part_of(planned.arguments, planned.cut, index));
  return {true, call.truncated, call.lends_copies};
}

template <class Arguments>
Cut Collectives::cut_of(const Choice<Arguments>& chosen, const Arguments& arguments, const CallSizes& sizes) const {
  if (chosen.algorithm->forms.straight) return {};
  if constexpr (requires { arguments.combiner; })
    if (spanning_) {
      const std::size_t runs = chosen.algorithm->traits.gathers_runs ? spanning_->nodes.runs().size() : 0;
      const std::size_t results = std::max(static_cast<std::size_t>(shape_.places), runs);
      const std::size_t elements = limits_.shared_piece(results) / arguments.combiner->element_bytes;
      return {arguments.count, std::max<std::size_t>(1, elements)};
    }
  return chosen.algorithm->forms.cut ? chosen.algorithm->forms.cut(communicator_, arguments) : sizes.cut;
}

Lending Collectives::lending_of(Moving moving, const CallSizes& sizes, const Cut& cut, std::size_t most) const {
  const Node& node = communicator_.node();
  if (spanning_ || !node.cma || !node.may_stage || sizes.small) return Lending::as_it_is;
  const std::size_t held = sizes.held / std::max<std::size_t>(1, cut.operations());
  if (held <= limits_.small || held > most) return Lending::as_it_is;
  if (tutti::lends_copies(moving)) return moving == Moving::lent ? Lending::copied : Lending::copied_past_caches;
  return knowledge().model.is_lent_past_caches(shape_.distances) ? Lending::copied_past_caches : Lending::copied;
}

template <class Arguments>
Plan<Arguments> Collectives::plan(const Choice<Arguments>& chosen, std::size_t bytes, const Arguments& arguments,
                                  const Spanning* spanning, bool is_pending) const {
  const CallSizes sizes = Kind<Arguments>::sizes(arguments, limits_);
  Moving moving = moving_of(chosen, sizes);
  if (is_pending && tutti::lends_copies(moving) && sizes.held > pending_lent_max) moving = Moving::plain;
  const Arguments whole = completed(chosen, arguments, sizes, moving);
  const Cut cut = cut_of(chosen, whole, sizes);
  const Lending lending = lending_of(moving, sizes, cut, is_pending ? pending_lent_max : 2 * limits_.segment);
  return {chosen.collective, chosen.identity, Kind<Arguments>::announced(bytes), whole, *chosen.algorithm, cut, moving,
          lending,           spanning};
}

template <class Arguments>
PendingCall* Collectives::prepare_in(const Arguments& arguments, const Through& through, Allocate allocate, void* of) {
  const CallKey key = Kind<Arguments>::key(arguments, shape_.ranks);
  const Choice<Arguments>& chosen = choice(choices_for(arguments), key);
  if (!chosen.algorithm) return nullptr;
  const Plan<Arguments> planned = plan(chosen, key.bytes, arguments, through.across, true);
  using Made = PendingCallInPieces<Arguments>;
  return new (allocate(of, sizeof(Made))) Made(through.inside, planned);
}

#define TUTTI_INSTANTIATE(Of, name)                                                                     \
  template Collectives::Done Collectives::call(const Of##Arguments& arguments);                         \
  template PendingCall* Collectives::prepare_in(const Of##Arguments& arguments, const Through& through, \
                                                Allocate allocate, void* of);
TUTTI_KINDS(TUTTI_INSTANTIATE)
#undef TUTTI_INSTANTIATE

}  // namespace tutti
