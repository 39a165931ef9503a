#include "mpi/requests/progress_thread.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/no_signals.h"
#include "mpi/requests/host_hook.h"
#include "mpi/requests/requests.h"

namespace tutti::mpi {

namespace {

using namespace std::chrono_literals;

/// So long nobody else has driven before this thread does.
constexpr auto grace = 1ms;
/// Between its turns, once it drives where no processor is its own. A rank that waits in a host may have the processor for itself
/// alone: it is not yielded.
constexpr auto between_looks = 20us;
/// So long with nothing to do it looks by itself for more to come, before it has to be woken.
constexpr auto linger = 100ms;

constinit thread_local bool is_this_one = false;

class ProgressThread {
 public:
  ProgressThread(bool at_once, bool has_processor) : at_once_(at_once), has_processor_(has_processor) {}

  void wake() {
    if (is_awake_.load(std::memory_order_seq_cst)) [[likely]]
      return;
    const std::lock_guard lock(mutex_);
    if (!has_started_) start();
    is_awake_.store(true, std::memory_order_seq_cst);
    condition_.notify_one();
  }
  bool takes_part_at_once() const { return at_once_; }
  void end() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
      condition_.notify_one();
    }
    if (has_started_) pthread_join(thread_, nullptr);
  }

 private:
  void start() {
    const NoSignals none;
    has_started_ = pthread_create(&thread_, nullptr, &run, this) == 0;
  }
  static void* run(void* self) {
    pthread_setname_np(pthread_self(), "tutti-progress");
    is_this_one = true;
    auto& thread = *static_cast<ProgressThread*>(self);
    while (thread.is_wanted()) thread.take_part();
    return nullptr;
  }

  /// Sleeps until something is under way; false at the end.
  bool is_wanted() {
    while (at_once_ && !ends_ && !requests.need_driving() && !lingers_no_more()) rest();
    std::unique_lock lock(mutex_);
    const auto wanted = [&] { return ends_ || requests.need_driving(); };
    if (!condition_.wait_for(lock, grace, wanted)) {
      if (!lingers_no_more()) return true;
      is_awake_.store(false, std::memory_order_seq_cst);
      // Who starts a call counts it before it looks whether this thread is awake.
      if (requests.need_driving_after_all()) is_awake_.store(true, std::memory_order_seq_cst);
      condition_.wait(lock, [&] { return ends_ || is_awake_.load(std::memory_order_relaxed); });
    }
    return !ends_;
  }

  bool lingers_no_more() const { return std::chrono::steady_clock::now() - last_ >= linger; }

  /// As long as something is under way.
  void take_part() {
    if (at_once_)
      go_on_at_once();
    else
      go_on_where_nobody_else_does();
  }
  void go_on_at_once() {
    while (requests.need_driving() && !ends_) {
      if (requests.drive_only(allowed_to_progress_thread())) last_ = std::chrono::steady_clock::now();
      // What is left may be for the rank alone.
      if (lingers_no_more())
        std::this_thread::sleep_for(grace);
      else
        rest();
    }
  }
  void rest() const {
    if (has_processor_)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(between_looks);
  }
  void go_on_where_nobody_else_does() {
    std::uint64_t seen = requests.drives();
    bool drives = false;
    while (requests.need_driving() && !ends_) {
      last_ = std::chrono::steady_clock::now();
      const bool may_come_soon = drives && requests.drive_only(allowed_to_progress_thread());
      std::this_thread::sleep_for(may_come_soon ? std::chrono::nanoseconds(between_looks) : grace);
      const std::uint64_t now = requests.drives();
      drives = now == seen;
      seen = now;
    }
  }

  const bool at_once_;
  const bool has_processor_;
  std::mutex mutex_;
  std::condition_variable condition_;
  std::atomic<bool> is_awake_{false};
  bool has_started_ = false;
  std::atomic<bool> ends_{false};
  pthread_t thread_{};
  std::chrono::steady_clock::time_point last_{};
};

/// Null where none is needed.
ProgressThread* the_thread = nullptr;

}  // namespace

void set_up_progress_thread(bool at_once, bool has_processor) {
  if (at_once || !host_can_be_hooked()) the_thread = new ProgressThread(at_once, has_processor);
}

void wake_progress_thread() {
  if (the_thread) the_thread->wake();
}

Request::Allowed allowed_to_progress_thread() {
  return {.operators = false, .messages = job()->threads_may_call};
}

bool progress_thread_is_at_work() {
  return the_thread && the_thread->takes_part_at_once();
}

void end_progress_thread() {
  if (!the_thread) return;
  the_thread->end();
  delete the_thread;
  the_thread = nullptr;
}

bool is_progress_thread() {
  return is_this_one;
}

}  // namespace tutti::mpi
