// A team as a process has it, and as each of its threads does. What programs call is in functions.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "mpi/communicators.h"
#include "mpi/requests/request.h"
#include "mpi/requests/requests.h"
#include "mpi/wait/host_turns.h"
#include "teams/seats.h"
#include "topology/machine.h"

namespace tutti::mpi {

class Team;

/// Where only the main thread may call the host: what others need of it they ask, and it does that while it is in calls of
/// the team.
class MainThread {
 public:
  /// part() is carried out by the main thread. Throws what that throws.
  template <class Part>
  void carry_out(Part& part) {
    Asked asked{[](void* context) { (*static_cast<Part*>(context))(); }, &part};
    wait_for(asked);
  }
  /// To be called by it: does what it is asked.
  void serve();

 private:
  struct Asked {
    void (*run)(void* context);
    void* context;
    std::exception_ptr thrown = nullptr;
    std::atomic<bool> is_done{false};
  };
  void wait_for(Asked& asked);

  std::mutex mutex_;
  std::vector<Asked*> asked_;
  std::atomic<bool> any_{false};
};

/// One thread's part in a team. Only the thread that has attached touches it; what others write lies in other lines.
class alignas(sync::line_bytes) TeamThread {
 public:
  TeamThread(Team& team, int number, int rank, int place) : number(number), rank(rank), place(place), team_(team) {}

  /// What it needs for collectives, when its number is taken for the first time. False if that of another one on the node
  /// has failed, or this one's.
  bool build();
  bool is_built() const { return is_built_; }
  bool has_communicator() const { return state_ && state_->communicator; }

  Team& team() const { return team_; }
  // What each call asks of the team.
  MPI_Comm communicator() const { return communicator_; }
  bool is_alone() const { return is_alone_; }
  Node& node() const { return *node_; }
  CommunicatorState& state() const { return *state_; }
  /// The thread that has attached may ask the host to go on, and post messages.
  bool may_call_host = false;
  /// It is the one of its process that gives the host its turn in calls of teams: others would wait for it in the host.
  bool gives_turns = false;
  std::atomic<bool> is_attached{false};

  /// Around each blocking call of it, or start of one.
  void begin_call() {
    if (has_requests()) drive();
    if (may_call_host) requests.drive();
  }
  void end_call() const {
    if (gives_turns) host_turns.after_call();
  }
  /// Behind a blocking call, however it has ended.
  void count_call();

  /// Nonblocking collectives that are under way.
  void start(Request& request);
  /// Does what can be done by now for all of them.
  void drive();
  bool has_requests() const { return !under_way_.empty(); }
  /// The program has asked about one, and may ask again at once.
  void asked_in_vain();

  /// Nonblocking ones of a team that spans nodes go on by messages, at any time.
  bool may_start() const;

  const int number;  ///< of its process
  const int rank;    ///< in the team
  const int place;   ///< among those on its node

 private:
  void wait_for_others();
  sync::WaitOptions wait_options();
  std::unique_ptr<SpanningState> spanning();

  Team& team_;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  bool is_alone_ = false;
  bool leaves_with_others_ = false;  ///< by wait_for_others()
  bool is_built_ = false;
  bool is_driving_ = false;
  unsigned asked_ = 0;
  std::unique_ptr<Node> node_;
  std::unique_ptr<CommunicatorState> state_;
  RequestList under_way_;
  std::atomic<std::uint64_t> calls_{0};  ///< blocking ones that it has left
};

class Team {
 public:
  /// Collective over `comm`. Sets `code` if there is none, on all processes alike.
  static std::unique_ptr<Team> create(MPI_Comm comm, int threads, int& code);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  MPI_Comm communicator() const { return communicator_; }
  int size() const { return static_cast<int>(process_of_.size()); }
  int process_of(int rank) const { return process_of_[static_cast<std::size_t>(rank)]; }
  int thread_of(int rank) const { return rank - first_rank_[static_cast<std::size_t>(process_of(rank))]; }
  /// Among the ranks of its node; -1 if that is not the node of `seen_from`.
  int place_on_node(int rank, int seen_from) const;
  /// Thread and process of the rank at a place on the node of `seen_from`, for messages.
  std::string words_of_place(int place, int seen_from) const;
  bool spans_nodes() const { return nodes_->count() > 1; }
  /// Threads of this process.
  int threads() const { return static_cast<int>(threads_.size()); }
  TeamThread& thread(int number) { return *threads_[static_cast<std::size_t>(number)]; }
  const teams::Members& members() const { return members_; }
  /// Messages between nodes are left to the main thread; null where each thread has its own.
  MainThread* main_thread() { return main_thread_.get(); }
  bool main_thread_is_there() const;

 private:
  friend class TeamThread;
  /// What a process tells the others.
  struct Told;

  Team() = default;
  bool agree(MPI_Comm comm, int threads, int& code);
  /// Who is on which node. Returns the processes of this one.
  std::vector<int> group(const std::vector<Told>& all, int self);
  bool share(const std::vector<Told>& all, const std::vector<int>& here, int self, int& code);
  void look_at_machine(bool has_arena);
  bool make_message_communicators(int& code);

  MPI_Comm communicator_ = MPI_COMM_NULL;  ///< of its own, with the error handler of what it was made of
  std::vector<int> process_of_;            ///< by rank
  std::vector<int> first_rank_;            ///< by process
  Node own_node_;                          ///< where this process shares no memory with others: settings and an arena
  const Node* process_node_ = nullptr;
  topology::Machine machine_;
  teams::Members members_;
  selection::Knowledge knowledge_;
  std::shared_ptr<const network::Nodes> nodes_;
  std::vector<MPI_Comm> message_communicators_;  ///< between nodes: by the number of the thread that receives
  std::unique_ptr<MainThread> main_thread_;
  std::vector<std::unique_ptr<TeamThread>> threads_;
};

inline void TeamThread::count_call() {
  if (leaves_with_others_) [[unlikely]]
    wait_for_others();
}

/// What the calling thread has used last of those that it is attached to; may be null.
extern constinit thread_local TeamThread* last_attached;
/// Its part in a team; null if it is not attached to that.
TeamThread* find_attached(const Team* team);
inline TeamThread* attached(const Team* team) {
  return last_attached && &last_attached->team() == team ? last_attached : find_attached(team);
}

}  // namespace tutti::mpi
