#include "collectives/common/reducing/share.h"

#include <algorithm>
#include <utility>

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

ReductionBuffers expose_reduction(Operation& operation, const Reduction& of, bool wants_result, bool prefer_slot) {
  const std::size_t bytes = of.bytes();
  ReductionBuffers buffers{&of.combiner, of.count, {}, {}, of.receive};
  buffers.source = expose(operation, const_cast<std::byte*>(of.send), bytes, Side::source, prefer_slot);
  if (wants_result) {
    // Of two buffers that peers cannot reach one copy is enough: the source leaves its own to be overwritten.
    if (buffers.source.copied ? operation.reach(of.receive, bytes, Side::destination) == memory::Kind::none
                              : of.send == of.receive)
      buffers.destination = buffers.source;
    else
      buffers.destination = expose(operation, of.receive, bytes, Side::destination, prefer_slot);
  }
  return buffers;
}

void post_filling(Operation& operation, ReductionBuffers& buffers, const std::byte* send, topology::Range unread) {
  const std::size_t element = buffers.combiner->element_bytes, bytes = buffers.count * element;
  const topology::Range unread_bytes{unread.begin * element, unread.end * element};
  Exposure& source = buffers.source;
  // No result may come to a place before what was to be copied from there, or there, was copied.
  const bool into_the_copy = buffers.destination.local == source.local;
  if (source.copied && !into_the_copy && send == buffers.user_destination) {
    fill_around(operation, source, send, bytes, unread_bytes);
    return post(operation, source, buffers.destination);
  }
  let_fill(source);
  if (into_the_copy) buffers.destination.region = source.region;
  post_filling(operation, source, buffers.destination, send, bytes, unread_bytes);
}

void collect_result(const ReductionBuffers& buffers) {
  collect_result(buffers, {0, buffers.count});
}

void collect_result(const ReductionBuffers& buffers, topology::Range range) {
  if (!buffers.destination.local || buffers.destination.local == buffers.user_destination) return;
  const std::size_t element = buffers.combiner->element_bytes, offset = range.begin * element;
  copy_bytes(buffers.user_destination + offset, buffers.destination.local + offset,
             (range.end - range.begin) * element);
}

RangeReduction::RangeReduction(Operation& operation, const Combiner& combiner, topology::Range range,
                               const RemoteBuffers& sources, const RemoteBuffers& destinations, memory::Store store,
                               reduction::Order order)
    : operation_(operation),
      combiner_(combiner),
      range_(range),
      sources_(sources),
      destinations_(destinations),
      store_(store),
      order_(order) {
  const std::size_t element = combiner.element_bytes;
  const std::size_t line = topology::elements_in_line(element);
  block_ = std::max<std::size_t>(1, operation.communicator().node().settings.block / element);
  block_ = (block_ + line - 1) / line * line;
  for (std::size_t i = 0; i < destinations.count; ++i)
    if (destinations[i].rank == operation.communicator().rank()) first_ = i;
}

bool RangeReduction::operator()() {
  for (; range_.begin < range_.end; range_.begin += elements()) {
    // The results of the last block lie where those of this one will.
    if (!operation_.peers_copied() || !load() || !operation_.peers_copied() || !may_store()) return false;
    combine();
    take_over();
    loaded_ = 0;
  }
  if (!operation_.peers_copied()) return false;
  if (std::exchange(to_be_ordered_, false)) memory::stream_fence();
  return true;
}

/// The block of the sources; false if one has to be filled before.
bool RangeReduction::load() {
  const void** from = operation_.sources();
  const std::size_t bytes = elements() * combiner_.element_bytes;
  for (; loaded_ < sources_.count; ++loaded_) {
    const RemoteBuffer& source = sources_[loaded_];
    const memory::Peer& peer = operation_.communicator().peer(source.rank);
    const std::size_t at = source.place(range_.begin * combiner_.element_bytes);
    if (!peer.is_filled(source.region, at + bytes)) return false;
    from[loaded_] = peer.pointer(source.region, at, bytes);
    if (from[loaded_]) {
      peer.loaded(bytes);
      continue;
    }
    operation_.peer(source.rank).copy_from(source.region, at, scratch(loaded_), bytes);
    from[loaded_] = scratch(loaded_);
  }
  return true;
}

/// Whether the owners have copied what was in the place of the results.
bool RangeReduction::may_store() const {
  const std::size_t end = (range_.begin + elements()) * combiner_.element_bytes;
  return std::all_of(
      destinations_.first, destinations_.first + destinations_.count, [&](const RemoteBuffer& destination) {
        return operation_.communicator().peer(destination.rank).is_filled(destination.region, destination.place(end));
      });
}

/// The lines of what was loaded, where their owners want that.
void RangeReduction::take_over() {
  const std::size_t bytes = elements() * combiner_.element_bytes;
  for (std::size_t i = 0; i < sources_.count; ++i) {
    const RemoteBuffer& source = sources_[i];
    if (!source.region.is_taken_over()) continue;
    const std::size_t at = source.place(range_.begin * combiner_.element_bytes);
    memory::take_whole_lines(operation_.communicator().peer(source.rank).pointer(source.region, at, bytes), bytes);
  }
}

/// What was loaded.
void RangeReduction::combine() {
  const std::size_t element = combiner_.element_bytes;
  const std::size_t offset = range_.begin * element, bytes = elements() * element;
  const void** from = operation_.sources();
  std::byte** to = operation_.destinations();
  const std::byte* streamed = nullptr;
  bool all_mapped = true;
  for (std::size_t i = 0; i < destinations_.count; ++i) {
    const RemoteBuffer& destination = destinations_[i];
    to[i] =
        operation_.communicator().peer(destination.rank).pointer(destination.region, destination.place(offset), bytes);
    all_mapped = all_mapped && to[i];
    if (how(i) != memory::Store::cached) streamed = to[i];
  }
  const bool elsewhere = !to[first_] || how(first_) != memory::Store::cached;
  const bool in_pieces = streamed && all_mapped && combiner_.kernel;
  for (std::size_t done = 0; done < elements();) {
    const std::size_t part =
        in_pieces ? std::min(elements() - done, streamed_elements(streamed + done * element, element)) : elements();
    std::byte* const result = elsewhere ? scratch(sources_.count) : to[first_] + done * element;
    combiner_(result, from, sources_.count, part, order_);
    for (std::size_t i = 0; i < destinations_.count; ++i) {
      const memory::PeerTransfers peer = operation_.peer(destinations_[i].rank);
      if (i == first_ && !elsewhere) {
        peer.peer.stored(part * element);
      } else if (in_pieces && how(i) != memory::Store::cached) {
        memory::stream_part(to[i] + done * element, result, part * element);
        peer.peer.stored(part * element);
      } else {
        peer.copy_to(destinations_[i].region, destinations_[i].place(offset + done * element), result, part * element,
                     how(i));
      }
    }
    for (std::size_t i = 0; i < sources_.count; ++i) from[i] = static_cast<const std::byte*>(from[i]) + part * element;
    done += part;
  }
  to_be_ordered_ = to_be_ordered_ || in_pieces;
}

}  // namespace tutti
