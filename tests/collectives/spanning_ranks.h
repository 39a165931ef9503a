// Ranks of several nodes in one process: those of a node share memory as in thread_ranks.h, those of different ones have
// nothing but a network in memory. They are threads; or one thread goes on with each in turn, as pending calls, so that
// hundreds of ranks cost little.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "collectives/between_nodes_calls.h"
#include "collectives/thread_ranks.h"
#include "network/counted_channel.h"
#include "network/memory_channel.h"

namespace tutti::test {

/// A communicator of ranks of several nodes.
class SpanningCommunicator {
 public:
  /// processes: of each rank what it has of its node. Outlive this.
  SpanningCommunicator(const network::Nodes& nodes, const std::vector<std::unique_ptr<Node>>& processes)
      : network_(nodes.ranks()), members_(static_cast<std::size_t>(nodes.ranks())) {
    for (int node = 0; node < nodes.count(); ++node) {
      CommunicatorLayout layout;
      for (const int rank : nodes.ranks_of(node)) {
        const auto& process = processes[static_cast<std::size_t>(rank)];
        layout.node_ranks.push_back(process->rank);
        layout.offsets.push_back(*process->arena->allocate(shared_bytes(process->settings, nodes.places(node))));
      }
      for (const int rank : nodes.ranks_of(node)) {
        Member& member = of(rank);
        layout.rank = nodes.place_of(rank);
        member.communicator = std::make_unique<Communicator>(*processes[static_cast<std::size_t>(rank)], layout);
        member.channel = std::make_unique<network::MemoryChannel>(network_, rank);
        member.counted = std::make_unique<network::CountedChannel>(*member.channel);
        member.spanning.emplace(Spanning{*member.communicator, nodes, *member.counted, rank});
      }
    }
  }

  int count() const { return static_cast<int>(members_.size()); }
  const Spanning& spanning(int rank) const { return *members_[static_cast<std::size_t>(rank)].spanning; }
  const network::Traffic& traffic(int rank) const {
    return members_[static_cast<std::size_t>(rank)].counted->traffic();
  }
  std::size_t unmatched() { return network_.unmatched(); }

  /// Runs `body(rank, spanning)` on every rank.
  void run(const std::function<void(int, const Spanning&)>& body) {
    side_by_side(count(), [&](int rank) { body(rank, spanning(rank)); });
  }

 private:
  struct Member {
    std::unique_ptr<Communicator> communicator;
    std::unique_ptr<network::MemoryChannel> channel;
    std::unique_ptr<network::CountedChannel> counted;
    std::optional<Spanning> spanning;
  };
  Member& of(int rank) { return members_[static_cast<std::size_t>(rank)]; }

  network::MemoryNetwork network_;
  std::vector<Member> members_;
};

class SpanningRanks {
 public:
  /// node_of_rank: of each rank its node. reach: how those of a node reach each other's buffers.
  explicit SpanningRanks(const std::vector<int>& node_of_rank, const Settings& settings = {},
                         Reach reach = Reach::direct)
      : nodes_(node_of_rank), copied_(static_cast<std::size_t>(nodes_.ranks())) {
    processes_.resize(copied_.size());
    for (int node = 0; node < nodes_.count(); ++node) set_up(node, settings, reach);
    communicator_.emplace(nodes_, processes_);
  }
  ~SpanningRanks() {
    for (auto& process : processes_) process->attachments.clear();
  }

  const network::Nodes& nodes() const { return nodes_; }
  int count() const { return nodes_.ranks(); }
  const network::Traffic& traffic(int rank) const { return communicator_->traffic(rank); }
  /// What a rank has copied between its own memory and that of the others of its node; lent memory is not counted.
  const memory::Traffic& copied(int rank) const { return copied_[static_cast<std::size_t>(rank)]; }
  std::size_t unmatched() { return communicator_->unmatched(); }
  const Spanning& spanning(int rank) const { return communicator_->spanning(rank); }
  /// One more of all of them, which these outlive.
  std::unique_ptr<SpanningCommunicator> another() const {
    return std::make_unique<SpanningCommunicator>(nodes_, processes_);
  }
  /// What is mapped of the memory that a rank may lend.
  std::size_t lent_bytes(int rank) const { return processes_[static_cast<std::size_t>(rank)]->arena->extent(); }

  void run(const std::function<void(int, const Spanning&)>& body) { communicator_->run(body); }

  /// Calls an algorithm on every rank as a pending call, `arguments(rank)` of each, which is started so many times. False if
  /// they cannot go on.
  template <class Arguments>
  bool call(const selection::Algorithm<Arguments>& algorithm, const std::function<Arguments(int)>& arguments,
            int starts = 1) {
    std::vector<std::unique_ptr<PendingCall>> calls;
    for (int rank = 0; rank < count(); ++rank)
      calls.push_back(prepare_between_nodes(spanning(rank), algorithm, arguments(rank)));
    for (int i = 0; i < starts; ++i) {
      for (auto& call : calls) call->start();
      if (!go_on(calls)) return false;
    }
    return true;
  }

  /// Two ranks of a node make calls, `make(spanning, 0)` and `make(spanning, 1)`, and go on with them for a while.
  void on_two(int first, int second, const std::function<std::unique_ptr<PendingCall>(const Spanning&, int)>& make,
              const std::function<void(PendingCall&)>& go_on) {
    const std::unique_ptr<PendingCall> calls[2] = {make(spanning(first), 0), make(spanning(second), 1)};
    for (const auto& call : calls) call->start();
    for (int turn = 0; turn < 100; ++turn)
      for (const auto& call : calls) go_on(*call);
  }

 private:
  bool go_on(const std::vector<std::unique_ptr<PendingCall>>& calls) const {
    // Each turn at least one rank goes on: there are fewer things to wait for than this.
    const int turns_max = 1000 + 200 * count();
    for (int turn = 0; turn < turns_max; ++turn) {
      bool over = true;
      for (const auto& process : processes_)
        if (process->requests) process->requests->serve();
      for (const auto& call : calls) over = call->progress() && over;
      if (over) return true;
    }
    return false;
  }

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
    std::vector<std::byte*> areas;
    for (int place = 0; place < places; ++place) {
      std::string error;
      auto made = std::make_unique<Node>();
      made->poisons_flags = true;
      made->rank = place;
      made->size = places;
      made->settings = settings;
      made->log.set_quiet(simulated::on);  // many lives would say the same
      made->arena = memory::Arena::create(arena_bytes, error);
      if (!made->arena) throw std::runtime_error(error);
      const int rank = nodes_.rank_at(node, place);
      set_reach(*made, reach, static_cast<std::size_t>(rank));
      made->placement = placement(places);
      made->waiter = std::make_unique<RankWaiter>();
      peers.push_back({getpid(), made->arena->base(),
                       reach == Reach::window ? window_base(static_cast<std::size_t>(rank)) : nullptr});
      if (reach == Reach::xpmem) tables.push_back(add_exposures(*made));
      areas.push_back(made->arena->base() + *made->arena->allocate(memory::CopyRequests::area_bytes(places)));
      of(rank) = std::move(made);
    }
    for (int place = 0; place < places; ++place) {
      const int rank = nodes_.rank_at(node, place);
      Node& process = *of(rank);
      process.peers = peers;
      for (memory::Peer& peer : process.peers) peer.traffic = &copied_[static_cast<std::size_t>(rank)];
      attach_peers(world, process, tables);
      set_up_requests(world, process, areas);
    }
  }
  std::unique_ptr<Node>& of(int rank) { return processes_[static_cast<std::size_t>(rank)]; }

  const network::Nodes nodes_;
  std::vector<memory::Traffic> copied_;
  std::vector<std::unique_ptr<Node>> processes_;
  std::optional<SpanningCommunicator> communicator_;
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
