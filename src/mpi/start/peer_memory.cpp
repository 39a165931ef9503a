#include "mpi/start/peer_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>
#include <vector>

#include "engine/communicator.h"
#include "memory/huge_pages.h"
#include "mpi/host.h"
#include "mpi/start/arena_header.h"
#include "mpi/start/mechanisms.h"
#include "preload/process_window.h"

namespace tutti::mpi {

namespace {

/// The most, of which nothing is taken that is not used. Each communicator may keep some MiB of it for each rank where
/// messages have to be staged.
constexpr std::size_t arena_bytes = std::size_t{64} << 30;
constexpr std::size_t least_arena_bytes = std::size_t{64} << 20;

/// A rank maps what is used of the arenas of all others, too. Where its address space is limited, most is left to the
/// program.
std::size_t usual_arena_bytes() {
  constexpr std::size_t all_arenas = std::size_t{1} << 42;  // of the 47 bits that there usually are
  const std::size_t ranks = memory::local_ranks();
  std::size_t bytes = std::min(arena_bytes, all_arenas / ranks);
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    bytes = std::min<std::size_t>(bytes, limit.rlim_cur / 16 / ranks);
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0) bytes = std::min<std::size_t>(bytes, limit.rlim_cur);
  return std::max(bytes, least_arena_bytes);
}

/// Small steps where control memory lies; huge pages where arrays do.
constexpr std::size_t arena_step = std::size_t{64} << 10;

/// Takes the descriptor. Null if there is none or the system refuses.
memory::View* view_of(Node& node, int descriptor, std::size_t bytes, const memory::View::Options& options) {
  if (descriptor < 0) return nullptr;
  auto view = memory::View::create(descriptor, bytes, options);
  close(descriptor);
  if (!view) return nullptr;
  node.views.push_back(std::move(view));
  return node.views.back().get();
}

/// Descriptors of a peer's memory; -1: there is none, or it could not be had.
struct Opened {
  int arena = -1;
  int window = -1;
};

/// Those of every peer of the node, from /proc. False if one that a peer has cannot be had.
bool open_from_proc(const NodeRanks& here, std::vector<Opened>& opened) {
  bool all = true;
  for (std::size_t i = 0; i < here.cards.size(); ++i) {
    const Card& card = here.cards[i];
    if (static_cast<int>(i) == here.self) continue;
    if (card.arena_descriptor >= 0) opened[i].arena = open_descriptor_of(card.process, card.arena_descriptor);
    if (card.window_descriptor >= 0) opened[i].window = open_descriptor_of(card.process, card.window_descriptor);
    all = all && (card.arena_descriptor < 0 || opened[i].arena >= 0) &&
          (card.window_descriptor < 0 || opened[i].window >= 0);
  }
  return all;
}

/// Adds those that are missing, over the sockets. To be called by all ranks of the node.
void receive_from_peers(const Node& node, const NodeRanks& here, DescriptorSocket& socket, const memory::Window* window,
                        std::vector<Opened>& opened) {
  if (!socket.usable() || !node.arena) return;
  std::vector<pid_t> others;
  for (std::size_t i = 0; i < here.cards.size(); ++i)
    if (static_cast<int>(i) != here.self) others.push_back(here.cards[i].process);
  for (const auto& received :
       socket.exchange(others, node.arena->descriptor(), window ? window->descriptor() : -1, 5.0)) {
    for (std::size_t i = 0; i < here.cards.size(); ++i) {
      if (here.cards[i].process != received.process) continue;
      if (opened[i].arena < 0)
        opened[i].arena = received.arena;
      else
        close(received.arena);
      if (opened[i].window < 0)
        opened[i].window = received.window;
      else if (received.window >= 0)
        close(received.window);
    }
  }
}

/// Whether a word of the peer can be read and written: as its magic value, with this rank's. reason: why not, if that is known.
bool probe(const memory::Peer& peer, memory::Region word, const std::uint64_t& own_word, std::string& reason) {
  std::uint64_t seen = 0;
  try {
    peer.copy_from(word, 0, &seen, sizeof seen);
    if (seen != magic_value) return false;
    peer.copy_to(word, 0, &own_word, sizeof seen);
    return true;
  } catch (const std::exception& problem) {
    const std::string text = problem.what();
    reason = text.substr(0, text.find(';'));  // then follows what to do about it in a running job
    return false;
  }
}

/// Maps the parts of a peer's memory that are looked at first. Takes the descriptors.
void see_through_views(Node& node, memory::Peer& peer, const Card& card, const Opened& opened) {
  peer.arena_view = view_of(node, opened.arena, card.arena_bytes, {arena_step});
  peer.window_view = view_of(node, opened.window, card.window_bytes,
                             {memory::huge_page_bytes, node.viewed.get(), card.window_has_huge_pages != 0});
  peer.arena = peer.arena_view ? peer.arena_view->base() : nullptr;
  peer.window = peer.window_view ? peer.window_view->base() : nullptr;
  peer.arena_address = card.arena_address;
  peer.window_address = card.window_address;
}

bool shows_arena(const Node& node, const memory::Peer& peer, const Card& card) {
  if (!peer.arena) return false;
  if (memory::View* const view = peer.arena_view) {
    const std::size_t world = shared_bytes(node.settings, node.size);
    if (!view->reach(0, header_bytes)) return false;
    if (card.world_offset != no_offset && !view->reach(card.world_offset, world)) return false;
  }
  return reinterpret_cast<const ArenaHeader*>(peer.arena)->magic == magic_value + card.magic_address;
}

bool shows_window(const memory::Peer& peer, const Card& card) {
  if (!peer.window) return false;
  if (peer.window_view && !peer.window_view->reach(card.window_probe, sizeof magic_value)) return false;
  return std::memcmp(peer.window + card.window_probe, &magic_value, sizeof magic_value) == 0;
}

/// Maps what was opened. The mechanisms that work with every peer. Takes the descriptors.
unsigned map_and_probe(Node& node, const NodeRanks& here, const std::vector<Opened>& opened, const OwnMemory& own,
                       std::string& cma_reason) {
  const bool alone = here.cards.size() == 1;
  unsigned mechanisms = mechanism_arena | mechanism_cma | (own.window || alone ? mechanism_window : 0u) |
                        (node.exposures ? mechanism_xpmem : 0u);
  for (std::size_t i = 0; i < here.cards.size(); ++i) {
    const Card& card = here.cards[i];
    const bool self = static_cast<int>(i) == here.self;
    memory::Peer& peer = node.peers[i];
    peer.process = card.process;
    if (self) {
      peer.arena = node.arena ? node.arena->base() : nullptr;
      peer.window = own.window ? own.window->base() : nullptr;
    } else {
      see_through_views(node, peer, card, opened[i]);
      peer.views = 2 * (here.cards.size() - 1);
    }
    if (!shows_arena(node, peer, card)) mechanisms &= ~mechanism_arena;
    if (!alone && !shows_window(peer, card)) mechanisms &= ~mechanism_window;
    if ((mechanisms & mechanism_cma) && !self &&
        !probe(peer, {memory::Kind::cma, card.magic_address}, own.word, cma_reason))
      mechanisms &= ~mechanism_cma;
    std::string xpmem_reason;
    if ((mechanisms & mechanism_xpmem) && !self &&
        !(attach(node, own.xpmem, i, card.xpmem) &&
          probe(peer, memory::Region::from_bits(card.xpmem.word), own.word, xpmem_reason)))
      mechanisms &= ~mechanism_xpmem;
  }
  return mechanisms;
}

}  // namespace

unsigned common(unsigned bits) {
  unsigned agreed = 0;
  host.Allreduce(&bits, &agreed, 1, MPI_UNSIGNED, MPI_BAND, MPI_COMM_WORLD);
  return agreed;
}

std::unique_ptr<memory::Arena> create_arena(std::string& reason) {
  auto arena = memory::Arena::create(usual_arena_bytes(), reason);
  return arena ? std::move(arena) : memory::Arena::create(least_arena_bytes, reason);
}

unsigned agree_on_mechanisms(Node& node, const NodeRanks& here, DescriptorSocket& socket, const OwnMemory& own,
                             unsigned allowed, std::string& cma_reason) {
  constexpr unsigned has_all = 1u << 31;  // beside the mechanisms: /proc was open
  node.viewed = std::make_unique<memory::Viewed>(node.settings.view_retain);
  std::vector<Opened> opened(here.cards.size());
  unsigned mechanisms = 0;
  if (open_from_proc(here, opened))
    mechanisms = has_all | (map_and_probe(node, here, opened, own, cma_reason) & allowed);
  const unsigned agreed = common(mechanisms);
  if (agreed & has_all) return agreed & ~has_all;
  // Whether /proc is open to one rank says nothing about the others: all send if anybody needs it.
  receive_from_peers(node, here, socket, own.window, opened);
  if (!(mechanisms & has_all)) mechanisms = map_and_probe(node, here, opened, own, cma_reason) & allowed;
  return common(mechanisms & ~has_all);
}

void unmap_unused(Node& node, unsigned mechanisms) {
  std::vector<const memory::View*> used;
  for (memory::Peer& peer : node.peers) {
    if (!peer.arena_view && !peer.window_view) continue;
    if (!(mechanisms & mechanism_window)) {
      peer.window = nullptr;
      peer.window_view = nullptr;
    }
    if (!(mechanisms & mechanism_arena)) {
      peer.arena = nullptr;
      peer.arena_view = nullptr;
    }
    used.insert(used.end(), {peer.arena_view, peer.window_view});
  }
  std::erase_if(node.views,
                [&](const auto& view) { return std::find(used.begin(), used.end(), view.get()) == used.end(); });
}

}  // namespace tutti::mpi
