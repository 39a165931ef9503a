// Processes that stand for ranks where no MPI is needed: forked, each bound to a processor, with memory that all share.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tutti::bench {

/// Memory that every process of a team sees at the same address: a memfd, nothing of which is left when they are gone.
class SharedMemory {
 public:
  /// Throws std::runtime_error if the system gives none. Pages are touched by whoever uses them first.
  explicit SharedMemory(std::size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  std::byte* base() const { return base_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* base_;
  std::size_t bytes_;
};

constexpr int team_max = 1024;
constexpr std::size_t samples_max = 4096;

/// What the members of a team share, at the head of a SharedMemory of its own.
struct TeamState {
  struct alignas(128) Line {
    std::atomic<std::uint64_t> value{0};
  };
  Line arrived[team_max];
  Line started[team_max];
  Line word[team_max];                          ///< for the measurement; zero at first
  std::atomic<std::int64_t> segment[team_max];  ///< for the measurement, too
  std::atomic<int> failed{0};
  char reason[256];
  alignas(128) std::atomic<std::uint64_t> more{0};
  pid_t process[team_max];
  std::size_t sample_count[team_max];
  double samples[team_max][samples_max];
};

/// One process of the team.
class Member {
 public:
  Member(TeamState& state, int index, int size, bool crowded)
      : state_(state), index_(index), size_(size), crowded_(crowded) {}
  int index() const { return index_; }
  int size() const { return size_; }
  bool crowded() const { return crowded_; }
  TeamState& state() { return state_; }
  pid_t process_of(int index) const { return state_.process[index]; }

  /// Nobody goes on before all have come. On a crowded processor this sleeps.
  void meet();
  /// The same among members first .. size() - 1, which have processors of their own: they leave within a flag hop.
  void start_line(int first);
  /// Member 0 says whether to go on; all get its answer. All must call it.
  bool agree(bool more);
  /// Keeps a sample, in seconds. What does not fit any more is dropped.
  void keep(double seconds);

 private:
  TeamState& state_;
  int index_, size_;
  bool crowded_;
  std::uint64_t turn_ = 0;
  std::uint64_t starts_ = 0;
};

/// What the members kept: samples of each, in order.
using TeamSamples = std::vector<std::vector<double>>;

/// The largest sample of each round: members that kept fewer are left out.
std::vector<double> slowest(const TeamSamples& samples);

/// Runs `body` in one process for each of `processors`, member i bound to processors[i]; the same processor may occur
/// several times. Throws std::runtime_error with the reason if a member fails, or if they take longer than
/// `limit_seconds`; no process is left then either.
TeamSamples run_team(const std::vector<int>& processors, double limit_seconds,
                     const std::function<void(Member&)>& body);

}  // namespace tutti::bench
