#include "collectives/common/share.h"

#include "base/copy.h"

namespace tutti {

ReductionBuffers expose_reduction(Operation& operation, const std::byte* send, std::byte* receive, bool wants_result,
                                  std::size_t count, const Combiner& combiner, bool prefer_slot) {
  const std::size_t bytes = count * combiner.element_bytes;
  ReductionBuffers buffers{&combiner, count, {}, {}, receive};
  buffers.source = expose(operation, const_cast<std::byte*>(send), bytes, Side::source, prefer_slot);
  if (wants_result) {
    // A source that was copied leaves its copy to be overwritten: one more copy of the same bytes is not needed.
    if (send == receive || buffers.source.copied)
      buffers.destination = buffers.source;
    else
      buffers.destination = expose(operation, receive, bytes, Side::destination, prefer_slot);
  }
  if (buffers.source.copied) copy_bytes(buffers.source.local, send, bytes);
  return buffers;
}

void collect_result(const ReductionBuffers& buffers) {
  if (buffers.destination.local && buffers.destination.local != buffers.user_destination)
    copy_bytes(buffers.user_destination, buffers.destination.local, buffers.count * buffers.combiner->element_bytes);
}

void reduce_range(Communicator& communicator, const Combiner& combiner, Range range, const RemoteBuffer* sources,
                  std::size_t source_count, const RemoteBuffer* destinations, std::size_t destination_count,
                  memory::Store store) {
  const std::size_t element = combiner.element_bytes;
  const std::size_t line = elements_in_line(element);
  std::size_t block = std::max<std::size_t>(1, communicator.node().settings.block / element);
  block = (block + line - 1) / line * line;
  // Private memory, used only for what cannot be loaded from or stored to: a block a source, then the result.
  const auto scratch = [&](std::size_t i) {
    return communicator.scratch((source_count + 1) * block * element) + i * block * element;
  };
  const void** pointers = communicator.sources();
  // Results are made at the own buffer if that is among the destinations.
  std::size_t first_destination = 0;
  for (std::size_t i = 0; i < destination_count; ++i)
    if (destinations[i].rank == communicator.rank()) first_destination = i;
  for (std::size_t at = range.begin; at < range.end; at += block) {
    const std::size_t elements = std::min(block, range.end - at);
    const std::size_t offset = at * element;
    const std::size_t bytes = elements * element;
    for (std::size_t i = 0; i < source_count; ++i) {
      const memory::Peer& peer = communicator.peer(sources[i].rank);
      const std::size_t from = offset + static_cast<std::size_t>(sources[i].shift);
      if (const std::byte* pointer = peer.pointer(sources[i].region, from, bytes)) {
        pointers[i] = pointer;
      } else {
        peer.copy_from(sources[i].region, from, scratch(i), bytes);
        pointers[i] = scratch(i);
      }
    }
    const auto to = [&](const RemoteBuffer& destination) {
      return offset + static_cast<std::size_t>(destination.shift);
    };
    const RemoteBuffer& first = destinations[first_destination];
    std::byte* result = communicator.peer(first.rank).pointer(first.region, to(first), bytes);
    const bool elsewhere = result == nullptr || store_at(communicator, first, store) != memory::Store::cached;
    if (elsewhere) result = scratch(source_count);
    combiner(result, pointers, source_count, elements);
    for (std::size_t i = 0; i < destination_count; ++i)
      if (elsewhere || i != first_destination)
        communicator.peer(destinations[i].rank)
            .copy_to(destinations[i].region, to(destinations[i]), result, bytes,
                     store_at(communicator, destinations[i], store));
  }
}

}  // namespace tutti
