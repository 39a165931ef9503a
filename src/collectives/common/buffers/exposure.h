// How an algorithm makes a buffer of its rank reachable: as it is where peers can reach it, else through a copy.
#pragma once

#include <cstddef>

#include "base/copy.h"
#include "engine/operation.h"
#include "memory/region.h"
#include "topology/partition.h"

namespace tutti {

/// Of less it is not worth it to take over the lines.
inline constexpr std::size_t taken_min = std::size_t{8} << 10;

/// A buffer as peers see it, and where the same bytes are for its owner.
struct Exposure {
  memory::Region region;
  std::byte* local = nullptr;
  bool copied = false;       ///< `local` is not the user's buffer: copy in before, or out after
  bool in_the_ring = false;  ///< in the operation's slot: the owner need not wait until the peers have read it
};

/// What has to be copied for peers goes through the ring up to here, and from here on through a staging buffer where
/// there is a choice: slots of this size do not all stay in a private cache, and a staging buffer is the one that the
/// last call has used.
inline std::size_t ring_bytes(const Settings& settings) {
  return settings.eager_max / 2;
}
/// Whether `bytes` of a buffer that peers reach by `kind` go through the ring if they fit: what would need the kernel,
/// to be copied or to be attached.
bool better_in_the_ring(const Operation& operation, memory::Kind kind, std::size_t bytes);

/// Exposes `buffer`. prefer_slot: copy through the operation's slot although peers could reach the buffer itself. A
/// buffer that peers cannot reach, or of which the call lends a copy, goes through the slot if it fits, else through a
/// staging buffer of the arena. Nothing is copied here.
Exposure expose(Operation& operation, std::byte* buffer, std::size_t bytes, Side side, bool prefer_slot = false);

/// Memory of this rank that peers reach: its data area of the operation, or a staging buffer of the arena.
Exposure data_area(Operation& operation);
Exposure staging_buffer(Operation& operation, Side side, std::size_t bytes);
/// The data area if `bytes` fit, else the staging buffer for sources.
Exposure lend(Operation& operation, std::size_t bytes);

/// Copies into memory that is lent, as this call does it.
inline bool lends_past_caches(const Operation& operation) {
  const Call& call = operation.call();
  return call.moving == Moving::lent_beyond || call.lending == Lending::copied_past_caches;
}
inline void copy_to_lend(const Operation& operation, std::byte* to, const std::byte* from, std::size_t bytes) {
  if (lends_past_caches(operation))
    memory::stream_copy(to, from, bytes);
  else
    copy_bytes(to, from, bytes);
}

/// For a source that peers may begin to read while its copy is being made: to be called before it is posted, and then
/// fill(). Nothing changes for other sources.
void let_fill(Exposure& source);
/// Copies `bytes` from `from` to where `source` has them, `at` bytes from its beginning on, and says so if peers read
/// meanwhile: then parts must come in their order.
void fill(Operation& operation, const Exposure& source, std::size_t at, const std::byte* from, std::size_t bytes);
void fill(Operation& operation, const Exposure& source, std::size_t at, const memory::Spread& from);

/// The same of all but the bytes `unread`, which no peer wants.
void fill_around(Operation& operation, const Exposure& source, const std::byte* from, std::size_t bytes,
                 topology::Range unread);

/// The region of a source as peers are to get it.
inline memory::Region as_lent(const Operation& operation, const Exposure& source) {
  return source.copied && operation.call().moving == Moving::lent ? source.region.taken_over() : source.region;
}

/// Where peers have stored results that this rank's program is about to use (memory::take_lines): stores through the
/// caches only. To be called when they are there.
inline void take_stored(std::byte* at, std::size_t bytes, memory::Store store) {
  if (store == memory::Store::cached && bytes >= taken_min) memory::take_lines(at, bytes);
}

/// Puts the regions into this rank's post and sets its flag to `progress`.
void post(Operation& operation, const Exposure& source, const Exposure& destination, std::uint64_t progress = 0);

/// The same, and copies the source from `from` if peers cannot reach it there: into the ring before, else after, while
/// they begin to read. unread: bytes that no peer wants.
void post_filling(Operation& operation, Exposure& source, const Exposure& destination, const std::byte* from,
                  std::size_t bytes, topology::Range unread = {});

inline memory::Region posted_source(Operation& operation, int rank) {
  operation.check(rank);
  return memory::Region::from_bits(operation.slot(rank).post.regions.source);
}
inline memory::Region posted_destination(Operation& operation, int rank) {
  operation.check(rank);
  return memory::Region::from_bits(operation.slot(rank).post.regions.destination);
}

/// The same of any rank, this one included: `own` is what it has posted, which it does not look up (see Slot).
inline memory::Region posted_source(Operation& operation, int rank, const Exposure& own) {
  return rank == operation.communicator().rank() ? own.region : posted_source(operation, rank);
}
inline memory::Region posted_destination(Operation& operation, int rank, const Exposure& own) {
  return rank == operation.communicator().rank() ? own.region : posted_destination(operation, rank);
}

}  // namespace tutti
