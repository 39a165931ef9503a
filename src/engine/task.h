// Algorithms are coroutines. In a blocking call with one role an await spins in place and never suspends; with several
// roles of one rank (fetch from above while feeding below), or in a nonblocking call, it parks and `progress` resumes
// it.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <utility>

namespace tutti {

class Operation;

/// A lazily started coroutine of an operation. Its frame comes from the operation's workspace. The first parameter of an
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
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  void resume() const { handle_.resume(); }
  bool finished() const { return handle_.done(); }
  bool failed() const { return finished() && handle_.promise().failure; }
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

}  // namespace tutti
