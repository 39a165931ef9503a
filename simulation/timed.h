// Time: of the ranks that can go on, always the one with the smallest clock does, so that what is done to flags and
// buffers is done in the order of time. What something costs alone is the model's parameter (selection/model.h); what
// else it takes stands in parameters.h. What several want at once queues, first come, first served.
//
//   a line    64 bytes: whose cores have it, who has stored it last, in whose memory it lies, and whether a store of it is
//             under way. A page whose lines are all alike is one of them.
//   a store   does not make its core wait until too much is under way; it is seen in the order of stores.
//   a load    of a line that others have stored takes a part of a hop, by distance. Loads in a row overlap, unless one had
//             to be waited for.
//   a copy    a price for each byte, by the nearest place that has it: own cache, a cache that both share, another core's,
//             another cache, memory.
//   a server  a rank's memory, a core (of its hardware threads), a cache, a NUMA node, a link between sockets, a machine, a way past the caches: so many bytes
//             a second.
#pragma once

#include <array>
#include <bitset>
#include <functional>
#include <limits>
#include <memory>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "selection/model.h"
#include "simulation/parameters.h"
#include "simulation/simulator.h"
#include "topology/distance.h"

namespace tutti::simulated {

/// What a rank has done, for pictures.
struct Span {
  enum class Kind { call, wait, copy, reduce, kernel, store, message };
  int rank;
  Kind kind;
  double begin, end;  ///< seconds
  std::size_t bytes = 0;
  int peer = -1;  ///< whose memory it is, or by whom the wait was ended
};

class Timed final : public Simulator {
 public:
  /// placement: of the ranks of one node, as many on each of `nodes`.
  Timed(const selection::Model& model, const Parameters& parameters, const topology::Placement& placement,
        int nodes = 1);
  ~Timed() override;

  static constexpr int places_max = 256;

  double seconds() const { return clock_[static_cast<std::size_t>(current())]; }
  double clock(int rank) const { return clock_[static_cast<std::size_t>(rank)]; }
  std::uint64_t events() const { return events_; }
  const Parameters& parameters() const { return with_; }
  /// The rank computes.
  void spend(double seconds) { clock_[static_cast<std::size_t>(current())] += seconds; }
  /// The current rank's memory: it lies on its NUMA node. Forgets what was there.
  void owns(const void* at, std::size_t bytes);
  /// Its program writes, or uses, all of it.
  void fills(const void* at, std::size_t bytes);
  void uses(const void* at, std::size_t bytes);
  /// The network has stored it, past the caches.
  void received(const void* at, std::size_t bytes);
  /// If the rank is parked then, or pauses later, it looks again.
  void wake_at(int rank, double seconds) { timers_.push({seconds, rank}); }
  /// It happens then, before ranks do anything later; what is for the same time in the order of these calls.
  void at(double seconds, std::function<void()> happens);
  /// Others with smaller clocks run first.
  void in_order();
  /// From now on all that ranks do is noted.
  void note(std::vector<Span>* spans) { noting_ += 1, spans_ = spans; }
  /// As often as note(): then nothing is any more.
  void note_no_more() {
    if (--noting_ == 0) spans_ = nullptr;
  }
  int caches() const { return caches_; }
  void noted(Span::Kind kind, double begin, std::size_t bytes = 0, int peer = -1) {
    if (spans_) spans_->push_back({current(), kind, begin, seconds(), bytes, peer});
  }
  int node_of(int rank) const { return rank / places_; }

  void loads(const void* word, std::size_t bytes) override;
  void stores(const void* word, std::size_t bytes) override;
  void stored(const void* word, std::size_t bytes, std::memory_order order) override;
  void copy(void* destination, const void* source, std::size_t bytes, Move how) override;
  void copy_by_kernel(bool reads, void* destination, const void* source, std::size_t bytes) override;
  void fence() override;
  void take(std::byte* begin, std::size_t bytes) override;
  void expects(const void* line) override;
  void reduces(const void* destination, const void* const* sources, std::size_t source_count,
               std::size_t bytes) override;
  std::uint64_t ticks() override { return 1'000'000'000 + static_cast<std::uint64_t>(seconds() * 1e9); }

 private:
  using Cores = std::bitset<places_max>;
  struct Line {
    Cores holders;               ///< places whose private caches have it, or the cache that they share with others
    std::int16_t writer = -1;    ///< place that has stored it last; -1: nobody
    std::int16_t home = -1;      ///< place on whose NUMA node it lies
    std::uint64_t at_core = 0;   ///< what the writer's core had touched by then
    std::uint64_t at_cache = 0;  ///< the same of all that share its cache
    double there_at = 0;         ///< until then the store of it is under way
    double free_at = 0;          ///< until then somebody else is served
    double come_at = 0;          ///< of a copy: until then its reader is fetching it
  };
  struct Page {
    Line all;
    std::unique_ptr<std::array<Line, 64>> lines;  ///< if they differ
  };
  struct Chunk;
  /// Where bytes are, seen from a core.
  enum class Place { own, shared_cache, core, memory };
  struct Found {
    Place place;
    topology::Distance distance;  ///< of the core that has it, or of the memory
    int rank;                     ///< whose core or memory that is
  };
  struct Server {
    double free_at = 0;
  };
  struct Where {
    int cache, numa, socket, core;
  };
  struct Cost {
    double seconds = 0;  ///< of the core alone
    double latency = 0;
    double served = 0;  ///< until the last server has done it
    int peer = -1;
  };
  enum class Use { copy, kernel, reduce, program };

  int next() override;
  void became_ready(int rank) override;
  void waits_for_time() override {}
  bool has_missed() override;
  void parks() override;
  void all_met() override;
  /// Only by a timer: time that passes for no reason would be a result like any other.
  bool later() override;
  void fire(double until);

  int me() const { return current() % places_; }
  int base() const { return current() / places_ * places_; }
  double& now() { return clock_[static_cast<std::size_t>(current())]; }
  topology::Distance distance(int a, int b) const { return distances_[static_cast<std::size_t>(a * places_ + b)]; }
  bool share_cache(int a, int b) const { return cache_index(a) == cache_index(b); }
  /// Of this node's place, among those of all nodes.
  std::size_t cache_index(int place) const {
    return static_cast<std::size_t>(node_of(std::max(0, current())) * caches_ +
                                    where_[static_cast<std::size_t>(place)].cache);
  }
  double hop(topology::Distance apart) const;
  double byte_factor(topology::Distance apart) const;
  double store_factor(topology::Distance apart) const;
  double memory_factor(topology::Distance apart) const;

  Page& page(std::uintptr_t number);
  Line& line(std::uintptr_t address);
  /// Calls with(Line&, bytes) for what lines, or pages of like lines, the range has.
  template <class With>
  void each(const void* at, std::size_t bytes, With with);
  static bool is_alike(const std::array<Line, 64>& lines);

  bool is_in_private(const Line& line) const;
  bool is_in_cache(const Line& line) const;
  Found find(const Line& line) const;
  double price_of_reading(const Found& found) const;
  /// What others have it, the farthest of them; false if nobody else.
  bool others(const Line& line, topology::Distance& farthest) const;
  /// Whether others have the line so near their cores that it costs more to store to it.
  bool is_contested(const Line& line, topology::Distance& farthest) const;
  /// Of a byte: of what nobody else has; and as it is.
  double price_of_storing(const Line& line) const;
  double price_of_writing(const Line& line) const;
  /// So much comes into the current core's caches, and something else goes.
  void comes(std::size_t bytes);
  void is_used(Line& line);
  void is_mine(Line& line, double there_at);
  void serve(const Found& found, double bytes, double begin, Cost& cost);
  static void through(Server& server, double seconds, double begin, Cost& cost);
  void read(const void* at, std::size_t bytes, double begin, Use use, Cost& cost);
  void write(const void* at, std::size_t bytes, double begin, Move how, Use use, Cost& cost);
  /// Before a word of it is loaded, and stored.
  void fetch(Line& line, std::uintptr_t number);
  void take_line(Line& line);
  /// A piece of a copy or combination is over: what it takes in all. least: of what is in the own cache.
  void finish(double begin, const Cost& reading, const Cost& writing, double least);

  const selection::Model model_;
  const Parameters with_;
  const int places_;
  std::vector<double> clock_;
  std::vector<Where> where_;
  std::vector<topology::Distance> distances_;
  std::vector<std::array<Cores, topology::distance_count>> near_;  ///< of each place those so near, or nearer
  int caches_ = 1, numas_ = 1, sockets_ = 1;
  using Entry = std::pair<double, int>;
  /// Who is ready; who wakes, or what happens: that has numbers below those of ranks.
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_, timers_;
  int happening_ = std::numeric_limits<int>::min();
  std::unordered_map<int, std::function<void()>> happenings_;
  bool is_firing_ = false;
  std::unordered_map<std::uintptr_t, std::unique_ptr<Chunk>> chunks_;
  std::uintptr_t last_chunk_ = 0;
  Chunk* last_ = nullptr;
  struct In {
    int cache;
    double ready_at, free_at;
  };
  std::unordered_map<std::uintptr_t, std::vector<In>> copies_;  ///< of lines, in which caches, where there are several
  struct Core {
    double asked_at = -1;    ///< when it asked for the last line; -1: it has waited since
    double asked_until = 0;  ///< what it asks for until then comes while others do
    double stored_at = 0;    ///< until then its stores are under way
    double parked_at = -1;
    bool has_missed = false;  ///< a timer was over while it was not parked
    std::uint64_t touched = 0;
    std::vector<double> locks;  ///< of its pages, until when others have them
  };
  std::vector<Core> cores_;
  std::vector<std::uint64_t> cache_touched_;
  std::vector<Server> rank_port_, core_port_, cache_port_, node_port_, link_, total_, cache_stream_, stream_;
  double waits_for_stores_ = 0;  ///< so much of a copy's stores may be under way when it is over
  std::uint64_t events_ = 0;
  std::vector<Span>* spans_ = nullptr;
  int noting_ = 0;
};

}  // namespace tutti::simulated
