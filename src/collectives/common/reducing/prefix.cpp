#include "collectives/common/reducing/prefix.h"

#include <algorithm>

namespace tutti {

namespace {

/// Elements of a block: a multiple of what fills a cache line.
std::size_t block_elements(const Communicator& communicator, std::size_t element) {
  const std::size_t line = topology::elements_in_line(element);
  const std::size_t block = std::max<std::size_t>(1, communicator.node().settings.block / element);
  return (block + line - 1) / line * line;
}

/// A part of the buffers: where peers' memory is mapped here, or a copy of it.
struct PrefixPart {
  Operation& operation;
  std::size_t offset;
  std::size_t bytes;

  std::byte* pointer(const RemoteBuffer& buffer) const {
    return operation.communicator().peer(buffer.rank).pointer(buffer.region, buffer.place(offset), bytes);
  }
  /// co_await: it may be loaded, or stored to.
  auto filled(const RemoteBuffer& buffer) const {
    return operation.filled(buffer.rank, buffer.region, buffer.place(offset + bytes));
  }
  /// Then co_await operation.copied().
  const std::byte* load(const RemoteBuffer& buffer, std::byte* copy) const {
    if (const std::byte* mapped = pointer(buffer)) {
      operation.communicator().peer(buffer.rank).loaded(bytes);
      return mapped;
    }
    operation.peer(buffer.rank).copy_from(buffer.region, buffer.place(offset), copy, bytes);
    return copy;
  }
  /// Before `from` changes: co_await operation.copied().
  void store(const RemoteBuffer& buffer, const void* from, memory::Store how) const {
    operation.peer(buffer.rank)
        .copy_to(buffer.region, buffer.place(offset), from, bytes, store_at(operation.communicator(), buffer, how));
  }
};

bool wanted(const RemoteBuffer& buffer) {
  return buffer.region.kind() != memory::Kind::none;
}

bool same_memory(const RemoteBuffer& a, const RemoteBuffer& b) {
  return a.rank == b.rank && a.region.bits() == b.region.bits() && a.shift == b.shift;
}

}  // namespace

Task prefix_range(Operation& operation, const Combiner& combiner, topology::Range range, PrefixBuffers buffers,
                  memory::Store store) {
  const Communicator& communicator = operation.communicator();
  const std::size_t element = combiner.element_bytes;
  const std::size_t block = block_elements(communicator, element);
  // A copied source, and two results in turn: the next one is made while the last one is still needed.
  std::byte* copy = operation.scratch(3 * block * element);
  std::byte* const results[2] = {copy + block * element, copy + 2 * block * element};
  for (std::size_t at = range.begin; at < range.end; at += block) {
    const std::size_t elements = std::min(block, range.end - at);
    const PrefixPart part{operation, at * element, elements * element};
    co_await part.filled(buffers.sources[0]);
    const std::byte* previous = part.load(buffers.sources[0], results[0]);
    co_await operation.copied();
    if (!buffers.exclusive && wanted(buffers.destinations[0]) &&
        !same_memory(buffers.destinations[0], buffers.sources[0]))
      part.store(buffers.destinations[0], previous, store);
    for (std::size_t i = 1; i < buffers.count; ++i) {
      const RemoteBuffer& destination = buffers.destinations[i];
      co_await part.filled(buffers.sources[i]);
      co_await part.filled(destination);
      const std::byte* next = nullptr;
      if (!buffers.exclusive || i + 1 < buffers.count || wanted(buffers.total)) {
        // A result goes straight to its place, unless that holds what is still to be read or is written past the
        // caches.
        const bool in_its_place =
            !buffers.exclusive && store_at(communicator, destination, store) == memory::Store::cached;
        std::byte* place = in_its_place ? part.pointer(destination) : nullptr;
        std::byte* result = place ? place : results[i % 2];
        const void* operands[2] = {previous, part.load(buffers.sources[i], copy)};
        co_await operation.copied();
        combiner(result, operands, 2, elements);
        if (place) communicator.peer(destination.rank).stored(part.bytes);
        if (!buffers.exclusive && !place) part.store(destination, result, store);
        next = result;
      }
      if (buffers.exclusive) part.store(destination, previous, store);
      previous = next;
    }
    if (wanted(buffers.total)) part.store(buffers.total, previous, memory::Store::cached);
    co_await operation.copied();
  }
}

Task carry_range(Operation& operation, const Combiner& combiner, topology::Range range, RemoteBuffers carries,
                 RemoteBuffers destinations, bool first_is_empty) {
  const Communicator& communicator = operation.communicator();
  const std::size_t element = combiner.element_bytes;
  const std::size_t block = block_elements(communicator, element);
  std::byte* const carry = operation.scratch((2 + carries.count) * block * element);
  std::byte* const result = carry + block * element;
  const void** pointers = operation.sources();
  for (std::size_t at = range.begin; at < range.end; at += block) {
    const std::size_t elements = std::min(block, range.end - at);
    const PrefixPart part{operation, at * element, elements * element};
    for (std::size_t i = 0; i < carries.count; ++i)
      pointers[i] = part.load(carries[i], result + (1 + i) * block * element);
    co_await operation.copied();
    combiner(carry, pointers, carries.count, elements, reduction::Order::in_sequence);
    for (std::size_t i = 0; i < destinations.count; ++i) {
      if (i == 0 && first_is_empty) {
        part.store(destinations[i], carry, memory::Store::cached);
        continue;
      }
      co_await operation.copied();
      const std::byte* old = part.load(destinations[i], result);
      co_await operation.copied();
      const void* operands[2] = {carry, old};
      std::byte* place = part.pointer(destinations[i]);
      combiner(place ? place : result, operands, 2, elements);
      if (place)
        communicator.peer(destinations[i].rank).stored(part.bytes);
      else
        part.store(destinations[i], result, memory::Store::cached);
    }
    co_await operation.copied();
  }
}

}  // namespace tutti
