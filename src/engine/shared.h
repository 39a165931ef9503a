// What each rank of a communicator shares with the others: flags, slots and data areas in its arena.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/settings.h"
#include "engine/arrangement.h"
#include "engine/tried_line.h"
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
static_assert(topology::most_levels <= levels_max, "each level of a hierarchy has a flag");

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
  static constexpr std::uint64_t failed = 3;       ///< the network has failed (network::Failure): this and the kind
  /// A bell, which any rank rings, off the path of what succeeds: 1 if some rank has left the communicator.
  static constexpr int closed = 3;
  static constexpr int given = 4;    ///< before which operation the host did a call last, and how many it has done
  static constexpr int refused = 5;  ///< how many of these ended with an error
};

/// What one rank shares of a channel: at an offset in its arena, zero before the first use. In a data area there may be
/// anything, since nobody looks there before a flag.
struct Shared {
  sync::FlagLine completed;  ///< [0]: every operation up to this stamp is finished here; for others see Left
  std::array<Slot, ring_slots> slots;
  std::array<TriedLine, tried_lines> tried;  ///< not touched before the first choice by trying
  // Then data_areas areas of Communicator::slot_bytes() each.
};

/// Bytes that an operation of `ranks` ranks can send through a rank's data area.
std::size_t slot_bytes_of(const Settings& settings, int ranks);
/// Bytes of a rank's shared part of a channel, and of a communicator, which has two, of `ranks` for `settings`.
std::size_t channel_bytes(const Settings& settings, int ranks);
std::size_t shared_bytes(const Settings& settings, int ranks);

}  // namespace tutti
