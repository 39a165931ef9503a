#include "collectives/common/buffers/exposure.h"

namespace tutti {

Exposure expose(Operation& operation, std::byte* buffer, std::size_t bytes, Side side, bool prefer_slot) {
  Communicator& communicator = operation.communicator();
  const Node& node = communicator.node();
  const bool fits = bytes <= node.settings.eager_max;
  // A small buffer that would need the kernel, to be copied or to be attached, is better copied into the slot.
  if (fits && (prefer_slot || !memory::always_mapped(communicator.reach(buffer, bytes)))) return data_area(operation);
  const memory::Region region = communicator.reachable(buffer, bytes);
  if (region.kind() != memory::Kind::none) return {region, buffer, false, false};
  return staging_buffer(communicator, side, bytes);
}

Exposure data_area(Operation& operation) {
  Communicator& communicator = operation.communicator();
  const std::uint64_t sequence = operation.sequence();
  return {communicator.slot_region(sequence), communicator.slot_data(communicator.rank(), sequence), true, true};
}

Exposure staging_buffer(Communicator& communicator, Side side, std::size_t bytes) {
  std::byte* staging = communicator.staging(static_cast<int>(side), bytes);
  return {communicator.arena_region(staging), staging, true, false};
}

Exposure lend(Operation& operation, std::size_t bytes) {
  Communicator& communicator = operation.communicator();
  return bytes <= communicator.slot_bytes() ? data_area(operation) : staging_buffer(communicator, Side::source, bytes);
}

void post(Operation& operation, const Exposure& source, const Exposure& destination, std::uint64_t progress) {
  Post& mine = operation.own().post;
  mine.regions.source = source.region.bits();
  mine.regions.destination = destination.region.bits();
  operation.publish(mine.flag, progress);
}

}  // namespace tutti
