// How the two sides of a partitioned message find each other without a message: each tells the other of itself, in a list
// that lies in its own arena and has one writer. The n-th sender of an envelope belongs to the n-th receiver of it (MPI
// 4.1, section 4.2: in the order in which the two are made), so that each side finds the other by counting its own.
//
// To say something never waits: a list grows as its owner has to say more, and loses what its reader says it has read.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/node.h"
#include "memory/rows.h"
#include "sync/flag.h"

namespace tutti::partitioned {

/// The memory is out in which this rank would say something to a peer.
class ArenaFull : public std::bad_alloc {
 public:
  const char* what() const noexcept override { return "the shared memory of this rank is full"; }
};

enum class Role : std::uint32_t { sender, receiver };

/// What a message is matched by.
struct Envelope {
  std::uint64_t communicator = 0;  ///< equal on its ranks, another one for each communicator
  std::int32_t source = 0;         ///< ranks of it
  std::int32_t destination = 0;
  std::int32_t tag = 0;
  std::int32_t padding = 0;
  auto operator<=>(const Envelope&) const = default;
};

/// What a side says of itself.
struct Announcement {
  Envelope envelope;
  std::uint64_t number = 0;  ///< among those of its role with this envelope
  Role role = Role::sender;
  std::uint64_t block = 0;  ///< its flags, as an offset in its arena; 0: it is gone, and looks at no flag any more
  std::uint64_t partitions = 0;
  std::uint64_t partition_bytes = 0;
};

/// A process has one. Any thread may call it.
class Announcements {
 public:
  /// Of what lies in each rank's arena, zero before use.
  static std::size_t area_bytes(int ranks);

  /// area: its offset in the arenas, the same on all ranks of the node. node: outlives this.
  Announcements(Node& node, std::size_t area);

  /// Tells node rank `peer` of a new side of this rank: fills in the number. Throws std::runtime_error if the arena is full.
  void introduce(int peer, Announcement& mine);
  /// The other side of it, once that has been introduced.
  std::optional<Announcement> find(int peer, const Announcement& mine);
  /// The program needs this side no more. give_back: of its memory, called when the other side does not look at it any
  /// more, which may be never.
  void leave(int peer, const Announcement& mine, std::function<void()> give_back);
  /// The communicator is no more, and its number is not used again.
  void forget(std::uint64_t communicator);
  /// Messages of which something is known; for tests.
  std::size_t count();

 private:
  struct Entry;
  struct Lane;
  /// How far it is with a peer.
  struct Talk {
    std::deque<std::size_t> said;   ///< offsets of this rank's entries that are still there
    std::uint64_t forgotten = 0;    ///< how many are not
    std::size_t heard = 0;          ///< offset of the last entry of the peer's that was read; 0: none was
    std::uint64_t heard_count = 0;  ///< how many were
  };
  /// By whose side of this rank it is: envelope, number, role.
  using Key = std::tuple<Envelope, std::uint64_t, Role>;
  struct Pair {
    std::optional<Announcement> theirs;
    bool they_are_gone = false;
    std::function<void()> give_back;  ///< empty unless this rank's side is gone
  };

  void say(int peer, const Announcement& what);
  void listen(int peer);
  Lane& own_lane(int peer);
  const Lane& lane_of(int peer);

  Node& node_;
  const std::size_t area_;
  std::mutex mutex_;
  memory::Rows rows_;
  std::vector<Talk> talks_;                                     ///< by node rank
  std::map<std::pair<Envelope, Role>, std::uint64_t> numbers_;  ///< how many there were; of a communicator together
  std::map<Key, Pair> pairs_;
};

}  // namespace tutti::partitioned
