// What TUTTI_PROFILE has recorded in this process, and the file that it becomes (tutti/profile/recorded.py reads it).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "mpi/arguments/recent.h"
#include "mpi/report/call_site.h"
#include "mpi/report/profile.h"

namespace tutti::mpi::profile {

/// Of communicators: a call on none has this number.
constexpr std::size_t communicators_max = 1024;
constexpr std::size_t stretches = 1024;
constexpr std::size_t categories = 4;
constexpr std::int16_t no_class = -1, varying_class = -2;

/// Calls of one kind.
struct Row {
  struct Key {
    std::uint32_t site = 0;
    std::uint32_t communicator = 0;
    const char* function = nullptr;  ///< "MPI_Bcast": the words of a key are constants
    const char* algorithm = nullptr;
    const char* parameter_name = nullptr;
    const char* reason = nullptr;
    const char* kept = nullptr;
    const char* way = nullptr;
    std::int32_t parameter = 0;
    std::int16_t size_class = no_class;
    bool is_for_comparison = false;
    bool operator==(const Key&) const = default;
  };
  Key key;
  Category category = Category::other;
  std::uint64_t calls = 0, bytes = 0, ticks = 0, waited = 0, least = ~std::uint64_t{0}, most = 0, most_at = 0;
  std::size_t samples = 0;
  int level = 0;  ///< of these calls one of 2^level is kept
};

/// A communicator on which something was called.
struct Communicator {
  std::uint64_t identity = 0;  ///< equal on its ranks; 0: unknown
  std::string name;
  int rank = 0, ranks = 0, nodes = 1, levels = 1;
  double ranks_per_core = 1;
  bool intercommunicator = false;
  std::vector<int> in_world;                                 ///< by rank
  std::uint64_t collectives = 0;                             ///< called on it so far: the same on all ranks
  std::vector<std::pair<const char*, std::uint64_t>> calls;  ///< by function, of blocking collectives
};

/// A call of which the times are kept.
struct Sample {
  std::uint64_t begin, end;
  std::uint64_t sequence;  ///< in its communicator
  std::uint32_t row;
  std::int32_t root;
};

/// A call on the timeline.
struct Event {
  std::uint64_t begin, end;
  std::uint32_t row;
  std::uint32_t thread;
};

/// How all calls fill the run: ticks in each category, a stretch after the other. They become twice as long when the run does.
class Filling {
 public:
  void begin(std::uint64_t origin, std::uint64_t width) {
    origin_ = origin;
    width_ = width;
  }
  void add(std::uint64_t begin, std::uint64_t end, Category category);
  std::uint64_t width() const { return width_; }
  const auto& ticks() const { return ticks_; }

 private:
  void fold();

  std::uint64_t origin_ = 0, width_ = 1;
  std::array<std::array<float, categories>, stretches> ticks_{};
};

struct Sent {
  std::uint64_t messages = 0, bytes = 0;
};

class Recorder {
 public:
  explicit Recorder(const Job& job);

  void record(const Call& call, std::uint64_t end);
  bool is_turn_of_host(const Call& call, bool same_result);
  void forget(const CommunicatorState& state) {
    by_state_.erase(&state);
    last_state_ = nullptr;
  }
  void forget(MPI_Comm communicator) { by_handle_.erase(key_of(communicator)); }
  void finish(const Heading& heading);

  std::mutex mutex;

 private:
  /// When the clock of rank 0 says `zero`, that of this rank says `own`.
  struct Meeting {
    std::uint64_t own = 0, zero = 0;
  };

  std::uint32_t communicator_of(const Call& call);
  std::uint32_t new_communicator(MPI_Comm communicator, const CommunicatorState* state);
  std::uint32_t row_of(const Row::Key& key, Category category);
  void keep_sample(std::uint32_t row, const Sample& sample);
  void keep_event(const Event& event);
  std::uint32_t this_thread();
  // recorder_file.cpp
  Meeting meet() const;
  std::string told(const Meeting& end) const;
  void send_to_rank_0(const char* bytes, int count) const;

  MPI_Comm own_ = MPI_COMM_NULL;  ///< of all ranks, for nothing else
  int rank_ = 0, ranks_ = 1;
  bool all_record_ = false;
  bool has_clock_of_rank_0_ = false;
  int node_ = 0;  ///< the lowest rank of it
  std::uint64_t first_tick_ = 0;
  Meeting begin_;
  std::chrono::steady_clock::time_point first_time_;
  std::string file_;

  CallSites sites_;
  std::vector<Communicator> communicators_;
  std::unordered_map<const CommunicatorState*, std::uint32_t> by_state_;
  std::map<std::uintptr_t, std::uint32_t> by_handle_;  ///< without a state
  const CommunicatorState* last_state_ = nullptr;
  std::uint32_t last_communicator_ = 0;
  std::vector<Row> rows_;
  std::vector<std::uint32_t> places_;  ///< by hash: 1 + number of the row
  std::vector<Sample> samples_;
  std::vector<Event> events_;
  std::size_t events_max_ = 0;
  std::uint64_t least_event_ = 0;  ///< shorter ones are not kept
  std::uint64_t left_out_ = 0;     ///< of these
  Filling filling_;
  std::map<int, Sent> sent_;  ///< by rank of MPI_COMM_WORLD
  std::vector<const void*> threads_;
};

}  // namespace tutti::mpi::profile
