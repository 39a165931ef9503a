#include "mpi/teams/team.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "mpi/arguments/datatypes.h"
#include "mpi/errors.h"
#include "mpi/errors_returned.h"
#include "mpi/network_channel.h"
#include "mpi/requests/host_hook.h"
#include "mpi/requests/progress_thread.h"
#include "mpi/requests/requests.h"
#include "mpi/spanning_state.h"
#include "mpi/start/contribution.h"
#include "mpi/start/node_machine.h"
#include "mpi/wait/host_turns.h"
#include "mpi/wait/peer_watch.h"
#include "mpi/wait/waiting.h"

namespace tutti::mpi {

namespace {

std::atomic<std::uint64_t> teams_made{0};

/// The most that the arena of a process which shares none with others may hold.
constexpr std::size_t own_arena_bytes = std::size_t{1} << 36;

/// Messages of one thread, which are told from those of others by the communicator that belongs to the receiver's number,
/// and by a share of its tags that belongs to the sender's.
class ThreadChannel final : public NetworkChannel {
 public:
  struct Shares {
    std::vector<MPI_Comm> communicators;
    int threads;  ///< of the process that has most of them
  };
  ThreadChannel(const Team& team, const Shares& shares, int thread, int lanes, const Unasked& unasked)
      : NetworkChannel(MPI_COMM_NULL, calls_of_host(), lanes, Tags{}, unasked),
        team_(team),
        shares_(shares),
        thread_(thread) {}

 protected:
  Route route_to(int peer) const override { return route(peer, team_.thread_of(peer), thread_); }
  Route route_from(int peer) const override { return route(peer, thread_, team_.thread_of(peer)); }

 private:
  Route route(int peer, int receiver, int sender) const {
    const long long share = (largest_tag() + 1ll) / shares_.threads;
    const long long operations = std::clamp<long long>(share / 64, 1, 64);
    return {shares_.communicators[static_cast<std::size_t>(receiver)],
            team_.process_of(peer),
            {sender * share, operations, share / operations}};
  }

  const Team& team_;
  const Shares shares_;
  const int thread_;
};

/// A channel whose messages the main thread posts and asks about, for another one.
class ByMainThread final : public network::Channel {
 public:
  ByMainThread(MainThread& main, const TeamThread& thread, std::unique_ptr<network::Channel> channel)
      : main_(main), thread_(thread), channel_(std::move(channel)) {}

  network::Ticket post_send(const network::Address& to, const std::byte* data, std::size_t bytes) override {
    network::Ticket ticket = 0;
    carry_out([&] { ticket = channel_->post_send(to, data, bytes); });
    return ticket;
  }
  network::Ticket post_receive(const network::Address& from, std::byte* data, std::size_t bytes) override {
    network::Ticket ticket = 0;
    carry_out([&] { ticket = channel_->post_receive(from, data, bytes); });
    return ticket;
  }
  bool test(network::Ticket& ticket) override {
    bool is_over = true;
    if (ticket != 0) carry_out([&] { is_over = channel_->test(ticket); });
    return is_over;
  }
  void withdraw(network::Ticket& ticket) override {
    if (ticket != 0) carry_out([&] { channel_->withdraw(ticket); });
  }

 private:
  template <class Part>
  void carry_out(Part&& part) {
    thread_.may_call_host ? part() : main_.carry_out(part);
  }

  MainThread& main_;
  const TeamThread& thread_;
  const std::unique_ptr<network::Channel> channel_;
};

}  // namespace

void MainThread::wait_for(Asked& asked) {
  {
    const std::lock_guard lock(mutex_);
    asked_.push_back(&asked);
    any_.store(true, std::memory_order_release);
  }
  while (!asked.is_done.load(std::memory_order_acquire)) sched_yield();
  if (asked.thrown) std::rethrow_exception(asked.thrown);
}

void MainThread::serve() {
  if (!any_.load(std::memory_order_acquire)) return;
  std::vector<Asked*> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(asked_);
    any_.store(false, std::memory_order_relaxed);
  }
  for (Asked* const each : all) {
    try {
      each->run(each->context);
    } catch (...) {
      each->thrown = std::current_exception();
    }
    each->is_done.store(true, std::memory_order_release);
  }
}

struct Team::Told {
  std::uint64_t node;  ///< equal on processes that share memory; 0: with nobody
  std::uint64_t identity;
  std::int32_t node_rank;
  std::int32_t threads;
};

std::unique_ptr<Team> Team::create(MPI_Comm comm, int threads, int& code) {
  std::unique_ptr<Team> team(new Team);
  code = make_another(comm, team->communicator_);
  if (code != MPI_SUCCESS) return nullptr;
  // MPICH's new communicators have the handler that ends the job.
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (host.Comm_get_errhandler(comm, &handler) == MPI_SUCCESS) {
    host.Comm_set_errhandler(team->communicator_, handler);
    host.Errhandler_free(&handler);
  }
  if (!team->agree(comm, threads, code)) return nullptr;
  return team;
}

bool Team::agree(MPI_Comm comm, int threads, int& code) {
  int self = 0, count = 0;
  host.Comm_rank(comm, &self);
  host.Comm_size(comm, &count);
  const Job* const here = job();
  const bool shares = here && here->active && of_one_job(comm, count);
  const Told mine{shares ? here->node_identity : 0, (std::uint64_t{1} << 48) + ++teams_made,
                  shares ? here->node.rank : -1, threads};
  std::vector<Told> all(static_cast<std::size_t>(count));
  code = host.Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, communicator_);
  if (code != MPI_SUCCESS) return false;
  const bool any_without = std::any_of(all.begin(), all.end(), [](const Told& each) { return each.threads < 1; });
  if (any_without) {
    code = MPI_ERR_ARG;
    return false;
  }
  if (here) {
    process_node_ = &here->node;
    knowledge_ = here->knowledge;
  } else {
    learn_predefined();
    prepare_unwinding();
    own_node_.settings = settings_of_this_process(own_node_.log);
    process_node_ = &own_node_;
  }
  knowledge_.has_host = false;
  return share(all, group(all, self), self, code) && (!spans_nodes() || make_message_communicators(code));
}

std::vector<int> Team::group(const std::vector<Told>& all, int self) {
  const auto& mine = all[static_cast<std::size_t>(self)];
  members_.identity = mine.identity;
  std::vector<int> here, node_of_rank;
  for (std::size_t p = 0; p < all.size(); ++p) {
    const auto process = static_cast<int>(p);
    first_rank_.push_back(size());
    // Of a node that several processes share, the first of them is its number.
    int node = process;
    for (int q = 0; q < process && all[p].node != 0; ++q)
      if (all[static_cast<std::size_t>(q)].node == all[p].node) {
        node = q;
        break;
      }
    const bool is_here = process == self || (mine.node != 0 && all[p].node == mine.node);
    if (is_here) {
      if (here.empty()) members_.identity = all[p].identity;
      here.push_back(process);
    }
    for (int thread = 0; thread < all[p].threads; ++thread) {
      if (process == self)
        threads_.push_back(std::make_unique<TeamThread>(*this, thread, size(), static_cast<int>(members_.all.size())));
      if (is_here) members_.all.push_back({static_cast<int>(here.size()) - 1, thread, 0});
      process_of_.push_back(process);
      node_of_rank.push_back(node);
    }
  }
  nodes_ = std::make_shared<const network::Nodes>(node_of_rank);
  return here;
}

/// Memory that the threads of this process share with the others of the node. Each tells where its own is.
bool Team::share(const std::vector<Told>& all, const std::vector<int>& here, int self, int& code) {
  const bool has_arena = all[static_cast<std::size_t>(self)].node != 0;
  std::string why;
  if (!has_arena) {
    if (process_node_ != &own_node_) {
      own_node_.settings = process_node_->settings;
      own_node_.log = process_node_->log;
      process_node_ = &own_node_;
    }
    own_node_.arena = memory::Arena::create(own_arena_bytes, why);
  }
  const std::shared_ptr<memory::Arena> arena = process_node_->arena;
  const int ranks = members_.size();
  std::vector<std::uint64_t> offsets;
  if (arena) {
    const auto take = [&](std::optional<std::size_t> offset) { offsets.push_back(offset.value_or(no_offset)); };
    take(arena->allocate(teams::block_bytes(threads(), ranks)));
    for (int thread = 0; thread < threads(); ++thread)
      take(arena->reserve(shared_bytes(process_node_->settings, ranks)));
  }
  offsets.resize(static_cast<std::size_t>(threads()) + 1, no_offset);

  std::vector<int> counts, places;
  int count = 0;
  for (const Told& each : all) {
    places.push_back(count);
    counts.push_back(each.threads + 1);
    count += counts.back();
  }
  std::vector<std::uint64_t> of_all(static_cast<std::size_t>(count));
  code = host.Allgatherv(offsets.data(), counts[static_cast<std::size_t>(self)], MPI_UINT64_T, of_all.data(),
                         counts.data(), places.data(), MPI_UINT64_T, communicator_);
  if (code != MPI_SUCCESS) return false;
  const bool is_full = std::find(of_all.begin(), of_all.end(), no_offset) != of_all.end();
  if (is_full) {
    for (const std::uint64_t offset : offsets)
      if (offset != no_offset) arena->release(offset);
    code = MPI_ERR_NO_MEM;
    return false;
  }
  std::size_t next = 0;
  for (const int process : here) {
    const auto p = static_cast<std::size_t>(process);
    const std::uint64_t* const theirs = of_all.data() + places[p];
    teams::Process& added = members_.processes.emplace_back();
    added.is_this = process == self;
    if (has_arena) {
      added.peer = process_node_->peers[static_cast<std::size_t>(all[p].node_rank)];
    } else {
      added.peer.process = getpid();
      added.peer.arena = arena->base();
    }
    added.block = theirs[0];
    added.threads = all[p].threads;
    for (int thread = 0; thread < all[p].threads; ++thread) members_.all[next++].shared = theirs[1 + thread];
  }
  look_at_machine(has_arena);
  return true;
}

void Team::look_at_machine(bool has_arena) {
  std::string why;
  if (has_arena) {
    if (const auto machine = published_machine(*process_node_)) machine_ = *machine;
  } else if (auto machine = topology::Machine::load(process_node_->settings.topology, why)) {
    machine_ = std::move(*machine);
  }
}

bool Team::make_message_communicators(int& code) {
  for (int thread = 0; thread < nodes_->most_places() && code == MPI_SUCCESS; ++thread)
    code = make_another(communicator_, message_communicators_.emplace_back(MPI_COMM_NULL));
  int level = MPI_THREAD_SINGLE;
  host.Query_thread(&level);
  if (level != MPI_THREAD_MULTIPLE) main_thread_ = std::make_unique<MainThread>();
  for (const MPI_Comm each : message_communicators_)
    if (each != MPI_COMM_NULL) host.Comm_set_errhandler(each, MPI_ERRORS_RETURN);
  return code == MPI_SUCCESS;
}

int Team::place_on_node(int rank, int seen_from) const {
  return nodes_->node_of(rank) == nodes_->node_of(seen_from) ? nodes_->place_of(rank) : -1;
}

std::string Team::words_of_place(int place, int seen_from) const {
  const int rank = nodes_->rank_at(nodes_->node_of(seen_from), place);
  return "thread " + std::to_string(thread_of(rank)) + " of process " + std::to_string(process_of(rank));
}

Team::~Team() {
  // Of threads that have never come.
  for (const auto& each : threads_)
    if (!each->has_communicator())
      if (const auto place = static_cast<std::size_t>(each->place);
          place < members_.all.size() && members_.all[place].shared)
        process_node_->arena->release(members_.all[place].shared);
  threads_.clear();
  for (const teams::Process& each : members_.processes)
    if (each.is_this) process_node_->arena->release(each.block);
  for (MPI_Comm& each : message_communicators_)
    if (each != MPI_COMM_NULL) host.Comm_free(&each);
  if (communicator_ != MPI_COMM_NULL) host.Comm_free(&communicator_);
}

sync::WaitOptions TeamThread::wait_options() {
  sync::WaitOptions options = wait_options_of(*node_);
  options.doorbells = teams::doorbells_of(team_.members_);
  options.host_progress = [this] {
    drive();
    if (may_call_host && team_.main_thread()) team_.main_thread()->serve();
    if (!may_call_host || !job() || is_progress_thread() || is_inside_host()) return;
    requests.drive();
    requests.give_host_a_turn();
  };
  options.host_is_needed = [this] { return may_call_host && host_turns.is_needed(); };
  options.check_peers = [this](const sync::WaitReason& reason) {
    if (!job() || !job()->watch || reason.peer < 0 || reason.peer >= team_.members_.size()) return;
    sync::WaitReason of_process = reason;
    of_process.peer = team_.members_.process_of(reason.peer).peer.rank;
    job()->watch->check(of_process);
  };
  options.report = [this](const sync::WaitReason& reason) {
    const bool is_known = reason.peer >= 0 && reason.peer != place;
    const std::string whom = is_known ? team_.words_of_place(reason.peer, rank) : "the others";
    node_->log.warn("%s has waited %g s for %s in %s of their team", team_.words_of_place(place, rank).c_str(),
                    node_->settings.timeout, whom.c_str(), reason.collective);
  };
  return options;
}

bool Team::main_thread_is_there() const {
  return std::any_of(threads_.begin(), threads_.end(), [](const auto& each) { return each->may_call_host; });
}

bool TeamThread::build() {
  teams::Seat& seat = team_.members_.seat(place);
  communicator_ = team_.communicator_;
  is_alone_ = team_.size() == 1;
  leaves_with_others_ = team_.main_thread() != nullptr;
  sync::WaitOptions first;
  first.mode = sync::WaitOptions::Mode::yield;
  first.rank = place;
  const auto waiter = sync::make_waiter(std::move(first));
  teams::take_seat(team_.members_, place, topology::affinity_of_this_thread());
  bool is_well = teams::wait_for_all(team_.members_, place, teams::Seat::taken, *waiter);
  if (is_well && team_.main_thread() && !team_.main_thread_is_there()) {
    team_.process_node_->log.error(
        "the team spans nodes, and none of its threads of process %d is the main thread, which alone may send messages "
        "without MPI_THREAD_MULTIPLE",
        team_.process_of(rank));
    is_well = false;
  }
  if (is_well) {
    try {
      node_ = teams::make_node(team_.members_, place, *team_.process_node_, team_.machine_);
      node_->waiter = sync::make_waiter(wait_options());
      node_->requests->waiter = node_->waiter.get();
      state_ = std::make_unique<CommunicatorState>();
      state_->communicator = std::make_unique<Communicator>(*node_, teams::layout_of(team_.members_, place));
      if (team_.spans_nodes()) {
        state_->spanning = spanning();
        state_->spanning->set_inside(*state_->communicator);
      }
      state_->collectives = std::make_unique<Collectives>(
          *state_->communicator, team_.knowledge_, state_->spanning ? &state_->spanning->of_blocking_calls() : nullptr);
    } catch (const std::exception& problem) {
      team_.process_node_->log.error("thread %d of process %d cannot attach to its team: %s", number,
                                     team_.process_of(rank), problem.what());
      is_well = false;
    }
  }
  seat.standing.store(is_well ? teams::Seat::ready : teams::Seat::failed, std::memory_order_release);
  is_built_ = is_well && teams::wait_for_all(team_.members_, place, teams::Seat::ready, *waiter);
  return is_built_;
}

std::unique_ptr<SpanningState> TeamThread::spanning() {
  const int lanes = team_.nodes_->most_places();
  int most_threads = 1;
  for (int each = 0; each < team_.size(); ++each) most_threads = std::max(most_threads, team_.thread_of(each) + 1);
  const Unasked unasked = unasked_of(team_.knowledge_.network, lanes);
  const ThreadChannel::Shares shares{team_.message_communicators_, most_threads};
  const auto channel = [&]() -> std::unique_ptr<network::Channel> {
    auto made = std::make_unique<ThreadChannel>(team_, shares, number, lanes, unasked);
    if (!team_.main_thread()) return made;
    return std::make_unique<ByMainThread>(*team_.main_thread(), *this, std::move(made));
  };
  return std::make_unique<SpanningState>(team_.nodes_, rank, channel(), channel());
}

void TeamThread::wait_for_others() {
  const std::uint64_t mine = calls_.load(std::memory_order_relaxed) + 1;
  calls_.store(mine, std::memory_order_release);
  if (!may_call_host) return;
  // Until all threads of the process have left the call, too, since nobody else has their messages go on.
  for (int other = 0; other < team_.threads(); ++other) {
    const TeamThread& each = team_.thread(other);
    const teams::Seat& seat = team_.members_.seat(each.place);
    while (each.calls_.load(std::memory_order_acquire) < mine &&
           seat.standing.load(std::memory_order_acquire) != teams::Seat::gone) {
      team_.main_thread()->serve();
      sched_yield();
    }
  }
}

bool TeamThread::may_start() const {
  return !team_.main_thread();
}

void TeamThread::asked_in_vain() {
  constexpr unsigned asked_between_turns = 16;
  if (may_call_host && job() && ++asked_ % asked_between_turns == 0) requests.give_host_a_turn();
  if (node_->waiter->shares_processor) sched_yield();
}

void TeamThread::start(Request& request) {
  request.call_->start();
  request.step(Request::Step::started);
  under_way_.add(request);
  drive();
}

void TeamThread::drive() {
  if (is_driving_ || under_way_.empty()) return;
  is_driving_ = true;
  constexpr Request::Allowed everything{.operators = true, .messages = true};
  // More than the ring has slots for cannot have begun.
  std::uint64_t looked_at = 0;
  for (Request* request = under_way_.first(); request && looked_at < ring_slots; ++looked_at) {
    Request* const next = request->next_;
    if (request->goes_on(everything)) {
      under_way_.remove(*request);
      request->finish();
      request->step(Request::Step::over);
    }
    request = next;
  }
  is_driving_ = false;
}

}  // namespace tutti::mpi
