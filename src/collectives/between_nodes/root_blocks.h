// The blocks of a root, as the ranks of its node have them: they send from the root's buffer and receive into it,
// without a copy where that is possible (PiP-MColl, section III).
//
// Messages go to and from the buffer itself where it is mapped, and where the blocks of a message follow each other in
// it. Else each rank copies what it sends or receives, so that the copies are shared as the messages are. What is
// mapped by xpmem is copied as well: the kernel pins no such pages, which is what networks and other processes ask it
// for.
#pragma once

#include <vector>

#include "collectives/between_nodes/crossing.h"
#include "collectives/between_nodes/packed.h"
#include "collectives/common/buffers/blocks.h"

namespace tutti {

class RootBlocks {
 public:
  /// The root is the crossing's owner. It makes this first, and so posts its blocks; other ranks of the node make it
  /// after co_await operation.posted(crossing.owner). own: the root's blocks, which outlive this; ignored elsewhere.
  /// side: source where peers read them. skip: a block that nobody touches, or -1.
  RootBlocks(Operation& operation, RootedCrossing& crossing, const Blocks& own, Side side, std::ptrdiff_t skip = -1);

  /// Of the block of a rank; where peers write, the room for it.
  std::size_t size(int rank) const;

  /// co_await blocks.filled(): where peers read, all blocks are there.
  auto filled() const { return operation_.filled(crossing_.owner, region_, end_); }
  /// Makes the messages of the branches that this rank serves: of each block the part at `at` that `packed` has of it.
  /// What has to be copied goes through the operation's scratch memory from `scratch_at` on, where nothing may be under
  /// way: co_await operation.copied().
  void make_messages(const Packed& packed, std::size_t at, std::size_t scratch_at = 0);
  /// Posts them.
  void send(int first_step);
  void receive(const Packed& packed, std::size_t at, int first_step);
  /// After the messages have come: copies what is not where it belongs, as far as there is room. For this and for what
  /// follows: co_await operation.copied().
  void unpack(const Packed& packed, std::size_t at);
  /// Scratch memory that send() needs.
  std::size_t bytes_to_copy(const Packed& packed, std::size_t at) const;

  /// This rank's block.
  void copy_own_to(std::byte* to, std::size_t bytes) const;
  void copy_own_from(const std::byte* from, std::size_t bytes) const;

  /// When all has come that this rank receives: says of which blocks more has come than there is room for.
  void say_lengths(const Packed& packed) const;
  /// On the root, when all ranks of its node are done.
  void collect();

 private:
  /// Where a block begins, in the region of the root or, on the root itself, in exposed_.local.
  struct Place {
    std::ptrdiff_t at;
    std::size_t bytes;
  };
  Place place_of(int rank) const;
  const memory::Peer& root() const { return operation_.communicator().peer(crossing_.owner); }
  /// The parts of the blocks of `nodes` as far as there is room for them, as few as there are:
  /// of(place in the root's memory, place among what is packed, bytes).
  template <class Of>
  void for_parts(const Packed& packed, topology::Range nodes, std::size_t at, const Of& of) const;
  /// Where these parts are one piece, and messages may go there; else null.
  std::byte* whole(const Packed& packed, topology::Range nodes, std::size_t at) const;

  Operation& operation_;
  RootedCrossing& crossing_;
  const Blocks& own_;
  const Side side_;
  const std::ptrdiff_t skip_;
  const bool is_root_;
  ExposedBlocks exposed_;  ///< on the root
  memory::Region region_;  ///< elsewhere
  std::size_t end_ = 0;    ///< of what is filled there
  struct Message {
    const network::Branch* to;
    const std::byte* begin;
    std::size_t bytes;
  };
  std::pmr::vector<memory::Run> runs_{crossing_.memory()};
  std::pmr::vector<Message> messages_{crossing_.memory()};  ///< to be sent
  struct Coming {
    topology::Range nodes;
    const std::byte* from;
  };
  std::pmr::vector<Coming> coming_{crossing_.memory()};  ///< to be unpacked
};

}  // namespace tutti
