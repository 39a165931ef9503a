// What each rank of a communicator shares with the others: flags, slots and data areas in its arena.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "base/copy.h"
#include "base/settings.h"
#include "engine/arrangement.h"
#include "engine/flags.h"
#include "sync/flag.h"

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
  sync::Flag signature;  ///< set when this rank begins
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
  Block blocks[blocks_max];
};
static_assert(sizeof(Offer) == 2 * sync::line_bytes);

/// What one rank says in one operation.
///
/// What a rank has published here it does not read again: a peer that has looked may hold the line alone (processors
/// hand over lines that were written, expecting the reader to write them too), and fetching it back would take a hop.
struct Slot {
  Post post;
  SlotFlags flags;
  Offer offer;
};

/// The stamps of a slot's flags. Those of one slot are of operations that are ring_slots apart, so that there is room for
/// a progress between them, in low bits of the sequence number, too. The rest of the 64 bits is enough for any program:
/// at ten million operations a second the numbers of a channel last for three and a half years.
inline constexpr int progress_bits = 19;
inline constexpr std::uint64_t progress_max = (std::uint64_t{1} << progress_bits) - 1;
inline constexpr std::uint64_t stamps_each = (progress_max + 1) / ring_slots;
inline constexpr std::uint64_t sequence_max = UINT64_MAX / stamps_each - ring_slots;
static_assert(stamps_each * ring_slots == progress_max + 1, "stamps of one slot do not meet");
static_assert(sequence_max / 10'000'000 > std::uint64_t{3} * 365 * 24 * 3600, "they last for years");

/// How far a rank has come in an operation: a count of whatever its algorithm counts.
class Progress {
 public:
  template <std::integral Count>
  constexpr Progress(Count count) : count_(static_cast<std::uint64_t>(count)) {}  // NOLINT(google-explicit-constructor)
  constexpr operator std::uint64_t() const { return count_; }                     // NOLINT(google-explicit-constructor)

 private:
  std::uint64_t count_;
};

constexpr sync::Stamp stamp_of(std::uint64_t sequence, Progress progress = 0) {
  return sequence * stamps_each + progress;
}

inline constexpr std::size_t operation_bytes_max = grain_bytes * progress_max / 2;

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

/// How far a rank has come in a channel, and whether it goes on. Sequence numbers here are whole words.
struct alignas(sync::line_bytes) Standing {
  enum Gone : std::uint64_t {
    out_of_step = 1,  ///< the order of its calls is not that of the others
    revoked = 2,      ///< the program has revoked the communicator
    failed = 3,       ///< the network has failed (network::Failure): this and the kind
  };
  sync::Flag completed;  ///< every operation up to this one is finished here
  // Of a rank that was in another call than others, or has had calls done by the host.
  sync::Flag left;     ///< the last operation that this rank left because of that
  sync::Flag gone;     ///< one of the values above: it will not come to any operation any more
  sync::Flag closed;   ///< 1 if some rank is gone. A bell, which any rank rings, off the path of what succeeds
  sync::Flag given;    ///< how many calls the host has done
  sync::Flag before;   ///< and before which operation it did the last one; set ahead of `given`
  sync::Flag refused;  ///< how many of these ended with an error
};
static_assert(sizeof(Standing) == sync::line_bytes);

/// If a rank has had calls done by the host just before an operation, how many there had been before those.
struct GivenBefore {
  sync::Flag operation, given;
};

/// What one rank shares of a channel: at an offset in its arena, zero before the first use. In a data area there may be
/// anything, since nobody looks there before a flag.
struct Shared {
  Standing standing;
  /// In the places of the operations' slots. Not touched before the first call that the host has done.
  alignas(sync::line_bytes) std::array<GivenBefore, ring_slots> given_before;
  std::array<Slot, ring_slots> slots;
  // Then data_areas areas of Communicator::slot_bytes() each.
};

/// Bytes that an operation of `ranks` ranks can send through a rank's data area.
std::size_t slot_bytes_of(const Settings& settings, int ranks);
/// Bytes of a rank's shared part of a channel, and of a communicator, which has two, of `ranks` for `settings`.
std::size_t channel_bytes(const Settings& settings, int ranks);
std::size_t shared_bytes(const Settings& settings, int ranks);

}  // namespace tutti
