// Ranks of one process on one thread, a fibre each, of a core that was built with -DTUTTI_SIMULATED=ON
// (src/base/simulated.h). They make ordinary calls: whoever waits gives way to another fibre. Which one goes on says a
// subclass: a seed (tests/simulated/explorer.h), or who is first in time (timed.h).
#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/simulated.h"
#include "memory/copy_requests.h"
#include "simulation/thread_sanitizer.h"
#include "sync/waiter.h"

namespace tutti::simulated {

static_assert(on, "simulation is for the preset `simulated`");

/// SplitMix64: numbers that follow from a seed alone, with any compiler.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t operator()() {
    std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    return mixed ^ mixed >> 31;
  }
  std::uint64_t below(std::uint64_t end) { return (*this)() % end; }

 private:
  std::uint64_t state_;
};

/// Nobody can go on, or nobody gets on.
class Deadlock : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Simulator {
 public:
  explicit Simulator(int ranks);
  virtual ~Simulator();
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  int ranks() const { return static_cast<int>(ranks_.size()); }
  /// Which one runs.
  int current() const { return current_; }
  std::uint64_t switches() const { return switches_; }

  /// Runs `body(rank)` for all ranks until all are over. Throws Deadlock, or what the first body has thrown: then the
  /// other fibres stay where they are for good, with what lies on their stacks.
  void run(const std::function<void(int)>& body);

  // The seam; see base/simulated.h.
  std::uint64_t load(const void* word, std::size_t bytes, std::memory_order order);
  static std::uint64_t value_of(const void* word, std::size_t bytes);
  virtual void stores(const void* word, std::size_t bytes) = 0;
  virtual void stored(const void* word, std::size_t bytes, std::memory_order order) = 0;
  virtual void updated(const void* word, std::size_t bytes, bool /*is_changed*/, std::memory_order order) {
    stored(word, bytes, order);
  }
  virtual void made(const void* /*word*/, std::size_t /*bytes*/) {}
  virtual void thread_fence() {}
  virtual void copy(void* destination, const void* source, std::size_t bytes, Move how) = 0;
  virtual void fence() = 0;
  virtual void take(std::byte* begin, std::size_t bytes) = 0;
  virtual void reduces(const void* destination, const void* const* sources, std::size_t source_count,
                       std::size_t bytes) = 0;
  virtual void copy_by_kernel(bool /*reads*/, void* destination, const void* source, std::size_t bytes) {
    copy(destination, source, bytes, Move::cached);
  }
  virtual void expects(const void* /*line*/) {}
  virtual std::uint64_t ticks() = 0;
  /// The current rank parks until a word that it has looked at since the last pause is stored. True if it goes on because
  /// all ranks were parked: whatever else it may wait for is to be looked at.
  bool pause(const std::string& waits_for);
  /// Until meet() was called by all of them.
  void meet();
  /// The same of a rank that polls, if it has done and seen nothing since its last turn that it had not before.
  void take_turn();

 protected:
  enum class State { ready, parked, over };
  struct Look {
    const void* word;
    std::size_t bytes;
    std::uint64_t value;
  };
  struct Rank {
    boost::context::fiber fiber;
    sanitizer::Thread thread;
    State state = State::over;
    std::vector<Look> looks;       ///< since the last pause
    std::uint64_t seen = 0;        ///< a hash of them, at the last turn
    bool has_acted = false;        ///< since then it has stored something
    bool looks_at_clock = false;   ///< the same of the time
    bool goes_on_quietly = false;  ///< all were parked
    std::string waits_for;
  };

  virtual void loads(const void* word, std::size_t bytes) = 0;
  /// What the current rank finds, of which `newest` is the newest value.
  virtual std::uint64_t found(const void* word, std::uint64_t newest, std::memory_order order) {
    if (order != std::memory_order_relaxed) sanitizer::acquire(word);
    return newest;
  }
  /// One of those that are ready, to run next.
  virtual int next() = 0;
  virtual void became_ready(int rank) = 0;
  /// Who has asked for the time has nothing else to do.
  virtual void waits_for_time() = 0;
  /// Whether something has happened since the current rank's last pause that is no store of a word that it looked at.
  virtual bool has_missed() { return false; }
  /// The current rank waits from now on.
  virtual void parks() {}
  /// All have met.
  virtual void all_met() {}
  /// If all wait, whether somebody goes on when it is time. Here all look again, after some time; false if that has been
  /// in vain too often.
  virtual bool later();
  /// So long nobody has had anything to do.
  virtual void sleep(std::uint64_t /*nanoseconds*/) {}

  /// Lets another rank run; the current one stays ready.
  void give_way();
  /// Who is parked because of the word is ready.
  void changed(const void* word);
  /// Who is parked goes on.
  void unpark(int rank);
  /// To whoever runs next.
  void leave();
  /// Ends the run.
  void give_up(const std::string& why);
  Rank& running() { return ranks_[static_cast<std::size_t>(current_)]; }

  std::vector<Rank> ranks_;

 private:
  void looks_at(const void* word, std::size_t bytes, std::uint64_t value);
  void switch_to(int rank);
  void make_ready(int rank);
  std::string who_waits() const;

  boost::context::fiber main_;
  sanitizer::Thread main_thread_;
  std::unordered_map<const void*, std::vector<int>> parked_;
  std::exception_ptr failure_;
  int current_ = -1;
  int over_ = 0, ready_ = 0;
  int quiet_rounds_ = 0;
  std::vector<int> met_;
  std::uint64_t meetings_ = 0;
  std::uint64_t changes_ = 0, quiet_changes_ = 0, switches_ = 0;
};

/// For Node::waiter.
class FiberWaiter : public sync::Waiter {
 public:
  /// requests: what others ask of this rank; may be null.
  explicit FiberWaiter(memory::CopyRequests* requests = nullptr) : requests_(requests) { tight = spin = 0; }
  /// What goes on while this rank waits, as pending calls do where the host has its turn; may be empty.
  std::function<void()> meanwhile;
  void idle(sync::WaitState& state) override;
  void wake(const int*, int) override {}

 private:
  memory::CopyRequests* requests_;
};

}  // namespace tutti::simulated
