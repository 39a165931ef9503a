#include "mpi/communicators.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <numeric>
#include <optional>
#include <vector>

#include "mpi/arguments/call_memory.h"
#include "mpi/arguments/datatypes.h"
#include "mpi/arguments/recent.h"
#include "mpi/errors.h"
#include "mpi/hardware/this_process.h"
#include "mpi/report/profile.h"
#include "mpi/requests/host_hook.h"
#include "mpi/requests/progress_thread.h"
#include "mpi/requests/remembered.h"
#include "mpi/requests/requests.h"
#include "mpi/start/xpmem_setup.h"
#include "mpi/state_building.h"
#include "mpi/wait/end_job.h"
#include "mpi/wait/peer_watch.h"
#include "mpi/wait/waiting.h"
#include "preload/unmap.h"

namespace tutti::mpi {

namespace {

Job* the_job = nullptr;
int keyval = MPI_KEYVAL_INVALID;
/// Grows when a communicator is freed: a cached handle may mean another communicator from then on.
std::atomic<std::uint64_t> generation{1};

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

/// A duplicate gets a state of its own.
int on_copy(MPI_Comm, int, void*, void*, void*, int* copied) {
  *copied = 0;
  return MPI_SUCCESS;
}

/// How often more of it is looked at after something was freed, when collectives are called, and how much.
constexpr int looks_after_free = 16;
constexpr std::size_t more = 64;
std::atomic<int> looks_to_come{0};

/// What peers may look at stays, until they do no more.
void leave_behind(CommunicatorState& state) {
  const CommunicatorLayout* const layout = state.layout.get();
  if (!the_job || (layout ? layout->rows.empty() : !state.communicator->can_part())) {
    if (state.communicator) state.communicator->abandon();
    return;
  }
  LeftBehind& left_behind = the_job->left_behind;
  left_behind.add(layout ? Remains(the_job->node, *layout, Traces::none(), false, {}) : state.communicator->part());
  left_behind.look(looked_at_each_time);
  looks_to_come.store(looks_after_free, std::memory_order_relaxed);
}

int on_delete(MPI_Comm communicator, int, void* value, void*) {
  auto* state = static_cast<CommunicatorState*>(value);
  if (!BeingFreed::is(communicator)) gone = {communicator, true};
  generation.fetch_add(1, std::memory_order_relaxed);
  if (state->holders.load(std::memory_order_relaxed) > 1) host.Comm_get_errhandler(communicator, &state->handler);
  // After the handler, for who finds it freed.
  state->freed.store(true, std::memory_order_release);
  bool failed = false;
  return code_of("MPI_Comm_free", failed, [state] {
    explain::ends(*state);
    release(*state);
    return MPI_SUCCESS;
  });
}

/// What state_of() has found lately, in this thread.
struct FoundState {
  MPI_Comm communicator{};
  std::uint64_t generation = 0;  ///< its complement if it is to be looked up again all the same
  CommunicatorState* state = nullptr;
};
constinit thread_local Recent<FoundState, 2> recent_states;

/// What hangs on the communicator; null if nothing does. found: whether the host knows the communicator.
CommunicatorState* attached_to(MPI_Comm communicator, bool& found) {
  void* value = nullptr;
  int there = 0;
  found = host.Comm_get_attr(communicator, keyval, &value, &there) == MPI_SUCCESS;
  return found && there ? static_cast<CommunicatorState*>(value) : nullptr;
}

/// As collectives of the parent find it. Null if there is none, or it is being freed.
CommunicatorState* state_of_parent(MPI_Comm parent) {
  bool found = false;
  return parent == MPI_COMM_NULL || BeingFreed::is(parent) ? nullptr : attached_to(parent, found);
}

/// Null for a communicator that is being freed, and if there is none and it is not to be made. parent: see made().
[[gnu::noinline]] CommunicatorState* look_up_state(MPI_Comm communicator, bool make, MPI_Comm parent) {
  const std::uint64_t now = generation.load(std::memory_order_relaxed);
  if (BeingFreed::is(communicator)) {
    if (make) refuse(Refusal::freed);
    return nullptr;
  }
  bool found = false;
  CommunicatorState* state = attached_to(communicator, found);
  if (!found) return nullptr;
  if (!state) {
    if (!make) return nullptr;
    auto built = std::make_unique<CommunicatorState>();
    const auto build_it = [&] { return build(*built, communicator, state_of_parent(parent), gone.is(communicator)); };
    if (!without_return(communicator, build_it)) {
      refuse(Refusal::freed);
      return nullptr;
    }
    // Some rank knows this handle as new.
    gone.forget(communicator);
    state = built.release();
    host.Comm_set_attr(communicator, keyval, state);
  }
  bool look_again = the_job->left_behind.any() && looks_to_come.load(std::memory_order_relaxed) > 0;
  if (look_again) {
    looks_to_come.fetch_sub(1, std::memory_order_relaxed);
    the_job->left_behind.look(more);
    look_again = the_job->left_behind.any();
  }
  recent_states.place(key_of(communicator)) = {communicator, look_again ? ~now : now, state};
  return state;
}

inline CommunicatorState* state_of(MPI_Comm communicator, bool make, MPI_Comm parent = MPI_COMM_NULL) {
  const FoundState& last = recent_states.place(key_of(communicator));
  if (last.generation == generation.load(std::memory_order_relaxed) && last.communicator == communicator) [[likely]]
    return last.state;
  return look_up_state(communicator, make, parent);
}

/// What ours has of a communicator that was looked up lately. Nothing is asked of the host: the communicator itself may be
/// what is wrong.
Communicator* core_of_found(MPI_Comm communicator) {
  const FoundState& last = recent_states.place(key_of(communicator));
  const std::uint64_t now = generation.load(std::memory_order_relaxed);
  const bool known = last.communicator == communicator && (last.generation == now || last.generation == ~now);
  if (!the_job || !known || last.state->revoked) return nullptr;
  if (last.state->layout) set_out(*last.state);
  return last.state->communicator.get();
}

}  // namespace

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

namespace {

/// Of all communicators: what is set apart.
constinit std::mutex apart_mutex;

}  // namespace

Apart::Apart(MPI_Comm communicator, CommunicatorState& of) : of_(of) {
  if (take_kept()) return;
  KeptApart& kept = of.kept_apart;
  const Collectives& all = *of.collectives;
  state_ = new CommunicatorState;
  Joining joining{
      communicator, all.rank(), all.size(), &of, of.spanning.get(), false, kept.free.load(std::memory_order_acquire)};
  join(*state_, joining);
  if (!of.spanning) kept.free_on_all = joining.free_apart;
  if (!state_->layout) {
    if (kept.free_on_all == 0) return;
    release(*state_);
    take_kept();
    return;
  }
  const CommunicatorLayout& layout = *state_->layout;
  Node& node = the_job->node;
  state_->communicator = std::make_unique<Communicator>(
      node, layout, the_job->arrangements.of(node.settings, node.placement, layout.node_ranks, layout.rank),
      of.communicator.get());
  state_->layout.reset();
  if (state_->spanning) state_->spanning->set_inside(*state_->communicator);
  const std::lock_guard lock(apart_mutex);
  of.set_apart.push_back(state_->communicator.get());
  if (of.spanning || kept.all.size() == KeptApart::most) return;
  place_ = kept.all.size();
  kept.all.push_back(state_);
}

/// The same on all ranks. Where there are not yet many of them a new one is made whenever ranks tell each other, so that they
/// soon need to do so but once in many calls.
bool Apart::take_kept() {
  KeptApart& kept = of_.kept_apart;
  if (kept.free_on_all == 0 && kept.all.size() == KeptApart::most)
    kept.free_on_all = free_apart_on_all(of_, kept.free.load(std::memory_order_acquire));
  if (kept.free_on_all == 0) return false;
  place_ = static_cast<std::size_t>(std::countr_zero(kept.free_on_all));
  const std::uint64_t bit = std::uint64_t{1} << place_;
  kept.free_on_all &= ~bit;
  kept.free.fetch_and(~bit, std::memory_order_relaxed);
  state_ = kept.all[place_];
  return true;
}

Apart::~Apart() {
  if (place_ != KeptApart::most) {
    // Whose ranks were in different calls is of no use any more.
    if (state_->communicator->pending().closed()) return;
    // Pairs with the loads of who looks what is free.
    of_.kept_apart.free.fetch_or(std::uint64_t{1} << place_, std::memory_order_release);
    return;
  }
  {
    const std::lock_guard lock(apart_mutex);
    std::erase(of_.set_apart, state_->communicator.get());
  }
  release(*state_);
}

void hold(CommunicatorState& state) {
  state.holders.fetch_add(1, std::memory_order_relaxed);
}

void release(CommunicatorState& state) {
  if (state.holders.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  for (CommunicatorState* const each : state.kept_apart.all) release(*each);
  if (state.is_ours()) leave_behind(state);
  if (the_job && state.identity != 0) the_job->announcements->forget(state.identity);
  if (state.handler != MPI_ERRHANDLER_NULL) host.Errhandler_free(&state.handler);
  delete &state;
}

namespace {

/// The library's part in this job ends. What it has made of the host's goes.
void leave_job() {
  requests.finish_all();
  requests.end();
  end_progress_thread();
  PeerWatch::leave();
  CommunicatorState* const world = state_of(MPI_COMM_WORLD, false);
  if (world && world->spanning) world->spanning->end_messages();
  end_host_turn(the_job->host_turn);
  end_xpmem(the_job->node, the_job->xpmem);
  the_job = nullptr;
  our = OurMessages();
}

int on_end(MPI_Comm, int, void*, void*) {
  bool failed = false;
  return code_of("MPI_Finalize", failed, [] {
    leave_job();
    return MPI_SUCCESS;
  });
}

/// Of what hangs on MPI_COMM_SELF, MPI_Finalize deletes the last one first (MPI 4.1, section 11.2.4). What the program has hung
/// there may use MPI, and requests of ours. So ours comes first, and goes last.
void stop_when_self_ends() {
  int of_self = MPI_KEYVAL_INVALID;
  host.Comm_create_keyval(on_copy, on_end, &of_self, nullptr);
  host.Comm_set_attr(MPI_COMM_SELF, of_self, nullptr);
}

}  // namespace

Job* job() {
  return the_job;
}

void start() {
  if (the_job) return;
  auto made = start_job();
  explain::start(*made);
  if (made->all_take_part) hardware::begin(made->node.settings.topology, made->node.rank);
  if (!made->active) {
    made->node.log.note("the host MPI does everything: %s", made->why_inactive.c_str());
    return;  // nothing of it is kept
  }
  prepare_unwinding();
  learn_predefined();
  host.Comm_create_keyval(on_copy, on_delete, &keyval, nullptr);
  stop_when_self_ends();
  // Never freed: peers may look at this rank's flags until the process ends.
  the_job = made.release();
  our = OurMessages(*the_job);
  int threads = MPI_THREAD_MULTIPLE;
  host.Query_thread(&threads);
  requests.set_up(threads == MPI_THREAD_MULTIPLE);
  remembered.set_up(threads == MPI_THREAD_MULTIPLE);
  const bool two_processors_a_rank = the_job->node.placement.ranks_per_core <= 0.5;
  set_up_progress_thread(the_job->node.settings.progress == "thread", two_processors_a_rank);
  collectives_of(MPI_COMM_WORLD);
  if (CommunicatorState* const world = state_of(MPI_COMM_WORLD, false)) world->is_from_the_beginning = true;
}

int made(int code, const MPI_Comm* communicator, MPI_Comm parent) {
  if (code != MPI_SUCCESS || !the_job || !communicator || *communicator == MPI_COMM_NULL) return code;
  gone.forget(*communicator);
  return guard(*communicator, "a function that makes a communicator", [&] {
    if (CommunicatorState* const state = state_of(*communicator, true, parent)) state->is_from_the_beginning = true;
    return code;
  });
}

int being_made(int code, const MPI_Comm* communicator) {
  if (code == MPI_SUCCESS && communicator) gone.forget(*communicator);
  return code;
}

constinit thread_local const BeingFreed* BeingFreed::innermost = nullptr;

BeingFreed::BeingFreed(MPI_Comm communicator) : communicator_(communicator), outer_(innermost) {
  innermost = this;
  profile::is_being_freed(communicator);
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
  hardware::end();
  if (!the_job) return;
  requests.finish_all();
  // MPICH ends its part of this before anything that hangs on MPI_COMM_SELF.
  unhook_host([] { requests.give_host_a_turn(); });
  give_back_kept_memory();
}

Collectives* collectives_of(MPI_Comm communicator) {
  if (!the_job || communicator == MPI_COMM_NULL) return nullptr;
  CommunicatorState* state = state_of(communicator, true);
  if (state && state->layout) [[unlikely]]
    set_out(*state);
  if (the_job->node.exposures) [[unlikely]]
    memory::unmapping::watch_stack_of_this_thread();
  return state && !state->revoked ? state->collectives.get() : nullptr;
}

const CommunicatorState* known_state(MPI_Comm communicator) {
  return the_job && communicator != MPI_COMM_NULL ? state_of(communicator, false) : nullptr;
}

CommunicatorState* state_to_start_on(MPI_Comm communicator, bool may_wait) {
  if (!the_job || communicator == MPI_COMM_NULL) return nullptr;
  CommunicatorState* const state = state_of(communicator, may_wait);
  if (!state || state->revoked) return nullptr;
  // Messages between nodes go on by calls of the host only.
  if (state->spanning && !host_can_be_hooked() && !the_job->threads_may_call) {
    refuse(Refusal::nodes);
    return nullptr;
  }
  if (state->layout) [[unlikely]]
    set_out(*state);
  if (the_job->node.exposures) [[unlikely]]
    memory::unmapping::watch_stack_of_this_thread();
  return state->collectives ? state : nullptr;
}

CommunicatorState* state_for_messages(MPI_Comm communicator) {
  if (!the_job || communicator == MPI_COMM_NULL) return nullptr;
  CommunicatorState* const state = state_of(communicator, false);
  const bool may_be = state && state->is_from_the_beginning && state->identity != 0 && !state->revoked;
  if (may_be && the_job->node.exposures) [[unlikely]]
    memory::unmapping::watch_stack_of_this_thread();
  return may_be ? state : nullptr;
}

const Neighborhood* neighborhood_without_asking(MPI_Comm communicator, CommunicatorState& state) {
  if (state.neighborhood) return state.neighborhood.get();
  int topology = MPI_UNDEFINED;
  host.Topo_test(communicator, &topology);
  return topology == MPI_DIST_GRAPH ? nullptr : &neighborhood_of(communicator);
}

int made_graph(int by_host, const MPI_Comm* communicator, MPI_Comm parent) {
  const int code = made(by_host, communicator, parent);
  if (code != MPI_SUCCESS || !the_job || !communicator || *communicator == MPI_COMM_NULL) return code;
  CommunicatorState* const state = state_of(*communicator, false);
  if (!state || !state->layout) return code;
  const auto size = static_cast<int>(state->node_ranks.size());
  without_return(*communicator, [&] {
    state->neighborhood = std::make_unique<Neighborhood>(find_neighborhood(*communicator, state->rank, size));
  });
  return code;
}

int made_duplicate(int by_host, const MPI_Comm* communicator, MPI_Comm parent) {
  const int code = made(by_host, communicator, parent);
  if (code != MPI_SUCCESS || !the_job || !communicator || *communicator == MPI_COMM_NULL) return code;
  CommunicatorState* const state = state_of(*communicator, false);
  const CommunicatorState* const model = state_of_parent(parent);
  if (state && state->is_ours() && !state->neighborhood && model && model->neighborhood)
    without_return(*communicator, [&] { state->neighborhood = std::make_unique<Neighborhood>(*model->neighborhood); });
  return code;
}

const Neighborhood& neighborhood_of(MPI_Comm communicator) {
  CommunicatorState& state = *state_of(communicator, true);
  if (!state.neighborhood)
    state.neighborhood = std::make_unique<Neighborhood>(
        find_neighborhood(communicator, state.rank, static_cast<int>(state.node_ranks.size())));
  return *state.neighborhood;
}

void given_to_host(MPI_Comm communicator) {
  if (Communicator* const core = core_of_found(communicator)) core->given_to_host();
}

void refused_by_host(MPI_Comm communicator) {
  if (Communicator* const core = core_of_found(communicator)) core->refused_by_host();
}

void network_failed(MPI_Comm communicator, int kind) {
  CommunicatorState* const state = state_of(communicator, false);
  if (state && state->spanning) network_failed(*state, kind);
}

void network_failed(CommunicatorState& state, int kind) {
  if (state.communicator) state.communicator->fail(kind);
  const std::lock_guard lock(apart_mutex);
  for (Communicator* const each : state.set_apart) each->fail(kind);
}

int error_after_leaving(MPI_Comm communicator) {
  const CommunicatorState* const state = known_state(communicator);
  return state ? error_after_leaving(*state) : MPI_ERR_TRUNCATE;
}

int error_after_leaving(const CommunicatorState& state) {
  return state.communicator ? state.communicator->failure().value_or(MPI_ERR_TRUNCATE) : MPI_ERR_TRUNCATE;
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
  set_out(*state);
  if (state->communicator) state->communicator->revoke();
  const std::lock_guard lock(apart_mutex);
  for (Communicator* const each : state->set_apart) each->revoke();
}

bool found_revoked(MPI_Comm communicator) {
  CommunicatorState* state = state_of(communicator, false);
  if (!state || !state->communicator || !state->communicator->revoked()) return false;
  state->revoked = true;
  state->refusal = Refusal::revoked;
  return true;
}

}  // namespace tutti::mpi
