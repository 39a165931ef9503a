#include "mpi/node_setup.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "mpi/descriptors.h"
#include "mpi/peer_watch.h"
#include "mpi/preload_unmap.h"
#include "mpi/process_window.h"
#include "mpi/site_files.h"
#include "mpi/tables.h"
#include "selection/machine.h"
#include "topology/machine.h"

extern char** environ;

namespace tutti::mpi {

namespace {

constexpr std::size_t arena_bytes = std::size_t{2} << 30;  // address space only
constexpr std::size_t header_bytes = std::size_t{1} << 20;
constexpr std::uint64_t magic_value = 0x7475747469212121;
constexpr std::size_t affinity_words = 32;  // 2048 processing units

/// At the beginning of every arena.
struct ArenaHeader {
  sync::Doorbell doorbell;
  LifeLine life;
  std::uint64_t magic;
  std::uint64_t machine_bytes;  ///< on the first rank of the node: the serialised machine that follows
  std::uint8_t machine[1];
};

/// What each rank tells all others at start-up.
struct Card {
  std::uint64_t host;  ///< equal on ranks that see each other's processes
  std::int32_t process;
  std::int32_t user;
  std::int32_t arena_descriptor;
  std::int32_t window_descriptor;
  std::uint64_t arena_bytes;
  std::uint64_t window_bytes;
  std::uint64_t window_probe;  ///< offset of the magic value in the window
  std::uint64_t magic_address;
  std::int64_t segment;      ///< by xpmem; negative if there is none
  std::uint64_t exposures;   ///< offset of the ExposureTable in the arena
  std::uint64_t xpmem_word;  ///< the magic word as a region
  // How many files rank 0 of the job has to read: usually none, then nothing needs to be said about them.
  std::int32_t probe_files;
  std::int32_t table_files;
  std::uint64_t affinity[affinity_words];
};

enum Way : unsigned { way_arena = 1, way_window = 2, way_cma = 4, way_xpmem = 8 };

struct NamedWay {
  const char* name;
  unsigned way;
};
constexpr NamedWay names[] = {{"window", way_window}, {"xpmem", way_xpmem}, {"cma", way_cma}, {"staged", way_arena}};

/// Allowed ways by TUTTI_MECHANISM: "auto", a list of names, or names with ^.
unsigned allowed_ways(const std::string& text, const Log& log) {
  unsigned listed = 0, forbidden = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto end = std::min(text.find(',', at), text.size());
    std::string word = text.substr(at, end - at);
    at = end + 1;
    const bool excluded = !word.empty() && word[0] == '^';
    if (excluded) word.erase(0, 1);
    const auto found =
        std::find_if(std::begin(names), std::end(names), [&](const NamedWay& each) { return word == each.name; });
    if (found != std::end(names)) {
      (excluded ? forbidden : listed) |= found->way;
    } else if (word != "auto") {
      log.warn("TUTTI_MECHANISM: \"%s\" is not one of window, xpmem, cma, staged; it is ignored", word.c_str());
    }
  }
  return ((listed ? listed : ~0u) & ~forbidden) | way_arena;
}

/// Rank 0's TUTTI_ variables reach all ranks, so that every choice is made from the same words.
Settings agreed_settings(int world_rank, Log& log) {
  constexpr std::size_t text_bytes = 8192;
  std::vector<char> text(text_bytes, '\0');
  if (world_rank == 0) {
    std::size_t used = 0;
    for (char** entry = environ; entry && *entry; ++entry) {
      const std::size_t length = std::strlen(*entry) + 1;
      if (std::strncmp(*entry, "TUTTI_", 6) != 0) continue;
      if (used + length + 1 > text_bytes) {
        log.warn("the TUTTI_ variables are longer than %zu bytes together; the rest is ignored", text_bytes);
        break;
      }
      std::memcpy(text.data() + used, *entry, length);
      used += length;
    }
  }
  host.Bcast(text.data(), text_bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
  std::vector<const char*> entries;
  for (const char* at = text.data(); *at; at += std::strlen(at) + 1) entries.push_back(at);
  entries.push_back(nullptr);
  return Settings::from_environment(entries.data(), log);
}

std::uint64_t mix(std::uint64_t hash, const void* data, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3ull;
  return hash;
}

/// Equal on processes that run under one kernel and see each other by process number.
std::uint64_t host_hash() {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  char text[128];
  if (const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC); file >= 0) {
    const ssize_t got = read(file, text, sizeof text);
    if (got > 0) hash = mix(hash, text, static_cast<std::size_t>(got));
    close(file);
  }
  if (gethostname(text, sizeof text) == 0) hash = mix(hash, text, strnlen(text, sizeof text));
  struct stat space {};
  if (stat("/proc/self/ns/pid", &space) == 0) hash = mix(hash, &space.st_ino, sizeof space.st_ino);
  return hash;
}

std::byte* map_shared(int descriptor, std::size_t bytes) {
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  close(descriptor);
  if (base == MAP_FAILED) return nullptr;
  memory::keep_from_children(base, bytes);
  return static_cast<std::byte*>(base);
}

/// The ranks of this node and what each said.
struct Neighbours {
  std::vector<int> world_ranks;
  std::vector<Card> cards;
  int self = 0;
};

Neighbours neighbours_of(int world_rank, const std::vector<Card>& all) {
  Neighbours here;
  const Card& mine = all[static_cast<std::size_t>(world_rank)];
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].host != mine.host || all[i].user != mine.user) continue;
    if (static_cast<int>(i) == world_rank) here.self = static_cast<int>(here.cards.size());
    here.world_ranks.push_back(static_cast<int>(i));
    here.cards.push_back(all[i]);
  }
  return here;
}

/// Whether a word of a peer can be read and written through an attachment.
bool probe_xpmem(const memory::Peer& peer, memory::Region word, const std::uint64_t& own_magic) {
  std::uint64_t seen = 0;
  try {
    peer.copy_from(word, 0, &seen, sizeof seen);
    if (seen != magic_value) return false;
    peer.copy_to(word, 0, &own_magic, sizeof own_magic);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

/// Makes this rank's memory ready to be attached. Nothing, with the reason, if it cannot be.
void offer_xpmem(Job& job, Card& card, const std::uint64_t& magic, std::string& reason) {
  Node& node = job.node;
  job.xpmem = memory::load_xpmem(node.settings.xpmem_device, reason);
  if (!job.xpmem || !node.arena) return;
  const auto table = node.arena->allocate(sizeof(memory::ExposureTable));
  if (!table) {
    reason = "the arena is full";
    return;
  }
  job.segment = memory::expose_address_space(*job.xpmem);
  if (job.segment < 0) {
    reason = std::string("xpmem_make: ") + std::strerror(errno);
    return;
  }
  node.exposures =
      std::make_unique<memory::Exposures>(*reinterpret_cast<memory::ExposureTable*>(node.arena->base() + *table));
  node.operations = std::make_unique<memory::OperationClock>();
  card.segment = job.segment;
  card.exposures = *table;
  card.xpmem_word = node.exposures->expose(&magic, sizeof magic).bits();
}

/// Gets the right to attach to a peer and tries it.
bool attach_and_probe(Job& job, std::size_t rank, const Card& card, const std::uint64_t& own_magic) {
  Node& node = job.node;
  memory::Peer& peer = node.peers[rank];
  if (!node.exposures || card.segment < 0 || !peer.arena) return false;
  const std::int64_t apid = memory::get_segment(*job.xpmem, card.segment);
  if (apid < 0) return false;
  node.attachments[rank] = std::make_unique<memory::Attachments>(
      *job.xpmem, apid, *reinterpret_cast<const memory::ExposureTable*>(peer.arena + card.exposures), *node.operations,
      node.settings.xpmem_cache);
  peer.attachments = node.attachments[rank].get();
  return probe_xpmem(peer, memory::Region::from_bits(card.xpmem_word), own_magic);
}

/// Maps what peers share. Returns the ways that work with every one of them, by a real transfer each.
unsigned map_and_probe(Job& job, const Neighbours& here, DescriptorSocket& socket, const memory::Window* window,
                       const std::uint64_t& own_magic) {
  Node& node = job.node;
  unsigned ways = way_arena | way_cma | (window ? way_window : 0u) | (node.exposures ? way_xpmem : 0u);
  std::vector<pid_t> missing;
  std::vector<std::pair<int, int>> opened(here.cards.size(), {-1, -1});
  for (std::size_t i = 0; i < here.cards.size(); ++i) {
    const Card& card = here.cards[i];
    if (static_cast<int>(i) == here.self) continue;
    opened[i].first = open_descriptor_of(card.process, card.arena_descriptor);
    if (card.window_descriptor >= 0) opened[i].second = open_descriptor_of(card.process, card.window_descriptor);
    if (opened[i].first < 0 || (card.window_descriptor >= 0 && opened[i].second < 0)) missing.push_back(card.process);
  }
  // Whether /proc is open to one rank says nothing about the others: the sockets are used if anybody needs them.
  int need_sockets = missing.empty() ? 0 : 1;
  int any_needs = 0;
  host.Allreduce(&need_sockets, &any_needs, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (any_needs && socket.usable() && node.arena) {
    std::vector<pid_t> others;
    for (std::size_t i = 0; i < here.cards.size(); ++i)
      if (static_cast<int>(i) != here.self) others.push_back(here.cards[i].process);
    for (const auto& received :
         socket.exchange(others, node.arena->descriptor(), window ? window->descriptor() : -1, 5.0)) {
      for (std::size_t i = 0; i < here.cards.size(); ++i) {
        if (here.cards[i].process != received.process) continue;
        if (opened[i].first < 0)
          opened[i].first = received.arena;
        else
          close(received.arena);
        if (opened[i].second < 0)
          opened[i].second = received.window;
        else if (received.window >= 0)
          close(received.window);
      }
    }
  }
  for (std::size_t i = 0; i < here.cards.size(); ++i) {
    const Card& card = here.cards[i];
    memory::Peer& peer = node.peers[i];
    peer.process = card.process;
    if (static_cast<int>(i) == here.self) {
      peer.arena = node.arena ? node.arena->base() : nullptr;
      peer.window = window ? window->base() : nullptr;
    } else {
      if (opened[i].first >= 0) peer.arena = map_shared(opened[i].first, card.arena_bytes);
      if (opened[i].second >= 0) peer.window = map_shared(opened[i].second, card.window_bytes);
    }
    if (!peer.arena || reinterpret_cast<const ArenaHeader*>(peer.arena)->magic != magic_value + card.magic_address)
      ways &= ~way_arena;
    if (!peer.window || std::memcmp(peer.window + card.window_probe, &magic_value, sizeof magic_value) != 0)
      ways &= ~way_window;
    if ((ways & way_cma) && static_cast<int>(i) != here.self) {
      std::uint64_t seen = 0;
      try {
        peer.copy_from({memory::Kind::cma, card.magic_address}, 0, &seen, sizeof seen);
        if (seen == magic_value) peer.copy_to({memory::Kind::cma, card.magic_address}, 0, &own_magic, sizeof seen);
      } catch (const std::exception&) {
      }
      if (seen != magic_value) ways &= ~way_cma;
    }
    if ((ways & way_xpmem) && static_cast<int>(i) != here.self && !attach_and_probe(job, i, card, own_magic))
      ways &= ~way_xpmem;
  }
  return ways;
}

/// The first rank of the node asks hwloc; the others read what it found, after the agreement that follows.
void publish_machine(Node& node, ArenaHeader* header) {
  std::string error;
  auto machine = topology::Machine::load(node.settings.topology, error);
  if (!machine && !node.settings.topology.empty()) {
    node.log.warn("TUTTI_TOPOLOGY=%s: %s; this machine is used", node.settings.topology.c_str(), error.c_str());
    machine = topology::Machine::load("", error);
  }
  if (!machine) {
    node.log.warn("%s; a flat machine is assumed", error.c_str());
    return;
  }
  const auto bytes = machine->serialise();
  if (bytes.size() > header_bytes - sizeof(ArenaHeader)) return;
  std::memcpy(header->machine, bytes.data(), bytes.size());
  header->machine_bytes = bytes.size();
}

/// What publish_machine() found, after the agreement.
std::optional<topology::Machine> published_machine(const Node& node) {
  const auto* header = reinterpret_cast<const ArenaHeader*>(node.peers.front().arena);
  if (!header->machine_bytes) return std::nullopt;
  return topology::Machine::deserialise({header->machine, header->machine_bytes});
}

/// Where the ranks sit, and what the machine's caches hold.
topology::Placement placement_of(Node& node, const Neighbours& here) {
  const std::optional<topology::Machine> machine = published_machine(node);
  std::vector<topology::CpuSet> affinities;
  for (const Card& card : here.cards)
    affinities.push_back(topology::CpuSet::from_words({card.affinity, card.affinity + affinity_words}));
  if (machine && machine->l3_bytes())
    node.cache_bytes =
        machine->l3_bytes() * static_cast<std::size_t>(std::max(1, machine->domain_count(topology::LevelKind::l3)));
  if (node.settings.cache) node.cache_bytes = node.settings.cache;
  return topology::place(machine.value_or(topology::Machine()), affinities);
}

void set_up_waiting(Node& node, const Neighbours& here, MPI_Comm progress) {
  sync::WaitOptions options;
  using Mode = sync::WaitOptions::Mode;
  const std::string& wait = node.settings.wait;
  if (wait == "spin")
    options.mode = Mode::spin;
  else if (wait == "yield")
    options.mode = Mode::yield;
  else if (wait == "sleep")
    options.mode = Mode::sleep;
  else
    options.mode = node.oversubscribed ? Mode::sleep : Mode::spin;
  options.spin = node.oversubscribed && wait != "spin" ? 1 : static_cast<unsigned>(node.settings.spin);
  options.rank = node.rank;
  options.report_after = std::chrono::nanoseconds(static_cast<std::int64_t>(node.settings.timeout * 1e9));
  for (const memory::Peer& peer : node.peers)
    options.doorbells.push_back(&reinterpret_cast<ArenaHeader*>(peer.arena)->doorbell);
  // MPI_COMM_SELF would not do: hosts treat it apart, without a turn for the rest.
  options.host_progress = [progress] {
    int arrived = 0;
    host.Iprobe(MPI_ANY_SOURCE, 0, progress, &arrived, MPI_STATUS_IGNORE);
  };
  std::vector<PeerWatch::Member> members;
  for (std::size_t i = 0; i < here.cards.size(); ++i)
    members.push_back(
        {here.world_ranks[i], here.cards[i].process, &reinterpret_cast<ArenaHeader*>(node.peers[i].arena)->life});
  // Never freed: its thread looks at it until the process ends.
  auto* const watch = new PeerWatch(std::move(members), here.self, node.log);
  if (here.cards.size() > 1) watch->start();
  options.check_peers = [watch](const sync::WaitReason& reason) { watch->check(reason); };
  options.report = [watch, &node](const sync::WaitReason& reason) {
    node.log.warn("rank %d has waited %g s for rank %d in %s, operation %llu of communicator %llx", node.log.rank(),
                  node.settings.timeout, watch->world_rank(reason.peer), reason.collective,
                  static_cast<unsigned long long>(reason.sequence),
                  static_cast<unsigned long long>(reason.party ? reason.party->identity() : 0));
  };
  node.waiter = sync::make_waiter(std::move(options));
}

/// The model's parameters: measured ones if the first of rank 0's files fits, else the shipped ones. All ranks take the
/// same: what one node cannot use nobody does.
void take_measured_model(Job& job, const std::vector<std::string>& files) {
  const Node& node = job.node;
  const SiteFile file = read_on_first_rank(files);
  if (file.path.empty()) {
    if (!node.settings.probe.empty() && node.settings.probe != "off")
      node.log.warn("TUTTI_PROBE: there is no file \"%s\"; the shipped parameters are used",
                    node.settings.probe.c_str());
    return;
  }
  std::string error = file.error;
  const auto probe = error.empty() ? selection::parse_probe(file.text, error) : std::nullopt;
  if (probe) {
    if (const auto machine = published_machine(node))
      error = selection::why_other_machine(probe->machine, selection::identity_of(*machine));
    int usable = error.empty() ? 1 : 0;
    int all_can = 0;
    host.Allreduce(&usable, &all_can, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!all_can && error.empty()) error = "it does not fit the other nodes of this job";
  }
  if (!error.empty()) {
    node.log.warn("%s: %s; the shipped parameters are used", file.path.c_str(), error.c_str());
    return;
  }
  job.knowledge.model = probe->model;
  job.knowledge.model_source = file.path + ", measured " + probe->date;
  node.log.note("the model's parameters are from %s", job.knowledge.model_source.c_str());
}

/// Warnings about values that only the layers above the settings can judge.
void check_hierarchy(const Node& node) {
  std::string error;
  const auto spec = topology::parse_levels(node.settings.hierarchy, error);
  if (!spec) {
    node.log.warn("TUTTI_HIERARCHY: %s; auto is used", error.c_str());
    return;
  }
  for (const topology::LevelKind kind : spec->kinds) {
    const bool there = std::any_of(node.placement.ranks.begin(), node.placement.ranks.end(),
                                   [&](const auto& place) { return place.domain[topology::index_of(kind)] >= 0; });
    if (!there)
      node.log.warn("TUTTI_HIERARCHY: this machine, or the binding of the ranks, has no level %s; it is left out",
                    std::string(topology::name_of(kind)).c_str());
  }
}

/// The attachments go before the segment, which peers may still hold.
void withdraw_xpmem(Job& job) {
  for (memory::Peer& peer : job.node.peers) peer.attachments = nullptr;
  job.node.attachments.clear();
  if (job.segment >= 0) job.xpmem->remove(job.segment);
  job.segment = -1;
}

}  // namespace

std::unique_ptr<Job> start_job() {
  auto job = std::make_unique<Job>();
  Node& node = job->node;
  int world_rank = 0, world_size = 1;
  host.Comm_rank(MPI_COMM_WORLD, &world_rank);
  host.Comm_size(MPI_COMM_WORLD, &world_size);
  node.log.set_rank(world_rank);
  node.log.set_quiet(world_rank != 0);
  node.settings = agreed_settings(world_rank, node.log);
  node.log.set_verbose(node.settings.verbose && world_rank == 0);
  if (!node.settings.enable) {
    job->why_inactive = "TUTTI_ENABLE=0";
    return job;
  }
  // Open MPI's launcher says so to the ranks (--with-ft): they are to go on when one of them dies, which ours do not.
  const char* fault_tolerance = std::getenv("OMPI_MCA_mpi_ft_enable");
  if (fault_tolerance && *fault_tolerance && std::strcmp(fault_tolerance, "0") != 0) {
    job->why_inactive = "the job is to survive the death of ranks (OMPI_MCA_mpi_ft_enable)";
    return job;
  }
  if (world_size == 1) {
    job->why_inactive = "a single rank";
    return job;
  }

  std::string reason;
  node.arena = memory::Arena::create(arena_bytes, reason);
  if (!node.arena) node.arena = memory::Arena::create(arena_bytes / 32, reason);
  const unsigned allowed = allowed_ways(node.settings.mechanism, node.log);
  memory::Window* window = nullptr;
  std::string window_reason = "switched off";
  if (allowed & way_window) window = memory::start_process_window(memory::process_window_options(), window_reason);
  DescriptorSocket socket;

  Card card{};
  card.host = host_hash();
  card.process = getpid();
  card.user = static_cast<std::int32_t>(getuid());
  card.arena_descriptor = -1;
  card.window_descriptor = -1;
  card.segment = -1;
  // Peers read and write this word to try cross-memory attach.
  static std::uint64_t magic = magic_value;
  magic = magic_value;
  card.magic_address = reinterpret_cast<std::uintptr_t>(&magic);
  ArenaHeader* header = nullptr;
  if (node.arena) {
    node.arena->allocate(header_bytes);
    header = reinterpret_cast<ArenaHeader*>(node.arena->base());
    header->magic = magic_value + card.magic_address;
    card.arena_descriptor = node.arena->descriptor();
    card.arena_bytes = node.arena->capacity();
  }
  std::string xpmem_reason;
  if (allowed & way_xpmem) offer_xpmem(*job, card, magic, xpmem_reason);
  void* probe = window ? window->allocate(64) : nullptr;
  if (probe) {
    std::memcpy(probe, &magic_value, sizeof magic_value);
    card.window_descriptor = window->descriptor();
    card.window_bytes = window->capacity();
    card.window_probe = window->offset_of(probe);
  } else {
    window = nullptr;
  }
  const std::vector<std::uint64_t> affinity = topology::affinity_of_this_thread().words();
  std::copy_n(affinity.begin(), std::min(affinity.size(), affinity_words), card.affinity);

  std::vector<std::string> probes, tables;
  if (world_rank == 0) {
    probes = files_of_setting(node.settings.probe, "probe.json");
    tables = table_files(node.settings.decision_table);
    card.probe_files = static_cast<std::int32_t>(probes.size());
    card.table_files = static_cast<std::int32_t>(tables.size());
  }

  std::vector<Card> all(static_cast<std::size_t>(world_size));
  host.Allgather(&card, sizeof card, MPI_BYTE, all.data(), sizeof card, MPI_BYTE, MPI_COMM_WORLD);
  const Neighbours here = neighbours_of(world_rank, all);
  node.rank = here.self;
  node.size = static_cast<int>(here.cards.size());
  node.peers.resize(here.cards.size());
  node.attachments.resize(here.cards.size());
  if (here.self == 0 && header) publish_machine(node, header);
  unsigned ways = map_and_probe(*job, here, socket, window, magic) & allowed;
  unsigned agreed = 0;
  host.Allreduce(&ways, &agreed, 1, MPI_UNSIGNED, MPI_BAND, MPI_COMM_WORLD);
  if (probe) window->release(probe);

  if ((agreed & (way_arena | way_xpmem)) != (way_arena | way_xpmem)) {
    if (job->segment >= 0) xpmem_reason = "a peer cannot attach";
    withdraw_xpmem(*job);
    node.exposures.reset();
    node.operations.reset();
  }
  if (!(agreed & way_arena)) {
    job->why_inactive = "the ranks cannot share memory" + (reason.empty() ? std::string() : " (" + reason + ")");
    node.log.warn("%s; every collective stays with the host MPI", job->why_inactive.c_str());
    return job;
  }
  job->mechanisms = agreed;
  node.window_shared = (agreed & way_window) != 0;
  node.cma = (agreed & way_cma) != 0;
  if (node.window_shared) {
    node.window_base = window->base();
    node.window_bytes = window->capacity();
  } else if (allowed & way_window) {
    node.log.note("no window: %s", window ? "a peer cannot map it" : window_reason.c_str());
  }
  if (node.exposures)
    memory::unmapping::watch(node.exposures.get());
  else if (allowed & way_xpmem)
    node.log.note("no xpmem: %s", xpmem_reason.c_str());
  node.placement = placement_of(node, here);
  node.oversubscribed = node.placement.oversubscribed();
  host.Comm_dup(MPI_COMM_WORLD, &job->progress);
  set_up_waiting(node, here, job->progress);
  check_hierarchy(node);
  const auto known = known_algorithms();
  job->knowledge.user = selection::UserChoice::parse(node.settings.algorithm, known, node.log);
  if (all.front().probe_files > 0) take_measured_model(*job, probes);
  job->origin = table_origin(published_machine(node));
  if (const int count = all.front().table_files; count > 0)
    job->knowledge.table = agreed_table(tables, count, node.settings.decision_table, job->origin, known, node.log);
  const Card& first = here.cards.front();
  job->node_identity = mix(mix(first.host, &first.process, sizeof first.process), &first.magic_address, 8);
  job->active = true;
  // From here on a rank speaks for itself: what it waits for, who has died.
  node.log.set_quiet(false);
  node.log.note("%d ranks on this node, %d cores, %s; mechanisms:%s%s%s staged", node.size,
                node.placement.cores_available, node.oversubscribed ? "more ranks than cores" : "a core a rank",
                node.window_shared ? " window" : "", node.exposures ? " xpmem" : "", node.cma ? " cma" : "");
  return job;
}

bool restrict_mechanisms(Job& job, const std::string& text) {
  const unsigned allowed = allowed_ways(text, job.node.log);
  const bool any = allowed == ~0u;
  const unsigned usable = allowed & job.mechanisms;
  if (job.node.exposures && !(usable & way_xpmem)) return false;  // what is attached stays so: a run of its own
  if (usable == way_arena && allowed != way_arena && !any) return false;
  job.node.window_shared = (usable & way_window) != 0;
  job.node.cma = (usable & way_cma) != 0;
  return true;
}

std::vector<std::string> names_of_mechanisms(const Job& job) {
  std::vector<std::string> found;
  for (const NamedWay& each : names)
    if (job.mechanisms & each.way) found.emplace_back(each.name);
  return found;
}

void end_xpmem(Job& job) {
  if (job.segment < 0) return;
  // The table itself stays: a thread that is in munmap may be looking at it.
  memory::unmapping::watch(nullptr);
  memory::AttachmentStatistics all;
  for (const auto& attachments : job.node.attachments)
    if (attachments) all += attachments->statistics();
  job.node.log.note("xpmem: %llu attachments (%llu evicted, %llu stale, at most %zu at once), %llu hits",
                    static_cast<unsigned long long>(all.misses), static_cast<unsigned long long>(all.evictions),
                    static_cast<unsigned long long>(all.stale), all.most, static_cast<unsigned long long>(all.hits));
  withdraw_xpmem(job);
}

}  // namespace tutti::mpi
