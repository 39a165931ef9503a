// Algorithms are coroutines. In a blocking call with one role an await spins in place and never suspends; with several
// roles of one rank (fetch from above while feeding below), or in a nonblocking call, it parks and `progress` resumes
// it.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/communicator.h"
#include "sync/waiter.h"

namespace tutti {

class Operation;

/// A lazily started coroutine of an operation. Its frame comes from the operation's storage. The first parameter of an
/// algorithm is always `Operation&`.
class [[nodiscard]] Task {
 public:
  struct promise_type {
    std::coroutine_handle<> continuation = std::noop_coroutine();
    std::exception_ptr failure;

    template <class... Arguments>
    static void* operator new(std::size_t bytes, Operation& operation, Arguments&&...);
    static void operator delete(void*, std::size_t) {}

    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> self) noexcept {
        return self.promise().continuation;
      }
      void await_resume() noexcept {}
    };
    Final final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { failure = std::current_exception(); }
  };

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  void resume() { handle_.resume(); }
  bool finished() const { return handle_.done(); }
  void rethrow() const {
    if (handle_.promise().failure) std::rethrow_exception(handle_.promise().failure);
  }

  // co_await of a sub-task runs it in place.
  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) noexcept {
    handle_.promise().continuation = awaiting;
    return handle_;
  }
  void await_resume() const { rethrow(); }

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

/// One call of a collective on one rank.
class Operation {
 public:
  /// in_flight: as for Communicator::begin.
  Operation(Communicator& communicator, const char* collective, std::uint64_t in_flight = data_areas)
      : communicator_(communicator), sequence_(communicator.begin(in_flight)), collective_(collective) {}
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  Communicator& communicator() { return communicator_; }
  std::uint64_t sequence() const { return sequence_; }
  sync::Stamp stamp(std::uint64_t progress = 0) const { return sync::stamp(sequence_, progress); }
  Slot& slot(int rank) { return communicator_.slot(rank, sequence_); }
  Slot& own() { return communicator_.slot(communicator_.rank(), sequence_); }

  /// Sets a flag of this rank and wakes whoever sleeps on it.
  void publish(sync::Flag& flag, std::uint64_t progress = 0) {
    flag.set(stamp(progress));
    communicator_.published();
  }

  /// Waits until `flag` of `peer` has reached `progress` in this operation, spinning in place.
  void wait(const sync::Flag& flag, std::uint64_t progress, int peer) {
    const sync::Stamp target = stamp(progress);
    if (flag.has(target)) return;
    sync::WaitReason reason = reason_to_wait(peer);
    sync::wait(*communicator_.node().waiter, reason, [&] { return flag.has(target); });
  }

  /// co_await operation.has(flag, progress, peer)
  struct Has {
    Operation& operation;
    const sync::Flag& flag;
    std::uint64_t progress;
    int peer;
    bool came() const { return flag.has(operation.stamp(progress)); }
    bool await_ready() const {
      if (came()) return true;
      if (operation.roles_ > 1) return false;
      operation.wait(flag, progress, peer);
      return true;
    }
    void await_suspend(std::coroutine_handle<> handle) { operation.park(handle, *this); }
    void await_resume() const { operation.communicator_.check(peer, operation.sequence_); }
  };
  Has has(const sync::Flag& flag, std::uint64_t progress, int peer) { return {*this, flag, progress, peer}; }

  /// The same for one flag of every other rank, in one go: a sub-task that loops would cost a coroutine.
  struct OthersHave {
    Operation& operation;
    const sync::Flag& (*flag)(const Slot&);
    int peer;  ///< all between this rank and that one have it
    bool came() {
      const int ranks = operation.communicator_.size();
      for (; peer != operation.communicator_.rank(); peer = peer + 1 == ranks ? 0 : peer + 1) {
        if (!flag(operation.slot(peer)).has(operation.stamp())) return false;
        operation.communicator_.check(peer, operation.sequence_);
      }
      return true;
    }
    bool await_ready() {
      while (!came()) {
        if (operation.roles_ > 1) return false;
        operation.wait(flag(operation.slot(peer)), 0, peer);
      }
      return true;
    }
    void await_suspend(std::coroutine_handle<> handle) { operation.park(handle, *this); }
    void await_resume() const {}
  };
  /// co_await operation.others_posted(): every other rank has set the flag of its post. Then seen_all() may be called.
  OthersHave others_posted() {
    return {*this, [](const Slot& slot) -> const sync::Flag& { return slot.post.flag; }, communicator_.next_rank()};
  }
  /// co_await operation.others_done(): every other rank has set done.flag[0].
  OthersHave others_done() {
    return {*this, [](const Slot& slot) -> const sync::Flag& { return slot.done.flag[0]; }, communicator_.next_rank()};
  }

  /// Runs two roles of this rank side by side until both are finished.
  void both(Task first, Task second);

  /// Runs the body to its end: the blocking call.
  void run(Task body) {
    body.resume();
    body.rethrow();
    communicator_.complete(sequence_);
  }
  /// The end of an operation whose body is no coroutine.
  void complete() { communicator_.complete(sequence_); }

  /// Storage for the life of the operation.
  void* allocate_frame(std::size_t bytes);
  template <class T>
  T* array(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    T* first = static_cast<T*>(allocate_frame(count * sizeof(T)));
    for (std::size_t i = 0; i < count; ++i) new (first + i) T();
    return first;
  }

 private:
  sync::WaitReason reason_to_wait(int peer) const {
    return {collective_, &communicator_, sequence_, communicator_.node_rank(peer)};
  }

  struct Parked {
    std::coroutine_handle<> handle;
    void* awaiter;  ///< lives in the frame of the coroutine that waits
    bool (*came)(void* awaiter);
    const int* peer;
  };
  template <class Awaiter>
  void park(std::coroutine_handle<> handle, Awaiter& awaiter) {
    parked_.push_back(
        {handle, &awaiter, [](void* waiting) { return static_cast<Awaiter*>(waiting)->came(); }, &awaiter.peer});
  }
  /// Whether a parked role has what it waits for.
  bool can_progress() const;
  /// Resumes every parked role that has what it waits for; true if there was one.
  bool progress();

  Communicator& communicator_;
  std::uint64_t sequence_;
  const char* collective_;
  int roles_ = 1;
  std::vector<Parked> parked_;
  static constexpr std::size_t frame_bytes = 2048;
  std::size_t frame_used_ = 0;
  alignas(std::max_align_t) std::byte frames_[frame_bytes];
  std::vector<std::unique_ptr<std::byte[]>> more_frames_;
};

template <class... Arguments>
void* Task::promise_type::operator new(std::size_t bytes, Operation& operation, Arguments&&...) {
  return operation.allocate_frame(bytes);
}

}  // namespace tutti
