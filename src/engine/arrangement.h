// Where the ranks of a communicator sit, and what follows from that: the same for all communicators of the same ranks in
// the same order, so that it is made once.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/settings.h"
#include "topology/distance.h"
#include "topology/hierarchy.h"
#include "topology/machine_order.h"
#include "topology/placement.h"
#include "topology/rank_blocks.h"
#include "topology/tree.h"

namespace tutti {

/// Progress of flags is counted in grains, so that it fits beside the sequence number.
inline constexpr std::size_t grain_bytes = 4096;

/// Size of a pipeline's chunk where TUTTI_CHUNK says nothing else: large enough that a chunk costs many flag hops, small
/// enough for the second-level cache; along several levels also so small that all of them soon have something to do.
std::size_t usual_chunk_bytes(int levels, std::size_t bytes);

/// Which groups a tree follows: those of the settings; the sockets, whatever these say; those of the settings, but of
/// consecutive ranks.
enum class Grouping { by_settings = 0, by_socket = 1, in_rank_order = 2 };

/// Any thread may ask it.
class Arrangement {
 public:
  /// node: where the ranks of the node sit. node_ranks: the node-local rank of each; `rank` is this process's.
  Arrangement(const Settings& settings, const topology::Placement& node, std::span<const int> node_ranks, int rank);
  Arrangement(const Arrangement&) = delete;
  Arrangement& operator=(const Arrangement&) = delete;

  const topology::Placement& placement() const { return placement_; }
  /// Levels of the hierarchy; 1 if it is flat.
  int depth() const { return depth_; }
  const topology::Distances& distances() const { return distances_; }
  /// Pipeline chunk in bytes of a level of the hierarchy, a multiple of the grain.
  std::size_t chunk_bytes(int level = 0) const;
  /// The same for messages of `bytes` that go along all levels, each of which is to have something to do soon.
  std::size_t chunk_bytes(int level, std::size_t bytes) const;

  /// Part of this rank in an operation for `root`; built once a root.
  const topology::RankPlan& plan(int root, Grouping grouping = Grouping::by_settings) {
    const auto& plans = plans_[static_cast<std::size_t>(grouping)];
    // Pairs with the store of who has built it.
    const topology::RankPlan* const plan = plans[static_cast<std::size_t>(root)].load(std::memory_order_acquire);
    return plan ? *plan : build_plan(root, grouping);
  }
  /// The ranks in the order of the machine, beginning with the root; built once a root.
  const topology::MachineOrder& order(int root = 0) {
    // Pairs with the store of who has built it.
    const topology::MachineOrder* const order = orders_[static_cast<std::size_t>(root)].load(std::memory_order_acquire);
    return order ? *order : build_order(root);
  }
  /// Blocks of consecutive ranks, near each other where ranks are placed so (topology/rank_blocks.h); built once.
  const topology::RankBlocks& rank_blocks();

 private:
  const topology::RankPlan& build_plan(int root, Grouping grouping);
  const topology::MachineOrder& build_order(int root);

  int rank_;
  topology::Placement placement_;
  topology::Levels levels_;
  int depth_ = 1;
  topology::Distances distances_;
  std::vector<std::size_t> chunk_of_level_;
  using Plans = std::vector<std::atomic<const topology::RankPlan*>>;
  std::array<Plans, 3> plans_;                                      ///< by grouping and root
  std::vector<std::atomic<const topology::MachineOrder*>> orders_;  ///< by root
  std::once_flag blocks_built_;
  topology::RankBlocks rank_blocks_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<const topology::RankPlan>> built_;
  std::vector<std::unique_ptr<const topology::MachineOrder>> built_orders_;
};

/// Those that were asked for last. Any thread may call it.
class Arrangements {
 public:
  std::shared_ptr<Arrangement> of(const Settings& settings, const topology::Placement& node,
                                  const std::vector<int>& node_ranks, int rank);

 private:
  static constexpr std::size_t most = 8;
  struct Known {
    std::vector<int> node_ranks;
    std::shared_ptr<Arrangement> arrangement;
  };
  std::mutex mutex_;
  std::vector<Known> known_;  ///< the last one first
};

}  // namespace tutti
