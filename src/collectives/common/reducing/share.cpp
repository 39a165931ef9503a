#include "collectives/common/reducing/share.h"

#include "base/copy.h"

namespace tutti {

namespace {

/// How many elements of a result to make before they are stored past the caches, from `destination` on: few, so that
/// what is loaded for the next ones and what is stored of these goes on at the same time; up to the end of a cache line.
std::size_t streamed_elements(const std::byte* destination, std::size_t element) {
  constexpr std::size_t piece = 2048;
  const std::size_t over = reinterpret_cast<std::uintptr_t>(destination) % cache_line_bytes;
  return std::max<std::size_t>(1, (piece - over) / element);
}

}  // namespace

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
  return buffers;
}

void post_filling(Operation& operation, ReductionBuffers& buffers, const std::byte* send) {
  let_fill(buffers.source);
  // No result may come to a place before what was to be copied there.
  if (buffers.destination.local == buffers.source.local) buffers.destination.region = buffers.source.region;
  post_filling(operation, buffers.source, buffers.destination, send, buffers.count * buffers.combiner->element_bytes);
}

void collect_result(const ReductionBuffers& buffers) {
  if (buffers.destination.local && buffers.destination.local != buffers.user_destination)
    copy_bytes(buffers.user_destination, buffers.destination.local, buffers.count * buffers.combiner->element_bytes);
}

void reduce_range(Operation& operation, const Combiner& combiner, topology::Range range, const RemoteBuffer* sources,
                  std::size_t source_count, const RemoteBuffer* destinations, std::size_t destination_count,
                  memory::Store store) {
  const Communicator& communicator = operation.communicator();
  const std::size_t element = combiner.element_bytes;
  const std::size_t line = topology::elements_in_line(element);
  std::size_t block = std::max<std::size_t>(1, communicator.node().settings.block / element);
  block = (block + line - 1) / line * line;
  // Private memory, used only for what cannot be loaded from or stored to: a block a source, then the result.
  const auto scratch = [&](std::size_t i) {
    return operation.scratch((source_count + 1) * block * element) + i * block * element;
  };
  const void** from = operation.sources();
  std::byte** to = operation.destinations();
  // Results are made at the own buffer if that is among the destinations.
  std::size_t first = 0;
  for (std::size_t i = 0; i < destination_count; ++i)
    if (destinations[i].rank == communicator.rank()) first = i;
  const auto how = [&](std::size_t i) { return store_at(communicator, destinations[i], store); };
  const auto place = [](const RemoteBuffer& buffer, std::size_t offset) {
    return offset + static_cast<std::size_t>(buffer.shift);
  };
  bool to_be_ordered = false;
  for (std::size_t at = range.begin; at < range.end; at += block) {
    const std::size_t elements = std::min(block, range.end - at);
    const std::size_t offset = at * element;
    const std::size_t bytes = elements * element;
    for (std::size_t i = 0; i < source_count; ++i) {
      const memory::Peer& peer = communicator.peer(sources[i].rank);
      from[i] = peer.pointer(sources[i].region, place(sources[i], offset), bytes);
      if (from[i]) {
        peer.loaded(bytes);
        continue;
      }
      peer.copy_from(sources[i].region, place(sources[i], offset), scratch(i), bytes);
      from[i] = scratch(i);
    }
    const std::byte* streamed = nullptr;
    bool all_mapped = true;
    for (std::size_t i = 0; i < destination_count; ++i) {
      to[i] = communicator.peer(destinations[i].rank)
                  .pointer(destinations[i].region, place(destinations[i], offset), bytes);
      all_mapped = all_mapped && to[i];
      if (how(i) != memory::Store::cached) streamed = to[i];
    }
    const bool elsewhere = !to[first] || how(first) != memory::Store::cached;
    const bool in_pieces = streamed && all_mapped && combiner.kernel;
    for (std::size_t done = 0; done < elements;) {
      const std::size_t part =
          in_pieces ? std::min(elements - done, streamed_elements(streamed + done * element, element)) : elements;
      std::byte* const result = elsewhere ? scratch(source_count) : to[first] + done * element;
      combiner(result, from, source_count, part);
      for (std::size_t i = 0; i < destination_count; ++i) {
        const memory::Peer& peer = communicator.peer(destinations[i].rank);
        if (i == first && !elsewhere) {
          peer.stored(part * element);
          continue;
        }
        if (in_pieces && how(i) != memory::Store::cached) {
          memory::stream_part(to[i] + done * element, result, part * element);
          peer.stored(part * element);
        } else {
          peer.copy_to(destinations[i].region, place(destinations[i], offset + done * element), result, part * element,
                       how(i));
        }
      }
      for (std::size_t i = 0; i < source_count; ++i) from[i] = static_cast<const std::byte*>(from[i]) + part * element;
      done += part;
    }
    to_be_ordered = to_be_ordered || in_pieces;
  }
  if (to_be_ordered) memory::stream_fence();
}

}  // namespace tutti
