#include "mpi/start/node_setup.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/slurm_step.h"
#include "mpi/start/contribution.h"
#include "mpi/start/descriptors.h"
#include "mpi/start/job_call.h"
#include "mpi/start/knowledge.h"
#include "mpi/start/launcher_names.h"
#include "mpi/start/mechanisms.h"
#include "mpi/start/node_machine.h"
#include "mpi/start/peer_memory.h"
#include "mpi/start/roll_call.h"
#include "mpi/start/shared_caches.h"
#include "mpi/start/watch.h"
#include "mpi/wait/waiting.h"
#include "preload/other_allocators.h"
#include "preload/static_data.h"
#include "preload/unmap.h"

namespace tutti::mpi {

namespace {

/// Equal where ranks understand each other.
std::uint64_t version() {
  return hash_of(TUTTI_VERSION " " + std::to_string(sizeof(Card)));
}

/// Never destroyed: where the library stays inactive, ranks that are late find the names until this process ends.
RollCall& roll_call() {
  static RollCall& the_call = *new RollCall(launched_rank(version()));
  return the_call;
}

constexpr const char* what_to_do =
    "every collective stays with the host MPI. Is the library there on all nodes, the same one, and are the "
    "variables of this process passed on to the ranks (tutti run does that)?";

/// Whether all ranks take part, as far as can be known without asking them. If they do not, a warning says who does
/// not. others: what is known of other nodes.
bool all_take_part(RollCall::Result result, const JobCall& others, const Settings& own, Log log) {
  if (result != RollCall::Result::some) return true;
  const std::vector<int>& missing = roll_call().missing();
  if (!own.enable) return false;
  if (!others.why_not().empty()) {
    log.set_quiet(false);
    log.warn("%s; %s", others.why_not().c_str(), what_to_do);
    return false;
  }
  if (missing.empty()) return false;  // another rank says it
  std::string ranks;
  for (const int rank : missing) ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
  log.set_quiet(false);
  log.warn(
      "of the %d ranks on this node, local rank%s %s did not call MPI_Init through Tutti (not preloaded, another "
      "version, switched off, linked statically, or Fortran); every collective stays with the host MPI",
      roll_call().local_ranks(), missing.size() > 1 ? "s" : "", ranks.c_str());
  return false;
}

/// After how many seconds at start-up a rank says that it waits; 0: never. If it is not known that all ranks come, it
/// does unless it is told not to.
double start_up_patience(RollCall::Result result, const JobCall& others, const Settings& own) {
  const bool all_come = result == RollCall::Result::all && others.keeps_names();
  return own.timeout > 0 || all_come || std::getenv("TUTTI_TIMEOUT") ? own.timeout : 10;
}

/// Where srun has started several tasks, and the MPI knows nothing of it: the first says so for all.
void say_if_tasks_are_alone(const Log& log) {
  const char* const task = std::getenv("SLURM_PROCID");
  if (slurm_tasks() < 2 || !task || std::atoi(task) != 0) return;
  // Of a launcher that was started in the step.
  for (const char* const name : {"MPI_LOCALNRANKS", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "PALS_LOCAL_SIZE"})
    if (std::getenv(name)) return;
  const char* const type = std::getenv("SLURM_MPI_TYPE");
  log.warn(
      "srun has started %d tasks, but each is an MPI job of its own: this MPI does not understand srun --mpi=%s; Open "
      "MPI wants --mpi=pmix, MPICH and Intel MPI --mpi=pmi2",
      slurm_tasks(), type ? type : "none");
}

/// That a mechanism cannot be used: a warning if the user has asked for it by name.
void say_if_missing(const Log& log, const AskedMechanisms& asked, unsigned agreed, Mechanism mechanism,
                    const std::string& reason) {
  if (!(asked.allowed() & mechanism) || (agreed & mechanism)) return;
  const std::string missing = "no " + names_of_mechanisms(mechanism).front() + ": " + reason;
  if (!asked.by_name(mechanism)) return log.note("%s", missing.c_str());
  std::string used;
  for (const std::string& name : names_of_mechanisms(agreed)) used += (used.empty() ? "" : ", ") + name;
  log.warn("TUTTI_MECHANISM: %s; used instead: %s", missing.c_str(), used.c_str());
}

/// From now on ranks may ask each other for memory that they cannot reach, and tell each other of partitioned messages.
void set_up_areas(Job& job) {
  Node& node = job.node;
  std::vector<std::byte*> areas;
  std::size_t bytes = memory::CopyRequests::area_bytes(node.size);
  for (const memory::Peer& peer : node.peers) areas.push_back(peer.in_arena(header_bytes, bytes));
  node.requests = std::make_unique<memory::CopyRequests>(node.rank, std::move(areas), node.arena->capacity());
  for (std::size_t i = 0; i < node.peers.size(); ++i) {
    node.peers[i].rank = static_cast<int>(i);
    node.peers[i].requests = node.requests.get();
  }
  job.announcements = std::make_unique<partitioned::Announcements>(node, header_bytes + bytes);
  bytes += partitioned::Announcements::area_bytes(node.size);
  if (node.settings.messages && node.size > 1)
    job.messages = std::make_unique<messages::Messages>(node, header_bytes + bytes, job.node_identity);
}

/// Maps what the peers contribute; empty, or why the host has to do everything.
std::string share_memory(Job& job, const NodeRanks& here, Contribution& contribution, DescriptorSocket& socket) {
  Node& node = job.node;
  node.rank = here.self;
  node.size = static_cast<int>(here.cards.size());
  node.peers.resize(here.cards.size());
  node.attachments.resize(here.cards.size());
  if (here.self == 0 && contribution.header) publish_machine(node, contribution.header);
  std::string cma_reason = "a peer cannot use it";
  unsigned allowed = contribution.asked.allowed();
  if (memory::watcher_of_allocations().by == memory::Watcher::emulator) {
    // It sees only what this process itself writes to the program's buffers.
    allowed &= mechanism_arena;
    cma_reason = "an emulator watches a rank's memory";
  }
  const unsigned agreed = agree_on_mechanisms(node, here, socket, contribution.own_memory(job), allowed, cma_reason);
  if (contribution.probe) contribution.window->release(contribution.probe);

  if ((agreed & (mechanism_arena | mechanism_xpmem)) != (mechanism_arena | mechanism_xpmem)) {
    if (job.xpmem.segment >= 0) contribution.xpmem_reason = "a peer cannot attach";
    withdraw_xpmem(node, job.xpmem);
  }
  unmap_unused(node, agreed);
  if (!(agreed & mechanism_arena))
    return "the ranks cannot share memory" +
           (contribution.arena_reason.empty() ? "" : " (" + contribution.arena_reason + ")");
  job.mechanisms = agreed;
  node.warnings = &reinterpret_cast<ArenaHeader*>(node.peers.front().arena)->warnings;
  node.window_shared = (agreed & mechanism_window) != 0;
  node.cma = (agreed & mechanism_cma) != 0;
  node.may_stage = contribution.asked.may_stage();
  for (memory::Peer& peer : node.peers) peer.copies = node.cma;
  if (node.window_shared && contribution.window) {
    node.foreign = &contribution.window->foreign();
    node.huge_pages = &contribution.window->huge_pages();
    node.window_base = contribution.window->base();
    node.window_extent = &contribution.window->extent();
    node.window_spans = &contribution.window->spans();
    if (const char* const why = memory::why_no_static_data(); *why)
      node.log.note("static data of the program is not in the window: %s", why);
  }
  if (node.exposures) memory::unmapping::watch(node.exposures.get());
  set_up_areas(job);
  if (contribution.window && !node.window_shared) contribution.window_reason = "a peer cannot map it";
  job.no_window = contribution.window_reason;
  say_if_missing(node.log, contribution.asked, agreed, mechanism_window, job.no_window);
  if (node.window_shared && !job.no_window.empty()) node.log.note("no window: %s", job.no_window.c_str());
  if (node.window_shared && contribution.window) {
    const std::string& why_not = contribution.window->why_not_better();
    node.log.note("huge pages of the window: %s%s%s", name_of(contribution.window->huge_pages().kind()),
                  why_not.empty() ? "" : ", since not ", why_not.c_str());
  }
  say_if_missing(node.log, contribution.asked, agreed, mechanism_xpmem, contribution.xpmem_reason);
  say_if_missing(node.log, contribution.asked, agreed, mechanism_cma, cma_reason);
  return "";
}

/// Whether communicators that span nodes could be ours: before the files of rank 0 are read, if there are any. The same on all
/// ranks.
bool may_span_nodes(const Settings& settings, const std::vector<Card>& all) {
  return settings.internode == "1" || (settings.internode == "auto" && all.front().probe_files > 0);
}

/// Warnings are for the settings of the job.
Log silent_log() {
  Log silent;
  silent.set_quiet(true);
  return silent;
}

}  // namespace

void announce() {
  roll_call().announce();
  if (roll_call().local_ranks() < 2) return;
  const Log silent = silent_log();
  const Settings own = settings_of_this_process(silent);
  if (!own.enable) return;
  // Now, since the MPI may start threads.
  if (own.static_data && (asked_mechanisms(own.mechanism, silent).allowed() & mechanism_window))
    memory::take_static_data();
  // Of the ranks of the node, the first is usually the launcher's first.
  if (roll_call().local_rank() == 0 && own.topology.empty()) look_at_machine();
}

Job::~Job() = default;

std::unique_ptr<Job> start_job() {
  auto job = std::make_unique<Job>();
  Node& node = job->node;
  int world_rank = 0, world_size = 1;
  host.Comm_rank(MPI_COMM_WORLD, &world_rank);
  host.Comm_size(MPI_COMM_WORLD, &world_size);
  node.log.set_rank(world_rank);
  node.log.set_quiet(world_rank != 0);
  if (world_size == 1) {
    roll_call().close_all();
    node.settings = settings_of_this_process(node.log);
    node.log.set_verbose(node.settings.verbose);
    job->why_inactive = node.settings.enable ? "a single rank" : "TUTTI_ENABLE=0";
    if (node.settings.enable) say_if_tasks_are_alone(node.log);
    job->all_take_part = node.settings.enable;
    return job;
  }
  JobCall& others = job_call({roll_call().whole_job(), world_rank, world_size, roll_call().local_ranks(), version()});
  std::optional<StartWatch> watch;
  {
    // The settings of the job are known only when all take part.
    const Settings own = settings_of_this_process(silent_log());
    const bool has_others = roll_call().local_ranks() < world_size;
    // srun keeps none: MPICH 5.0.2 crashes where it looks for one that is not there, Open MPI 4.1 prints a page for each.
    const bool names = !roll_call().whole_job().empty();
    const RollCall::Result result =
        has_others && !names ? RollCall::Result::unknown : roll_call().take(1, has_others ? &others : nullptr);
    if (!all_take_part(result, others, own, node.log)) {
      job->why_inactive = "some ranks do not run with Tutti";
      return job;
    }
    if (const double seconds = start_up_patience(result, others, own); seconds > 0) watch.emplace(seconds, node.log);
  }
  DescriptorSocket socket;
  auto [contribution, all] = exchange_cards(*job, world_rank, world_size);
  roll_call().close_all();
  others.forget();
  watch.reset();
  const auto any = [&all](std::int32_t Card::*is) {
    return std::any_of(all.begin(), all.end(), [is](const Card& each) { return each.*is != 0; });
  };
  job->all_take_part = node.settings.enable && !any(&Card::outlives_ranks);
  if (!node.settings.enable)
    job->why_inactive = "TUTTI_ENABLE=0";
  else if (any(&Card::outlives_ranks))
    job->why_inactive = "the job is to outlive its ranks (mpirun --with-ft)";
  else if (!any_share_a_node(all) && !may_span_nodes(node.settings, all))
    job->why_inactive = "no two ranks share a node";
  else if (any(&Card::values_watched))
    job->why_inactive =
        "a sanitizer watches which bytes instrumented code writes, and does not see what is written here";
  if (!job->why_inactive.empty()) {
    withdraw(*job, contribution);
    return job;
  }
  const NodeRanks here = node_ranks_of(world_rank, all);
  job->world = world_entries(all);
  job->node_identity = job->world[static_cast<std::size_t>(world_rank)].node;
  job->why_inactive = share_memory(*job, here, contribution, socket);
  if (!job->why_inactive.empty()) {
    node.log.warn("%s; every collective stays with the host MPI", job->why_inactive.c_str());
    return job;
  }
  node.rows = std::make_unique<memory::Rows>(*node.arena, static_cast<std::size_t>(node.size));
  set_up_placement(node, here);
  if (!node.settings.ranks_per_node.empty()) share_cores_of_machine(node, cards_of_machine(world_rank, all));
  judge_shared_caches(node, all);
  job->host_turn = start_host_turn();
  job->watch = set_up_waiting(node, here, job->host_turn);
  check_hierarchy(node);
  gather_knowledge(*job, all, contribution);
  job->spans_nodes = selection::spans_nodes(node.settings.internode, job->network);
  if (job->spans_nodes) node.arena->keep_pages();
  job->threads_may_call =
      std::all_of(all.begin(), all.end(), [](const Card& each) { return each.threads_may_call != 0; });
  job->active = true;
  // From here on a rank speaks for itself: what it waits for, who has died.
  node.log.set_quiet(false);
  std::string room = node.oversubscribed ? "more ranks than cores" : "a core a rank";
  if (node.placement.least_time > 0)
    room = "time for " + std::to_string(node.placement.least_time).substr(0, 4) + " of them (control group)";
  node.log.note("%d ranks on this node, %d cores, %s; mechanisms:%s%s%s staged", node.size,
                node.placement.cores_available, room.c_str(), node.window_shared ? " window" : "",
                node.exposures ? " xpmem" : "", node.cma ? " cma" : "");
  return job;
}

bool restrict_mechanisms(Job& job, const std::string& text) {
  const AskedMechanisms asked = asked_mechanisms(text, job.node.log);
  const unsigned allowed = asked.allowed();
  const bool any = allowed == every_mechanism;
  const unsigned usable = allowed & job.mechanisms;
  if (job.node.exposures && !(usable & mechanism_xpmem)) return false;  // what is attached stays so: a run of its own
  if (usable == mechanism_arena && allowed != mechanism_arena && !any) return false;
  job.node.window_shared = (usable & mechanism_window) != 0;
  job.node.cma = (usable & mechanism_cma) != 0;
  job.node.may_stage = asked.may_stage();
  return true;
}

std::vector<std::string> names_of_mechanisms(const Job& job) {
  return names_of_mechanisms(job.mechanisms);
}

}  // namespace tutti::mpi
