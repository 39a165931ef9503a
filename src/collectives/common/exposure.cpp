#include "collectives/common/exposure.h"

namespace tutti {

Exposure expose(Operation& operation, std::byte* buffer, std::size_t bytes, Side side, bool prefer_slot) {
  Communicator& communicator = operation.communicator();
  const memory::Region region = communicator.node().reachable(buffer);
  const bool fits = bytes <= communicator.slot_bytes();
  // A small buffer that can only be copied by the kernel is better copied into the slot by its owner.
  if (fits && (prefer_slot || !region.loads_and_stores()))
    return {communicator.slot_region(operation.sequence()),
            communicator.slot_data(communicator.rank(), operation.sequence()), true, true};
  if (region.kind() != memory::Kind::none) return {region, buffer, false, false};
  std::byte* staging = communicator.staging(static_cast<int>(side), bytes);
  return {communicator.arena_region(staging), staging, true, false};
}

void post(Operation& operation, const Exposure& source, const Exposure& destination, std::uint64_t progress) {
  Post& mine = operation.own().post;
  mine.regions.source = source.region.bits();
  mine.regions.destination = destination.region.bits();
  operation.publish(mine.flag, progress);
}

}  // namespace tutti
