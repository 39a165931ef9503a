// How the two sides of a partitioned message find each other without a message: each tells the other of itself, in a list
// that lies in its own arena. The n-th sender of an envelope belongs to the n-th receiver of it (MPI 4.1, section 4.2: in
// the order in which the two are made), so that each side finds the other by counting its own.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "engine/lists.h"
#include "engine/node.h"

namespace tutti::partitioned {

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
  static std::size_t area_bytes(int ranks) { return Lists<Announcement>::area_bytes(ranks); }

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
  /// By whose side of this rank it is: envelope, number, role.
  using Key = std::tuple<Envelope, std::uint64_t, Role>;
  struct Pair {
    std::optional<Announcement> theirs;
    bool they_are_gone = false;
    std::function<void()> give_back;  ///< empty unless this rank's side is gone
  };

  void listen(int peer);

  std::mutex mutex_;
  Lists<Announcement> lists_;
  std::map<std::pair<Envelope, Role>, std::uint64_t> numbers_;  ///< how many there were; of a communicator together
  std::map<Key, Pair> pairs_;
};

}  // namespace tutti::partitioned
