#include "mpi/start/contribution.h"

#include <cstring>

#include "base/site_files.h"
#include "mpi/start/mechanisms.h"
#include "mpi/start/node_machine.h"
#include "mpi/start/shared_caches.h"
#include "network/ranks_per_node.h"
#include "preload/process_window.h"

namespace tutti::mpi {

namespace {

/// Peers read and write this word to try cross-memory attach and xpmem.
std::uint64_t magic = magic_value;

void add_arena(Job& job, int world_size, Contribution& contribution) {
  Node& node = job.node;
  Card& card = contribution.card;
  node.arena = create_arena(contribution.arena_reason);
  if (!node.arena) return;
  const std::size_t areas =
      memory::CopyRequests::area_bytes(world_size) + partitioned::Announcements::area_bytes(world_size);
  if (!node.arena->allocate(header_bytes + areas)) {
    contribution.arena_reason = "there is no address space for it";
    node.arena.reset();
    return;
  }
  contribution.header = reinterpret_cast<ArenaHeader*>(node.arena->base());
  contribution.header->magic = magic_value + card.magic_address;
  card.arena_descriptor = node.arena->descriptor();
  card.arena_bytes = node.arena->capacity();
  card.arena_address = reinterpret_cast<std::uintptr_t>(node.arena->base());
  card.world_offset = node.arena->allocate(shared_bytes(node.settings, world_size)).value_or(no_offset);
}

void add_window(Contribution& contribution) {
  contribution.window_reason = "switched off";
  if (!(contribution.asked.allowed() & mechanism_window)) return;
  contribution.window_reason = "no other rank is on this node";
  if (memory::alone_on_node()) return;
  contribution.window_reason.clear();
  memory::Window* const window =
      memory::start_process_window(memory::process_window_options(), contribution.window_reason);
  contribution.probe = window ? window->allocate(64) : nullptr;
  if (!contribution.probe) return;
  std::memcpy(contribution.probe, &magic_value, sizeof magic_value);
  contribution.window = window;
  contribution.card.window_descriptor = window->descriptor();
  contribution.card.window_bytes = window->capacity();
  contribution.card.window_address = reinterpret_cast<std::uintptr_t>(window->base());
  contribution.card.window_has_huge_pages = window->huge_pages().kind() != memory::HugeKind::off;
  contribution.card.window_probe = window->offset_of(contribution.probe);
}

}  // namespace

OwnMemory Contribution::own_memory(const Job& job) const {
  return {window, job.xpmem, magic};
}

Contribution make_contribution(Job& job, int world_rank, int world_size, std::uint64_t variables) {
  Node& node = job.node;
  Contribution contribution;
  Card& card = contribution.card;
  card = card_of_this_process();
  card.variables = variables;
  card.maker = selection::maker_of_processor();
  card.virtual_machine = in_virtual_machine();
  if (!node.settings.enable) return contribution;
  if (const std::string& list = node.settings.ranks_per_node; !list.empty()) {
    const auto number = network::make_believe_node(list, world_rank);
    if (!number)
      node.log.warn("TUTTI_RANKS_PER_NODE: \"%s\" is no list of positive numbers, such as 2,3,1; it is ignored",
                    list.c_str());
    card.make_believe_node = number.value_or(0);
  }
  magic = magic_value;
  card.magic_address = reinterpret_cast<std::uintptr_t>(&magic);
  contribution.asked = asked_mechanisms(node.settings.mechanism, node.log);
  add_arena(job, world_size, contribution);
  add_window(contribution);
  if (contribution.asked.allowed() & mechanism_xpmem)
    card.xpmem = offer_xpmem(node, job.xpmem, magic, contribution.xpmem_reason);
  if (world_rank == 0) {
    contribution.probes = probe_files(node.settings);
    contribution.tables = table_files(node.settings);
    card.probe_files = static_cast<std::int32_t>(contribution.probes.size());
    card.table_files = static_cast<std::int32_t>(contribution.tables.size());
  }
  return contribution;
}

void withdraw(Job& job, const Contribution& contribution) {
  withdraw_xpmem(job.node, job.xpmem);
  if (contribution.probe) contribution.window->release(contribution.probe);
  job.node.arena.reset();
}

}  // namespace tutti::mpi
