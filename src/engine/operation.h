// One operation of a collective on one rank: its slot, and everything that it alone needs. To await is the only way in
// which an algorithm waits.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/operation_view.h"
#include "engine/task.h"
#include "sync/waiter.h"

namespace tutti {

/// Thrown when ranks of one operation are in different calls. This rank has left the operation.
class Disagreement : public std::exception {
 public:
  const char* what() const noexcept override { return "ranks of a communicator are in different calls"; }
};

/// A workspace for an operation that is not alone; it is there before the operation and after it.
class OwnWorkspace {
 protected:
  explicit OwnWorkspace(Communicator& communicator)
      : own_workspace(communicator.workspaces().take()), communicator_(communicator) {}
  OwnWorkspace(const OwnWorkspace&) = delete;
  OwnWorkspace& operator=(const OwnWorkspace&) = delete;
  ~OwnWorkspace() {
    own_workspace->clear();
    communicator_.given_back(std::move(own_workspace));
  }
  std::unique_ptr<Workspace> own_workspace;

 private:
  Communicator& communicator_;
};

class Operation : public OperationView, public sync::Party {
 public:
  /// A blocking one. It begins now, once there is room for it (Channel::has_room).
  /// Throws Disagreement if the channel is closed.
  Operation(Channel& channel, Call& call, std::uint64_t in_flight = data_areas)
      : Operation(begun(channel, call, in_flight)) {}
  /// The same, for what needs a whole operation only if it has to wait.
  static OperationView begun(Channel& channel, Call& call, std::uint64_t in_flight) {
    OperationView view(channel, call, channel.workspace(), ++channel.sequence_);
    if (channel.closed()) [[unlikely]]
      Operation(view).stay_out();
    if (call.first == 0) call.first = view.sequence();
    if (channel.communicator().node().operations) [[unlikely]]
      channel.communicator().begins_one();
    if (!channel.has_room(view.sequence(), in_flight)) [[unlikely]]
      Operation(view).wait_for_room(in_flight);
    view.begin();
    return view;
  }
  explicit Operation(const OperationView& view) : OperationView(view) {}
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  /// To be called when a flag of `rank` has been seen, before anything is done about it; awaiting does it.
  /// Throws Disagreement if that rank is in another call (docs/decisions/calls-that-disagree.md).
  void check(int rank) {
    if (!agrees(rank)) [[unlikely]]
      compare(rank);
  }
  /// A role that waits; it lies in the role's frame.
  struct Parked {
    int peer;  ///< that it waits for
    Parked* next = nullptr;
    std::coroutine_handle<> role = nullptr;
    bool (*came)(Parked&) = nullptr;
  };

  /// Waits for something of one peer: `poll` is true from when it has come, at once or later.
  template <class Poll>
  class [[nodiscard]] Await : Parked {
   public:
    Await(Operation& operation, int of, Poll poll) : Parked{of}, operation_(operation), poll_(poll) {}
    bool await_ready() {
      if (poll_()) return true;
      if (operation_.parks()) return false;
      operation_.wait(this->peer, poll_);
      return true;
    }
    void await_suspend(std::coroutine_handle<> waiting) {
      this->role = waiting;
      this->came = [](Parked& parked) { return static_cast<Await&>(parked).poll_(); };
      operation_.park(*this);
    }
    void await_resume() const { operation_.check(this->peer); }

   private:
    Operation& operation_;
    Poll poll_;
  };
  /// co_await operation.until(peer, poll)
  template <class Poll>
  Await<Poll> until(int peer, Poll poll) {
    return {*this, peer, poll};
  }
  /// The same in a function that is no coroutine, of a blocking operation.
  template <class Poll>
  void wait_until(int peer, Poll poll) {
    if (!poll()) wait(peer, poll);
    check(peer);
  }
  /// co_await operation.has(flag, progress, peer): `flag` of `peer` has reached `progress` in this operation.
  auto has(const sync::Flag& flag, Progress progress, int peer) {
    return until(peer, [&flag, target = stamp(progress)] { return flag.has(target); });
  }
  /// co_await operation.has(peer, flag, progress): the same of a flag that algorithms have (engine/flags.h).
  auto has(int peer, FlagName flag, Progress progress = 0) { return has(slot(peer).flags[flag], progress, peer); }
  /// co_await operation.done(peer): it has said publish_done().
  auto done(int peer, Progress progress = 0) { return has(peer, done_flag, progress); }
  /// co_await operation.posted(peer): the flag of its post is set.
  auto posted(int peer, Progress progress = 0) { return has(slot(peer).post.flag, progress, peer); }
  /// The same for one flag of every other rank, in one go: a sub-task that loops would cost a coroutine.
  class [[nodiscard]] OthersHave : Parked {
   public:
    OthersHave(Operation& operation, const sync::Flag& (*flag)(const Slot&))
        : Parked{operation.communicator().next_rank()}, operation_(operation), flag_(flag) {}
    bool await_ready() {
      while (!all_have()) {
        if (operation_.parks()) return false;
        const sync::Flag& flag = flag_(operation_.slot(peer));
        operation_.wait(peer, [&flag, target = operation_.stamp()] { return flag.has(target); });
      }
      return true;
    }
    void await_suspend(std::coroutine_handle<> waiting) {
      role = waiting;
      came = [](Parked& parked) { return static_cast<OthersHave&>(parked).all_have(); };
      operation_.park(*this);
    }
    void await_resume() const {}

   private:
    /// All between this rank and `peer` have it.
    bool all_have() {
      const Communicator& communicator = operation_.communicator();
      for (; peer != communicator.rank(); peer = peer + 1 == communicator.size() ? 0 : peer + 1) {
        if (!flag_(operation_.slot(peer)).has(operation_.stamp())) return false;
        operation_.check(peer);
      }
      return true;
    }
    Operation& operation_;
    const sync::Flag& (*flag_)(const Slot&);
  };
  /// co_await operation.others_posted(): every other rank has set the flag of its post. Then seen_all() may be called.
  OthersHave others_posted() {
    return {*this, [](const Slot& slot) -> const sync::Flag& { return slot.post.flag; }};
  }
  /// What needs the owners of memory to go on: `go_on` does what it can by now, again and again, until it is true.
  template <class GoOn>
  class [[nodiscard]] Carried : Parked {
   public:
    Carried(Operation& operation, GoOn go_on)
        : Parked{operation.communicator().rank()}, operation_(operation), go_on_(go_on) {}
    bool await_ready() {
      if (go_on_()) return true;
      if (operation_.parks()) return false;
      operation_.wait_for_owner(go_on_);
      return true;
    }
    void await_suspend(std::coroutine_handle<> waiting) {
      this->role = waiting;
      this->came = [](Parked& parked) { return static_cast<Carried&>(parked).go_on_(); };
      operation_.park(*this);
    }
    void await_resume() const {}

   private:
    Operation& operation_;
    GoOn go_on_;
  };
  template <class GoOn>
  Carried<GoOn> carried(GoOn go_on) {
    return {*this, go_on};
  }
  /// co_await operation.copied(): all that was copied by operation.peer(rank) is there. Before it what was to be read is
  /// not, nor may be said that something was written, nor change what is being written.
  auto copied() {
    return carried([this] { return peers_copied(); });
  }
  /// co_await operation.filled(peer, region, end): memory of a peer that may be of Kind::filling is there up to `end`.
  auto filled(int peer, memory::Region region, std::size_t end) {
    return carried([&of = communicator().peer(peer), region, end] { return of.is_filled(region, end); });
  }

  /// co_await operation.others_done(): every other rank has said publish_done().
  OthersHave others_done() {
    return {*this, [](const Slot& slot) -> const sync::Flag& { return slot.flags[done_flag]; }};
  }

  /// co_await operation.both(first, second): runs two roles of this rank side by side until both are finished.
  class [[nodiscard]] Both : Parked {
   public:
    Both(Operation& operation, Task first, Task second)
        : Parked{operation.communicator().rank()},
          operation_(operation),
          first_(std::move(first)),
          second_(std::move(second)) {}
    bool await_ready();
    void await_suspend(std::coroutine_handle<> waiting) {
      role = waiting;
      came = [](Parked& parked) { return static_cast<Both&>(parked).over(); };
      operation_.park(*this);
    }
    void await_resume();

   private:
    /// Or it cannot go on: one may wait for what the other would have done.
    bool over() const { return first_.failed() || second_.failed() || (first_.finished() && second_.finished()); }
    Operation& operation_;
    Task first_, second_;
  };
  Both both(Task first, Task second) { return {*this, std::move(first), std::move(second)}; }

  /// A blocking operation: runs the body, which has these flags, to its end.
  void run(const FlagSet& flags, Task body) {
    poison(flags);
    struct Clearing {
      Workspace& workspace;
      ~Clearing() { workspace.clear(); }
    } const clearing{workspace()};
    const Task task(std::move(body));  // its frame goes before what it lies in
    task.resume();
    task.rethrow();
    complete();
  }
  // Party
  std::uint64_t identity() const override { return communicator().identity(); }
  void look(std::uint64_t sequence) override;
  std::string remark(std::uint64_t sequence, int peer) const override { return channel().remark(sequence, peer); }

 protected:
  /// Resumes every parked role that has what it waits for; true if there was one.
  bool resume_parked();
  /// Whom a parked role waits for; -1 if none is parked.
  int peer_of_parked() const { return parked_ ? parked_->peer : -1; }
  /// Where tests want that, makes all other flags of this rank say that everything has been reached.
  void poison(const FlagSet& flags) {
    if (communicator().node().poisons_flags) [[unlikely]]
      own().flags.set_undeclared(flags, stamp(progress_max));
  }
  /// Nobody resumes what is parked any more.
  void forget_parked() { parked_ = nullptr; }
  /// Ends it before it has begun.
  [[noreturn]] void stay_out();

 private:
  friend class Channel;

  void wait_for_room(std::uint64_t in_flight);
  template <class Poll>
  void wait(int peer, Poll&& poll) {
    const sync::WaitReason reason{call().collective, this, sequence(), communicator().node_rank(peer)};
    sync::wait(*communicator().node().waiter, reason, poll);
  }
  template <class GoOn>
  void wait_for_owner(GoOn& go_on) {
    const memory::Transfers& transfers = workspace().transfers();
    const int peer = transfers.over() ? communicator().node_rank(communicator().rank()) : transfers.peer().rank;
    const sync::WaitReason reason{call().collective, this, sequence(), peer};
    sync::wait(*communicator().node().waiter, reason, go_on);
  }
  bool parks() const { return roles_ > 1 || channel().kind() == Channel::Kind::pending; }
  void park(Parked& role) {
    role.next = parked_;
    parked_ = &role;
  }
  /// Whether a parked role has what it waits for.
  bool can_progress() const;
  /// Waits until a parked role has what it waits for.
  void wait_for_parked();

  /// What check() does about signatures that differ.
  void compare(int rank);
  /// Ends the operation on this rank alone.
  [[noreturn]] void leave();

  int roles_ = 1;
  Parked* parked_ = nullptr;
};

/// A pending one: it is started, and goes on whenever it is asked to.
class PendingOperation final : private OwnWorkspace, public Operation {
 public:
  /// sequence: of those that were reserved (Channel::reserve).
  PendingOperation(Channel& channel, Call& call, std::uint64_t sequence, std::uint64_t in_flight)
      : OwnWorkspace(channel.communicator()),
        Operation(OperationView(channel, call, *own_workspace, sequence)),
        in_flight_(in_flight) {}

  /// Begins it if there is room (Channel::has_room); whether it has begun.
  /// Throws Disagreement if the channel is closed.
  bool try_to_begin();
  /// After it has begun.
  void start(const FlagSet& flags, Task body) {
    poison(flags);
    body_.emplace(std::move(body));
    body_->resume();
  }
  /// Resumes every role that has what it waits for, again and again, as long as there is one; then whether it is over. It
  /// is complete then.
  /// Throws what the body has thrown.
  bool progress();
  /// A rank that it waits for, as far as is known; -1 if it is not.
  int waits_for() const { return peer_of_parked(); }

 private:
  /// After so many times that it was asked to go on and could not, it looks whether it ever will.
  static constexpr unsigned polls_between_looks = 4096;

  const std::uint64_t in_flight_;
  unsigned polls_ = 0;
  std::optional<Task> body_;
};

template <class... Arguments>
void* Task::promise_type::operator new(std::size_t bytes, Operation& operation, Arguments&&...) {
  return operation.allocate(bytes);
}

}  // namespace tutti
