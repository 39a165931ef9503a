// A rank's part in XPMEM: its memory offered, its peers' attached and tried, all of it taken back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/node.h"
#include "memory/xpmem.h"

namespace tutti::mpi {

/// What a rank tells the others about it.
struct XpmemCard {
  std::int64_t segment = -1;    ///< its address space; negative if it offers nothing
  std::uint64_t exposures = 0;  ///< offset of the ExposureTable in the arena
  std::uint64_t word = 0;       ///< the word to try it with, as a region
};

/// What a rank holds of it. What it has exposed and attached is in the Node.
struct XpmemShare {
  std::optional<memory::Xpmem> library;
  std::int64_t segment = -1;  ///< this rank's address space
};

/// Makes this rank's memory ready to be attached. Without a segment, with the reason, if it cannot be.
/// word: the magic value, which peers read and write to try it.
XpmemCard offer_xpmem(Node& node, XpmemShare& share, const std::uint64_t& word, std::string& reason);

/// Gets the right to attach to a peer of the node, whose arena is mapped. False if it does not.
bool attach(Node& node, const XpmemShare& share, std::size_t peer, const XpmemCard& card);

/// Detaches from the peers and takes back what is offered: nobody of the node will use xpmem.
void withdraw_xpmem(Node& node, XpmemShare& share);

/// The same when all collectives of this rank are over, with a note about how much was attached.
void end_xpmem(Node& node, XpmemShare& share);

}  // namespace tutti::mpi
