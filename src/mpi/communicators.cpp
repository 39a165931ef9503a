#include "mpi/communicators.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <vector>

#include "mpi/arguments/datatypes.h"
#include "mpi/start/xpmem_setup.h"
#include "mpi/wait/peer_watch.h"
#include "mpi/wait/waiting.h"
#include "preload/unmap.h"

namespace tutti::mpi {

namespace {

Job* the_job = nullptr;
int keyval = MPI_KEYVAL_INVALID;
/// Grows when a communicator is freed: a cached handle may mean another communicator from then on.
std::atomic<std::uint64_t> generation{1};
std::atomic<std::uint64_t> communicators_made{1};  // MPI_COMM_WORLD

/// The communicator whose state went last in this thread without BeingFreed: the host may be freeing it still, or have
/// made another one with the same handle.
struct Gone {
  MPI_Comm communicator{};
  bool is_there = false;

  bool is(MPI_Comm other) const { return is_there && communicator == other; }
  void forget(MPI_Comm other) {
    if (is(other)) is_there = false;
  }
};
constinit thread_local Gone gone;

/// Of communicators that this rank has freed, and others not yet.
struct LeftBehind {
  std::mutex mutex;
  std::vector<Remains> all;
};
LeftBehind& left_behind() {
  static LeftBehind& remains = *new LeftBehind;  // never destroyed: MPI_Finalize may be called at exit
  return remains;
}

/// Gives back what nobody looks at any more.
void clear_remains() {
  LeftBehind& remains = left_behind();
  const std::lock_guard lock(remains.mutex);
  std::erase_if(remains.all, [](const Remains& each) {
    if (!each.unused()) return false;
    for (const std::size_t offset : each.offsets) the_job->node.arena->release(offset);
    return true;
  });
}

/// A duplicate gets a state of its own.
int on_copy(MPI_Comm, int, void*, void*, void*, int* copied) {
  *copied = 0;
  return MPI_SUCCESS;
}

int on_delete(MPI_Comm communicator, int, void* value, void*) {
  auto* state = static_cast<CommunicatorState*>(value);
  if (!BeingFreed::is(communicator)) gone = {communicator, true};
  explain::ends(*state);
  generation.fetch_add(1, std::memory_order_relaxed);
  if (state->communicator) {
    Remains remains = state->communicator->part();
    const std::lock_guard lock(left_behind().mutex);
    left_behind().all.push_back(std::move(remains));
  }
  delete state;
  return MPI_SUCCESS;
}

/// Whether all processes are of this job. Of the others, spawned or connected ones, each may be without the library.
bool of_one_job(MPI_Comm communicator, int size) {
  MPI_Group members = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
  host.Comm_group(communicator, &members);
  host.Comm_group(MPI_COMM_WORLD, &world);
  std::vector<int> ranks(static_cast<std::size_t>(size)), in_world(ranks.size(), MPI_UNDEFINED);
  std::iota(ranks.begin(), ranks.end(), 0);
  host.Group_translate_ranks(members, size, ranks.data(), world, in_world.data());
  host.Group_free(&members);
  host.Group_free(&world);
  return std::find(in_world.begin(), in_world.end(), MPI_UNDEFINED) == in_world.end();
}

/// The state of a communicator whose ranks have told each other their entries, or the reason why there is none.
void set_up(CommunicatorState& state, int rank, const std::vector<Entry>& all, bool mapped_by_all) {
  const Entry& mine = all[static_cast<std::size_t>(rank)];
  CommunicatorLayout layout;
  layout.rank = rank;
  layout.identity = all.front().identity;
  bool same_node = true, usable = mapped_by_all;
  for (const Entry& entry : all) {
    same_node = same_node && entry.node == mine.node;
    usable = usable && same_node && entry.offset != no_offset;
    layout.node_ranks.push_back(entry.node_rank);
    layout.offsets.push_back(entry.offset);
  }
  state.refusal = same_node ? Refusal::memory : Refusal::nodes;
  if (!usable) {
    if (mine.offset != no_offset) the_job->node.arena->release(mine.offset);
    return;
  }
  state.communicator = std::make_unique<Communicator>(the_job->node, std::move(layout));
  state.collectives = std::make_unique<Collectives>(*state.communicator, the_job->knowledge);
}

constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// Takes address space for the first bytes of each peer's arena. How many of them can be mapped from then on, whatever
/// the limits of the process become.
std::size_t take_of_arenas(std::size_t bytes) {
  std::size_t least = SIZE_MAX;
  for (const memory::Peer& peer : the_job->node.peers)
    if (peer.arena_view) least = std::min(least, peer.arena_view->take(bytes));
  return least;
}

/// Of arenas that are used about as much as this rank's own.
std::int32_t usual_arena_reach() {
  const std::size_t ahead = the_job->node.arena->extent() + 4 * mebibyte;
  return static_cast<std::int32_t>(std::min<std::size_t>(take_of_arenas(ahead) / mebibyte, INT32_MAX));
}

/// Whether every rank can map the parts of all others. Each finds the same; they are asked only where it is not known
/// of all of them.
bool all_can_map(MPI_Comm communicator, const std::vector<Entry>& all) {
  std::size_t needed = 0, known = SIZE_MAX;
  for (const Entry& entry : all) {
    if (entry.node != all.front().node || entry.offset == no_offset) return true;  // nobody will
    needed = std::max<std::size_t>(needed,
                                   entry.offset + shared_bytes(the_job->node.settings, static_cast<int>(all.size())));
    known = std::min(known, static_cast<std::size_t>(entry.arena_reach) * mebibyte);
  }
  if (needed <= known) return true;
  const int mine = take_of_arenas(needed) >= needed;
  int of_all = 0;
  host.Allreduce(&mine, &of_all, 1, MPI_INT, MPI_MIN, communicator);
  return of_all != 0;
}

/// False if `communicator` is being freed, on all ranks, so that it must not get a state.
bool build(CommunicatorState& state, MPI_Comm communicator) {
  int inter = 0, size = 0, rank = 0;
  host.Comm_test_inter(communicator, &inter);
  host.Comm_size(communicator, &size);
  state.refusal = inter ? Refusal::intercommunicator : Refusal::alone;
  const bool is_gone = gone.is(communicator);
  if (inter || size < 2) return !is_gone;
  host.Comm_rank(communicator, &rank);
  // What would be exchanged has travelled with the first exchange of the start-up.
  if (communicator == MPI_COMM_WORLD) {
    if (!is_gone) set_up(state, rank, the_job->world, true);
    return !is_gone;
  }
  // Each rank finds the same, by itself: asking would need all of them to answer.
  state.refusal = Refusal::jobs;
  if (!of_one_job(communicator, size)) return !is_gone;
  clear_remains();
  Node& node = the_job->node;
  const auto offset = node.arena->allocate(shared_bytes(node.settings, size));
  const Entry mine{the_job->node_identity,
                   offset.value_or(no_offset),
                   (static_cast<std::uint64_t>(node.rank) << 32) | ++communicators_made,
                   node.rank,
                   usual_arena_reach(),
                   is_gone ? 1 : 0};
  std::vector<Entry> all(static_cast<std::size_t>(size));
  if (host.Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, communicator) != MPI_SUCCESS) {
    // The host has told the program; it cannot use the communicator either.
    if (offset) node.arena->release(*offset);
    state.refusal = Refusal::arguments;
    return true;
  }
  // Handles are each rank's own: where one rank knows it as new, it is.
  if (std::all_of(all.begin(), all.end(), [](const Entry& entry) { return entry.gone != 0; })) {
    if (offset) node.arena->release(*offset);
    return false;
  }
  gone.forget(communicator);
  set_up(state, rank, all, all_can_map(communicator, all));
  return true;
}

/// What state_of() found last, in this thread.
struct LastState {
  MPI_Comm communicator{};
  std::uint64_t generation = 0;
  CommunicatorState* state = nullptr;
};
thread_local LastState last_state;

/// Null for a communicator that is being freed, and if there is none and it is not to be made.
[[gnu::noinline]] CommunicatorState* look_up_state(MPI_Comm communicator, bool make) {
  const std::uint64_t now = generation.load(std::memory_order_relaxed);
  if (BeingFreed::is(communicator)) {
    if (make) refuse(Refusal::freed);
    return nullptr;
  }
  void* value = nullptr;
  int found = 0;
  if (host.Comm_get_attr(communicator, keyval, &value, &found) != MPI_SUCCESS) return nullptr;
  auto* state = static_cast<CommunicatorState*>(found ? value : nullptr);
  if (!state) {
    if (!make) return nullptr;
    auto built = std::make_unique<CommunicatorState>();
    if (!build(*built, communicator)) {
      refuse(Refusal::freed);
      return nullptr;
    }
    state = built.release();
    explain::made(*state);
    host.Comm_set_attr(communicator, keyval, state);
  }
  last_state = {communicator, now, state};
  return state;
}

inline CommunicatorState* state_of(MPI_Comm communicator, bool make) {
  const LastState& last = last_state;
  if (last.generation == generation.load(std::memory_order_relaxed) && last.communicator == communicator) [[likely]]
    return last.state;
  return look_up_state(communicator, make);
}

/// What ours has of the communicator that was looked up last. Nothing is asked of the host: the communicator itself may be
/// what is wrong.
Communicator* core_of_last(MPI_Comm communicator) {
  const LastState& last = last_state;
  const bool known = last.communicator == communicator && last.generation == generation.load(std::memory_order_relaxed);
  return the_job && known && !last.state->revoked ? last.state->communicator.get() : nullptr;
}

}  // namespace

Job* job() {
  return the_job;
}

void start() {
  if (the_job) return;
  auto made = start_job();
  explain::start(*made);
  if (!made->active) {
    made->node.log.note("the host MPI does everything: %s", made->why_inactive.c_str());
    return;  // nothing of it is kept
  }
  learn_predefined();
  host.Comm_create_keyval(on_copy, on_delete, &keyval, nullptr);
  // Never freed: peers may look at this rank's flags until the process ends.
  the_job = made.release();
  state_of(MPI_COMM_WORLD, true);
}

int made(int code, const MPI_Comm* communicator) {
  if (code != MPI_SUCCESS || !the_job || !communicator || *communicator == MPI_COMM_NULL) return code;
  gone.forget(*communicator);
  state_of(*communicator, true);
  return code;
}

int being_made(int code, const MPI_Comm* communicator) {
  if (code == MPI_SUCCESS && communicator) gone.forget(*communicator);
  return code;
}

constinit thread_local const BeingFreed* BeingFreed::innermost = nullptr;

BeingFreed::BeingFreed(MPI_Comm communicator) : communicator_(communicator), outer_(innermost) {
  innermost = this;
  // What threads have found last is looked up anew.
  generation.fetch_add(1, std::memory_order_relaxed);
}

bool BeingFreed::is(MPI_Comm communicator) {
  for (const BeingFreed* each = innermost; each; each = each->outer_)
    if (each->communicator_ == communicator) return true;
  return false;
}

void stop() {
  explain::finish();
  if (!the_job) return;
  PeerWatch::leave();
  end_host_turn(the_job->host_turn);
  end_xpmem(the_job->node, the_job->xpmem);
  the_job = nullptr;
}

Collectives* collectives_of(MPI_Comm communicator) {
  if (!the_job || communicator == MPI_COMM_NULL) return nullptr;
  CommunicatorState* state = state_of(communicator, true);
  if (the_job->node.exposures) [[unlikely]]
    memory::unmapping::watch_stack_of_this_thread();
  return state && !state->revoked ? state->collectives.get() : nullptr;
}

const CommunicatorState* known_state(MPI_Comm communicator) {
  return the_job && communicator != MPI_COMM_NULL ? state_of(communicator, false) : nullptr;
}

const Neighborhood& neighborhood_of(MPI_Comm communicator) {
  CommunicatorState& state = *state_of(communicator, true);
  if (!state.neighborhood)
    state.neighborhood = std::make_unique<Neighborhood>(
        find_neighborhood(communicator, state.communicator->rank(), state.communicator->size()));
  return *state.neighborhood;
}

void given_to_host(MPI_Comm communicator) {
  if (Communicator* const core = core_of_last(communicator)) core->given_to_host();
}

void refused_by_host(MPI_Comm communicator) {
  if (Communicator* const core = core_of_last(communicator)) core->refused_by_host();
}

void revoke(MPI_Comm communicator) {
  if (!the_job || communicator == MPI_COMM_NULL || BeingFreed::is(communicator)) return;
  CommunicatorState* state = state_of(communicator, false);
  if (!state) {
    // To build it would take all ranks, which may not come any more.
    state = new CommunicatorState;
    host.Comm_set_attr(communicator, keyval, state);
  }
  state->revoked = true;
  state->refusal = Refusal::revoked;
  if (state->communicator) state->communicator->revoke();
}

bool found_revoked(MPI_Comm communicator) {
  CommunicatorState* state = state_of(communicator, false);
  if (!state || !state->communicator || !state->communicator->revoked()) return false;
  state->revoked = true;
  state->refusal = Refusal::revoked;
  return true;
}

}  // namespace tutti::mpi
