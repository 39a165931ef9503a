#include "traffic.h"

#include <unistd.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>

#include "collectives/collectives.h"

namespace tutti {

namespace {

constexpr std::size_t arena_bytes = std::size_t{64} << 20;

/// Which pairs of ranks exchange something, and how many bytes: by who copies, and with whom.
using Counts = std::vector<std::vector<memory::Traffic>>;

/// The ranks of a node as threads of this process.
class Ranks {
 public:
  Ranks(const topology::Placement& placement, const Settings& settings) : count_(placement.ranks.size()) {
    std::string error;
    std::vector<memory::Peer> peers(count_);
    CommunicatorLayout layout;
    for (std::size_t i = 0; i < count_; ++i) {
      auto node = std::make_unique<Node>();
      node->rank = static_cast<int>(i);
      node->size = static_cast<int>(count_);
      node->settings = settings;
      node->arena = memory::Arena::create(arena_bytes, error);
      if (!node->arena) throw std::runtime_error(error);
      node->ranks_are_threads = node->window_shared = true;
      node->placement = placement;
      node->oversubscribed = placement.oversubscribed();
      sync::WaitOptions options;
      options.mode = sync::WaitOptions::Mode::yield;
      node->waiter = sync::make_waiter(options);
      peers[i] = {getpid(), node->arena->base()};
      layout.node_ranks.push_back(static_cast<int>(i));
      layout.offsets.push_back(*node->arena->allocate(shared_bytes(settings, node->size)));
      nodes_.push_back(std::move(node));
    }
    for (std::size_t i = 0; i < count_; ++i) {
      counts_.emplace_back(count_);
      nodes_[i]->peers = peers;
      for (std::size_t j = 0; j < count_; ++j) nodes_[i]->peers[j].traffic = &counts_[i][j];
      CommunicatorLayout mine = layout;
      mine.rank = static_cast<int>(i);
      communicators_.push_back(std::make_unique<Communicator>(*nodes_[i], mine));
    }
  }

  /// Runs `body` on every rank, and returns what they have copied. The choices are by these words of TUTTI_ALGORITHM.
  const Counts& run(const std::string& algorithm, const std::function<void(std::size_t, Collectives&)>& body) {
    for (auto& row : counts_) std::fill(row.begin(), row.end(), memory::Traffic{});
    const auto known = known_algorithms();
    const selection::Knowledge knowledge{selection::UserChoice::parse(algorithm, known, Log()), {}};
    std::vector<std::unique_ptr<Collectives>> collectives;
    for (const auto& each : communicators_) collectives.push_back(std::make_unique<Collectives>(*each, knowledge));
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < count_; ++i) threads.emplace_back([&, i] { body(i, *collectives[i]); });
    for (auto& thread : threads) thread.join();
    return counts_;
  }

  std::size_t count() const { return count_; }

 private:
  std::size_t count_;
  std::vector<std::unique_ptr<Node>> nodes_;
  Counts counts_;
  std::vector<std::unique_ptr<Communicator>> communicators_;
};

/// One rank's call.
struct CallOfRank {
  Collectives& collectives;
  const TrafficAsked& asked;
  std::size_t rank, ranks;

  bool is_root() const { return static_cast<int>(rank) == asked.root; }

  void operator()() const {
    const std::size_t n = asked.bytes, all = n * ranks;
    const std::string_view name = asked.collective;
    const bool rooted = name.starts_with("scatter") || name.starts_with("gather");
    const bool sends_blocks = name == "alltoall" || (is_root() && name.starts_with("scatter"));
    const bool receives_blocks = name == "alltoall" || name == "allgather" || (is_root() && rooted);
    std::vector<std::byte> send(sends_blocks ? all : n), receive(receives_blocks ? all : n);
    std::vector<std::size_t> sizes(ranks, n);
    std::vector<std::ptrdiff_t> offsets;
    for (std::size_t i = 0; i < ranks; ++i) offsets.push_back(static_cast<std::ptrdiff_t>(i * n));
    Combiner combiner;
    combiner.commutative = asked.commutative;
    combiner.kernel = reduction::kernel(reduction::Operator::sum, reduction::Type::u8);
    if (name == "bcast") {
      collectives.bcast({send.data(), n, asked.root});
    } else if (name == "reduce") {
      collectives.reduce({send.data(), is_root() ? receive.data() : nullptr, n, &combiner, asked.root});
    } else if (name == "allreduce") {
      collectives.allreduce({send.data(), receive.data(), n, &combiner});
    } else if (name == "scatter") {
      collectives.scatter({Blocks::regular(send.data(), n), receive.data(), n, asked.root});
    } else if (name == "scatterv") {
      const Blocks blocks = Blocks::irregular(send.data(), sizes.data(), offsets.data());
      collectives.scatter({blocks, receive.data(), n, asked.root, false});
    } else if (name == "gather") {
      collectives.gather({send.data(), n, Blocks::regular(receive.data(), n), asked.root});
    } else if (name == "gatherv") {
      const Blocks blocks = Blocks::irregular(receive.data(), sizes.data(), offsets.data());
      collectives.gather({send.data(), n, blocks, asked.root, false});
    } else if (name == "allgather") {
      collectives.allgather({send.data(), n, Blocks::regular(receive.data(), n)});
    } else if (name == "alltoall") {
      collectives.alltoall({Blocks::regular(send.data(), n), Blocks::regular(receive.data(), n)});
    } else if (name == "reduce_scatter") {
      for (std::size_t i = 0; i < ranks; ++i) sizes[i] = n * (i + 1) / ranks - n * i / ranks;
      collectives.reduce_scatter({send.data(), receive.data(), sizes.data(), n, &combiner});
    } else {
      collectives.scan({send.data(), receive.data(), n, &combiner, name == "exscan"});
    }
  }
};

bool has_counted(const Counts& counts) {
  for (std::size_t i = 0; i < counts.size(); ++i)
    for (std::size_t j = 0; j < counts.size(); ++j)
      if (i != j && counts[i][j].bytes_from + counts[i][j].bytes_to > 0) return true;
  return false;
}

/// What goes from one rank to another one where everybody leaves what is small in its slot (`eager`, packed blocks), which
/// is not counted since it has no time for that: every block once, as far as the other one needs it.
std::uint64_t slot_bytes(const TrafficAsked& asked, int from, int to, int ranks) {
  const std::string_view name = asked.collective;
  if (name == "bcast" || name.starts_with("scatter")) return from == asked.root ? asked.bytes : 0;
  if (name == "reduce" || name.starts_with("gather")) return to == asked.root ? asked.bytes : 0;
  if (name == "scan" || name == "exscan") return from < to ? asked.bytes : 0;
  return name == "reduce_scatter" ? asked.bytes / static_cast<std::size_t>(ranks) : asked.bytes;
}

void add(const topology::Placement& placement, std::size_t from, std::size_t to, std::uint64_t bytes,
         Traffic& traffic) {
  const auto differ = [&](topology::LevelKind kind) {
    return placement.ranks[from].domain[index_of(kind)] != placement.ranks[to].domain[index_of(kind)];
  };
  const auto in = [&](ByBoundary& counts) -> std::uint64_t& {
    return differ(topology::LevelKind::socket) ? counts.inter_socket
           : differ(topology::LevelKind::numa) ? counts.inter_numa
                                               : counts.intra_numa;
  };
  ++in(traffic.messages);
  in(traffic.bytes) += bytes;
}

}  // namespace

const std::vector<std::string_view>& counted_collectives() {
  static const std::vector<std::string_view> names{"bcast",   "reduce",    "allreduce", "scatter",        "gather",
                                                   "gatherv", "allgather", "alltoall",  "reduce_scatter", "scan"};
  return names;
}

std::vector<Traffic> count_traffic(const topology::Placement& placement, const Settings& settings,
                                   const std::vector<TrafficAsked>& asked) {
  Ranks ranks(placement, settings);
  std::vector<Traffic> counted;
  for (const TrafficAsked& each : asked) {
    Traffic traffic;
    const Counts& counts = ranks.run(each.algorithm, [&](std::size_t rank, Collectives& collectives) {
      CallOfRank{collectives, each, rank, ranks.count()}();
      if (rank == 0) traffic.algorithm = collectives.last_algorithm();
    });
    const bool through_slots = !has_counted(counts);
    for (std::size_t from = 0; from < ranks.count(); ++from)
      for (std::size_t to = 0; to < ranks.count(); ++to) {
        if (from == to) continue;
        std::uint64_t bytes = counts[to][from].bytes_from + counts[from][to].bytes_to;
        if (through_slots)
          bytes = slot_bytes(each, static_cast<int>(from), static_cast<int>(to), static_cast<int>(ranks.count()));
        if (bytes > 0) add(placement, from, to, bytes, traffic);
      }
    counted.push_back(std::move(traffic));
  }
  return counted;
}

}  // namespace tutti
