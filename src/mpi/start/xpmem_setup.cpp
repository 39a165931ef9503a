#include "mpi/start/xpmem_setup.h"

#include <cerrno>
#include <cstring>
#include <memory>

#include "preload/unmap.h"

namespace tutti::mpi {

namespace {

/// The attachments go before the segment, which peers may still hold.
void take_back(Node& node, XpmemShare& share) {
  for (memory::Peer& peer : node.peers) peer.attachments = nullptr;
  node.attachments.clear();
  if (share.segment >= 0) share.library->remove(share.segment);
  share.segment = -1;
}

}  // namespace

XpmemCard offer_xpmem(Node& node, XpmemShare& share, const std::uint64_t& word, std::string& reason) {
  share.library = memory::load_xpmem(node.settings.xpmem_device, reason);
  if (!share.library || !node.arena) return {};
  const auto table = node.arena->allocate(sizeof(memory::ExposureTable));
  if (!table) {
    reason = "the arena is full";
    return {};
  }
  share.segment = memory::expose_address_space(*share.library);
  if (share.segment < 0) {
    reason = std::string("xpmem_make: ") + std::strerror(errno);
    return {};
  }
  node.exposures =
      std::make_unique<memory::Exposures>(*reinterpret_cast<memory::ExposureTable*>(node.arena->base() + *table));
  node.operations = std::make_unique<memory::OperationClock>();
  return {share.segment, *table, node.exposures->expose(&word, sizeof word).bits()};
}

bool attach(Node& node, const XpmemShare& share, std::size_t rank, const XpmemCard& card) {
  memory::Peer& peer = node.peers[rank];
  if (!node.exposures || card.segment < 0 || !peer.arena) return false;
  const std::int64_t apid = memory::get_segment(*share.library, card.segment);
  if (apid < 0) return false;
  if (peer.arena_view && !peer.arena_view->reach(card.exposures, sizeof(memory::ExposureTable))) return false;
  node.attachments[rank] = std::make_unique<memory::Attachments>(
      *share.library, apid, *reinterpret_cast<const memory::ExposureTable*>(peer.arena + card.exposures),
      *node.operations, node.settings.xpmem_cache);
  peer.attachments = node.attachments[rank].get();
  return true;
}

void withdraw_xpmem(Node& node, XpmemShare& share) {
  take_back(node, share);
  node.exposures.reset();
  node.operations.reset();
}

void end_xpmem(Node& node, XpmemShare& share) {
  if (share.segment < 0) return;
  // The table itself stays: a thread that is in munmap may be looking at it.
  memory::unmapping::watch(nullptr);
  memory::AttachmentStatistics all;
  for (const auto& attachments : node.attachments)
    if (attachments) all += attachments->statistics();
  node.log.note("xpmem: %llu attachments (%llu evicted, %llu stale, at most %zu at once), %llu hits",
                static_cast<unsigned long long>(all.misses), static_cast<unsigned long long>(all.evictions),
                static_cast<unsigned long long>(all.stale), all.most, static_cast<unsigned long long>(all.hits));
  take_back(node, share);
}

}  // namespace tutti::mpi
