#include "mpi/peer_memory.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>
#include <vector>

#include "mpi/arena_header.h"
#include "mpi/host.h"
#include "mpi/mechanisms.h"
#include "preload/process_window.h"

namespace tutti::mpi {

namespace {

/// Address space only. Each communicator may keep some MiB of it for each rank where messages have to be staged.
constexpr std::size_t arena_bytes = std::size_t{64} << 30;
constexpr std::size_t least_arena_bytes = std::size_t{64} << 20;

/// A rank maps the arenas of all others, too. Where its address space is limited, most is left to the program.
std::size_t usual_arena_bytes() {
  constexpr std::size_t all_arenas = std::size_t{1} << 44;  // of the 47 bits that there usually are
  const std::size_t ranks = memory::local_ranks();
  std::size_t bytes = std::min(arena_bytes, all_arenas / ranks);
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    bytes = std::min<std::size_t>(bytes, limit.rlim_cur / 16 / ranks);
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0) bytes = std::min<std::size_t>(bytes, limit.rlim_cur);
  return std::max(bytes, least_arena_bytes);
}

std::byte* map_shared(int descriptor, std::size_t bytes) {
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  close(descriptor);
  if (base == MAP_FAILED) return nullptr;
  memory::keep_from_children(base, bytes);
  // A rank's core dump is of that rank alone, and makes no memory of what a peer has not touched.
  madvise(base, bytes, MADV_DONTDUMP);
  return static_cast<std::byte*>(base);
}

/// Descriptors of a peer's memory; -1: there is none, or it could not be had.
struct Opened {
  int arena = -1;
  int window = -1;
};

/// Those of every peer of the node, from /proc. False if one that a peer has cannot be had.
bool open_from_proc(const Neighbours& here, std::vector<Opened>& opened) {
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
void receive_from_peers(const Node& node, const Neighbours& here, DescriptorSocket& socket,
                        const memory::Window* window, std::vector<Opened>& opened) {
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

/// Whether a word of the peer can be read and written by cross-memory attach.
bool probe_cma(const memory::Peer& peer, std::uint64_t address, const std::uint64_t& own_word, std::string& reason) {
  std::uint64_t seen = 0;
  try {
    peer.copy_from({memory::Kind::cma, address}, 0, &seen, sizeof seen);
    if (seen != magic_value) return false;
    peer.copy_to({memory::Kind::cma, address}, 0, &own_word, sizeof seen);
    return true;
  } catch (const std::exception& problem) {
    const std::string text = problem.what();
    reason = text.substr(0, text.find(';'));  // then follows what to do about it in a running job
    return false;
  }
}

/// Maps what was opened. The ways that work with every peer. Takes the descriptors.
unsigned map_and_probe(Node& node, const Neighbours& here, const std::vector<Opened>& opened, const Shares& own,
                       std::string& cma_reason) {
  unsigned ways = way_arena | way_cma | (own.window ? way_window : 0u) | (node.exposures ? way_xpmem : 0u);
  for (std::size_t i = 0; i < here.cards.size(); ++i) {
    const Card& card = here.cards[i];
    const bool self = static_cast<int>(i) == here.self;
    memory::Peer& peer = node.peers[i];
    peer.process = card.process;
    if (self) {
      peer.arena = node.arena ? node.arena->base() : nullptr;
      peer.window = own.window ? own.window->base() : nullptr;
    } else {
      if (opened[i].arena >= 0) peer.arena = map_shared(opened[i].arena, card.arena_bytes);
      if (opened[i].window >= 0) peer.window = map_shared(opened[i].window, card.window_bytes);
    }
    if (!peer.arena || reinterpret_cast<const ArenaHeader*>(peer.arena)->magic != magic_value + card.magic_address)
      ways &= ~way_arena;
    if (!peer.window || std::memcmp(peer.window + card.window_probe, &magic_value, sizeof magic_value) != 0)
      ways &= ~way_window;
    if ((ways & way_cma) && !self && !probe_cma(peer, card.magic_address, own.word, cma_reason)) ways &= ~way_cma;
    if ((ways & way_xpmem) && !self && !attach_and_probe(node, own.xpmem, i, card.xpmem, own.word)) ways &= ~way_xpmem;
  }
  return ways;
}

/// The bits that are set on all ranks of MPI_COMM_WORLD.
unsigned common(unsigned bits) {
  unsigned agreed = 0;
  host.Allreduce(&bits, &agreed, 1, MPI_UNSIGNED, MPI_BAND, MPI_COMM_WORLD);
  return agreed;
}

}  // namespace

std::unique_ptr<memory::Arena> create_arena(std::string& reason) {
  auto arena = memory::Arena::create(usual_arena_bytes(), reason);
  return arena ? std::move(arena) : memory::Arena::create(least_arena_bytes, reason);
}

unsigned agree_on_ways(Node& node, const Neighbours& here, DescriptorSocket& socket, const Shares& own,
                       unsigned allowed, std::string& cma_reason) {
  constexpr unsigned has_all = 1u << 31;  // beside the ways: /proc was open
  std::vector<Opened> opened(here.cards.size());
  unsigned ways = 0;
  if (open_from_proc(here, opened)) ways = has_all | (map_and_probe(node, here, opened, own, cma_reason) & allowed);
  const unsigned agreed = common(ways);
  if (agreed & has_all) return agreed & ~has_all;
  // Whether /proc is open to one rank says nothing about the others: all send if anybody needs it.
  receive_from_peers(node, here, socket, own.window, opened);
  if (!(ways & has_all)) ways = map_and_probe(node, here, opened, own, cma_reason) & allowed;
  return common(ways & ~has_all);
}

void unmap_unused(Node& node, const Neighbours& here, unsigned ways) {
  for (std::size_t i = 0; i < here.cards.size(); ++i) {
    memory::Peer& peer = node.peers[i];
    if (static_cast<int>(i) == here.self) continue;
    if (peer.window && !(ways & way_window)) munmap(std::exchange(peer.window, nullptr), here.cards[i].window_bytes);
    if (peer.arena && !(ways & way_arena)) munmap(std::exchange(peer.arena, nullptr), here.cards[i].arena_bytes);
  }
}

}  // namespace tutti::mpi
