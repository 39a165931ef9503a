// What the operations of one call of a collective have in common. A long message takes several.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/moving.h"

namespace tutti {

struct Spanning;

/// What a rank tells the others, in one word, of the call that an operation belongs to: so they find out that they are in
/// different ones (docs/decisions/calls-that-disagree.md).
struct Signature {
  /// Of the sequence number. It tells the operation from what the slot held before: nobody begins an operation before all
  /// have completed the one that was in its slot, so that who is in an operation finds its signature in a slot of it, the
  /// one of a lap before, or nothing.
  static constexpr std::uint64_t lap = 0x3f;
  static constexpr std::uint64_t several = 0x40;    ///< the call takes several operations
  static constexpr std::uint64_t continues = 0x80;  ///< this one is not its first
  static constexpr std::uint64_t left = 0x100;      ///< this rank has left the operation; no difference
  static constexpr int algorithm_at = 9;
  static constexpr int bytes_at = 25;
};

/// How a call is cut into operations: `total` of whatever they carry, in pieces of `piece`. Nothing takes none.
struct Cut {
  std::size_t total = 1;
  std::size_t piece = 1;

  std::uint64_t operations() const { return piece >= total ? (total > 0) : (total + piece - 1) / piece; }
};

/// Made by who calls the collective; outlives the operations.
class Call {
 public:
  /// collective: for messages. algorithm: which one of which collective. bytes: a size. The latter two, and how many
  /// operations there are, are equal on all ranks of a correct call.
  Call(const char* of, std::uint16_t algorithm, std::size_t bytes, bool several = false)
      : collective(of),
        signature((static_cast<std::uint64_t>(bytes) << Signature::bytes_at) |
                  (static_cast<std::uint64_t>(algorithm) << Signature::algorithm_at) |
                  (several ? Signature::several : 0)) {}

  const char* const collective;
  const std::uint64_t signature;
  std::uint64_t first = 0;  ///< its first operation; set by that
  /// Bytes were left out that a peer sent, for want of room in this rank's buffer.
  bool truncated = false;
  Moving moving = Moving::plain;
  Lending lending = Lending::as_it_is;
  const Spanning* spanning = nullptr;  ///< where the ranks sit on several nodes; outlives the call
  bool lends_copies = false;           ///< it has lent a copy of what peers would have reached without
};

}  // namespace tutti
