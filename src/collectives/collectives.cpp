#include "collectives/collectives.h"

#include <algorithm>
#include <new>
#include <optional>
#include <string_view>
#include <type_traits>

#include "collectives/between_nodes/algorithms.h"
#include "collectives/between_nodes/spanning.h"
#include "collectives/common/buffers/exposure.h"
#include "collectives/kinds.h"
#include "collectives/pieces.h"

namespace tutti {

namespace {

std::size_t total_bytes(const Blocks& blocks, int count) {
  if (blocks.is_regular()) return blocks.bytes * static_cast<std::size_t>(count);
  std::size_t total = 0;
  for (int i = 0; i < count; ++i) total += blocks.sizes[i];
  return total;
}

}  // namespace

const Collectives::AnyChoice Collectives::no_choice{};

Collectives::Collectives(Communicator& communicator, const selection::Knowledge& knowledge, const Spanning* spanning)
    : communicator_(communicator),
      knowledge_(knowledge),
      spanning_(spanning),
      rank_(spanning ? spanning->rank : communicator.rank()) {
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
  small_ = ring_bytes(node.settings);
  segment_ = segment_bytes(node.settings);
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
const Collectives::Choice<Arguments>& Collectives::choice(Choices<Arguments>& choices, const Key& key,
                                                          const Arguments& given) {
  communicator_.current_collective = choices.collective;
  const Choice<Arguments>* made = choices.of.empty() ? nullptr : choices.of[index_of(key.bytes, key.commutative)].get();
  if (!made) [[unlikely]]
    made = &make(choices, key, given);
  last_ = made;
  last_bytes_ = key.bytes;
  return *made;
}

template <class Arguments>
std::size_t Collectives::mean_bytes(const Blocks& blocks, const Arguments& arguments) const {
  if (communicator_.rank() != arguments.root) return arguments.bytes;
  return total_bytes(blocks, shape_.ranks) / static_cast<std::size_t>(shape_.ranks);
}

std::size_t Collectives::block_piece(std::size_t bytes) const {
  const Node& node = communicator_.node();
  if (node.exposures || node.cma || (node.window_shared && node.ranks_are_threads)) return bytes;
  const std::size_t piece = node.settings.segment / static_cast<std::size_t>(shape_.ranks);
  return std::max(grain_bytes, piece & ~(grain_bytes - 1));
}

namespace {

/// What choices are made by.
template <class Arguments>
Collectives::Key key_of(const Arguments& arguments, int ranks) {
  if constexpr (std::is_same_v<Arguments, BarrierArguments>)
    return {};
  else if constexpr (std::is_same_v<Arguments, BcastArguments>)
    return {arguments.bytes};
  else if constexpr (requires { arguments.combiner; })
    return {arguments.bytes(), arguments.combiner->commutative};
  else if constexpr (std::is_same_v<Arguments, AllgatherArguments>)
    return {arguments.receive.is_regular()
                ? arguments.bytes
                : *std::max_element(arguments.receive.sizes, arguments.receive.sizes + ranks)};
  else if constexpr (std::is_same_v<Arguments, AlltoallArguments>)
    return {arguments.regular ? arguments.send.bytes : irregular_block_bytes};
  else if constexpr (std::is_same_v<Arguments, NeighborArguments>)
    return {irregular_block_bytes};
  else
    return {arguments.regular ? arguments.bytes : irregular_block_bytes};
}

}  // namespace

Collectives::Request Collectives::whole(std::size_t block, std::size_t held) const {
  return {.block = block, .held = held, .small = held <= small_};
}

Collectives::Request Collectives::request_of(const BarrierArguments&) const {
  return {.small = true};
}

Collectives::Request Collectives::request_of(const BcastArguments& arguments) const {
  const std::size_t bytes = arguments.bytes;
  Request request = whole(bytes, bytes);
  if (!request.small) request.cut = {bytes, segment_};
  return request;
}

template <class Arguments>
Collectives::Request Collectives::request_of_reduction(const Arguments& arguments) const {
  const std::size_t bytes = arguments.bytes();
  Request request{.block = bytes, .held = 2 * bytes, .small = bytes <= small_};
  if (!request.small)
    request.cut = {arguments.count, std::max<std::size_t>(1, segment_ / arguments.combiner->element_bytes)};
  return request;
}

Collectives::Request Collectives::request_of(const ReduceArguments& arguments) const {
  return request_of_reduction(arguments);
}

Collectives::Request Collectives::request_of(const AllreduceArguments& arguments) const {
  return request_of_reduction(arguments);
}

Collectives::Request Collectives::request_of(const ScanArguments& arguments) const {
  return request_of_reduction(arguments);
}

Collectives::Request Collectives::request_of(const ReduceScatterArguments& arguments) const {
  // Each algorithm cuts it in its own way.
  return whole(arguments.bytes(), arguments.bytes());
}

Collectives::Request Collectives::request_of_blocks(std::size_t bytes, std::size_t held) const {
  Request request = whole(bytes, held);
  request.cut = {bytes, block_piece(bytes)};
  return request;
}

Collectives::Request Collectives::request_of(const ScatterArguments& arguments) const {
  if (arguments.regular) return request_of_blocks(arguments.bytes, arguments.bytes);
  const std::size_t mean = mean_bytes(arguments.send, arguments);
  return whole(mean, mean);
}

Collectives::Request Collectives::request_of(const GatherArguments& arguments) const {
  if (arguments.regular) return request_of_blocks(arguments.bytes, arguments.bytes);
  const std::size_t mean = mean_bytes(arguments.receive, arguments);
  return whole(mean, mean);
}

Collectives::Request Collectives::request_of(const AllgatherArguments& arguments) const {
  const std::size_t total = total_bytes(arguments.receive, shape_.ranks);
  if (arguments.receive.is_regular()) return request_of_blocks(arguments.bytes, total);
  return whole(arguments.bytes, total);
}

Collectives::Request Collectives::request_of(const AlltoallArguments& arguments) const {
  const auto ranks = static_cast<std::size_t>(shape_.ranks);
  if (arguments.regular) return request_of_blocks(arguments.send.bytes, 2 * arguments.send.bytes * ranks);
  return whole(total_bytes(arguments.send, shape_.ranks) / ranks, 2 * total_bytes(arguments.receive, shape_.ranks));
}

Collectives::Request Collectives::request_of(const NeighborArguments& arguments) const {
  // One operation, also of nothing or of blocks that have to be staged whole: ranks that are no neighbours may have
  // other sizes, but all count the same operations.
  const std::size_t total = total_bytes(arguments.receive, arguments.source_count);
  const auto destinations = static_cast<std::size_t>(std::max(1, arguments.destination_count));
  const std::size_t block =
      arguments.regular ? arguments.bytes : total_bytes(arguments.send, arguments.destination_count) / destinations;
  return whole(block, total);
}

template <class Arguments>
Collectives::Choices<Arguments>& Collectives::choices_for(const Arguments& arguments) {
  if constexpr (std::is_same_v<Arguments, BarrierArguments>) return barrier_;
  if constexpr (std::is_same_v<Arguments, BcastArguments>) return bcast_;
  if constexpr (std::is_same_v<Arguments, ReduceArguments>) return reduce_;
  if constexpr (std::is_same_v<Arguments, AllreduceArguments>) return allreduce_;
  if constexpr (std::is_same_v<Arguments, ReduceScatterArguments>) return reduce_scatter_;
  if constexpr (std::is_same_v<Arguments, ScanArguments>) return arguments.exclusive ? exscan_ : scan_;
  if constexpr (std::is_same_v<Arguments, ScatterArguments>) return arguments.regular ? scatter_ : scatterv_;
  if constexpr (std::is_same_v<Arguments, GatherArguments>) return arguments.regular ? gather_ : gatherv_;
  if constexpr (std::is_same_v<Arguments, AllgatherArguments>)
    return arguments.receive.is_regular() ? allgather_ : allgatherv_;
  if constexpr (std::is_same_v<Arguments, AlltoallArguments>) return arguments.regular ? alltoall_ : alltoallv_;
  if constexpr (std::is_same_v<Arguments, NeighborArguments>) return arguments.regular ? neighbor_ : neighborv_;
}

namespace {

/// What the signature of a call has as its size: neighbours agree on their own sizes only.
template <class Arguments>
std::size_t announced(std::size_t bytes) {
  return std::is_same_v<Arguments, NeighborArguments> ? 0 : bytes;
}

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
template <class Arguments>
using PendingCallOf = PendingCallInPieces<Arguments, Carrier<Arguments>>;

}  // namespace

template <class Arguments>
CallSignature Collectives::signature_of(const char* collective, const Choice<Arguments>& chosen, const Key& key) {
  return {collective, chosen.identity, announced<Arguments>(key.bytes)};
}

template <class Arguments>
Arguments Collectives::completed(const Choice<Arguments>& chosen, const Arguments& given, const Request& request,
                                 Moving moving) const {
  Arguments arguments = given;
  if constexpr (!std::is_same_v<Arguments, BarrierArguments>) {
    arguments.parameter = chosen.parameter;
    constexpr bool makes_results = std::is_same_v<Arguments, ReduceArguments> ||
                                   std::is_same_v<Arguments, AllreduceArguments> ||
                                   std::is_same_v<Arguments, ScanArguments>;
    const std::size_t streamed_min = makes_results ? selection::streamed_results_min : selection::streamed_to_peers_min;
    if (!request.small && !(makes_results && request.block < streamed_min)) {
      arguments.store = store_for(request, streamed_min);
      if (stores_through_caches(moving) && arguments.store == memory::Store::streaming_to_peers)
        arguments.store = memory::Store::cached;
    }
  }
  return arguments;
}

template <class Arguments>
bool Collectives::call(const Arguments& given) {
  const Key key = key_of(given, shape_.ranks);
  Choices<Arguments>& choices = choices_for(given);
  const Choice<Arguments>& chosen = choice(choices, key, given);
  if (!chosen.algorithm)
    return chosen.between_nodes && call_across(chosen, given, signature_of(choices.collective, chosen, key));
  if (const auto straight = chosen.algorithm->forms.straight; straight) [[likely]] {
    Call call(choices.collective, chosen.identity, announced<Arguments>(key.bytes));
    straight(communicator_.blocking(), call, given);
    truncated_ = call.truncated;
    lends_copies_ = false;
    return true;
  }
  const Request request = request_of(given);
  const Moving moving = moving_of(choices, chosen, request);
  const Arguments arguments = completed(chosen, given, request, moving);
  const Cut cut = cut_of(chosen, arguments, request);
  Call call(choices.collective, chosen.identity, announced<Arguments>(key.bytes), cut.operations() > 1);
  call.moving = moving;
  call.lending = lending_of(moving, request, cut, 2 * segment_);
  for (std::size_t index = 0; index < cut.operations(); ++index)
    run(communicator_.blocking(), call, chosen.algorithm->forms, part_of(arguments, cut, index));
  truncated_ = call.truncated;
  lends_copies_ = call.lends_copies;
  return true;
}

template <class Arguments>
Cut Collectives::cut_of(const Choice<Arguments>& chosen, const Arguments& arguments, const Request& request) const {
  if (chosen.algorithm->forms.straight) return {};
  return chosen.algorithm->cut ? chosen.algorithm->cut(communicator_, arguments) : request.cut;
}

Lending Collectives::lending_of(Moving moving, const Request& request, const Cut& cut, std::size_t most) const {
  const Node& node = communicator_.node();
  const std::size_t held = request.held / std::max<std::size_t>(1, cut.operations());
  if (!node.cma || !node.may_stage || request.small || held <= small_ || held > most) return Lending::as_it_is;
  if (tutti::lends_copies(moving)) return moving == Moving::lent ? Lending::copied : Lending::copied_past_caches;
  return knowledge().model.is_lent_past_caches(shape_.distances) ? Lending::copied_past_caches : Lending::copied;
}

template <class Arguments, class Make, class MakeAcross>
PendingCall* Collectives::prepare_by(const Arguments& given, Communicator& through, const Make& make,
                                     const MakeAcross& make_across) {
  const Key key = key_of(given, shape_.ranks);
  Choices<Arguments>& choices = choices_for(given);
  const Choice<Arguments>& chosen = choice(choices, key, given);
  if (chosen.between_nodes) return make_across(*chosen.between_nodes, signature_of(choices.collective, chosen, key));
  if (!chosen.algorithm) return nullptr;
  const Request request = request_of(given);
  Moving moving = moving_of(choices, chosen, request);
  if (tutti::lends_copies(moving) && request.held > pending_lent_max) moving = Moving::plain;
  const Arguments arguments = completed(chosen, given, request, moving);
  const Cut cut = cut_of(chosen, arguments, request);
  const Lending lending = lending_of(moving, request, cut, pending_lent_max);
  return make(through, choices.collective, chosen.identity, announced<Arguments>(key.bytes),
              Carrier<Arguments>{*chosen.algorithm, moving, lending}, arguments, cut);
}

template <class Arguments>
std::unique_ptr<PendingCall> Collectives::prepare(const Arguments& given) {
  return std::unique_ptr<PendingCall>(prepare_by(
      given, communicator_, [](auto&&... of) { return std::make_unique<PendingCallOf<Arguments>>(of...).release(); },
      [&](const auto& algorithm, const CallSignature& signature) {
        return prepare_between_nodes(*spanning_, algorithm, given, signature).release();
      }));
}

template <class Arguments>
PendingCall* Collectives::prepare_in(const Arguments& given, const Through& through, Allocate allocate, void* of) {
  using Made = PendingCallOf<Arguments>;
  return prepare_by(
      given, through.inside, [&](auto&&... what) { return new (allocate(of, sizeof(Made))) Made(what...); },
      [&](const auto& algorithm, const CallSignature& signature) {
        return prepare_between_nodes_in(*through.across, algorithm, given, signature, allocate, of);
      });
}

#define TUTTI_INSTANTIATE(Kind, name)                                                                 \
  template bool Collectives::call(const Kind##Arguments& given);                                      \
  template std::unique_ptr<PendingCall> Collectives::prepare(const Kind##Arguments& given);           \
  template PendingCall* Collectives::prepare_in(const Kind##Arguments& given, const Through& through, \
                                                Allocate allocate, void* of);
#define TUTTI_NO_INSTANCE(Kind, name)
TUTTI_COLLECTIVES(TUTTI_INSTANTIATE, TUTTI_NO_INSTANCE)
#undef TUTTI_INSTANTIATE
#undef TUTTI_NO_INSTANCE

}  // namespace tutti
