#include "mpi/requests/progress_thread.h"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "mpi/requests/host_hook.h"
#include "mpi/requests/requests.h"

namespace tutti::mpi {

namespace {

using namespace std::chrono_literals;

/// So long nobody else has driven before this thread does.
constexpr auto grace = 1ms;
/// Between its turns, once it drives. A rank that waits in a host may have the processor for itself alone: it is not yielded.
constexpr auto pause = 20us;
/// So long with nothing under way it looks by itself for more to come, before it has to be woken.
constexpr auto linger = 100ms;

constinit thread_local bool is_this_one = false;

class ProgressThread {
 public:
  explicit ProgressThread(bool at_once) : at_once_(at_once) {}

  void wake() {
    if (is_awake_.load(std::memory_order_seq_cst)) [[likely]]
      return;
    const std::lock_guard lock(mutex_);
    if (!has_started_) start();
    is_awake_.store(true, std::memory_order_seq_cst);
    condition_.notify_one();
  }
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
    // Signals are the program's: none is taken by this thread.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    has_started_ = pthread_create(&thread_, nullptr, &run, this) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
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
    std::unique_lock lock(mutex_);
    const auto wanted = [&] { return ends_ || requests.under_way(); };
    if (!condition_.wait_for(lock, grace, wanted)) {
      if (std::chrono::steady_clock::now() - last_ < linger) return true;
      is_awake_.store(false, std::memory_order_seq_cst);
      // Who starts a call counts it before it looks whether this thread is awake.
      if (requests.under_way()) is_awake_.store(true, std::memory_order_seq_cst);
      condition_.wait(lock, [&] { return ends_ || is_awake_.load(std::memory_order_relaxed); });
    }
    return !ends_;
  }

  /// As long as something is under way.
  void take_part() {
    std::uint64_t seen = requests.drives();
    bool drives = at_once_;
    while (requests.under_way() && !is_to_end()) {
      last_ = std::chrono::steady_clock::now();
      if (!drives || !requests.drive_only(false))
        std::this_thread::sleep_for(grace);
      else if (at_once_)
        std::this_thread::yield();
      else
        std::this_thread::sleep_for(pause);
      if (at_once_) continue;
      const std::uint64_t now = requests.drives();
      drives = now == seen;
      seen = now;
    }
  }
  bool is_to_end() {
    const std::lock_guard lock(mutex_);
    return ends_;
  }

  const bool at_once_;
  std::mutex mutex_;
  std::condition_variable condition_;
  std::atomic<bool> is_awake_{false};
  bool has_started_ = false;
  bool ends_ = false;
  pthread_t thread_{};
  std::chrono::steady_clock::time_point last_{};
};

/// Null where none is needed.
ProgressThread* the_thread = nullptr;

}  // namespace

void set_up_progress_thread(bool at_once) {
  if (at_once || !host_can_be_hooked()) the_thread = new ProgressThread(at_once);
}

void wake_progress_thread() {
  if (the_thread) the_thread->wake();
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
