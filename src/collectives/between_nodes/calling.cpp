// How algorithms between nodes are called: cut into operations, and run.
#include <algorithm>

#include "collectives/between_nodes/algorithms.h"
#include "collectives/identity.h"
#include "collectives/kinds.h"
#include "collectives/pieces.h"

namespace tutti {

namespace {

/// What one operation carries, so that the memory which a node's ranks share holds about two segments.
template <class Arguments>
Cut cut_of(const Spanning& spanning, const Arguments& arguments) {
  const std::size_t segment = segment_bytes(spanning.inside.node().settings);
  const auto ranks = static_cast<std::size_t>(spanning.nodes.ranks());
  const auto places = static_cast<std::size_t>(spanning.nodes.most_places());
  const auto lines = [](std::size_t bytes) {
    return std::max(cache_line_bytes, bytes / cache_line_bytes * cache_line_bytes);
  };
  if constexpr (std::is_same_v<Arguments, BcastArguments>) {
    return {arguments.bytes, segment};
  } else if constexpr (std::is_same_v<Arguments, ReduceScatterArguments>) {
    // What belongs to a rank is no piece of what belongs to all.
    return {};
  } else if constexpr (requires { arguments.combiner; }) {
    return {arguments.count, std::max<std::size_t>(1, lines(segment / places) / arguments.combiner->element_bytes)};
  } else if constexpr (std::is_same_v<Arguments, AlltoallArguments>) {
    return arguments.regular ? Cut{arguments.send.bytes, lines(segment / (places * ranks))} : Cut{};
  } else if constexpr (std::is_same_v<Arguments, AllgatherArguments>) {
    return arguments.receive.is_regular() ? Cut{arguments.receive.bytes, lines(segment / ranks)} : Cut{};
  } else if constexpr (std::is_same_v<Arguments, ScatterArguments> || std::is_same_v<Arguments, GatherArguments>) {
    return arguments.regular ? Cut{arguments.bytes, lines(segment / ranks)} : Cut{};
  } else {
    return {};
  }
}

template <class Arguments>
struct Carrier {
  const Spanning& spanning;
  const SpanningAlgorithm<Arguments>& algorithm;

  Task body(Operation& operation, const Arguments& arguments) const {
    return algorithm.body(operation, spanning, arguments);
  }
  std::uint64_t in_flight(const Communicator&, const Arguments&) const { return ring_slots; }
};

}  // namespace

template <class Arguments>
bool call_between_nodes(const Spanning& spanning, const SpanningAlgorithm<Arguments>& algorithm,
                        const Arguments& arguments) {
  const Cut cut = cut_of(spanning, arguments);
  Call call(algorithm.name, identity_of("between nodes", algorithm.name), cut.total, cut.operations() > 1);
  for (std::size_t index = 0; index < cut.operations(); ++index) {
    const Arguments part = part_of(arguments, cut, index);
    Operation operation(spanning.inside.blocking(), call, ring_slots);
    operation.run(algorithm.body(operation, spanning, part));
  }
  return !call.truncated;
}

template <class Arguments>
std::unique_ptr<PendingCall> prepare_between_nodes(const Spanning& spanning,
                                                   const SpanningAlgorithm<Arguments>& algorithm,
                                                   const Arguments& arguments) {
  const Cut cut = cut_of(spanning, arguments);
  return std::make_unique<PendingCallInPieces<Arguments, Carrier<Arguments>>>(
      spanning.inside, algorithm.name, identity_of("between nodes", algorithm.name), cut.total,
      Carrier<Arguments>{spanning, algorithm}, arguments, cut);
}

#define TUTTI_INSTANTIATE(Kind, name)                                                                              \
  template bool call_between_nodes(const Spanning& spanning, const SpanningAlgorithm<Kind##Arguments>& algorithm,  \
                                   const Kind##Arguments& arguments);                                              \
  template std::unique_ptr<PendingCall> prepare_between_nodes(const Spanning& spanning,                            \
                                                              const SpanningAlgorithm<Kind##Arguments>& algorithm, \
                                                              const Kind##Arguments& arguments);
#define TUTTI_NO_INSTANCE(Kind, name)
TUTTI_COLLECTIVES(TUTTI_INSTANTIATE, TUTTI_NO_INSTANCE)

}  // namespace tutti
