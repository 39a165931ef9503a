#include "mpi/start/contribution.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/processor.h"
#include "base/site_files.h"
#include "mpi/host.h"
#include "mpi/start/mechanisms.h"
#include "mpi/start/node_machine.h"
#include "network/ranks_per_node.h"
#include "preload/process_window.h"

namespace tutti::mpi {

namespace {

/// The variables that travel.
constexpr std::size_t text_bytes = 8192;

/// The TUTTI_ variables of this process, each with a null byte after it; as many as travel. log: takes the warning
/// about those that do not.
std::string own_variables(const Log& log) {
  std::string text;
  for (char** entry = environ; entry && *entry; ++entry) {
    if (std::strncmp(*entry, "TUTTI_", 6) != 0) continue;
    const std::size_t length = std::strlen(*entry) + 1;
    if (text.size() + length + 1 > text_bytes) {
      log.warn("the TUTTI_ variables are longer than %zu bytes together; the rest is ignored", text_bytes);
      break;
    }
    text.append(*entry, length);
  }
  return text;
}

/// Rank 0's, so that every choice is made from the same words. Collective over MPI_COMM_WORLD. own: of this process;
/// world_rank: its rank.
std::string variables_of_first_rank(const std::string& own, int world_rank) {
  std::string text = world_rank == 0 ? own : std::string();
  text.resize(text_bytes);
  host.Bcast(text.data(), static_cast<int>(text_bytes), MPI_CHAR, 0, MPI_COMM_WORLD);
  const auto last = text.find_last_not_of('\0');
  text.resize(last == std::string::npos ? 0 : last + 2);
  return text;
}

/// log: takes the warnings about wrong values.
Settings settings_from(const std::string& variables, const Log& log) {
  std::vector<const char*> entries;
  for (const char* at = variables.c_str(); *at; at += std::strlen(at) + 1) entries.push_back(at);
  entries.push_back(nullptr);
  return Settings::from_environment(entries.data(), log);
}

/// Peers read and write this word to try cross-memory attach and xpmem.
std::uint64_t magic = magic_value;

void add_arena(Job& job, int world_size, Contribution& contribution) {
  Node& node = job.node;
  Card& card = contribution.card;
  node.arena = create_arena(contribution.arena_reason);
  if (!node.arena) return;
  const std::size_t areas = memory::CopyRequests::area_bytes(world_size) +
                            partitioned::Announcements::area_bytes(world_size) +
                            messages::Messages::area_bytes(world_size);
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

/// By job.node.settings, and for an MPI_COMM_WORLD of `world_size` ranks: the arena and what xpmem needs go into the
/// job. Where the settings say that the library is off, only a card. variables: hash of those settings.
Contribution make_contribution(Job& job, int world_rank, int world_size, std::uint64_t variables) {
  Node& node = job.node;
  Contribution contribution;
  Card& card = contribution.card;
  card = card_of_this_process();
  card.variables = variables;
  card.maker = processor::maker();
  card.virtual_machine = processor::is_virtual();
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

}  // namespace

Settings settings_of_this_process(const Log& log) {
  return settings_from(own_variables(log), log);
}

OwnMemory Contribution::own_memory(const Job& job) const {
  return {window, job.xpmem, magic};
}

std::pair<Contribution, std::vector<Card>> exchange_cards(Job& job, int world_rank, int world_size) {
  Node& node = job.node;
  Contribution contribution;
  std::vector<Card> all(static_cast<std::size_t>(world_size));
  const auto contribute_by = [&](const std::string& variables) {
    node.settings = settings_from(variables, node.log);
    node.log.set_verbose(node.settings.verbose && world_rank == 0);
    contribution = make_contribution(job, world_rank, world_size, hash_of(variables));
  };
  const auto tell_all = [&] {
    const Card& own = contribution.card;
    host.Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, MPI_COMM_WORLD);
  };
  const std::string variables = own_variables(node.log);
  contribute_by(variables);
  tell_all();
  const std::uint64_t wanted = all.front().variables;
  if (std::any_of(all.begin(), all.end(), [&](const Card& each) { return each.variables != wanted; })) {
    const std::string agreed = variables_of_first_rank(variables, world_rank);
    if (contribution.card.variables != wanted) {
      withdraw(job, contribution);
      contribute_by(agreed);
    }
    tell_all();
  }
  return {std::move(contribution), std::move(all)};
}

void withdraw(Job& job, const Contribution& contribution) {
  withdraw_xpmem(job.node, job.xpmem);
  if (contribution.probe) contribution.window->release(contribution.probe);
  job.node.arena.reset();
}

}  // namespace tutti::mpi
