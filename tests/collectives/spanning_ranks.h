// Ranks of several nodes in one process: those of a node share memory as in thread_ranks.h, those of different ones have
// nothing but a network in memory. They are threads; or one thread goes on with each in turn, as pending calls, so that
// hundreds of ranks cost little.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "collectives/between_nodes/algorithms.h"
#include "collectives/thread_ranks.h"
#include "network/counted_channel.h"
#include "network/memory_channel.h"

namespace tutti::test {

class SpanningRanks {
 public:
  /// node_of_rank: of each rank its node. reach: how those of a node reach each other's buffers.
  explicit SpanningRanks(const std::vector<int>& node_of_rank, const Settings& settings = {},
                         Reach reach = Reach::direct)
      : nodes_(node_of_rank), network_(nodes_.ranks()) {
    for (int rank = 0; rank < nodes_.ranks(); ++rank) ranks_.push_back(std::make_unique<Rank>());
    for (int node = 0; node < nodes_.count(); ++node) set_up(node, settings, reach);
  }
  ~SpanningRanks() {
    for (auto& rank : ranks_) rank->node->attachments.clear();
  }

  const network::Nodes& nodes() const { return nodes_; }
  int count() const { return nodes_.ranks(); }
  const network::Traffic& traffic(int rank) const { return of(rank).counted->traffic(); }
  std::size_t unmatched() { return network_.unmatched(); }
  /// What is mapped of the memory that a rank may lend.
  std::size_t lent_bytes(int rank) const { return of(rank).node->arena->extent(); }

  /// Runs `body(rank, spanning)` on every rank, each a thread.
  void run(const std::function<void(int, const Spanning&)>& body) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < count(); ++rank) threads.emplace_back([&, rank] { body(rank, *of(rank).spanning); });
    for (auto& thread : threads) thread.join();
  }

  /// Calls an algorithm on every rank as a pending call, `arguments(rank)` of each. False if they cannot go on.
  template <class Arguments>
  bool call(const SpanningAlgorithm<Arguments>& algorithm, const std::function<Arguments(int)>& arguments) {
    std::vector<std::unique_ptr<PendingCall>> calls;
    for (int rank = 0; rank < count(); ++rank) {
      calls.push_back(prepare_between_nodes(*of(rank).spanning, algorithm, arguments(rank)));
      calls.back()->start();
    }
    // Each turn at least one rank goes on: there are fewer things to wait for than this.
    const int turns_max = 1000 + 200 * count();
    for (int turn = 0; turn < turns_max; ++turn) {
      bool over = true;
      for (auto& call : calls) over = call->progress() && over;
      if (over) return true;
    }
    return false;
  }

  /// Two ranks of a node make calls, `make(spanning, 0)` and `make(spanning, 1)`, and go on with them for a while.
  void on_two(int first, int second, const std::function<std::unique_ptr<PendingCall>(const Spanning&, int)>& make,
              const std::function<void(PendingCall&)>& go_on) {
    const std::unique_ptr<PendingCall> calls[2] = {make(*of(first).spanning, 0), make(*of(second).spanning, 1)};
    for (const auto& call : calls) call->start();
    for (int turn = 0; turn < 100; ++turn)
      for (const auto& call : calls) go_on(*call);
  }

 private:
  struct Rank {
    std::unique_ptr<Node> node;
    std::unique_ptr<Communicator> communicator;
    std::unique_ptr<network::MemoryChannel> channel;
    std::unique_ptr<network::CountedChannel> counted;
    std::optional<Spanning> spanning;
  };
  Rank& of(int rank) { return *ranks_[static_cast<std::size_t>(rank)]; }
  const Rank& of(int rank) const { return *ranks_[static_cast<std::size_t>(rank)]; }

  static const topology::Placement& placement(int places) {
    static std::map<int, topology::Placement> known;
    const auto found = known.find(places);
    if (found != known.end()) return found->second;
    World world;
    world.ranks = places;
    return known.emplace(places, placement_of(world)).first->second;
  }

  void set_up(int node, const Settings& settings, Reach reach) {
    const int places = nodes_.places(node);
    World world;
    world.reach = reach;
    std::vector<memory::Peer> peers;
    std::vector<memory::ExposureTable*> tables;
    CommunicatorLayout layout;
    for (int place = 0; place < places; ++place) {
      std::string error;
      auto made = std::make_unique<Node>();
      made->rank = place;
      made->size = places;
      made->settings = settings;
      made->arena = memory::Arena::create(arena_bytes, error);
      if (!made->arena) throw std::runtime_error(error);
      const int rank = nodes_.rank_at(node, place);
      set_reach(*made, reach, static_cast<std::size_t>(rank));
      made->placement = placement(places);
      made->waiter = std::make_unique<YieldingWaiter>();
      peers.push_back({getpid(), made->arena->base(),
                       reach == Reach::window ? window_base(static_cast<std::size_t>(rank)) : nullptr});
      if (reach == Reach::xpmem) tables.push_back(add_exposures(*made));
      layout.node_ranks.push_back(place);
      layout.offsets.push_back(*made->arena->allocate(shared_bytes(settings, places)));
      of(rank).node = std::move(made);
    }
    for (int place = 0; place < places; ++place) {
      const int number = nodes_.rank_at(node, place);
      Rank& rank = of(number);
      rank.node->peers = peers;
      attach_peers(world, *rank.node, tables);
      CommunicatorLayout mine = layout;
      mine.rank = place;
      rank.communicator = std::make_unique<Communicator>(*rank.node, mine);
      rank.channel = std::make_unique<network::MemoryChannel>(network_, number);
      rank.counted = std::make_unique<network::CountedChannel>(*rank.channel);
      rank.spanning.emplace(Spanning{*rank.communicator, nodes_, *rank.counted, number});
    }
  }

  const network::Nodes nodes_;
  network::MemoryNetwork network_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

/// Nodes with these numbers of ranks, and how the ranks are dealt out.
enum class Order { node_by_node, in_turn, shuffled };
inline std::vector<int> node_of_rank(const std::vector<int>& places, Order order) {
  std::vector<int> nodes;
  for (std::size_t node = 0; node < places.size(); ++node)
    for (int place = 0; place < places[node]; ++place) nodes.push_back(static_cast<int>(node));
  if (order == Order::in_turn) {
    nodes.clear();
    for (int place = 0; place < *std::max_element(places.begin(), places.end()); ++place)
      for (std::size_t node = 0; node < places.size(); ++node)
        if (place < places[node]) nodes.push_back(static_cast<int>(node));
  } else if (order == Order::shuffled) {
    std::mt19937 random(static_cast<unsigned>(nodes.size()));
    for (std::size_t i = nodes.size(); i > 1; --i) std::swap(nodes[i - 1], nodes[random() % i]);
  }
  return nodes;
}

}  // namespace tutti::test
