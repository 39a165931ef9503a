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
#include <optional>
#include <string>
#include <vector>

#include "engine/node.h"
#include "engine/ways.h"
#include "sync/flag.h"
#include "topology/distance.h"
#include "topology/rank_blocks.h"
#include "topology/tree.h"

namespace tutti {

/// Operations that may be in flight: a rank can be this many ahead of the slowest one. Those that need a data area are
/// fewer, so that small messages in them stay in the cache.
inline constexpr std::uint64_t ring_slots = 32;
inline constexpr std::uint64_t data_areas = 8;

/// The place of an operation in a ring of `size` places, a power of two: triangular numbers, which come to every place
/// once a lap, and by no two equal steps in a row. A rank that polled the posts of its peers at a constant stride would
/// have its processor fetch the next one ahead of time, out of the cache of the peer that is about to write it.
constexpr std::uint64_t place_in_ring(std::uint64_t sequence, std::uint64_t size) {
  const std::uint64_t turn = sequence % size;
  return turn * (turn + 1) / 2 % size;
}

inline constexpr std::size_t cache_line_bytes = 64;
inline constexpr std::size_t expected_bytes_max = 4096;

/// What a rank tells the others at the start of an operation, in one line: its stamp, the signature of its call, and
/// either the payload itself or where the payload is.
struct alignas(sync::line_bytes) Post {
  static constexpr std::size_t inline_bytes = sync::line_bytes - 2 * sizeof(sync::Flag);
  static constexpr std::size_t tail_bytes = inline_bytes - 4 * sizeof(std::uint64_t);
  /// Where buffers are.
  struct Regions {
    std::uint64_t source;       ///< Region bits of what peers read
    std::uint64_t destination;  ///< Region bits of what peers write
    std::uint64_t bytes;        ///< of each block, where blocks are announced (collectives/common/buffers/blocks.h)
    std::uint64_t stride;
    std::byte tail[tail_bytes];  ///< small blocks, instead of a data area
  };
  sync::Flag flag;
  sync::Flag signature;  ///< set by Communicator::begin
  union {
    std::byte payload[inline_bytes];
    Regions regions;
  };
};
static_assert(sizeof(Post) == sync::line_bytes);

/// Where peers may store what they have for this rank, in operations in which each rank either reads or is stored to.
struct alignas(sync::line_bytes) Offer {
  struct Block {
    std::uint64_t offset, bytes;
  };
  static constexpr std::size_t blocks_max = 13;
  static constexpr std::uint64_t to_read = 0, to_be_stored = 1;

  sync::Flag flag;       ///< its progress: to_read, this rank will do so, or to_be_stored
  std::uint64_t region;  ///< Region bits of what peers write
  sync::Flag cut;        ///< set by peers that had more for a block than there is room
  sync::Flag took;       ///< no stamp: ticks a KiB that this rank took to store for its peers
  Block blocks[blocks_max];
};
static_assert(sizeof(Offer) == 2 * sync::line_bytes);

/// One operation's flags of one rank. In `ready` and `reduced`, one flag a level of the hierarchy.
///
/// What a rank has published here it does not read again: a peer that has looked may hold the line alone (processors
/// hand over lines that were written, expecting the reader to write them too), and fetching it back would take a hop.
struct Slot {
  Post post;
  sync::FlagLine ready;    ///< how much of this rank's data may be read, in grains, where its post does not say
  sync::FlagLine reduced;  ///< how much of its share this rank has reduced, in grains
  sync::FlagLine done;     ///< [0]: this rank has finished reading and writing what belongs to others
  Offer offer;
};

/// Indices in Slot::ready besides the levels of the hierarchy (0 .. levels_max - 1), and in Slot::done.
struct FlagUse {
  static constexpr int result = 14;       ///< grains of the final result that this rank's destination holds
  static constexpr int first_level = 15;  ///< which level is the first in which this rank takes part
  /// In `done`: if this rank has had calls done by the host just before this operation, how many had there been before
  /// those. Set ahead of the operation.
  static constexpr int given = 15;
};
inline constexpr int levels_max = 14;

/// Progress of the flags is counted in grains, so that it fits beside the sequence number.
inline constexpr std::size_t grain_bytes = 4096;
inline constexpr std::size_t operation_bytes_max = grain_bytes * sync::progress_max / 2;

/// TUTTI_SEGMENT, or the nearest to it that an operation can carry.
inline std::size_t segment_bytes(const Settings& settings) {
  return std::clamp<std::size_t>(settings.segment, 1, operation_bytes_max);
}

/// Grains whose end is at or before byte `end` of `total`; the last grain may be short.
constexpr std::uint64_t grains_complete(std::size_t end, std::size_t total) {
  return end >= total ? (total + grain_bytes - 1) / grain_bytes : end / grain_bytes;
}
/// Grains that must be complete before the bytes up to `end` can be read.
constexpr std::uint64_t grains_needed(std::size_t end) {
  return (end + grain_bytes - 1) / grain_bytes;
}

/// Indices in Shared::completed, for ranks that were in another call than this one.
struct Left {
  static constexpr int operation = 1;     ///< the last operation that this rank left because of that
  static constexpr int communicator = 2;  ///< one of the values below: it will not come to any operation any more
  static constexpr std::uint64_t out_of_step = 1;  ///< the order of its calls is not that of the others
  static constexpr std::uint64_t revoked = 2;      ///< the program has revoked the communicator
  /// A bell, which any rank rings, off the path of what succeeds: 1 if some rank has left the communicator.
  static constexpr int closed = 3;
  static constexpr int given = 4;    ///< before which operation the host did a call last, and how many it has done
  static constexpr int refused = 5;  ///< how many of these ended with an error
};

/// What one rank of a communicator shares: at `offset` in its arena, zero before first use.
struct Shared {
  sync::FlagLine completed;  ///< [0]: every operation up to this stamp is finished here; for others see Left
  sync::FlagLine ways;       ///< no stamps: [0], of rank 0, is Communicator::common_way(), the others wished_way()
  std::array<Slot, ring_slots> slots;
  // Then data_areas areas of Communicator::slot_bytes() each, and a flag for each rank: it has parted.
};

/// Bytes that an operation of `ranks` ranks can send through a rank's data area.
std::size_t slot_bytes_of(const Settings& settings, int ranks);
/// Bytes of a rank's shared part of a communicator of `ranks` for `settings`.
std::size_t shared_bytes(const Settings& settings, int ranks);

/// How a communicator is made: every member allocates its part, tells the others the offset, then builds.
struct CommunicatorLayout {
  int rank = 0;
  std::uint64_t identity = 0;          ///< for messages; equal on all members
  std::vector<int> node_ranks;         ///< node-local rank of each member
  std::vector<std::uint64_t> offsets;  ///< of each member's Shared in its arena
};

/// What a rank that has parted from a communicator leaves in its arena, for those that have not.
struct Remains {
  std::vector<std::size_t> offsets;  ///< to be released when nobody looks at them any more
  const sync::Flag* parted = nullptr;
  int ranks = 0;

  /// Every rank has parted.
  bool unused() const {
    for (int rank = 0; rank < ranks; ++rank)
      if (parted[rank].get() == 0) return false;
    return true;
  }
};

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

/// Which groups a tree follows: those of the settings, or the sockets whatever these say.
enum class Grouping { by_settings = 0, by_socket = 1 };

/// Thrown when ranks of one operation are in different calls. This rank has left the operation.
class Disagreement : public std::exception {
 public:
  const char* what() const noexcept override { return "ranks of a communicator are in different calls"; }
};

class Communicator final : public sync::Party {
 public:
  Communicator(Node& node, CommunicatorLayout layout);
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
  int node_rank(int rank) const { return node_ranks_[static_cast<std::size_t>(rank)]; }
  const topology::Placement& placement() const { return placement_; }

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
    if (node_.waiter->sleepers_possible) node_.waiter->wake(node_ranks_.data(), size_);
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

  /// A buffer of at least `bytes` in this rank's arena, kept for the life of the communicator. Two of them (0, 1).
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
    return of_sizes[static_cast<std::size_t>(std::bit_width(bytes))];
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

  /// Part of the operation at this rank for `root`; built once a root.
  const topology::RankPlan& plan(int root, Grouping grouping = Grouping::by_settings);
  /// Blocks of consecutive ranks, near each other where ranks are placed so (topology/rank_blocks.h); built once.
  const topology::RankBlocks& rank_blocks();
  /// Levels of the hierarchy; 1 if it is flat.
  int depth() const { return depth_; }
  const topology::Distances& distances() const { return distances_; }
  /// Pipeline chunk in bytes of a level of the hierarchy, a multiple of the grain.
  std::size_t chunk_bytes(int level) const;

  /// This rank has ended its last operation, others perhaps not: they may look at what it shares when this object is no
  /// more. The caller releases it, then.
  Remains part();

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
  /// In the shared part of `owner`, one flag a rank; each is written by that rank alone, as the last thing it does
  /// there.
  sync::Flag* parted(int owner) const {
    auto* const data = reinterpret_cast<std::byte*>(shared_[static_cast<std::size_t>(owner)] + 1);
    return reinterpret_cast<sync::Flag*>(data + data_areas * slot_bytes_);
  }
  /// Some share a flag; only programs that take such calls by turns would notice.
  sync::Flag& wish_of(int rank, Learned what, std::size_t bytes) const {
    const int others = sync::FlagLine::count - 1;
    const int call = static_cast<int>(std::bit_width(bytes)) + 5 * static_cast<int>(what);
    return shared_[static_cast<std::size_t>(rank)]->ways.flag[1 + call % others];
  }

  Node& node_;
  int rank_;
  int size_;
  std::vector<int> node_ranks_;
  std::vector<const memory::Peer*> peers_;
  std::vector<Shared*> shared_;
  std::uint64_t own_offset_;
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
  std::array<std::vector<Ways>, static_cast<std::size_t>(Learned::count)> ways_;  ///< by bits of the size
  std::vector<const void*> sources_;
  std::vector<std::byte*> destinations_;
  topology::Placement placement_;
  std::vector<topology::LevelKind> levels_;
  int depth_ = 1;
  topology::Distances distances_;
  bool has_parted_ = false;
  std::array<std::vector<std::unique_ptr<topology::RankPlan>>, 2> plans_;  ///< by grouping and root
  std::vector<std::size_t> chunk_of_level_;
  std::optional<topology::RankBlocks> rank_blocks_;
};

}  // namespace tutti
