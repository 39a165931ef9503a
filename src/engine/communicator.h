// One communicator as a rank has it: who its ranks are, where they sit, and the channels through which they work together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/arrangement.h"
#include "engine/channel.h"
#include "engine/node.h"
#include "engine/remains.h"
#include "engine/shared.h"

namespace tutti {

class Communicator final {
 public:
  /// arrangement: of these ranks; null: it makes one for itself. beside: null, or a communicator of the same ranks that
  /// outlives this one; pending operations of both work with the same memory.
  Communicator(Node& node, CommunicatorLayout layout, std::shared_ptr<Arrangement> arrangement = nullptr,
               Communicator* beside = nullptr);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  Node& node() const { return node_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  std::uint64_t identity() const { return layout_.identity; }
  /// The rank after this one, where a walk over all others begins: ranks that began with the same one would all want
  /// its line at once.
  int next_rank() const { return rank_ + 1 == size_ ? 0 : rank_ + 1; }
  const memory::Peer& peer(int rank) const { return *peers_[static_cast<std::size_t>(rank)]; }
  int node_rank(int rank) const { return layout_.node_ranks[static_cast<std::size_t>(rank)]; }
  /// The other way round; -1 if it is none of this communicator's.
  int rank_of(int node_rank) const;
  const topology::Placement& placement() const { return arrangement_->placement(); }
  std::size_t slot_bytes() const { return slot_bytes_; }

  Channel& blocking() { return blocking_; }
  /// What it shares is touched when it is first used.
  Channel& pending() { return pending_; }
  Workspaces& workspaces() { return workspaces_; }
  /// Of a pending operation that is over. Where ranks were in different calls others may still write what they find there.
  void given_back(std::unique_ptr<Workspace> workspace) noexcept {
    (pending_.closed() ? own_workspaces_ : workspaces_).give_back(std::move(workspace));
  }

  /// To be called after a flag was set: wakes ranks that sleep.
  void published() const {
    if (node_.waiter->sleepers_possible) node_.waiter->wake(layout_.node_ranks.data(), size_);
  }
  memory::Region arena_region(const std::byte* in_own_arena) const;

  /// An operation begins, and one ends: counted with xpmem only (Node::operations). Pending ones may do so in another
  /// thread than blocking ones.
  void begins_one() {
    const std::lock_guard lock(running_mutex_);
    if (running_++ == 0) running_since_.store(node_.operations->now(), std::memory_order_relaxed);
  }
  void ends_one() {
    const std::lock_guard lock(running_mutex_);
    if (--running_ == 0) running_since_.store(0, std::memory_order_release);
  }

  // See Channel; the order of the host's calls is that of the blocking ones.
  void given_to_host() { blocking_.given_to_host(); }
  void refused_by_host() { blocking_.refused_by_host(); }
  void revoke();
  bool revoked() const { return blocking_.revoked(); }
  /// The network has failed in a call of this rank; and how, if it has in one of any.
  void fail(int kind);
  std::optional<int> failure() const { return blocking_.failure(); }
  bool exchange(const void* mine, std::size_t bytes, void* all) { return blocking_.exchange(mine, bytes, all); }

  // See Arrangement.
  const topology::RankPlan& plan(int root, Grouping grouping = Grouping::by_settings) {
    return arrangement_->plan(root, grouping);
  }
  const topology::MachineOrder& order(int root = 0) { return arrangement_->order(root); }
  const topology::RankBlocks& rank_blocks() { return arrangement_->rank_blocks(); }
  int depth() const { return arrangement_->depth(); }
  const topology::Distances& distances() const { return arrangement_->distances(); }
  std::size_t chunk_bytes(int level = 0) const { return arrangement_->chunk_bytes(level); }
  std::size_t chunk_bytes(int level, std::size_t bytes) const { return arrangement_->chunk_bytes(level, bytes); }

  /// This rank has ended its last operation, others perhaps not: they may look at what it shares when this object is no
  /// more.
  Remains part();
  bool can_part() const { return !layout_.rows.empty(); }
  /// The same where nothing is given back before the processes end.
  void abandon() { has_parted_ = true; }

  /// For reports: which collective runs.
  const char* current_collective = "";

 private:
  std::uint64_t own_offset() const { return layout_.offsets[static_cast<std::size_t>(rank_)]; }
  /// What each rank shares of a channel that begins so many bytes after the ranks' offsets.
  std::vector<Shared*> shared_from(std::size_t bytes) const;
  std::vector<std::size_t> staging();

  Node& node_;
  int rank_;
  int size_;
  CommunicatorLayout layout_;
  std::shared_ptr<Arrangement> arrangement_;
  std::vector<const memory::Peer*> peers_;
  std::size_t slot_bytes_;
  Channel blocking_, pending_;
  Workspaces own_workspaces_;
  Workspaces& workspaces_;  ///< those, or of whom it is beside
  std::mutex running_mutex_;
  int running_ = 0;  ///< operations
  memory::OperationClock::Since running_since_{0};
  bool has_parted_ = false;
};

}  // namespace tutti
