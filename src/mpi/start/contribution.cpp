#include "mpi/start/contribution.h"

#include <cstring>

#include "base/site_files.h"
#include "mpi/start/mechanisms.h"
#include "mpi/start/node_machine.h"
#include "preload/process_window.h"

namespace tutti::mpi {

namespace {

/// Peers read and write this word to try cross-memory attach and xpmem.
std::uint64_t magic = magic_value;

void offer_arena(Job& job, int world_size, Offer& offer) {
  Node& node = job.node;
  Card& card = offer.card;
  node.arena = create_arena(offer.arena_reason);
  if (!node.arena) return;
  if (!node.arena->allocate(header_bytes + memory::Requests::area_bytes(world_size))) {
    offer.arena_reason = "there is no address space for it";
    node.arena.reset();
    return;
  }
  offer.header = reinterpret_cast<ArenaHeader*>(node.arena->base());
  offer.header->magic = magic_value + card.magic_address;
  card.arena_descriptor = node.arena->descriptor();
  card.arena_bytes = node.arena->capacity();
  card.arena_address = reinterpret_cast<std::uintptr_t>(node.arena->base());
  card.world_offset = node.arena->allocate(shared_bytes(node.settings, world_size)).value_or(no_offset);
}

void offer_window(Offer& offer) {
  offer.window_reason = "switched off";
  if (!(offer.asked.allowed() & way_window)) return;
  offer.window_reason = "no other rank is on this node";
  if (memory::alone_on_node()) return;
  offer.window_reason.clear();
  memory::Window* const window = memory::start_process_window(memory::process_window_options(), offer.window_reason);
  offer.probe = window ? window->allocate(64) : nullptr;
  if (!offer.probe) return;
  std::memcpy(offer.probe, &magic_value, sizeof magic_value);
  offer.window = window;
  offer.card.window_descriptor = window->descriptor();
  offer.card.window_bytes = window->capacity();
  offer.card.window_address = reinterpret_cast<std::uintptr_t>(window->base());
  offer.card.window_probe = window->offset_of(offer.probe);
}

}  // namespace

Shares Offer::shares(const Job& job) const {
  return {window, job.xpmem, magic};
}

Offer make_offer(Job& job, int world_rank, int world_size, std::uint64_t variables) {
  Node& node = job.node;
  Offer offer;
  Card& card = offer.card;
  card = card_of_this_process();
  card.variables = variables;
  if (!node.settings.enable) return offer;
  magic = magic_value;
  card.magic_address = reinterpret_cast<std::uintptr_t>(&magic);
  offer.asked = asked_ways(node.settings.mechanism, node.log);
  offer_arena(job, world_size, offer);
  offer_window(offer);
  if (offer.asked.allowed() & way_xpmem) card.xpmem = offer_xpmem(node, job.xpmem, magic, offer.xpmem_reason);
  if (world_rank == 0) {
    offer.probes = probe_files(node.settings);
    offer.tables = table_files(node.settings);
    card.probe_files = static_cast<std::int32_t>(offer.probes.size());
    card.table_files = static_cast<std::int32_t>(offer.tables.size());
  }
  return offer;
}

void withdraw(Job& job, const Offer& offer) {
  withdraw_xpmem(job.node, job.xpmem);
  if (offer.probe) offer.window->release(offer.probe);
  job.node.arena.reset();
}

}  // namespace tutti::mpi
