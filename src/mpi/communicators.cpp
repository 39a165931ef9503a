#include "mpi/communicators.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <vector>

#include "mpi/arguments/datatypes.h"
#include "mpi/arguments/recent.h"
#include "mpi/hardware/this_process.h"
#include "mpi/requests/host_hook.h"
#include "mpi/requests/progress_thread.h"
#include "mpi/requests/requests.h"
#include "mpi/start/xpmem_setup.h"
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

/// A duplicate gets a state of its own.
int on_copy(MPI_Comm, int, void*, void*, void*, int* copied) {
  *copied = 0;
  return MPI_SUCCESS;
}

/// Of what was freed before, as much as is looked at whenever something is made or freed.
constexpr std::size_t few = 4;
/// How often more of it is looked at after something was freed, when collectives are called, and how much.
constexpr int looks_after_free = 16;
constexpr std::size_t more = 64;
std::atomic<int> looks_left{0};

/// What peers may look at stays, until they do no more.
void leave_behind(CommunicatorState& state) {
  const CommunicatorLayout* const layout = state.layout.get();
  if (!the_job || (layout ? layout->rows.empty() : !state.communicator->can_part())) {
    if (state.communicator) state.communicator->abandon();
    return;
  }
  LeftBehind& left_behind = the_job->left_behind;
  left_behind.add(layout ? Remains(the_job->node, *layout, Traces::none(), false, {}) : state.communicator->part());
  left_behind.look(few);
  looks_left.store(looks_after_free, std::memory_order_relaxed);
}

int on_delete(MPI_Comm communicator, int, void* value, void*) {
  auto* state = static_cast<CommunicatorState*>(value);
  if (!BeingFreed::is(communicator)) gone = {communicator, true};
  explain::ends(*state);
  generation.fetch_add(1, std::memory_order_relaxed);
  state->freed.store(true, std::memory_order_relaxed);
  release(*state);
  return MPI_SUCCESS;
}

/// Where this rank's part of a communicator is to be.
struct Room {
  std::size_t part, row;
};

void give_back(const Room& room) {
  the_job->node.arena->release(room.part, memory::Arena::Contents::tidy);
  the_job->node.rows->release(room.row);
}

std::optional<Room> take_room(int ranks) {
  Node& node = the_job->node;
  const auto row = node.rows->allocate();
  if (!row) return std::nullopt;
  if (const auto part = node.arena->reserve(shared_bytes(node.settings, ranks))) return Room{*part, *row};
  node.rows->release(*row);
  return std::nullopt;
}

/// What the ranks of this rank's node have told, as members of a communicator. has_rows: see set_up().
std::unique_ptr<CommunicatorLayout> layout_on_node(int rank, const std::vector<Entry>& all, bool has_rows) {
  const Entry& mine = all[static_cast<std::size_t>(rank)];
  auto layout = std::make_unique<CommunicatorLayout>();
  for (const Entry& entry : all) {
    if (entry.node != mine.node) continue;
    // Identities are numbers of a node's.
    if (layout->node_ranks.empty()) layout->identity = entry.identity;
    if (&entry == &mine) layout->rank = static_cast<int>(layout->node_ranks.size());
    layout->node_ranks.push_back(entry.node_rank);
    layout->offsets.push_back(entry.offset);
    if (has_rows) layout->rows.push_back(entry.row * memory::Rows::unit_bytes);
  }
  return layout;
}

/// Of each rank a number that is its node's.
std::vector<int> nodes_of(const std::vector<Entry>& all) {
  std::map<std::uint64_t, int> numbers;
  std::vector<int> nodes;
  for (const Entry& entry : all) nodes.push_back(numbers.emplace(entry.node, numbers.size()).first->second);
  return nodes;
}

/// The state of a communicator whose ranks have told each other their entries, or the reason why there is none. Without
/// `room`, as of MPI_COMM_WORLD, nobody parts from it. Collective over `communicator` where it spans nodes.
void set_up(CommunicatorState& state, MPI_Comm communicator, int rank, const std::vector<Entry>& all,
            bool mapped_by_all, const std::optional<Room>& room) {
  const Entry& mine = all[static_cast<std::size_t>(rank)];
  bool same_node = true, usable = mapped_by_all;
  state.identity = all.front().identity ^ all.front().node;
  state.rank = rank;
  for (const Entry& entry : all) {
    state.node_ranks.push_back(entry.node == mine.node ? entry.node_rank : -1);
    same_node = same_node && entry.node == mine.node;
    usable = usable && entry.offset != no_offset;
  }
  const bool spans = usable && !same_node && the_job->node.settings.internode;
  if (spans) state.spanning = std::make_unique<SpanningState>(communicator, nodes_of(all), rank);
  usable = spans ? state.spanning->is_there() : usable && same_node;
  state.refusal = same_node ? Refusal::memory : Refusal::nodes;
  if (!usable) {
    state.spanning.reset();
    if (room) give_back(*room);
    return;
  }
  auto layout = layout_on_node(rank, all, room.has_value());
  // Now, since whoever frees a communicator cannot fail to.
  for (int owner = 0; room && owner < static_cast<int>(layout->node_ranks.size()); ++owner)
    Remains::row_of(the_job->node, *layout, owner);
  state.layout = std::move(layout);
}

/// Makes what a communicator of ours needs for its collectives, when they are called for the first time. Each rank by
/// itself: what it has to know of the others it knows. Another thread may revoke the communicator meanwhile.
[[gnu::noinline]] void set_out(CommunicatorState& state) {
  static constinit std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (!state.layout) return;
  Node& node = the_job->node;
  const CommunicatorLayout& layout = *state.layout;
  auto arrangement = the_job->arrangements.of(node.settings, node.placement, layout.node_ranks, layout.rank);
  state.communicator = std::make_unique<Communicator>(node, layout, std::move(arrangement));
  state.collectives = std::make_unique<Collectives>(
      *state.communicator, the_job->knowledge, state.spanning ? &state.spanning->with(*state.communicator) : nullptr);
  state.layout.reset();
  explain::made(state);
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

/// Whether every rank can map the parts of all others on its node. Each finds the same; they are asked only where it is
/// not known of all of them.
bool all_can_map(MPI_Comm communicator, const std::vector<Entry>& all) {
  std::size_t needed = 0, known = SIZE_MAX;
  for (const Entry& entry : all) {
    const bool spans = entry.node != all.front().node;
    if ((spans && !the_job->node.settings.internode) || entry.offset == no_offset) return true;  // nobody will
    needed = std::max<std::size_t>({needed, entry.row * memory::Rows::unit_bytes + all.size(),
                                    entry.offset + shared_bytes(the_job->node.settings, static_cast<int>(all.size()))});
    known = std::min(known, static_cast<std::size_t>(entry.arena_reach) * mebibyte);
  }
  if (needed <= known) return true;
  const int mine = take_of_arenas(needed) >= needed;
  int of_all = 0;
  host.Allreduce(&mine, &of_all, 1, MPI_INT, MPI_MIN, communicator);
  return of_all != 0;
}

/// What the ranks of a new communicator have to tell each other, in their order; nothing if the host has reported an error.
/// By ours where all ranks of `parent` are in it: the host's first collective on a communicator takes longer.
std::optional<std::vector<Entry>> exchange(const Entry& mine, int size, MPI_Comm communicator,
                                           CommunicatorState* parent) {
  std::vector<Entry> all(static_cast<std::size_t>(size));
  if (parent && parent->is_ours() && !parent->spanning && !parent->revoked) {
    set_out(*parent);
    Communicator& core = *parent->communicator;
    if (core.size() == size && core.exchange(&mine, sizeof mine, all.data())) {
      std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.rank < b.rank; });
      return all;
    }
  }
  const int code = host.Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, communicator);
  return code == MPI_SUCCESS ? std::optional(std::move(all)) : std::nullopt;
}

/// Makes the layout of a communicator whose ranks are those of `communicator`, or finds the reason why there is none. False if
/// all ranks say that `communicator` is being freed.
bool join(CommunicatorState& state, MPI_Comm communicator, int rank, int size, CommunicatorState* parent,
          bool is_gone) {
  the_job->left_behind.look(few);
  // There are no more of them on the node.
  const std::optional<Room> room = take_room(std::min(size, the_job->node.size));
  const int node_rank = the_job->node.rank;
  const Entry mine{the_job->node_identity,
                   room ? room->part : no_offset,
                   (static_cast<std::uint64_t>(node_rank) << 32) | ++communicators_made,
                   node_rank,
                   usual_arena_reach(),
                   is_gone ? 1 : 0,
                   room ? static_cast<std::uint32_t>(room->row / memory::Rows::unit_bytes) : 0,
                   rank};
  const auto all = exchange(mine, size, communicator, parent);
  // The host has told the program of an error; it cannot use the communicator either. Otherwise, handles are each rank's
  // own: where one rank knows it as new, it is.
  const bool is_going =
      all && std::all_of(all->begin(), all->end(), [](const Entry& entry) { return entry.gone != 0; });
  if (!all || is_going) {
    if (room) give_back(*room);
    state.refusal = Refusal::arguments;
    return !is_going;
  }
  gone.forget(communicator);
  set_up(state, communicator, rank, *all, all_can_map(communicator, *all), room);
  return true;
}

/// False if `communicator` is being freed, on all ranks, so that it must not get a state. parent: has all its ranks; may be
/// null.
bool build(CommunicatorState& state, MPI_Comm communicator, CommunicatorState* parent) {
  int inter = 0, size = 0, rank = 0;
  host.Comm_test_inter(communicator, &inter);
  host.Comm_size(communicator, &size);
  state.refusal = inter ? Refusal::intercommunicator : Refusal::alone;
  const bool is_gone = gone.is(communicator);
  if (inter || size < 2) return !is_gone;
  host.Comm_rank(communicator, &rank);
  // What would be exchanged has travelled with the first exchange of the start-up.
  if (communicator == MPI_COMM_WORLD) {
    if (!is_gone) set_up(state, communicator, rank, the_job->world, true, std::nullopt);
    return !is_gone;
  }
  // Each rank finds the same, by itself: asking would need all of them to answer.
  state.refusal = Refusal::jobs;
  if (!(parent && parent->is_of_one_job()) && !of_one_job(communicator, size)) return !is_gone;
  return join(state, communicator, rank, size, parent, is_gone);
}

/// What state_of() has found lately, in this thread.
struct FoundState {
  MPI_Comm communicator{};
  std::uint64_t generation = 0;
  std::uint64_t holds_for = 0;  ///< the same, or 0: it is to be looked up again all the same
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
    if (!build(*built, communicator, state_of_parent(parent))) {
      refuse(Refusal::freed);
      return nullptr;
    }
    state = built.release();
    host.Comm_set_attr(communicator, keyval, state);
  }
  bool look_again = the_job->left_behind.any() && looks_left.load(std::memory_order_relaxed) > 0;
  if (look_again) {
    looks_left.fetch_sub(1, std::memory_order_relaxed);
    the_job->left_behind.look(more);
    look_again = the_job->left_behind.any();
  }
  recent_states.place(key_of(communicator)) = {communicator, now, look_again ? 0 : now, state};
  return state;
}

inline CommunicatorState* state_of(MPI_Comm communicator, bool make, MPI_Comm parent = MPI_COMM_NULL) {
  const FoundState& last = recent_states.place(key_of(communicator));
  if (last.holds_for == generation.load(std::memory_order_relaxed) && last.communicator == communicator) [[likely]]
    return last.state;
  return look_up_state(communicator, make, parent);
}

/// What ours has of a communicator that was looked up lately. Nothing is asked of the host: the communicator itself may be
/// what is wrong.
Communicator* core_of_found(MPI_Comm communicator) {
  const FoundState& last = recent_states.place(key_of(communicator));
  const bool known = last.communicator == communicator && last.generation == generation.load(std::memory_order_relaxed);
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

Apart::Apart(MPI_Comm communicator, CommunicatorState& of) : of_(of), state_(new CommunicatorState) {
  const Communicator& core = *of.communicator;
  join(*state_, communicator, core.rank(), core.size(), &of, false);
  if (!state_->layout) return;
  const CommunicatorLayout& layout = *state_->layout;
  Node& node = the_job->node;
  state_->communicator = std::make_unique<Communicator>(
      node, layout, the_job->arrangements.of(node.settings, node.placement, layout.node_ranks, layout.rank));
  state_->layout.reset();
  const std::lock_guard lock(apart_mutex);
  of.set_apart.push_back(state_->communicator.get());
}

Apart::~Apart() {
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
  if (state.is_ours()) leave_behind(state);
  delete &state;
}

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
  learn_predefined();
  host.Comm_create_keyval(on_copy, on_delete, &keyval, nullptr);
  // Never freed: peers may look at this rank's flags until the process ends.
  the_job = made.release();
  int threads = MPI_THREAD_MULTIPLE;
  host.Query_thread(&threads);
  requests.set_up(threads == MPI_THREAD_MULTIPLE);
  set_up_progress_thread(the_job->node.settings.progress == "thread");
  collectives_of(MPI_COMM_WORLD);
  if (CommunicatorState* const world = state_of(MPI_COMM_WORLD, false)) world->is_from_the_beginning = true;
}

int made(int code, const MPI_Comm* communicator, MPI_Comm parent) {
  if (code != MPI_SUCCESS || !the_job || !communicator || *communicator == MPI_COMM_NULL) return code;
  gone.forget(*communicator);
  try {
    CommunicatorState* const state = state_of(*communicator, true, parent);
    if (state) state->is_from_the_beginning = true;
  } catch (const std::exception& problem) {
    end_job(*communicator, problem);
  }
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
  hardware::end();
  if (!the_job) return;
  requests.finish_all();
  requests.end();
  end_progress_thread();
  unhook_host([] {
    int complete = 0;
    host.Request_get_status(the_job->host_turn, &complete, MPI_STATUS_IGNORE);
  });
  PeerWatch::leave();
  CommunicatorState* const world = state_of(MPI_COMM_WORLD, false);
  if (world && world->spanning) world->spanning->end_messages();
  end_host_turn(the_job->host_turn);
  end_xpmem(the_job->node, the_job->xpmem);
  the_job = nullptr;
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
  // Messages between nodes go on by calls of the host only, which nobody makes while a rank computes or waits in it.
  if (state->spanning) {
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

int made_graph(int code, const MPI_Comm* communicator, MPI_Comm parent) {
  made(code, communicator, parent);
  if (code != MPI_SUCCESS || !the_job || !communicator || *communicator == MPI_COMM_NULL) return code;
  CommunicatorState* const state = state_of(*communicator, false);
  if (!state || !state->layout) return code;
  const auto size = static_cast<int>(state->node_ranks.size());
  state->neighborhood = std::make_unique<Neighborhood>(find_neighborhood(*communicator, state->rank, size));
  return code;
}

int made_duplicate(int code, const MPI_Comm* communicator, MPI_Comm parent) {
  made(code, communicator, parent);
  if (code != MPI_SUCCESS || !the_job || !communicator || *communicator == MPI_COMM_NULL) return code;
  CommunicatorState* const state = state_of(*communicator, false);
  const CommunicatorState* const model = state_of_parent(parent);
  if (state && state->is_ours() && !state->neighborhood && model && model->neighborhood)
    state->neighborhood = std::make_unique<Neighborhood>(*model->neighborhood);
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

void network_failed(MPI_Comm communicator) {
  CommunicatorState* const state = state_of(communicator, false);
  if (!state || !state->spanning) return;
  state->revoked = true;
  state->refusal = Refusal::nodes;
  // Ranks of the node that wait for this one find it, and go to the host, too.
  if (state->communicator) state->communicator->revoke();
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
