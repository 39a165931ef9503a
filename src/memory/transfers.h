// Copies between memory of peers and of this process that may have to wait for the owners: until they have copied what
// nobody else can reach (requests.h), or have filled what is being read (Kind::filling). None of it waits here: what
// cannot be done at once stays open, and goes on whenever it is asked to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "memory/copy_requests.h"
#include "memory/region.h"

namespace tutti::memory {

class Transfers {
 public:
  /// waits: who has them goes on with nothing else until they are over.
  explicit Transfers(bool waits = false) : waits_(waits) {}
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;
  ~Transfers() { give_up(); }

  /// What of it is open uses the peer, and the memory here, until it is over. Throws std::runtime_error if the system
  /// refuses, and nobody can be asked.
  void begin(const Peer& peer, Copy copy) {
    copy.direction == Copy::Direction::read ? peer.loaded(copy.bytes) : peer.stored(copy.bytes);
    if (const Lack lack = peer.advance(copy); lack.of != Lack::Of::nothing) [[unlikely]]
      leave_open(peer, copy, lack);
  }
  /// Several parts of one region. Where the kernel copies, it takes few calls.
  void begin_runs(const Peer& peer, Region region, const Run* runs, std::size_t count, Store store);

  bool over() const { return open_.empty(); }
  /// Does what can be done by now; whether all is over.
  bool go_on() { return over() || advance_all(); }
  /// Whom something waits for, as long as it is not over.
  const Peer& peer() const { return *open_.front().peer; }
  /// Nobody wants what is open any more.
  void give_up();

 private:
  struct Open {
    const Peer* peer;
    Copy copy;  ///< what is left of it
    Lack lack;
    std::optional<CopyRequests::Asked> asked = {};
    std::size_t part = 0;      ///< bytes that were asked for
    std::uint64_t filled = 0;  ///< Lack::Of::count: what the owner says
  };
  void leave_open(const Peer& peer, const Copy& copy, const Lack& lack);
  bool advance_all();
  bool advance(Open& open) const;
  bool ask(Open& open) const;
  static void take(Open& open);

  const bool waits_;
  std::vector<Open> open_;
};

/// A peer's memory as one operation reaches it: what is open of its copies is awaited together.
struct PeerTransfers {
  const Peer& peer;
  Transfers& transfers;

  /// spread: where it belongs, from byte `spread_at` on, if not in one run at `destination`.
  void copy_from(Region region, std::size_t offset, void* destination, std::size_t bytes, Store store = Store::cached,
                 Spread* spread = nullptr, std::size_t spread_at = 0) const {
    auto* const to = static_cast<std::byte*>(destination);
    transfers.begin(peer, {Copy::Direction::read, store, region, offset, to, bytes, spread, spread_at});
  }
  void copy_to(Region region, std::size_t offset, const void* source, std::size_t bytes,
               Store store = Store::cached) const {
    auto* const from = static_cast<std::byte*>(const_cast<void*>(source));
    transfers.begin(peer, {Copy::Direction::write, store, region, offset, from, bytes});
  }
  void copy_runs_from(Region region, const Run* runs, std::size_t count, Store store = Store::cached) const {
    transfers.begin_runs(peer, region, runs, count, store);
  }
};

}  // namespace tutti::memory
