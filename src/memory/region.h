// How one rank reaches another's bytes. The owner exposes a buffer as a Region, which travels in a flag's line; a peer
// turns it into a pointer, or copies from and to it.
//
//   before access   the owner exposed the region in this operation and its flag was seen
//   after access    the reader has said so (done flag) before the owner lets the buffer go
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "memory/layout.h"
#include "memory/stream.h"
#include "memory/traffic.h"
#include "memory/view.h"
#include "sync/flag.h"

namespace tutti::memory {

class Attachments;
class CopyRequests;

/// window: the owner's large allocations, mapped here. arena: its shared control memory. cma: process_vm_readv and
/// writev, copies only. direct: a pointer that is valid here, for ranks that are threads of one process. xpmem: any
/// memory of the owner, mapped here when it is first needed. filling: a copy in the arena that the owner may still be
/// making, from its beginning on; who comes to a part that is not there waits for it (Filled).
enum class Kind : std::uint8_t { none = 0, window, arena, cma, direct, xpmem, filling };

/// Of a copy that is being made: its owner says so often how much is there.
inline constexpr std::size_t filled_at_once = std::size_t{8} << 10;

/// Lies before memory of Kind::filling: how many bytes of it are there.
struct alignas(sync::line_bytes) Filled {
  sync::Word<std::uint64_t> bytes;
  static Filled& of(std::byte* begin) { return reinterpret_cast<Filled*>(begin)[-1]; }
};

const char* name_of(Kind kind);

/// Whether every peer can map memory of this kind without the owner's help, and keeps it mapped.
constexpr bool always_mapped(Kind kind) {
  return kind == Kind::window || kind == Kind::arena || kind == Kind::direct || kind == Kind::filling;
}

/// 8 bytes, as published: kind in the high byte, offset or address in the rest.
class Region {
 public:
  constexpr Region() = default;
  Region(Kind kind, std::uint64_t offset_or_address)
      : bits_((static_cast<std::uint64_t>(kind) << 56) | (offset_or_address & address_mask)) {}
  static Region from_bits(std::uint64_t bits) {
    Region region;
    region.bits_ = bits;
    return region;
  }
  /// Kind::xpmem, by Exposures: an address, and the row of the owner's table that holds it.
  static constexpr int attachable_bits = 48;
  static bool is_attachable(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) >> attachable_bits == 0;
  }
  static Region attachable(unsigned row, std::uint64_t address) {
    return {Kind::xpmem, (std::uint64_t{row} << attachable_bits) | address};
  }
  std::uint64_t address() const { return bits_ & ((std::uint64_t{1} << attachable_bits) - 1); }
  unsigned row() const { return static_cast<unsigned>(bits_ >> attachable_bits) & 0xff; }

  /// The same, of a copy that has one reader for each byte, who takes its lines over when it has read them.
  Region taken_over() const { return from_bits(bits_ | taken_over_bit); }
  bool is_taken_over() const { return bits_ & taken_over_bit; }

  std::uint64_t bits() const { return bits_; }
  Kind kind() const { return static_cast<Kind>(bits_ >> 56 & 0x7f); }
  std::uint64_t offset() const { return bits_ & address_mask; }
  bool loads_and_stores() const { return kind() != Kind::cma && kind() != Kind::none; }

 private:
  static constexpr std::uint64_t taken_over_bit = std::uint64_t{1} << 63;
  static constexpr std::uint64_t address_mask = (std::uint64_t{1} << 56) - 1;
  std::uint64_t bits_ = 0;
};

/// A part of a region, and where in this process it belongs.
struct Run {
  std::size_t offset;  ///< in the region
  std::byte* destination;
  std::size_t bytes;
};

/// A copy between a region of a peer and memory of this process; or what is left of one that goes on from its beginning.
struct Copy {
  enum class Direction : std::uint32_t { read, write };
  Direction direction = Direction::read;
  Store store = Store::cached;
  Region region;
  std::size_t offset = 0;  ///< in the region
  std::byte* local = nullptr;
  std::size_t bytes = 0;
  Spread* spread =
      nullptr;  ///< where what is read belongs; what the kernel copies, or the owner, comes to `local` first
  std::size_t spread_at = 0;  ///< of it, where what is left begins

  /// So much of it is in `local`.
  void advance(std::size_t done) {
    if (spread) [[unlikely]]
      spread->put(spread_at, local, done);
    skip(done);
  }
  /// So much of it is where it belongs.
  void skip(std::size_t done) {
    spread_at += done;
    offset += done;
    local += done;
    bytes -= done;
  }
};

/// Why a copy cannot be ended yet: its owner has to fill what it is to read; or has to be asked, since the kernel has
/// refused (`error`, errno), for so many bytes, or for how far it has filled them (copy_requests.h).
struct Lack {
  enum class Of : std::uint8_t { nothing, filling, owner, count };
  Of of = Of::nothing;
  int error = 0;
  std::size_t bytes = 0;
};

/// A rank of the node as seen from here.
struct Peer {
  pid_t process = 0;
  std::byte* arena = nullptr;          ///< its arena, mapped in this process
  std::byte* window = nullptr;         ///< its window, mapped in this process; null if there is none
  Attachments* attachments = nullptr;  ///< of its memory by xpmem; null if there is none, and for oneself
  View* arena_view = nullptr;          ///< what of the arena is mapped so far; null: all of it
  View* window_view = nullptr;         ///< the same of the window
  std::uint64_t arena_address = 0;     ///< where the arena lies in the peer itself
  std::uint64_t window_address = 0;
  bool same_memory = false;  ///< it is a thread of this process: its addresses are valid here
  bool copies = false;       ///< cross-memory attach works: it does what cannot be mapped any more
  std::size_t views = 1;     ///< of all peers together, among which address space is divided where it is limited
  int rank = 0;              ///< node-local
  CopyRequests* requests = nullptr;  ///< of this process, by which it asks for what it cannot reach; may be null
  Traffic* traffic = nullptr;        ///< where this rank's copies from the peer and to it are counted; usually null

  /// Where `bytes` bytes at `offset` of the region are mapped here, until the operation ends; null if the region can
  /// only be copied, which a region of the arena never is. Of Kind::filling they have to be there (is_filled). Throws
  /// std::runtime_error if the system refuses, and nobody can be asked.
  std::byte* pointer(Region region, std::size_t offset, std::size_t bytes) const {
    const std::size_t at = region.offset() + offset;
    switch (region.kind()) {
      case Kind::window:
        if (window_view && !window_view->has(at, bytes)) [[unlikely]]
          return mapped(region.kind(), at, bytes, copies);
        return window + at;
      case Kind::arena:
        if (arena_view && !arena_view->has(at, bytes)) [[unlikely]]
          return mapped(region.kind(), at, bytes, false);
        return arena + at;
      case Kind::direct:
        return in_own_memory(at);
      case Kind::filling:
        return pointer({Kind::arena, region.offset()}, offset, bytes);
      case Kind::xpmem:
        return attached(region, offset, bytes);
      case Kind::cma:
        return same_memory ? in_own_memory(at) : nullptr;
      default:
        return nullptr;
    }
  }
  /// Makes this part of the arena accessible here, for good. Throws std::runtime_error if the system refuses.
  std::byte* in_arena(std::size_t offset, std::size_t bytes) const { return pointer({Kind::arena, offset}, 0, bytes); }
  /// Whether memory that may be of Kind::filling is there up to byte `end`, which its owner does not say once it is.
  bool is_filled(Region region, std::size_t end) const {
    return region.kind() != Kind::filling || pointer_to_count(region)->bytes.load(std::memory_order_acquire) >= end;
  }
  /// Does what can be done of a copy without waiting for its owner, from its beginning on; `copy` is the rest then.
  /// filled: what the owner has said, asked for that, of the bytes that are there. Throws std::runtime_error if the
  /// system refuses, and nobody can be asked.
  Lack advance(Copy& copy, std::uint64_t filled = 0) const;
  /// Copies parts of one region, at most runs_at_once, by the kernel, in one call; false if it does not, or not all.
  static constexpr std::size_t runs_at_once = 64;
  bool copy_runs_by_kernel(Region region, const Run* runs, std::size_t count) const;
  /// Copies between the region and memory of this process, and waits for the owner where that is needed: for who has no
  /// operation (transfers.h).
  void copy_from(Region region, std::size_t offset, void* destination, std::size_t bytes,
                 Store store = Store::cached) const;
  void copy_to(Region region, std::size_t offset, const void* source, std::size_t bytes,
               Store store = Store::cached) const;
  /// In the peer, of a region that has an address there, and of what is said of one that is filled.
  std::uint64_t address_of(Region region) const;
  std::uint64_t address_of_count(Region region) const { return arena_address + region.offset() - sizeof(Filled); }

  /// Tells that so many bytes were loaded from memory of the peer that is mapped here, or stored there; copies tell it
  /// themselves.
  void loaded(std::size_t bytes) const {
    if (traffic) [[unlikely]]
      traffic->bytes_from += bytes;
  }
  void stored(std::size_t bytes) const {
    if (traffic) [[unlikely]]
      traffic->bytes_to += bytes;
  }

 private:
  static std::byte* in_own_memory(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }
  const Filled* pointer_to_count(Region region) const {
    return reinterpret_cast<const Filled*>(in_arena(region.offset() - sizeof(Filled), sizeof(Filled)));
  }
  Lack advance_filling(Copy& copy, std::uint64_t filled) const;
  Lack advance_by_kernel(Copy& copy) const;
  std::byte* attached(Region region, std::size_t offset, std::size_t bytes) const;
  std::byte* mapped(Kind kind, std::size_t at, std::size_t bytes, bool or_copied) const;
  std::byte* pointer_or_copied(Region region, std::size_t offset, std::size_t bytes) const {
    if (region.kind() == Kind::arena && arena_view && !arena_view->has(region.offset() + offset, bytes)) [[unlikely]]
      return mapped(Kind::arena, region.offset() + offset, bytes, copies);
    return pointer(region, offset, bytes);
  }
};

}  // namespace tutti::memory
