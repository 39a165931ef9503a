// Reduce_scatter, direct by owner: every rank reduces its own range straight from all send buffers.
//
// Phase 1: every rank exposes its send buffer; whoever gets elements waits for all of them. Phase 2: it reduces its
// range in one pass, in rank order, into its receive buffer; in place, into memory beside it, since peers still read.
// Phase 3: a rank whose buffer is read waits for its readers, then puts a result in place where it belongs.
// Cost: two flag hops; each rank reads n bytes (n/p of each buffer) and writes n/p.
// Requires: at most TUTTI_FLAT_MAX ranks. The reduction by shares is XBRC's (as described in XHC, section V.C).
//
// Where buffers may have to be staged, a long message takes several rounds, each with a piece of every rank's range, so
// that all ranks work in each of them and the staging buffer stays small.

#include "collectives/algorithm.h"
#include "collectives/common/reducing/share.h"
#include "topology/owned_range.h"

namespace tutti {

namespace {

/// One round: the elements [at, at + length) of every rank's own range, as far as it has them.
struct PieceRound {
  std::size_t at = 0;
  std::size_t length = 0;
  bool only = true;  ///< the whole message

  topology::Range of(topology::Range owned) const {
    return topology::overlap(owned, {owned.begin + at, owned.begin + at + length});
  }
};

std::size_t longest_range(const ReduceScatterArguments& arguments, int ranks) {
  return *std::max_element(arguments.counts, arguments.counts + ranks);
}

PieceRound round_of(const ReduceScatterArguments& arguments, int ranks) {
  const topology::Range piece = arguments.piece;
  return {piece.begin, piece.length(), piece.length() == longest_range(arguments, ranks)};
}

/// Whether the result of `rank`, this one, overwrites what peers read.
bool overlaps(const ReduceScatterArguments& arguments, int rank) {
  const std::byte* const end = arguments.receive + arguments.counts[rank] * arguments.combiner->element_bytes;
  return arguments.receive < arguments.send + arguments.bytes() && arguments.send < end;
}

/// A buffer that peers cannot reach is copied, the pieces of the round one behind the other.
Exposure expose_pieces(Operation& operation, const ReduceScatterArguments& arguments, const PieceRound& round) {
  Communicator& communicator = operation.communicator();
  const std::size_t element = arguments.combiner->element_bytes;
  auto* send = const_cast<std::byte*>(arguments.send);
  if (!round.only) {
    const memory::Region region = operation.reachable(send, arguments.bytes(), Side::source);
    if (region.kind() != memory::Kind::none) return {region, send, false, false};
  }
  std::size_t elements = 0;
  for (int rank = 0; rank < communicator.size(); ++rank) elements += round.of({0, arguments.counts[rank]}).length();
  const Exposure exposed = expose(operation, send, elements * element, Side::source);
  if (!exposed.copied) return exposed;
  std::byte* to = exposed.local;
  topology::Range owned;
  for (int rank = 0; rank < communicator.size(); ++rank) {
    owned = {owned.end, owned.end + arguments.counts[rank]};
    const topology::Range piece = round.of(owned);
    if (piece.empty()) continue;
    copy_to_lend(operation, to, send + piece.begin * element, piece.length() * element);
    to += piece.length() * element;
  }
  return exposed;
}

Task direct_body(Operation& operation, const ReduceScatterArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const int ranks = communicator.size();
  const int self = communicator.rank();
  const auto element = static_cast<std::ptrdiff_t>(arguments.combiner->element_bytes);
  const PieceRound round = round_of(arguments, ranks);
  const Exposure exposed = expose_pieces(operation, arguments, round);
  // Readers find a copy's pieces one behind the other, and those of a buffer itself where they are.
  operation.own().post.regions.bytes = exposed.copied ? 1 : 0;
  post(operation, exposed, {});

  const topology::Range mine = round.of(topology::owned_range(arguments.counts, self));
  const std::size_t own_bytes = mine.length() * arguments.combiner->element_bytes;
  std::byte* const place = arguments.receive + round.at * arguments.combiner->element_bytes;
  // In place, the result overwrites what peers read in this round: it is kept elsewhere until they have finished.
  std::byte* result = place;
  if (own_bytes > 0 && overlaps(arguments, self))
    result = own_bytes > communicator.node().settings.segment
                 ? static_cast<std::byte*>(operation.allocate(own_bytes))
                 : operation.staging(static_cast<int>(Side::destination), own_bytes);
  if (!mine.empty()) {
    std::size_t before = 0;  // in a copy, the pieces of lower ranks
    for (int rank = 0; rank < self; ++rank) before += round.of({0, arguments.counts[rank]}).length();
    const auto packed = (static_cast<std::ptrdiff_t>(before) - static_cast<std::ptrdiff_t>(mine.begin)) * element;
    RemoteBuffer* sources = operation.array<RemoteBuffer>(static_cast<std::size_t>(ranks));
    co_await operation.others_posted();
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank == self) {  // the own memory needs no mechanism
        sources[rank] = {self, own_memory(arguments.send), 0};
        continue;
      }
      const bool copied = operation.slot(rank).post.regions.bytes != 0;
      sources[rank] = {rank, posted_source(operation, rank), copied ? packed : 0};
    }
    operation.seen_all();
    const RemoteBuffer destination{self, own_memory(result), -static_cast<std::ptrdiff_t>(mine.begin) * element};
    co_await reduce_range(operation, *arguments.combiner, mine, {sources, ranks}, destination, arguments.store);
  }
  operation.publish_done();
  for (int rank = 0; rank < ranks && !exposed.in_the_ring; ++rank)
    if (rank != self && arguments.counts[rank] > round.at) co_await operation.done(rank);
  if (result != place) copy_bytes(place, result, own_bytes);
}

/// The longest of the ranks' ranges, in pieces.
Cut direct_cut(const Communicator& communicator, const ReduceScatterArguments& arguments) {
  const Node& node = communicator.node();
  const std::size_t longest = longest_range(arguments, communicator.size());
  const bool all_reachable = node.cma || (node.window_shared && node.ranks_are_threads);
  const std::size_t segment = node.settings.segment;
  if (all_reachable || arguments.bytes() <= segment) return {longest, longest};
  const std::size_t ranks = static_cast<std::size_t>(communicator.size());
  return {longest, std::max<std::size_t>(1, segment / ranks / arguments.combiner->element_bytes)};
}

}  // namespace

selection::Algorithm<ReduceScatterArguments> reduce_scatter_direct{
    "direct",
    {"2", "n read: the own range of every buffer; n/p written", "XBRC (XHC V.C), by owner"},
    selection::requires_few_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double others = static_cast<double>(shape.ranks - 1) / shape.ranks;
      return selection::Cost{.hops = 2.6 + 3 * selection::all_look * selection::further_ranks(shape),
                             .rounds = 3,
                             .copied_bytes = bytes / shape.ranks,
                             .remote_bytes = others * bytes,
                             .slot_bytes = shape.reach == selection::Reach::staged ? bytes : 0.0,
                             .reduced_bytes = bytes,
                             .left_bytes = others * bytes,
                             .exposures = 1,
                             .startups = (shape.ranks - 1) * std::max(1.0, bytes / shape.ranks / usual_block_bytes),
                             .concurrency = readers_of_one(shape, shape.ranks - 1),
                             .across = selection::Across::all};
    },
    {direct_body, only_done, nullptr, nullptr, direct_cut},
    {.lends = Readers::one}};

}  // namespace tutti
