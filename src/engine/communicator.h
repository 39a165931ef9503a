// The state of one communicator: what its ranks share (flags and slots in their arenas), and what each keeps for
// itself.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "engine/arrangement.h"
#include "engine/node.h"
#include "engine/remains.h"
#include "engine/shared.h"
#include "engine/ways.h"
#include "sync/flag.h"

namespace tutti {

/// What is learned by doing it (Ways).
enum class Learned {
  allgather,
  allreduce,
  allreduce_in_place,
  alltoall,
  alltoallv,
  bcast,
  exscan,
  gather,
  neighbor,
  reduce,
  scan,
  scatter,
  count
};

/// Thrown when ranks of one operation are in different calls. This rank has left the operation.
class Disagreement : public std::exception {
 public:
  const char* what() const noexcept override { return "ranks of a communicator are in different calls"; }
};

class Communicator final : public sync::Party {
 public:
  /// arrangement: of these ranks; null: it makes one for itself.
  Communicator(Node& node, CommunicatorLayout layout, std::shared_ptr<Arrangement> arrangement = nullptr);
  ~Communicator() override;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  Node& node() { return node_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  /// The rank after this one, where a walk over all others begins: ranks that began with the same one would all want
  /// its line at once.
  int next_rank() const { return rank_ + 1 == size_ ? 0 : rank_ + 1; }
  const memory::Peer& peer(int rank) const { return *peers_[static_cast<std::size_t>(rank)]; }
  int node_rank(int rank) const { return layout_.node_ranks[static_cast<std::size_t>(rank)]; }
  const topology::Placement& placement() const { return arrangement_->placement(); }

  std::size_t slot_bytes() const { return slot_bytes_; }
  Slot& slot(int rank, std::uint64_t sequence) const {
    return shared_[static_cast<std::size_t>(rank)]->slots[place_in_ring(sequence, ring_slots)];
  }
  /// The data area of a slot, and as a region that peers can reach.
  std::byte* slot_data(int rank, std::uint64_t sequence) {
    return reinterpret_cast<std::byte*>(shared_[static_cast<std::size_t>(rank)] + 1) +
           place_in_ring(sequence, data_areas) * slot_bytes_;
  }
  memory::Region slot_region(std::uint64_t sequence) const;

  /// What `rank` shares about a choice by trying. To be called only where there is one: it takes memory.
  TriedLine& tried_line(int rank, int number) {
    has_tried_ = true;
    return shared_[static_cast<std::size_t>(rank)]->tried[static_cast<std::size_t>(number)];
  }

  /// Starts the next operation: its sequence number, once all ranks have left the one `in_flight` operations ago. That
  /// frees this rank's data area (data_areas, the default) or at least its slot (ring_slots).
  std::uint64_t begin(std::uint64_t in_flight = data_areas);
  /// What the operations begun from now on are: which algorithm of which collective, and a size, all equal on all ranks
  /// of a correct call. begins_call: false for what continues the call before.
  void announce(std::uint16_t algorithm, std::size_t bytes, bool begins_call = true) {
    if (begins_call) call_begin_ = sequence_ + 1;
    announced_ = (static_cast<std::uint64_t>(bytes) << signature_bytes_at) |
                 (static_cast<std::uint64_t>(algorithm) << signature_algorithm_at);
  }
  /// To be called after announce(), before the first operation: this call takes several.
  void announce_several() { announced_ |= signature_several; }
  /// To be called when a flag of `rank` has been seen, before anything is done about it. Throws Disagreement if that
  /// rank is in another call (docs/decisions/calls-that-disagree.md).
  void check(int rank, std::uint64_t sequence) {
    if (slot(rank, sequence).post.signature.get() != signature(sequence)) [[unlikely]]
      compare(rank, sequence);
  }
  /// To be called before the host does a call of this rank, and after it has ended that with an error. On ranks that are
  /// in step the host has done as many calls between the same operations.
  void given_to_host();
  void refused_by_host();
  /// This rank will come to no operation any more, whatever the others are in; their calls end with Disagreement.
  void revoke() { close(Left::revoked); }
  /// Some rank has revoked it, as far as this one knows.
  bool revoked() const;
  /// The same for all ranks, as far as they have come.
  void look(std::uint64_t sequence) override;
  std::string remark(std::uint64_t sequence, int peer) const override;
  /// All members were seen in operation `sequence`, hence have finished the ones before.
  void seen_all(std::uint64_t sequence) {
    if (sequence - 1 > all_completed_) all_completed_ = sequence - 1;
  }
  /// This rank has finished operation `sequence`.
  void complete(std::uint64_t sequence) {
    if (node_.operations && --running_ == 0) running_since_.store(0, std::memory_order_release);
    shared_[static_cast<std::size_t>(rank_)]->completed.flag[0].set(sync::stamp(sequence));
    published();
    expect_post(sequence);
    if (node_.viewed && node_.viewed->is_too_much()) [[unlikely]]
      node_.viewed->give_up();
  }
  /// The post of the next operation is written in lines that others have read: taking them back now takes that off the
  /// next call.
  void expect_post(std::uint64_t sequence) {
    const std::byte* post = reinterpret_cast<const std::byte*>(&slot(rank_, sequence + 1).post);
    sync::prefetch_to_write(post);
    sync::prefetch_to_write(post + cache_line_bytes);
  }
  /// The same for the data area of the next operation, which is likely to be of the same size. Bounded: a hint for
  /// more lines than a core can have under way would cost more than it saves.
  void expect_data(std::uint64_t sequence, std::size_t bytes) {
    const std::byte* area = slot_data(rank_, sequence + 1);
    const std::size_t end = bytes < expected_bytes_max ? bytes : expected_bytes_max;
    for (std::size_t at = 0; at < end; at += cache_line_bytes) sync::prefetch_to_write(area + at);
  }
  /// To be called after a flag was set: wakes ranks that sleep.
  void published() {
    if (node_.waiter->sleepers_possible) node_.waiter->wake(layout_.node_ranks.data(), size_);
  }
  std::uint64_t sequence() const { return sequence_; }

  /// How peers can reach own memory in this call without a copy; none if they cannot, or a copy is found to be faster.
  memory::Kind reach(const void* address, std::size_t bytes) {
    const memory::Kind kind = node_.reach(address, bytes);
    if (kind != memory::Kind::cma || !staging_trial || !staging_trial->lends_copies()) return kind;
    lends_copies = true;
    return memory::Kind::none;
  }
  /// The region of memory that they reach so.
  memory::Region reachable(const void* address, std::size_t bytes) {
    return reach(address, bytes) == memory::Kind::none ? memory::Region{} : node_.reachable(address, bytes);
  }

  /// An operation of the library's own, to be called by all ranks alike: tells them `bytes` at `mine`, at most
  /// Post::inline_bytes, and takes theirs into `all`, in the order of the ranks. False, on all ranks, if some come to no
  /// operation any more.
  bool exchange(const void* mine, std::size_t bytes, void* all);

  /// A buffer of at least `bytes` in this rank's arena, kept for the life of the communicator; memory::Filled lies before
  /// it. Two of them (0, 1).
  /// Throws std::bad_alloc if the arena is full.
  std::byte* staging(int which, std::size_t bytes);
  /// Private memory for blocks that are copied before they are reduced; kept for the life of the communicator.
  std::byte* scratch(std::size_t bytes) {
    if (scratch_.size() < bytes) scratch_.resize(bytes);
    return scratch_.data();
  }
  /// One pointer a member, for the sources of a reduction.
  const void** sources() { return sources_.data(); }
  /// And one for its results.
  std::byte** destinations() { return destinations_.data(); }
  /// What this rank has learned about messages of about so many bytes.
  Ways& ways(Learned what, std::size_t bytes) {
    auto& of_sizes = ways_[static_cast<std::size_t>(what)];
    if (of_sizes.empty()) of_sizes.resize(std::numeric_limits<std::size_t>::digits + 1);
    auto& ways = of_sizes[static_cast<std::size_t>(std::bit_width(bytes))];
    if (!ways) [[unlikely]]
      ways = std::make_unique<Ways>();
    return *ways;
  }
  /// The way that rank 0 takes now, for the others to follow as soon as they see that: which may be a call late.
  int common_way() const { return static_cast<int>(shared_[0]->ways.flag[0].get()); }
  /// The way that `rank` would like another rank to take with messages of about so many bytes; 0 if it has no wish.
  int wished_way(int rank, Learned what, std::size_t bytes) const {
    return static_cast<int>(wish_of(rank, what, bytes).get());
  }
  void wish_way(Learned what, std::size_t bytes, int way) {
    sync::Flag& wish = wish_of(rank_, what, bytes);
    if (static_cast<int>(wish.get()) != way) wish.set(static_cast<sync::Stamp>(way));
  }
  /// On rank 0, for one call: the way that is taken, and whether all have had time to see that, so that what it takes is
  /// theirs.
  struct Lead {
    int way;
    bool followed;
  };
  Lead lead(Ways& ways, int count);
  memory::Region arena_region(const std::byte* in_own_arena) const;

  // See Arrangement.
  const topology::RankPlan& plan(int root, Grouping grouping = Grouping::by_settings) {
    return arrangement_->plan(root, grouping);
  }
  const topology::RankBlocks& rank_blocks() { return arrangement_->rank_blocks(); }
  int depth() const { return arrangement_->depth(); }
  const topology::Distances& distances() const { return arrangement_->distances(); }
  std::size_t chunk_bytes(int level) const { return arrangement_->chunk_bytes(level); }

  /// This rank has ended its last operation, others perhaps not: they may look at what it shares when this object is no
  /// more.
  Remains part();
  bool can_part() const { return !layout_.rows.empty(); }
  /// The same where nothing is given back before the processes end.
  void abandon() { has_parted_ = true; }

  /// An algorithm has left bytes out that a peer sent, for want of room in this rank's buffer (see fitting()). Whoever
  /// called the collective reports and clears it.
  bool truncated = false;

  /// Of the call that runs; null: what the kernel reaches is lent as it is.
  StagingTrial* staging_trial = nullptr;
  /// For reports: the call that ran last has lent a copy of what the kernel would have reached.
  bool lends_copies = false;
  /// For reports: which collective runs.
  const char* current_collective = "";

 private:
  /// Of this rank in operation `sequence`. The lap tells it from what the slot held before: nobody begins an operation
  /// before all have completed the one that was in its slot, so that who is in an operation finds its signature in a slot
  /// of it, the one of a lap before, or nothing.
  std::uint64_t signature(std::uint64_t sequence) const { return announced_ | (sequence & signature_lap); }
  static constexpr std::uint64_t signature_lap = 0x3f;
  static_assert(2 * ring_slots <= signature_lap + 1);
  static constexpr std::uint64_t signature_several = 0x40;    ///< the call takes several operations
  static constexpr std::uint64_t signature_continues = 0x80;  ///< this one is not its first
  static constexpr std::uint64_t signature_left = 0x100;      ///< this rank has left the operation; no difference
  static constexpr int signature_algorithm_at = 9;
  static constexpr int signature_bytes_at = 25;
  std::uint64_t own_offset() const { return layout_.offsets[static_cast<std::size_t>(rank_)]; }
  /// What this rank may have written, in its own part or in those of others.
  Traces traces() const;
  /// What check() does about signatures that differ.
  void compare(int rank, std::uint64_t sequence);
  /// What `rank` has set in its slot, as long as that is not used again.
  bool has_begun(int rank, std::uint64_t sequence) {
    return (slot(rank, sequence).post.signature.get() & signature_lap) == (sequence & signature_lap);
  }
  /// Ends the operation on this rank alone.
  [[noreturn]] void leave(std::uint64_t sequence);
  /// Waits until the others have left the operation, too, a second at most; whether they have.
  bool wait_for_leavers(std::uint64_t sequence);
  /// Calls of `rank` that the host had done before operation `sequence`, which is not more than a lap ago.
  std::uint64_t given_before(int rank, std::uint64_t sequence) const;
  /// Who has had more calls done by the host than others that are in the operation; -1 if nobody.
  int out_of_order(std::uint64_t sequence);
  /// Both are for a rank that leaves the operation and close the communicator if calls after it would not match: because
  /// the host has had more calls of some rank; because others may count more operations for this call than this rank.
  void judge_order(std::uint64_t sequence);
  void judge_counts(std::uint64_t sequence, bool all_gone);
  /// Tells all ranks that no collective can be carried out any more.
  void close(std::uint64_t why);
  bool closed() const { return left(rank_, Left::closed).get() != 0; }
  /// Ends a call on a communicator that is closed.
  [[noreturn]] void stay_out();
  const sync::Flag& left(int rank, int index) const {
    return shared_[static_cast<std::size_t>(rank)]->completed.flag[index];
  }
  sync::Flag& own_left(int index) { return shared_[static_cast<std::size_t>(rank_)]->completed.flag[index]; }
  void wait_for_all(std::uint64_t sequence_left);
  /// Some share a flag; only programs that take such calls by turns would notice.
  sync::Flag& wish_of(int rank, Learned what, std::size_t bytes) const {
    const int others = sync::FlagLine::count - 1;
    const int call = static_cast<int>(std::bit_width(bytes)) + 5 * static_cast<int>(what);
    return shared_[static_cast<std::size_t>(rank)]->ways.flag[1 + call % others];
  }

  Node& node_;
  int rank_;
  int size_;
  CommunicatorLayout layout_;
  std::shared_ptr<Arrangement> arrangement_;
  std::vector<const memory::Peer*> peers_;
  std::vector<Shared*> shared_;
  std::size_t slot_bytes_;
  std::uint64_t sequence_ = 0;
  std::uint64_t announced_ = 0;
  std::uint64_t call_begin_ = 1;  ///< first operation of this call
  std::uint64_t all_completed_ = 0;
  std::uint64_t given_ = 0;  ///< calls that the host has done
  bool way_is_new_ = false;  ///< the call before was the first that took common_way()
  int running_ = 0;          ///< operations between begin() and complete(); counted with xpmem only
  memory::OperationClock::Since running_since_{0};
  struct Staging {
    std::size_t offset = 0, bytes = 0;
  };
  std::array<Staging, 2> staging_{};
  std::vector<std::byte> scratch_;
  std::array<std::vector<std::unique_ptr<Ways>>, static_cast<std::size_t>(Learned::count)>
      ways_;  ///< by bits of the size
  std::vector<const void*> sources_;
  std::vector<std::byte*> destinations_;
  bool has_parted_ = false;
  bool has_tried_ = false;  ///< something may stand in Shared::tried
};

}  // namespace tutti
