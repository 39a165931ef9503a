// How a rank tells its peers where its blocks are: one region for all of them, and a size and distance if they are
// regular, else a table in the operation's data area. So nobody needs to know sizes beforehand.
#pragma once

#include "collectives/common/buffers/exposure.h"
#include "collectives/kinds.h"

namespace tutti {

/// Where one block of a peer lies: `bytes` at `offset` of `region`.
struct RemoteBlock {
  memory::Region region;
  std::size_t offset = 0;
  std::size_t bytes = 0;
  const memory::Layout* layout = nullptr;  ///< if it has gaps, in which case offset is that of its base
};

/// Blocks as their owner exposes them. `local` and its offsets are where the bytes are for the owner: the user's
/// memory, or a copy of it with the blocks one behind the other.
struct ExposedBlocks {
  Exposure exposure;
  Blocks local;
};

/// What a rank posts.
struct BlocksToPost {
  const Blocks& blocks;
  std::size_t count;           ///< of them
  Side side;                   ///< source: peers read; destination: they write
  bool prefer_slot = false;    ///< all that fit go through the operation's data area
  std::ptrdiff_t skip = -1;    ///< index of a block that peers do not touch, which is not copied; -1 if there is none
  std::uint64_t progress = 0;  ///< of the post, for what else there is to say
  Spreads sent = {};           ///< of blocks to read
};

/// Exposes blocks and posts them (see post()). Those that peers cannot reach go through the operation's data area, if
/// they fit, else through the staging buffer: as a source they are copied in here; as a destination collect_blocks()
/// copies them out. Blocks to read that are small enough travel in the post itself, wherever they are, and need no
/// table elsewhere. An operation has one table: only one of source and destination of a rank may be irregular. It lies
/// in the post if it is short, so that its readers need no other line, else in the data area, which has room for one
/// entry a rank, or for more blocks (neighbourhoods) in the other side's staging buffer.
ExposedBlocks post_blocks(Operation& operation, const BlocksToPost& what);

/// Copies what peers wrote to where the user wants it, if that is elsewhere.
void collect_blocks(const ExposedBlocks& exposed, const Blocks& blocks, std::size_t count, std::ptrdiff_t skip = -1);

/// Whether `blocks` may be offered: there are at most Offer::blocks_max of them, and none needs a copy.
bool can_be_offered(const Operation& operation, const Blocks& blocks, std::size_t count);
/// Says where peers may store `blocks`, which can be offered. Ranks that sleep are not woken: something else is
/// published right after.
void offer_blocks(Operation& operation, const Blocks& blocks, std::size_t count);
/// Block `index` of what `rank` has offered; after that was seen.
RemoteBlock offered_block(Operation& operation, int rank, std::size_t index);

/// Block `index` of what `rank` posted; after its post was seen.
RemoteBlock posted_block(Operation& operation, int rank, std::size_t index, Side side);
/// Copies as much as there is room for of one that has gaps, to `spread` if that is given: co_await operation.copied().
void pull_spread(Operation& operation, int rank, const RemoteBlock& block, const Block& to, memory::Spread* spread);

/// Pieces of one region of a rank that are pulled together: those that follow each other there and here are one.
class PulledRuns {
 public:
  PulledRuns(const memory::PeerTransfers& peer, memory::Store store) : peer_(peer), store_(store) {}
  void add(memory::Region region, std::size_t offset, std::byte* destination, std::size_t bytes) {
    region_ = region;
    if (count_ > 0) {
      memory::Run& last = runs_[count_ - 1];
      if (offset == last.offset + last.bytes && destination == last.destination + last.bytes) {
        last.bytes += bytes;
        return;
      }
      if (count_ == runs_max) pull();
    }
    runs_[count_++] = {offset, destination, bytes};
  }
  /// All of them: co_await operation.copied().
  void pull() {
    if (count_ > 0) peer_.copy_runs_from(region_, runs_, count_, store_);
    count_ = 0;
  }

 private:
  static constexpr std::size_t runs_max = 64;

  const memory::PeerTransfers peer_;
  const memory::Store store_;
  memory::Region region_;
  memory::Run runs_[runs_max];
  std::size_t count_ = 0;
};

/// Puts the size of what was sent in the place of that of the room, in the table of `rank`; nobody else uses the entry.
void say_sent(Operation& operation, int rank, std::size_t index, std::size_t sent);

/// For a writer, before its flag says that block `index` of `rank`, who has so much room for it, is there: only the
/// writer knows that it had more, and only the receiver may raise the error. In irregular calls only.
inline void say_if_too_long(Operation& operation, int rank, std::size_t index, std::size_t room, std::size_t sent) {
  if (sent > room) [[unlikely]]
    say_sent(operation, rank, index, sent);
}
/// For the receiver, after that flag: notes if not all had room. blocks: what this rank posted as destination.
inline void note_if_too_long(Operation& operation, const Blocks& blocks, std::size_t index) {
  if (blocks.is_regular()) return;
  const int self = operation.communicator().rank();
  operation.fitting(posted_block(operation, self, index, Side::destination).bytes, blocks.size(index));
}

}  // namespace tutti
