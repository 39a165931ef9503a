#include "collectives/common/buffers/exposure.h"

#include <algorithm>

namespace tutti {

bool better_in_the_ring(const Operation& operation, memory::Kind kind, std::size_t bytes) {
  if (memory::always_mapped(kind)) return false;
  const bool may_be_staged = kind == memory::Kind::none || operation.call().lending != Lending::as_it_is;
  return !may_be_staged || bytes <= ring_bytes(operation.communicator().node().settings);
}

Exposure expose(Operation& operation, std::byte* buffer, std::size_t bytes, Side side, bool prefer_slot) {
  const Node& node = operation.communicator().node();
  if (bytes <= node.settings.eager_max &&
      (prefer_slot || better_in_the_ring(operation, operation.reach(buffer, bytes, side), bytes)))
    return data_area(operation);
  const memory::Region region = operation.reachable(buffer, bytes, side);
  if (region.kind() != memory::Kind::none) return {region, buffer, false, false};
  return staging_buffer(operation, side, bytes);
}

Exposure data_area(Operation& operation) {
  return {operation.data_region(), operation.own_data(), true, true};
}

Exposure staging_buffer(Operation& operation, Side side, std::size_t bytes) {
  std::byte* staging = operation.staging(static_cast<int>(side), bytes);
  return {operation.communicator().arena_region(staging), staging, true, false};
}

Exposure lend(Operation& operation, std::size_t bytes) {
  return bytes <= operation.communicator().slot_bytes() ? data_area(operation)
                                                        : staging_buffer(operation, Side::source, bytes);
}

void let_fill(Exposure& source) {
  if (!source.copied || source.in_the_ring) return;
  memory::Filled::of(source.local).bytes.store(0, std::memory_order_relaxed);
  source.region = {memory::Kind::filling, source.region.offset()};
}

namespace {

/// copy(to, done, part): of `bytes` the part that begins after `done`.
template <class Copy>
void fill_in_parts(Operation& operation, const Exposure& source, std::size_t at, std::size_t bytes, const Copy& copy) {
  memory::Filled* const filled =
      source.region.kind() == memory::Kind::filling ? &memory::Filled::of(source.local) : nullptr;
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t part = std::min(memory::filled_at_once, bytes - done);
    copy(source.local + at + done, done, part);
    done += part;
    if (!filled) continue;
    filled->bytes.store(at + done, std::memory_order_release);
    operation.communicator().published();
  }
}

}  // namespace

void fill(Operation& operation, const Exposure& source, std::size_t at, const std::byte* from, std::size_t bytes) {
  if (source.region.kind() != memory::Kind::filling) return copy_to_lend(operation, source.local + at, from, bytes);
  fill_in_parts(operation, source, at, bytes, [&](std::byte* to, std::size_t done, std::size_t part) {
    copy_to_lend(operation, to, from + done, part);
  });
}

void fill(Operation& operation, const Exposure& source, std::size_t at, const memory::Spread& from) {
  fill_in_parts(operation, source, at, from.layout.bytes(), [&](std::byte* to, std::size_t done, std::size_t part) {
    if (!lends_past_caches(operation)) return from.get(done, to, part);
    // What goes past the caches goes in whole lines.
    std::byte packed[memory::filled_at_once];
    from.get(done, packed, part);
    copy_to_lend(operation, to, packed, part);
  });
}

void fill_around(Operation& operation, const Exposure& source, const std::byte* from, std::size_t bytes,
                 topology::Range unread) {
  fill(operation, source, 0, from, unread.begin);
  fill(operation, source, unread.end, from + unread.end, bytes - unread.end);
  if (unread.end < bytes || source.region.kind() != memory::Kind::filling) return;
  // Who stores there looks whether all before is copied.
  memory::Filled::of(source.local).bytes.store(bytes, std::memory_order_release);
  operation.communicator().published();
}

void post_filling(Operation& operation, Exposure& source, const Exposure& destination, const std::byte* from,
                  std::size_t bytes, topology::Range unread) {
  let_fill(source);
  const bool before = source.copied && source.in_the_ring;
  if (before) fill_around(operation, source, from, bytes, unread);
  post(operation, source, destination);
  if (source.copied && !before) fill_around(operation, source, from, bytes, unread);
}

void post(Operation& operation, const Exposure& source, const Exposure& destination, std::uint64_t progress) {
  Post& mine = operation.own().post;
  mine.regions.source = as_lent(operation, source).bits();
  mine.regions.destination = destination.region.bits();
  operation.publish(mine.flag, progress);
}

}  // namespace tutti
