// Scan and Exscan by recursive doubling, for any number of ranks, pipelined.
//
// Phase 1: every rank exposes its send buffer and a buffer for its partial results. Phase 2, step i = 0, 1, ...: rank r
// combines the partial result of step i of rank r - 2^i with its own, which then reaches back over 2^(i+1) ranks;
// partial result 0 is the contribution. Ranks below 2^i are finished at step i. Chunk by chunk: a rank may be in a
// later chunk than those it reads from need to be in. In an Exscan rank r does what rank r-1 does in a Scan, and so
// begins with the contribution of rank r-1. Phase 3: a rank waits for those that read its buffers.
// Cost: log2 p flag hops and one back; n log2 p bytes read and 2 n log2 p reduced by each rank.
// Requires: at most 2^15 ranks. The scheme is Hillis' and Steele's (Data parallel algorithms, CACM 1986).

#include <bit>

#include "collectives/algorithm.h"
#include "collectives/common/reducing/share.h"

namespace tutti {

namespace {

/// Chunks of the partial result that a rank has made in each step.
constexpr FlagRow chunks_of_step{Line::ready, 0, flags_in_line};
constexpr FlagSet scan_recursive_doubling_flags = FlagSet::of(chunks_of_step, done_flag);
constexpr int most_ranks = 1 << (chunks_of_step.count() - 1);

/// Steps in which the rank in this place of the scan takes part: those with 2^i <= place.
int steps_of(int place) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(place)));
}

/// The buffers of all ranks, as one rank sees them. Places are those of the scan: rank - 1 in an Exscan.
struct Places {
  Operation& operation;
  std::size_t bytes;
  int shift;  ///< 1 in an Exscan

  /// Who makes the partial results of a place.
  int maker(int place) const { return place + shift; }
  /// Partial result `step` of `place`, once its flag was seen. The last one stands for all later ones.
  RemoteBuffer partial(int place, int step) const {
    step = std::min(step, steps_of(place));
    if (step == 0) return {place, posted_source(operation, place)};
    return {maker(place), posted_destination(operation, maker(place)), (step - 1) * static_cast<std::ptrdiff_t>(bytes)};
  }
  struct Signal {
    int rank;
    const sync::Flag& flag;
    std::uint64_t progress;
  };
  /// What says that chunk `chunk` of that partial result is there.
  Signal ready(int place, int step, std::size_t chunk) const {
    step = std::min(step, steps_of(place));
    if (step == 0) return {place, operation.slot(place).post.flag, 0};
    return {maker(place), operation.slot(maker(place)).flags[chunks_of_step[step - 1]], chunk + 1};
  }
};

Task make_prefix(Operation& operation, const ScanArguments& arguments, const Places& places, std::byte* partials) {
  Communicator& communicator = operation.communicator();
  const int self = communicator.rank();
  const int place = self - places.shift;
  const int steps = steps_of(place);
  const std::size_t element = arguments.combiner->element_bytes;
  const std::size_t length = std::max<std::size_t>(1, communicator.chunk_bytes() / element);
  for (std::size_t at = 0; at < arguments.count; at += length) {
    const topology::Range chunk{at, std::min(at + length, arguments.count)};
    RemoteBuffer operands[2];
    operands[1] = {self, own_memory(arguments.send)};
    if (place != self) {
      co_await operation.posted(place);
      operands[1] = places.partial(place, 0);
    }
    for (int step = 0; step < steps; ++step) {
      const int other = place - (1 << step);
      const Places::Signal signal = places.ready(other, step, at / length);
      co_await operation.has(signal.flag, signal.progress, signal.rank);
      operands[0] = places.partial(other, step);
      const RemoteBuffer result{self, own_memory(partials + static_cast<std::size_t>(step) * arguments.bytes())};
      co_await reduce_range(operation, *arguments.combiner, chunk, {operands, 2}, result, memory::Store::cached);
      operation.publish(chunks_of_step[step], at / length + 1);
      operands[1] = result;
    }
    // In place, the contribution may still be read: the result waits in `partials`, if it is not there already.
    const bool in_place = arguments.receive == arguments.send;
    if (in_place && (steps > 0 || place == self)) continue;
    const RemoteBuffer result{self, own_memory(in_place ? partials : arguments.receive)};
    co_await reduce_range(operation, *arguments.combiner, chunk, {operands + 1, 1}, result, arguments.store);
  }
}

Task recursive_doubling_body(Operation& operation, const ScanArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const int self = communicator.rank();
  const int ranks = communicator.size();
  const Places places{operation, arguments.bytes(), arguments.exclusive ? 1 : 0};
  const int place = self - places.shift;
  const int steps = place < 0 ? 0 : steps_of(place);

  Exposure partials;
  if (self > 0) {
    const std::size_t bytes = static_cast<std::size_t>(std::max(steps, 1)) * arguments.bytes();
    partials = staging_buffer(operation, Side::destination, bytes);
  }
  const Exposure source = stage(operation, arguments.send, arguments.bytes(), partials);

  if (place >= 0) co_await make_prefix(operation, arguments, places, partials.local);
  operation.publish_done();
  if (!(source.in_the_ring && steps == 0)) {
    for (int distance = 1; self + distance < ranks; distance *= 2) co_await operation.done(self + distance);
    // The first contribution of an Exscan stands for place 0, which the places 2^i read.
    for (int distance = 1; places.shift > 0 && self == 0 && distance + 1 < ranks; distance *= 2)
      co_await operation.done(distance + 1);
  }
  if (self > 0 && arguments.receive == arguments.send)
    copy_bytes(arguments.receive, partials.local + static_cast<std::size_t>(std::max(steps, 1) - 1) * arguments.bytes(),
               arguments.bytes());
}

}  // namespace

selection::Algorithm<ScanArguments> scan_recursive_doubling{
    "recursive-doubling",
    {"1 + log2 p", "n log2 p read", "Hillis and Steele, CACM 1986"},
    {"at most 32768 ranks", [](const selection::Shape& shape) { return shape.ranks <= most_ranks; }},
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double steps = std::bit_width(static_cast<unsigned>(shape.ranks - 1));
      return selection::Cost{.hops = 1.0 + steps,
                             .rounds = 1.0 + steps,
                             .copied_bytes = bytes,
                             .remote_bytes = steps * bytes,
                             .slot_bytes = shape.reach == selection::Reach::staged ? bytes : 0.0,
                             .reduced_bytes = 2 * steps * bytes,
                             .left_bytes = steps * bytes,
                             .exposures = 2,
                             .startups = std::max(1.0, bytes / usual_block_bytes),
                             // Of partial results, which are staged.
                             .lent_bytes = std::max(0.0, steps - 1) * bytes};
    },
    {recursive_doubling_body, scan_recursive_doubling_flags}};

}  // namespace tutti
