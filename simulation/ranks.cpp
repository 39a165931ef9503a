#include "simulation/ranks.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "selection/machine.h"
#include "selection/shipped.h"
#include "topology/machine.h"
#include "topology/mapping.h"

namespace tutti::simulated {

namespace {

constexpr std::size_t arena_bytes = std::size_t{64} << 20;

topology::Machine load(const std::string& description) {
  std::string error;
  auto machine = topology::Machine::load(description, error);
  if (!machine) throw std::runtime_error(error);
  return std::move(*machine);
}

topology::Placement placement_on(const Machine& of, const Job& job) {
  std::string error;
  const topology::Machine machine = load(of.description);
  const auto mapping = topology::parse_mapping(job.mapping, error);
  if (!mapping) throw std::runtime_error(error);
  if (job.ranks > machine.unit_count())
    throw std::runtime_error("the machine has " + std::to_string(machine.unit_count()) + " hardware threads, and " +
                             std::to_string(job.ranks) +
                             " ranks are asked for: ranks that take turns are not simulated");
  return topology::place_by_affinity(machine, topology::map_ranks(machine, job.ranks, *mapping));
}

std::vector<int> node_of_rank(const Job& job) {
  std::vector<int> nodes;
  for (int node = 0; node < job.nodes; ++node) nodes.insert(nodes.end(), static_cast<std::size_t>(job.ranks), node);
  return nodes;
}

/// Address space of a rank's window, and of what is not in it; more than any of its buffers take.
constexpr std::size_t area_bytes = std::size_t{8} << 30;
constinit const std::atomic<std::size_t> window_extent{area_bytes};

}  // namespace

Machine Machine::read(const std::string& text) {
  std::string error;
  const auto probe = selection::parse_probe(text, error);
  if (!probe) throw std::runtime_error(error);
  const auto file = nlohmann::json::parse(text);
  const auto& about = file["machine"];
  Machine machine;
  if (!about.contains("description"))
    throw std::runtime_error("it does not say how the machine looks (machine.description)");
  machine.description = about["description"].get<std::string>();
  machine.ranks = about.value("ranks", 0);
  if (machine.ranks == 0) machine.ranks = load(machine.description).unit_count();
  machine.nodes = about.value("nodes", 1);
  machine.model = machine.library = probe->model;
  machine.network = selection::parameters_of(probe->model, probe->network);
  if (const std::string library = file.value("library", "measured"); library != "measured")
    machine.library = selection::shipped_model(library == "amd" ? selection::Maker::amd : selection::Maker::other);
  if (file.contains("simulation")) simulated::read(file["simulation"], machine.model, machine.parameters);
  return machine;
}

Ranks::Ranks(const Machine& machine, const Job& job)
    : placement_(placement_on(machine, job)),
      nodes_(node_of_rank(job)),
      settings_(job.settings),
      timed_(machine.model, machine.parameters, placement_, job.nodes),
      network_(timed_, nodes_, machine.network) {
  knowledge_.model = machine.library;
  knowledge_.network = machine.network;
  members_.resize(static_cast<std::size_t>(nodes_.ranks()));
  for (std::size_t rank = 0; rank < members_.size(); ++rank) memory_.emplace_back();
  for (int node = 0; node < nodes_.count(); ++node) set_up(node, machine, job);
}

Ranks::~Ranks() {
  members_.clear();
}

void Ranks::set_up(int node, const Machine& machine, const Job& job) {
  std::string error;
  std::vector<memory::Peer> peers;
  CommunicatorLayout layout;
  const auto first = processes_.size();
  for (int place = 0; place < job.ranks; ++place) {
    auto process = std::make_unique<Node>();
    process->rank = place;
    process->size = job.ranks;
    process->settings = job.settings;
    process->log.set_quiet(true);
    process->arena = memory::Arena::create(arena_bytes, error);
    if (!process->arena) throw std::runtime_error(error);
    process->window_shared = process->may_stage = job.reach == Reach::mapped;
    if (job.reach == Reach::mapped) {
      process->window_base = window_of(node, place);
      process->window_extent = &window_extent;
    }
    process->cma = job.reach == Reach::kernel;
    if (machine.parameters.l3_bytes > 0)
      process->cache_bytes =
          static_cast<std::size_t>(machine.parameters.l3_bytes) * static_cast<std::size_t>(timed_.caches());
    process->placement = placement_;
    process->waiter = std::make_unique<FiberWaiter>();
    memory::Peer peer;
    peer.process = getpid();
    peer.arena = process->arena->base();
    if (job.reach == Reach::mapped) peer.window = window_of(node, place);
    peers.push_back(peer);
    layout.node_ranks.push_back(place);
    layout.offsets.push_back(*process->arena->allocate(shared_bytes(job.settings, job.ranks)));
    processes_.push_back(std::move(process));
  }
  for (int place = 0; place < job.ranks; ++place) {
    Node& process = *processes_[first + static_cast<std::size_t>(place)];
    process.peers = peers;
    layout.rank = place;
    Member& member = members_[static_cast<std::size_t>(nodes_.rank_at(node, place))];
    member.communicator = std::make_unique<Communicator>(process, layout);
    if (spans_nodes()) {
      const int rank = nodes_.rank_at(node, place);
      member.channel = std::make_unique<SimulatedChannel>(network_, rank);
      member.spanning.reset(new Spanning{*member.communicator, nodes_, *member.channel, rank});
    }
    member.collectives = std::make_unique<Collectives>(*member.communicator, knowledge_, member.spanning.get());
  }
}

void Ranks::choose(const std::string& algorithms) {
  const auto user = selection::UserChoice::parse(algorithms, all_known_algorithms(), Log());
  for (Member& member : members_) member.collectives->choose_anew(user);
}

Ranks::Area::Area()
    : base(static_cast<std::byte*>(
          mmap(nullptr, area_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
  if (base == MAP_FAILED) throw std::bad_alloc();
}

Ranks::Area::~Area() {
  munmap(base, area_bytes);
}

std::byte* Ranks::Area::allocate(std::size_t bytes) {
  constexpr std::size_t page = 4096;
  std::byte* const at = base + used;
  // Not all at the same place of a cache's sets.
  used += (bytes + page - 1) / page * page + page;
  if (used > area_bytes || (used > open && mprotect(base + open, used - open, PROT_READ | PROT_WRITE) != 0))
    throw std::bad_alloc();
  open = std::max(open, used);
  return at;
}

std::byte* Ranks::allocate(int rank, std::size_t bytes) {
  Memory& own = memory_[static_cast<std::size_t>(rank)];
  return (bytes >= settings_.window_min ? own.window : own.outside).allocate(bytes);
}

void Ranks::forget(int rank) {
  Memory& own = memory_[static_cast<std::size_t>(rank)];
  own.window.used = own.outside.used = 0;
}

}  // namespace tutti::simulated
