// Allreduce, flat, all read all: every rank reduces everything itself, from the send buffers where they are.
//
// Phase 1: every rank exposes its send buffer, in place a copy of it; all wait for all. Phase 2: each reduces all
// buffers in one pass, in rank order, into its own receive buffer, which no other rank touches, from its own share of
// the index range on. Phase 3: all wait until all have finished reading.
// Of two ranks one that has to copy its contribution for the other to read copies it piece by piece, and reduces each
// piece right after, out of its cache.
// Cost: two flag hops; each rank reads n bytes of every buffer and writes n. Two ranks fetch from each other as much as
// they would by exchange, one flag hop sooner.
// Requires: at most TUTTI_FLAT_MAX ranks. The eager form's way, without its copies: single copy as in XHC, section
// III.C; that all read all is ours.

#include "collectives/algorithm.h"
#include "collectives/common/reducing/share.h"

namespace tutti {

namespace {

/// The contribution for the others to read while this rank's results are written.
Exposure expose_source(Operation& operation, const AllreduceArguments& arguments, std::size_t bytes) {
  auto* const send = const_cast<std::byte*>(arguments.send);
  Exposure source = expose(operation, send, bytes, Side::source);
  if (!source.copied && arguments.send == arguments.receive) source = staging_buffer(operation, Side::source, bytes);
  return source;
}

/// For one of two ranks whose contribution is a copy that the other reads while it is made.
Task copy_and_reduce(Operation& operation, const AllreduceArguments& arguments, const Exposure& source) {
  Communicator& communicator = operation.communicator();
  const std::size_t element = arguments.combiner->element_bytes;
  const std::size_t piece = std::max<std::size_t>(1, memory::filled_at_once / element);
  const int other = communicator.next_rank();
  std::size_t copied = 0;
  const auto copy_next = [&] {
    const std::size_t end = std::min(copied + piece, arguments.count);
    fill(operation, source, copied * element, arguments.send + copied * element, (end - copied) * element);
    copied = end;
  };
  // So much before the other one comes.
  while (copied < arguments.count && !operation.slot(other).post.flag.has(operation.stamp())) copy_next();
  RemoteBuffer* const sources = co_await Contributions(operation, source);
  // What is in place is overwritten, piece by piece; the copy is not.
  const bool in_place = arguments.send == arguments.receive;
  sources[communicator.rank()].region = own_memory(in_place ? source.local : arguments.send);
  const RemoteBuffer own{communicator.rank(), own_memory(arguments.receive)};
  for (std::size_t at = 0; at < arguments.count; at += piece) {
    const topology::Range range{at, std::min(at + piece, arguments.count)};
    if (copied < range.end) copy_next();
    co_await reduce_range(operation, *arguments.combiner, range, {sources, 2}, own, arguments.store);
  }
  operation.publish_done();
  co_await operation.others_done();
}

Task direct_body(Operation& operation, const AllreduceArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const Combiner& combiner = *arguments.combiner;
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const std::size_t bytes = arguments.count * combiner.element_bytes;
  Exposure source = expose_source(operation, arguments, bytes);
  let_fill(source);
  if (ranks == 2 && source.region.kind() == memory::Kind::filling) {
    post(operation, source, {});
    co_await copy_and_reduce(operation, arguments, source);
    co_return;
  }
  post_filling(operation, source, {}, arguments.send, bytes);

  RemoteBuffer* const sources = co_await Contributions(operation, source);
  sources[communicator.rank()].region = own_memory(arguments.send == arguments.receive ? source.local : arguments.send);

  const int self = communicator.rank();
  const RemoteBuffer own{self, own_memory(arguments.receive)};
  // Each begins with its own share: the same lines at the same time, by all, would be handed over again and again.
  const std::size_t line = topology::elements_in_line(combiner.element_bytes);
  for (std::size_t i = 0; i < ranks; ++i) {
    const topology::Range range =
        topology::share_of({0, arguments.count}, (static_cast<std::size_t>(self) + i) % ranks, ranks, line);
    co_await reduce_range(operation, combiner, range, {sources, ranks}, own, arguments.store);
  }
  operation.publish_done();
  // What lies in the ring stays there for the readers.
  if (!source.in_the_ring) co_await operation.others_done();
}

}  // namespace

selection::Algorithm<AllreduceArguments> allreduce_direct{
    "direct",
    {"2", "p n read by every rank", "XHC III.C; that all read all is ours"},
    selection::requires_few_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double others = shape.ranks - 1;
      return selection::Cost{.hops = 4.6 + 2 * selection::all_look * selection::further_ranks(shape),
                             .rounds = 3,  // most have been read when they come to wait for it
                             // From its own buffer to its own buffer; what comes from another core is reduced faster
                             // than it comes.
                             .copied_bytes = bytes,
                             .remote_bytes = others * bytes,
                             .slot_bytes = shape.reach == selection::Reach::staged ? bytes : 0.0,
                             .reduced_bytes = (others - 1) * bytes,
                             .left_bytes = bytes,
                             .exposures = 1,
                             .startups = others * (1 + bytes / usual_block_bytes),
                             .concurrency = readers_of_one(shape, others),
                             .common = true,
                             .across = selection::Across::all};
    },
    {direct_body, only_done},
    {.lends = Readers::many}};

}  // namespace tutti
