#include "mpi/node_setup.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "mpi/agreed_settings.h"
#include "mpi/arena_header.h"
#include "mpi/descriptors.h"
#include "mpi/measured_model.h"
#include "mpi/mechanisms.h"
#include "mpi/neighbours.h"
#include "mpi/node_machine.h"
#include "mpi/peer_memory.h"
#include "mpi/preload_unmap.h"
#include "mpi/process_window.h"
#include "mpi/roll_call.h"
#include "mpi/site_files.h"
#include "mpi/start_watch.h"
#include "mpi/tables.h"
#include "mpi/waiting.h"

extern char** environ;

namespace tutti::mpi {

namespace {

/// Never destroyed: where the library stays inactive, ranks that are late find the names until this process ends.
RollCall& roll_call() {
  static RollCall& the_call = *new RollCall(launched_rank());
  return the_call;
}

/// Whether all ranks take part, as far as can be known without asking them. If they do not, a warning says who does not.
bool all_take_part(RollCall::Result result, const Settings& own, Log log) {
  if (result != RollCall::Result::some) return true;
  const std::vector<int>& missing = roll_call().missing();
  if (missing.empty() || !own.enable) return false;  // another rank says it
  std::string ranks;
  for (const int rank : missing) ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
  log.set_quiet(false);
  log.warn(
      "of the %d ranks on this node, local rank%s %s did not call MPI_Init through Tutti (not preloaded, linked "
      "statically, or Fortran); every collective stays with the host MPI",
      roll_call().local_ranks(), missing.size() > 1 ? "s" : "", ranks.c_str());
  return false;
}

/// After how many seconds at start-up a rank says that it waits; 0: never. If it is not known that all ranks come, it
/// does unless it is told not to.
double start_up_patience(RollCall::Result result, int world_size, const Settings& own) {
  const bool all_come = result == RollCall::Result::all && roll_call().local_ranks() == world_size;
  return own.timeout > 0 || all_come || std::getenv("TUTTI_TIMEOUT") ? own.timeout : 10;
}

}  // namespace

void announce() {
  roll_call().announce();
}

std::unique_ptr<Job> start_job() {
  auto job = std::make_unique<Job>();
  Node& node = job->node;
  int world_rank = 0, world_size = 1;
  host.Comm_rank(MPI_COMM_WORLD, &world_rank);
  host.Comm_size(MPI_COMM_WORLD, &world_size);
  node.log.set_rank(world_rank);
  node.log.set_quiet(world_rank != 0);
  std::optional<StartWatch> watch;
  if (world_size > 1) {
    // The settings of the job are known only when all take part.
    Log silent;
    silent.set_quiet(true);
    const Settings own = Settings::from_environment(environ, silent);
    const RollCall::Result result = roll_call().take(1);
    if (!all_take_part(result, own, node.log)) {
      job->why_inactive = "some ranks do not run with Tutti";
      return job;
    }
    if (const double seconds = start_up_patience(result, world_size, own); seconds > 0)
      watch.emplace(seconds, node.log);
  }
  node.settings = agreed_settings(world_rank, node.log);
  node.log.set_verbose(node.settings.verbose && world_rank == 0);
  if (!node.settings.enable) {
    job->why_inactive = "TUTTI_ENABLE=0";
    return job;
  }
  if (world_size == 1) {
    roll_call().close_all();
    job->why_inactive = "a single rank";
    return job;
  }

  std::string reason;
  node.arena = create_arena(reason);
  const unsigned allowed = allowed_ways(node.settings.mechanism, node.log);
  memory::Window* window = nullptr;
  std::string window_reason = "switched off";
  if (allowed & way_window) window = memory::start_process_window(memory::process_window_options(), window_reason);
  DescriptorSocket socket;

  Card card = card_of_this_process();
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
  if (allowed & way_xpmem) card.xpmem = offer_xpmem(node, job->xpmem, magic, xpmem_reason);
  void* probe = window ? window->allocate(64) : nullptr;
  if (probe) {
    std::memcpy(probe, &magic_value, sizeof magic_value);
    card.window_descriptor = window->descriptor();
    card.window_bytes = window->capacity();
    card.window_probe = window->offset_of(probe);
  } else {
    window = nullptr;
  }

  std::vector<std::string> probes, tables;
  if (world_rank == 0) {
    probes = files_of_setting(node.settings.probe, "probe.json");
    tables = table_files(node.settings.decision_table);
    card.probe_files = static_cast<std::int32_t>(probes.size());
    card.table_files = static_cast<std::int32_t>(tables.size());
  }

  std::vector<Card> all(static_cast<std::size_t>(world_size));
  host.Allgather(&card, sizeof card, MPI_BYTE, all.data(), sizeof card, MPI_BYTE, MPI_COMM_WORLD);
  roll_call().close_all();
  watch.reset();
  if (std::any_of(all.begin(), all.end(), [](const Card& each) { return each.outlives_ranks != 0; })) {
    job->why_inactive = "the job is to outlive its ranks (mpirun --with-ft)";
    withdraw_xpmem(node, job->xpmem);
    return job;
  }
  const Neighbours here = neighbours_of(world_rank, all);
  node.rank = here.self;
  node.size = static_cast<int>(here.cards.size());
  node.peers.resize(here.cards.size());
  node.attachments.resize(here.cards.size());
  if (here.self == 0 && header) publish_machine(node, header);
  unsigned ways = map_and_probe(node, here, socket, {window, job->xpmem, magic}) & allowed;
  unsigned agreed = 0;
  host.Allreduce(&ways, &agreed, 1, MPI_UNSIGNED, MPI_BAND, MPI_COMM_WORLD);
  if (probe) window->release(probe);

  if ((agreed & (way_arena | way_xpmem)) != (way_arena | way_xpmem)) {
    if (job->xpmem.segment >= 0) xpmem_reason = "a peer cannot attach";
    withdraw_xpmem(node, job->xpmem);
  }
  unmap_unused(node, here, agreed);
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
  set_up_placement(node, here);
  host.Comm_dup(MPI_COMM_WORLD, &job->progress);
  set_up_waiting(node, here, job->progress);
  check_hierarchy(node);
  const auto known = known_algorithms();
  job->knowledge.user = selection::UserChoice::parse(node.settings.algorithm, known, node.log);
  if (all.front().probe_files > 0) take_measured_model(*job, probes);
  job->origin = table_origin(published_machine(node));
  if (const int count = all.front().table_files; count > 0)
    job->knowledge.table = agreed_table(tables, count, node.settings.decision_table, job->origin, known, node.log);
  job->node_identity = node_identity_of(here);
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
  const bool any = allowed == every_way;
  const unsigned usable = allowed & job.mechanisms;
  if (job.node.exposures && !(usable & way_xpmem)) return false;  // what is attached stays so: a run of its own
  if (usable == way_arena && allowed != way_arena && !any) return false;
  job.node.window_shared = (usable & way_window) != 0;
  job.node.cma = (usable & way_cma) != 0;
  return true;
}

std::vector<std::string> names_of_mechanisms(const Job& job) {
  return names_of_ways(job.mechanisms);
}

}  // namespace tutti::mpi
