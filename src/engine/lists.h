// What ranks of a node tell each other without a message and without waiting: from each rank to each other one a list that
// lies in the arena of the former. It grows as its owner has to say more, and loses what its reader says it has read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <new>
#include <optional>
#include <vector>

#include "engine/node.h"
#include "memory/rows.h"
#include "sync/flag.h"

namespace tutti {

/// The memory is out in which this rank would say something to a peer.
class ArenaFull : public std::bad_alloc {
 public:
  const char* what() const noexcept override { return "the shared memory of this rank is full"; }
};

/// Entries are plain data. One thread at a time.
template <class Entry>
class Lists {
 public:
  /// Of what lies in each rank's arena, zero before use.
  static std::size_t area_bytes(int ranks) { return static_cast<std::size_t>(ranks) * sizeof(Ends); }

  /// area: its offset in the arenas, the same on all ranks of the node. node: outlives this.
  Lists(Node& node, std::size_t area)
      : node_(node), area_(area), rows_(*node.arena, sizeof(Link)), talks_(node.peers.size()) {}

  /// Adds one to the list for node rank `peer`; returns how many there were before it. Throws ArenaFull.
  std::uint64_t say(int peer, const Entry& what) {
    Talk& talk = talks_[static_cast<std::size_t>(peer)];
    // The last one that was read stays: its reader looks there for the next.
    const std::uint64_t read = ends_of(peer).read.get();
    for (; talk.forgotten + 1 < read; ++talk.forgotten) {
      rows_.release(talk.said.front());
      talk.said.pop_front();
    }
    const std::optional<std::size_t> offset = rows_.allocate();
    if (!offset) throw ArenaFull();
    std::byte* const base = node_.arena->base();
    (new (base + *offset) Link)->what = what;
    sync::Flag& before =
        talk.said.empty() ? own_ends(peer).first : reinterpret_cast<Link*>(base + talk.said.back())->next;
    talk.said.push_back(*offset);
    before.set(*offset);
    return talk.forgotten + talk.said.size() - 1;
  }
  /// How many of the list of node rank `peer` were heard.
  std::uint64_t heard(int peer) const { return talks_[static_cast<std::size_t>(peer)].heard_count; }
  /// hear(number, entry) for each that node rank `peer` has added since; its number is how many there were before it.
  template <class Hear>
  void listen(int peer, const Hear& hear) {
    Talk& talk = talks_[static_cast<std::size_t>(peer)];
    const memory::Peer& of = node_.peers[static_cast<std::size_t>(peer)];
    const auto link_at = [&](std::size_t offset) {
      return reinterpret_cast<const Link*>(of.in_arena(offset, sizeof(Link)));
    };
    const std::uint64_t before = talk.heard_count;
    for (;;) {
      const std::size_t next = talk.heard ? link_at(talk.heard)->next.get() : ends_of(peer).first.get();
      if (next == 0) break;
      talk.heard = next;
      const Entry what = link_at(next)->what;
      hear(talk.heard_count++, what);
    }
    if (talk.heard_count != before) own_ends(peer).read.set(talk.heard_count);
  }

 private:
  struct Link {
    sync::Flag next;  ///< an offset; set once
    Entry what;
  };
  /// From one rank to another, in the arena of the former, which writes it.
  struct alignas(sync::line_bytes) Ends {
    sync::Flag first;  ///< an offset; set once
    sync::Flag read;   ///< how many of the other's this rank has read
  };
  /// How far it is with a peer.
  struct Talk {
    std::deque<std::size_t> said;   ///< offsets of this rank's entries that are still there
    std::uint64_t forgotten = 0;    ///< how many are not
    std::size_t heard = 0;          ///< offset of the last entry of the peer's that was read; 0: none was
    std::uint64_t heard_count = 0;  ///< how many were
  };

  Ends& own_ends(int peer) { return reinterpret_cast<Ends*>(node_.arena->base() + area_)[peer]; }
  const Ends& ends_of(int peer) const {
    const std::size_t offset = area_ + static_cast<std::size_t>(node_.rank) * sizeof(Ends);
    return *reinterpret_cast<const Ends*>(node_.peers[static_cast<std::size_t>(peer)].in_arena(offset, sizeof(Ends)));
  }

  Node& node_;
  const std::size_t area_;
  memory::Rows rows_;
  std::vector<Talk> talks_;  ///< by node rank
};

}  // namespace tutti
