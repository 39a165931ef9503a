// What libtutti-comm calls of teams (lib/team.h).

#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "mpi/errors.h"
#include "mpi/functions/interpose.h"
#include "mpi/teams/team_function.h"

namespace tutti::mpi {

namespace {

Team* team_of(TUTTI_Team handle) {
  return reinterpret_cast<Team*>(handle);
}

/// Those that there are, since a program may have freed the one that it names.
class ExistingTeams {
 public:
  void add(const Team* team) {
    const std::lock_guard lock(mutex_);
    all_.push_back(team);
  }
  /// Whether it was there.
  bool remove(const Team* team) {
    const std::lock_guard lock(mutex_);
    return std::erase(all_, team) > 0;
  }
  bool has(const Team* team) {
    const std::lock_guard lock(mutex_);
    return std::find(all_.begin(), all_.end(), team) != all_.end();
  }

 private:
  std::mutex mutex_;
  std::vector<const Team*> all_;
};
ExistingTeams& existing_teams = *new ExistingTeams;  // threads may end after everything else

struct Attachment {
  const Team* team;
  TeamThread* thread;
};

/// What a thread is attached to. Kept by a key of the C library's: of the memory that libraries have for each thread there is
/// little.
class AttachedTo {
 public:
  static std::vector<Attachment>& of_this_thread() {
    static const pthread_key_t key = make_key();
    auto* those = static_cast<std::vector<Attachment>*>(pthread_getspecific(key));
    if (!those) pthread_setspecific(key, those = new std::vector<Attachment>);
    return *those;
  }

 private:
  static pthread_key_t make_key() {
    pthread_key_t made{};
    if (pthread_key_create(&made, thread_ends) != 0) throw std::bad_alloc();
    return made;
  }
  /// A thread that ends while it is attached never comes to what the others wait for.
  static void thread_ends(void* value) {
    const std::unique_ptr<std::vector<Attachment>> those(static_cast<std::vector<Attachment>*>(value));
    for (const Attachment& each : *those) {
      if (!existing_teams.has(each.team)) continue;
      TeamThread& thread = *each.thread;
      // Threads on other nodes wait for messages that nobody sends.
      if (job() && thread.team().spans_nodes())
        end_job(thread.communicator(), std::runtime_error("a thread has ended before it has detached from its team"));
      thread.team().members().seat(thread.place).standing.store(teams::Seat::gone, std::memory_order_release);
      thread.state().communicator->revoke();
      thread.is_attached.store(false, std::memory_order_release);
    }
  }
};

int wrong(MPI_Comm communicator, int code, const char* function, const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", function, what.c_str());
  return raise(communicator, code, function);
}

int create(MPI_Comm comm, int threads, TUTTI_Team* handle) {
  return guard(comm, "TUTTI_Team_create", [&]() -> int {
    int inter = 0, code = MPI_SUCCESS;
    if (const int wrong_handle = host.Comm_test_inter(comm, &inter); wrong_handle != MPI_SUCCESS) return wrong_handle;
    if (inter) return wrong(comm, MPI_ERR_COMM, "TUTTI_Team_create", "teams are made of intracommunicators");
    std::unique_ptr<Team> team = Team::create(comm, threads, code);
    if (!team)
      return wrong(comm, code, "TUTTI_Team_create",
                   code == MPI_ERR_ARG      ? "each process brings at least one thread"
                   : code == MPI_ERR_NO_MEM ? "there is no memory for what threads share (TUTTI_VERBOSE=1 says more)"
                                            : "the MPI has made no communicator for it");
    existing_teams.add(team.get());
    *handle = reinterpret_cast<TUTTI_Team>(team.release());
    return MPI_SUCCESS;
  });
}

/// What one thread has left stays, so that another one can go on with it.
int attach(TUTTI_Team handle, int number) {
  constexpr const char* function = "TUTTI_Team_attach";
  Team* const team = team_of(handle);
  if (!existing_teams.has(team)) return wrong(MPI_COMM_SELF, MPI_ERR_ARG, function, "there is no such team");
  const MPI_Comm communicator = team->communicator();
  if (attached(team)) return wrong(communicator, MPI_ERR_ARG, function, "this thread is attached already");
  if (number < -1 || number >= team->threads())
    return wrong(communicator, MPI_ERR_ARG, function,
                 "this process has brought " + std::to_string(team->threads()) + " threads, and there is no number " +
                     std::to_string(number));
  const auto take = [&](int each) { return !team->thread(each).is_attached.exchange(true, std::memory_order_acq_rel); };
  if (number >= 0) {
    if (!take(number))
      return wrong(communicator, MPI_ERR_ARG, function,
                   "another thread has attached as number " + std::to_string(number));
  } else {
    for (number = 0; number < team->threads() && !take(number);) ++number;
    if (number == team->threads())
      return wrong(communicator, MPI_ERR_ARG, function,
                   "all " + std::to_string(number) + " threads of this process have attached");
  }
  TeamThread& thread = team->thread(number);
  int level = MPI_THREAD_SINGLE, is_main = 0;
  host.Query_thread(&level);
  if (level != MPI_THREAD_MULTIPLE) host.Is_thread_main(&is_main);
  thread.may_call_host = level == MPI_THREAD_MULTIPLE || is_main;
  thread.gives_turns = level == MPI_THREAD_MULTIPLE ? number == 0 : thread.may_call_host;
  bool failed = false;
  const int code = code_of(function, failed, [&] {
    if (thread.is_built() || thread.build()) {
      AttachedTo::of_this_thread().push_back({team, last_attached = &thread});
      return static_cast<int>(MPI_SUCCESS);
    }
    return static_cast<int>(MPI_ERR_NO_MEM);
  });
  if (code == MPI_SUCCESS) return code;
  thread.is_attached.store(false, std::memory_order_release);
  return wrong(communicator, code, function, "a thread of the team could not attach");
}

int detach(TUTTI_Team handle) {
  const Team* const team = team_of(handle);
  TeamThread* const thread = attached(team);
  if (!thread) return wrong(MPI_COMM_SELF, MPI_ERR_ARG, "TUTTI_Team_detach", "this thread is not attached to the team");
  if (thread->has_requests())
    return wrong(team->communicator(), MPI_ERR_ARG, "TUTTI_Team_detach",
                 "this thread has nonblocking collectives under way (TUTTI_Wait)");
  std::erase_if(AttachedTo::of_this_thread(), [team](const Attachment& each) { return each.team == team; });
  last_attached = nullptr;
  thread->is_attached.store(false, std::memory_order_release);
  return MPI_SUCCESS;
}

int free_team(TUTTI_Team* handle) {
  constexpr const char* function = "TUTTI_Team_free";
  Team* const team = handle ? team_of(*handle) : nullptr;
  if (!existing_teams.has(team))
    return wrong(MPI_COMM_SELF, MPI_ERR_ARG, function, "there is no such team; it may have been freed before");
  int mine = 0, any = 0;
  for (int number = 0; number < team->threads(); ++number)
    mine += team->thread(number).is_attached.load(std::memory_order_acquire) ? 1 : 0;
  // Nobody looks at memory of others after that.
  if (const int code = host.Allreduce(&mine, &any, 1, MPI_INT, MPI_SUM, team->communicator()); code != MPI_SUCCESS)
    return code;
  if (any > 0)
    return wrong(team->communicator(), MPI_ERR_ARG, function,
                 std::to_string(any) + " threads are still attached (TUTTI_Team_detach)");
  *handle = TUTTI_TEAM_NULL;
  existing_teams.remove(team);
  last_attached = nullptr;
  delete team;
  return MPI_SUCCESS;
}

int rank_of(TUTTI_Team handle, int* rank) {
  const TeamThread* const thread = attached(team_of(handle));
  if (!thread) return wrong(MPI_COMM_SELF, MPI_ERR_ARG, "TUTTI_Team_rank", "this thread is not attached to the team");
  *rank = thread->rank;
  return MPI_SUCCESS;
}

int size_of(TUTTI_Team handle, int* size) {
  if (!attached(team_of(handle)) && !existing_teams.has(team_of(handle)))
    return wrong(MPI_COMM_SELF, MPI_ERR_ARG, "TUTTI_Team_size", "there is no such team");
  *size = team_of(handle)->size();
  return MPI_SUCCESS;
}

int place_of(TUTTI_Team handle, int rank, TUTTI_Place* place) {
  const Team* const team = team_of(handle);
  const TeamThread* const thread = attached(team);
  if (!thread) return wrong(MPI_COMM_SELF, MPI_ERR_ARG, "TUTTI_Team_place", "this thread is not attached to the team");
  if (rank < 0 || rank >= team->size())
    return wrong(
        team->communicator(), MPI_ERR_RANK, "TUTTI_Team_place",
        "the team has " + std::to_string(team->size()) + " ranks, and there is no rank " + std::to_string(rank));
  *place = {team->process_of(rank), team->thread_of(rank), -1, -1, -1, -1, -1};
  const int there = team->place_on_node(rank, thread->rank);
  if (there < 0) return MPI_SUCCESS;
  const topology::RankPlace& found = thread->node().placement.ranks[static_cast<std::size_t>(there)];
  const auto domain = [&](topology::LevelKind kind) { return found.domain[topology::index_of(kind)]; };
  place->package = domain(topology::LevelKind::socket);
  place->numa = domain(topology::LevelKind::numa);
  place->l3 = domain(topology::LevelKind::l3);
  place->core = found.core;
  place->unit = found.unit;
  return MPI_SUCCESS;
}

/// What a program has of a nonblocking collective.
struct TeamRequest {
  TUTTI_Request_s handle;
  TeamThread& thread;
  std::unique_ptr<Request> request;
};

int test_request(TUTTI_Request_s* handle, int* flag, MPI_Status*) {
  auto* const of = reinterpret_cast<TeamRequest*>(handle);
  of->thread.drive();
  *flag = of->request->is_complete();
  if (!*flag) {
    of->thread.asked_in_vain();
    return MPI_SUCCESS;
  }
  const std::unique_ptr<TeamRequest> request(of);
  if (request->request->thrown()) std::rethrow_exception(request->request->thrown());
  const int code = request->request->code();
  return code == MPI_SUCCESS ? code : raise(of->thread.team().communicator(), code, request->request->collective());
}

TUTTI_Team_functions make_functions() {
  TUTTI_Team_functions functions{};
  functions.create = create;
  functions.free = free_team;
  functions.attach = attach;
  functions.detach = detach;
  functions.rank = rank_of;
  functions.size = size_of;
  functions.place = place_of;
  add_bcast(functions);
  add_reductions(functions);
  add_blocks(functions);
  return functions;
}

}  // namespace

constinit thread_local TeamThread* last_attached = nullptr;

TeamThread* find_attached(const Team* team) {
  for (const Attachment& each : AttachedTo::of_this_thread()) {
    if (each.team != team) continue;
    return last_attached = each.thread;
  }
  return nullptr;
}

bool TeamCall::Starting::start(TUTTI_Request* handle) {
  last_call = {};
  auto request = std::make_unique<TeamRequest>(TeamRequest{{test_request}, thread_, take_request()});
  thread_.start(*request->request);
  *handle = &request.release()->handle;
  return true;
}

int TeamCall::not_attached() const {
  return wrong(MPI_COMM_SELF, MPI_ERR_ARG, function_, "this thread is not attached to the team");
}

int TeamCall::code_of_refusal() const {
  const auto impossible = [this](const char* what) {
    std::fprintf(stderr, "%s: %s\n", function_, what);
    return MPI_ERR_OTHER;
  };
  switch (refusal) {
    case Refusal::nothing:
      return MPI_SUCCESS;
    case Refusal::datatype:
      return impossible(
          "a type that the MPI does not know, that has no such operator, or that the program has made, for which "
          "threads "
          "need MPI_THREAD_MULTIPLE");
    case Refusal::operation:
      return impossible(
          "an operator that this type does not have, or that the program has made, for which threads need "
          "MPI_THREAD_MULTIPLE");
    case Refusal::nodes:
      return impossible("nonblocking collectives of a team that spans nodes need MPI_THREAD_MULTIPLE");
    case Refusal::choice:
      return impossible("there is no algorithm for it");
    default:
      std::fprintf(stderr, "%s: an argument is wrong\n", function_);
      return MPI_ERR_ARG;
  }
}

int TeamCall::code_of_exception() const {
  const Team& team = thread_->team();
  try {
    throw;
  } catch (const OfProgram& exception) {
    std::rethrow_exception(exception.thrown);
  } catch (const TooLittleRoom&) {
    return MPI_ERR_TRUNCATE;
  } catch (const Disagreement&) {
    const int gone = teams::first_gone(team.members());
    if (gone < 0) return error_after_leaving(thread_->state());
    std::fprintf(stderr, "%s: %s has ended before it has detached from the team\n", function_,
                 team.words_of_place(gone, thread_->rank).c_str());
    return MPI_ERR_OTHER;
  } catch (const network::Failure& problem) {
    network_failed(thread_->state(), problem.kind);
    return problem.code;
  } catch (const std::exception& problem) {
    return class_of(problem, function_);
  }
}

int TeamCall::raised(int code) const {
  return raise(communicator(), code, function_);
}

}  // namespace tutti::mpi

using namespace tutti;

/// Gives the functions of teams; 0.
TUTTI_EXPORT int tutti_teams(const TUTTI_Team_functions** functions) {
  static const TUTTI_Team_functions all = mpi::make_functions();
  *functions = &all;
  return 0;
}
