// Allreduce, flat, all read all: every rank reduces everything itself, from the send buffers where they are.
//
// Phase 1: every rank exposes its send buffer, in place a copy of it; all wait for all. Phase 2: each reduces all
// buffers in one pass, in rank order, into its own receive buffer, which no other rank touches, from its own share of
// the index range on. Phase 3: all wait until all have finished reading.
// Cost: two flag hops; each rank reads n bytes of every buffer and writes n. Two ranks fetch from each other as much as
// they would by exchange, one flag hop sooner.
// Requires: at most TUTTI_FLAT_MAX ranks. The eager form's way, without its copies: single copy as in XHC, section
// III.C; that all read all is ours.

#include "base/copy.h"
#include "collectives/collectives.h"
#include "collectives/common/reducing/share.h"

namespace tutti {

namespace {

/// The contribution for the others to read while this rank's results are written.
Exposure expose_source(Operation& operation, const AllreduceArguments& arguments, std::size_t bytes) {
  auto* const send = const_cast<std::byte*>(arguments.send);
  Exposure source = expose(operation, send, bytes, Side::source);
  if (!source.copied && arguments.send == arguments.receive)
    source = staging_buffer(operation.communicator(), Side::source, bytes);
  return source;
}

Task body(Operation& operation, const AllreduceArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const Combiner& combiner = *arguments.combiner;
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const std::size_t bytes = arguments.count * combiner.element_bytes;
  Exposure source = expose_source(operation, arguments, bytes);
  post_filling(operation, source, {}, arguments.send, bytes);

  RemoteBuffer* sources = operation.array<RemoteBuffer>(ranks);
  co_await operation.others_posted();
  posted_sources(operation, source, sources);
  sources[communicator.rank()].region = own_memory(source.local);

  const int self = communicator.rank();
  const RemoteBuffer own{self, own_memory(arguments.receive)};
  // Each begins with its own share: the same lines at the same time, by all, would be handed over again and again.
  const std::size_t line = topology::elements_in_line(combiner.element_bytes);
  for (std::size_t i = 0; i < ranks; ++i) {
    const topology::Range range =
        topology::share_of({0, arguments.count}, (static_cast<std::size_t>(self) + i) % ranks, ranks, line);
    reduce_range(communicator, combiner, range, sources, ranks, &own, 1, arguments.store);
  }
  operation.publish(operation.own().done.flag[0]);
  // What lies in the ring stays there for the readers.
  if (!source.in_the_ring) co_await operation.others_done();
}

void run(Communicator& communicator, const AllreduceArguments& arguments) {
  Operation operation(communicator, "Allreduce");
  operation.run(body(operation, arguments));
}

}  // namespace

extern const selection::Algorithm<AllreduceArguments> allreduce_direct;
const selection::Algorithm<AllreduceArguments> allreduce_direct{
    "direct",
    {"2", "p n read by every rank", "XHC III.C; that all read all is ours"},
    selection::requires_few_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double others = shape.ranks - 1;
      return selection::Cost{.hops = 4.4 + 0.2 * shape.ranks,
                             .rounds = 3,  // most have been read when they come to wait for it
                             // From its own buffer to its own buffer; what comes from another core is reduced faster
                             // than it comes.
                             .copied_bytes = bytes,
                             .remote_bytes = others * bytes,
                             .slot_bytes = shape.reach == selection::Reach::staged ? bytes : 0.0,
                             .reduced_bytes = (others - 1) * bytes,
                             .exposures = 1,
                             .startups = others * (1 + bytes / usual_block_bytes),
                             .concurrency = readers_of_one(shape, others),
                             .common = true,
                             .across = selection::Across::all};
    },
    run,
    {},
    nullptr,
    {.in_rank_order = true}};

}  // namespace tutti
