#include "mpi/wait/waiting.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mpi/host.h"
#include "mpi/requests/handles.h"
#include "mpi/requests/host_hook.h"
#include "mpi/requests/progress_thread.h"
#include "mpi/requests/requests.h"
#include "mpi/start/arena_header.h"
#include "mpi/wait/host_turns.h"
#include "mpi/wait/peer_watch.h"
#include "preload/other_allocators.h"

namespace tutti::mpi {

namespace {

int on_query(void*, MPI_Status* status) {
  host.Status_set_elements(status, MPI_BYTE, 0);
  host.Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int on_free(void*) {
  return MPI_SUCCESS;
}

int on_cancel(void*, int) {
  return MPI_SUCCESS;
}

}  // namespace

MPI_Request start_host_turn() {
  const FirstRequest left_to_the_program;
  MPI_Request host_turn = MPI_REQUEST_NULL;
  host.Grequest_start(on_query, on_free, on_cancel, nullptr, &host_turn);
  return host_turn;
}

void end_host_turn(MPI_Request& host_turn) {
  host.Grequest_complete(host_turn);
  host.Wait(&host_turn, MPI_STATUS_IGNORE);
}

sync::WaitOptions wait_options_of(const Node& node) {
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
  options.serve = [requests = node.requests.get()] { return requests->serve(); };
  return options;
}

PeerWatch* set_up_waiting(Node& node, const NodeRanks& here, MPI_Request host_turn) {
  sync::WaitOptions options = wait_options_of(node);
  for (const memory::Peer& peer : node.peers)
    options.doorbells.push_back(&reinterpret_cast<ArenaHeader*>(peer.arena)->doorbell);
  options.host_progress = [host_turn] {
    if (is_progress_thread() || is_inside_host()) return;
    requests.drive();
    int complete = 0;
    host.Request_get_status(host_turn, &complete, MPI_STATUS_IGNORE);
  };
  options.host_is_needed = [] { return host_turns.is_needed(); };
  std::vector<PeerWatch::Member> members;
  for (std::size_t i = 0; i < here.cards.size(); ++i)
    members.push_back(
        {here.world_ranks[i], here.cards[i].process, &reinterpret_cast<ArenaHeader*>(node.peers[i].arena)->life});
  // Never freed: its thread looks at it until the process ends.
  auto* const watch = new PeerWatch(std::move(members), here.self, node.log);
  // An emulator would take what a thread has at the end of the process for lost.
  const bool emulated = memory::watcher_of_allocations().by == memory::Watcher::emulator;
  if (here.cards.size() > 1 && !emulated) watch->start();
  options.check_peers = [watch](const sync::WaitReason& reason) { watch->check(reason); };
  options.report = [watch, &node](const sync::WaitReason& reason) {
    const std::string remark = reason.party ? reason.party->remark(reason.sequence, reason.peer) : std::string();
    const std::string whom =
        reason.peer == node.rank ? "the other ranks" : "rank " + std::to_string(watch->world_rank(reason.peer));
    node.log.warn("rank %d has waited %g s for %s in %s, operation %llu of communicator %llx%s", node.log.rank(),
                  node.settings.timeout, whom.c_str(), reason.collective,
                  static_cast<unsigned long long>(reason.sequence),
                  static_cast<unsigned long long>(reason.party ? reason.party->identity() : 0), remark.c_str());
  };
  node.waiter = sync::make_waiter(std::move(options));
  node.requests->waiter = node.waiter.get();
  return watch;
}

}  // namespace tutti::mpi
