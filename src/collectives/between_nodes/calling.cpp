// How algorithms between nodes are called: cut into operations, and run.
#include <algorithm>
#include <new>
#include <vector>

#include "collectives/between_nodes/algorithms.h"
#include "collectives/between_nodes/crossing.h"
#include "collectives/between_nodes/packed.h"
#include "collectives/kinds.h"
#include "collectives/pieces.h"

namespace tutti {

namespace {

/// What one operation carries, so that the memory which a node's ranks share holds about two segments.
template <class Arguments>
Cut cut_of(const Spanning& spanning, const SpanningAlgorithm<Arguments>& algorithm, const Arguments& arguments) {
  const std::size_t segment = segment_bytes(spanning.inside.node().settings);
  const auto ranks = static_cast<std::size_t>(spanning.nodes.ranks());
  const auto places = static_cast<std::size_t>(spanning.nodes.most_places());
  const auto all_bytes = [&](const Blocks& blocks) {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < ranks; ++i) sum += blocks.size(i);
    return sum;
  };
  const auto lines = [](std::size_t bytes) {
    return std::max(cache_line_bytes, bytes / cache_line_bytes * cache_line_bytes);
  };
  if constexpr (std::is_same_v<Arguments, BcastArguments>) {
    return {arguments.bytes, segment};
  } else if constexpr (requires { arguments.combiner; }) {
    const std::size_t results = std::max(places, algorithm.gathers_runs ? spanning.nodes.runs().size() : 0);
    return {arguments.count, std::max<std::size_t>(1, lines(segment / results) / arguments.combiner->element_bytes)};
  } else if constexpr (std::is_same_v<Arguments, AlltoallArguments>) {
    return arguments.regular ? Cut{arguments.send.bytes, lines(segment / (places * ranks))} : Cut{};
  } else if constexpr (std::is_same_v<Arguments, AllgatherArguments>) {
    // Of blocks of different sizes, a piece is of all of them one behind the other.
    return arguments.receive.is_regular() ? Cut{arguments.receive.bytes, lines(segment / ranks)}
                                          : Cut{all_bytes(arguments.receive), lines(segment)};
  } else if constexpr (std::is_same_v<Arguments, ScatterArguments> || std::is_same_v<Arguments, GatherArguments>) {
    // Where only the root knows the sizes, the algorithm sees to it.
    return arguments.regular ? Cut{arguments.bytes, lines(segment / ranks)} : Cut{};
  } else {
    return {};
  }
}

/// The arguments of one operation after the other; those of one hold until those of the next are made.
template <class Arguments>
class CallParts {
 public:
  explicit CallParts(const Spanning& spanning) : spanning_(spanning) {}

  Arguments of(const Arguments& arguments, const Cut& cut, std::size_t index) {
    if constexpr (std::is_same_v<Arguments, AllgatherArguments>)
      if (!arguments.receive.is_regular())
        return of_irregular(arguments, {index * cut.piece, std::min((index + 1) * cut.piece, cut.total)});
    return part_of(arguments, cut, index);
  }

 private:
  AllgatherArguments of_irregular(AllgatherArguments arguments, topology::Range piece) {
    const auto self = static_cast<std::size_t>(spanning_.rank);
    // Once a call: there may be thousands of ranks, and of pieces.
    if (starts_.empty())
      starts_ = starts_of(static_cast<std::size_t>(spanning_.nodes.ranks()),
                          [&](std::size_t rank) { return arguments.receive.size(rank); });
    sizes_.resize(starts_.size() - 1);
    offsets_.resize(starts_.size() - 1);
    for (std::size_t i = before_.begin; i < before_.end; ++i) sizes_[i] = 0;
    before_ = parts_of_piece(starts_, piece);
    for (std::size_t i = before_.begin; i < before_.end; ++i) {
      const std::size_t from = std::max(piece.begin, starts_[i]);
      sizes_[i] = std::min(piece.end, starts_[i + 1]) - from;
      offsets_[i] = arguments.receive.offset(i) + static_cast<std::ptrdiff_t>(from - starts_[i]);
      if (i == self && arguments.send) arguments.send += from - starts_[i];
    }
    arguments.receive = Blocks::irregular(arguments.receive.base, sizes_.data(), offsets_.data());
    arguments.bytes = sizes_[self];
    return arguments;
  }

  const Spanning& spanning_;
  Starts starts_;           ///< of the ranks' parts
  topology::Range before_;  ///< ranks that the last piece had something of
  std::vector<std::size_t> sizes_;
  std::vector<std::ptrdiff_t> offsets_;
};

template <class Arguments>
struct PartCarrier {
  const Spanning& spanning;
  const SpanningAlgorithm<Arguments>& algorithm;
  CallParts<Arguments> parts;

  Arguments part_of(const Arguments& arguments, const Cut& cut, std::size_t index) {
    return parts.of(arguments, cut, index);
  }

  static FlagSet flags() { return crossing_flags; }
  Task body(Operation& operation, const Arguments& arguments) const {
    return algorithm.body(operation, spanning, arguments);
  }
  std::uint64_t in_flight(const Communicator&, const Arguments&) const { return data_areas; }
};
template <class Arguments>
using Made = PendingCallInPieces<Arguments, PartCarrier<Arguments>>;

/// make(...): makes a pending call of what it is given.
template <class Arguments, class Make>
auto prepare_by(const Spanning& spanning, const SpanningAlgorithm<Arguments>& algorithm, const Arguments& arguments,
                const CallSignature& signature, const Make& make) {
  const Cut cut = cut_of(spanning, algorithm, arguments);
  return make(spanning.inside, signature.collective, signature.identity, signature.bytes,
              PartCarrier<Arguments>{spanning, algorithm, CallParts<Arguments>(spanning)}, arguments, cut);
}

}  // namespace

template <class Arguments>
bool call_between_nodes(const Spanning& spanning, const SpanningAlgorithm<Arguments>& algorithm,
                        const Arguments& arguments, const CallSignature& signature) {
  const Cut cut = cut_of(spanning, algorithm, arguments);
  Call call(signature.collective, signature.identity, signature.bytes, cut.operations() > 1);
  CallParts<Arguments> parts(spanning);
  for (std::size_t index = 0; index < cut.operations(); ++index) {
    const Arguments part = parts.of(arguments, cut, index);
    Operation operation(spanning.inside.blocking(), call, data_areas);
    try {
      operation.run(crossing_flags, algorithm.body(operation, spanning, part));
    } catch (const network::Failure& failure) {
      operation.complete();
      spanning.inside.fail(failure.kind);
      throw;
    }
  }
  return !call.truncated;
}

template <class Arguments>
std::unique_ptr<PendingCall> prepare_between_nodes(const Spanning& spanning,
                                                   const SpanningAlgorithm<Arguments>& algorithm,
                                                   const Arguments& arguments, const CallSignature& signature) {
  return prepare_by(spanning, algorithm, arguments, signature,
                    [](auto&&... what) { return std::make_unique<Made<Arguments>>(what...); });
}

template <class Arguments>
PendingCall* prepare_between_nodes_in(const Spanning& spanning, const SpanningAlgorithm<Arguments>& algorithm,
                                      const Arguments& arguments, const CallSignature& signature,
                                      void* (*allocate)(void* of, std::size_t bytes), void* of) {
  return prepare_by(spanning, algorithm, arguments, signature, [&](auto&&... what) {
    return new (allocate(of, sizeof(Made<Arguments>))) Made<Arguments>(what...);
  });
}

#define TUTTI_INSTANTIATE(Kind, name)                                                                                  \
  template bool call_between_nodes(const Spanning& spanning, const SpanningAlgorithm<Kind##Arguments>& algorithm,      \
                                   const Kind##Arguments& arguments, const CallSignature& signature);                  \
  template std::unique_ptr<PendingCall> prepare_between_nodes(                                                         \
      const Spanning& spanning, const SpanningAlgorithm<Kind##Arguments>& algorithm, const Kind##Arguments& arguments, \
      const CallSignature& signature);                                                                                 \
  template PendingCall* prepare_between_nodes_in(                                                                      \
      const Spanning& spanning, const SpanningAlgorithm<Kind##Arguments>& algorithm, const Kind##Arguments& arguments, \
      const CallSignature& signature, void* (*allocate)(void* of, std::size_t bytes), void* of);
#define TUTTI_NO_INSTANCE(Kind, name)
TUTTI_COLLECTIVES(TUTTI_INSTANTIATE, TUTTI_NO_INSTANCE)
#undef TUTTI_INSTANTIATE
#undef TUTTI_NO_INSTANCE

}  // namespace tutti
