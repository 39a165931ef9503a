#include "partitioned/announcements.h"

#include <limits>
#include <new>

namespace tutti::partitioned {

/// An announcement in its owner's arena, and where the next one to the same peer is.
struct Announcements::Entry {
  sync::Flag next;  ///< an offset; set once
  Announcement what;
};

/// From one rank to another, in the arena of the former, which writes it.
struct alignas(sync::line_bytes) Announcements::Lane {
  sync::Flag first;  ///< an offset; set once
  sync::Flag read;   ///< how many entries of the other's this rank has read
};

namespace {

Role other(Role role) {
  return role == Role::sender ? Role::receiver : Role::sender;
}

}  // namespace

std::size_t Announcements::area_bytes(int ranks) {
  return static_cast<std::size_t>(ranks) * sizeof(Lane);
}

Announcements::Announcements(Node& node, std::size_t area)
    : node_(node), area_(area), rows_(*node.arena, sizeof(Entry)), talks_(node.peers.size()) {}

Announcements::Lane& Announcements::own_lane(int peer) {
  return reinterpret_cast<Lane*>(node_.arena->base() + area_)[peer];
}

const Announcements::Lane& Announcements::lane_of(int peer) {
  const std::size_t offset = area_ + static_cast<std::size_t>(node_.rank) * sizeof(Lane);
  return *reinterpret_cast<const Lane*>(node_.peers[static_cast<std::size_t>(peer)].in_arena(offset, sizeof(Lane)));
}

void Announcements::say(int peer, const Announcement& what) {
  Talk& talk = talks_[static_cast<std::size_t>(peer)];
  // The last one that was read stays: its reader looks there for the next.
  const std::uint64_t read = lane_of(peer).read.get();
  for (; talk.forgotten + 1 < read; ++talk.forgotten) {
    rows_.release(talk.said.front());
    talk.said.pop_front();
  }
  const std::optional<std::size_t> offset = rows_.allocate();
  if (!offset) throw ArenaFull();
  std::byte* const base = node_.arena->base();
  (new (base + *offset) Entry)->what = what;
  sync::Flag& before =
      talk.said.empty() ? own_lane(peer).first : reinterpret_cast<Entry*>(base + talk.said.back())->next;
  talk.said.push_back(*offset);
  before.set(*offset);
}

void Announcements::listen(int peer) {
  Talk& talk = talks_[static_cast<std::size_t>(peer)];
  const memory::Peer& of = node_.peers[static_cast<std::size_t>(peer)];
  const auto entry_at = [&](std::size_t offset) {
    return reinterpret_cast<const Entry*>(of.in_arena(offset, sizeof(Entry)));
  };
  const std::uint64_t before = talk.heard_count;
  for (;;) {
    const std::size_t next = talk.heard ? entry_at(talk.heard)->next.get() : lane_of(peer).first.get();
    if (next == 0) break;
    talk.heard = next;
    ++talk.heard_count;
    const Announcement what = entry_at(next)->what;
    const Key key{what.envelope, what.number, other(what.role)};
    Pair& pair = pairs_[key];
    if (what.block != 0) {
      pair.theirs = what;
      continue;
    }
    pair.they_are_gone = true;
    if (!pair.give_back) continue;
    pair.give_back();
    pairs_.erase(key);
  }
  if (talk.heard_count != before) own_lane(peer).read.set(talk.heard_count);
}

void Announcements::introduce(int peer, Announcement& mine) {
  const std::lock_guard lock(mutex_);
  std::uint64_t& next = numbers_[{mine.envelope, mine.role}];
  mine.number = next;
  say(peer, mine);
  ++next;
  listen(peer);
}

std::optional<Announcement> Announcements::find(int peer, const Announcement& mine) {
  const std::lock_guard lock(mutex_);
  listen(peer);
  const auto found = pairs_.find({mine.envelope, mine.number, mine.role});
  return found == pairs_.end() ? std::nullopt : found->second.theirs;
}

void Announcements::leave(int peer, const Announcement& mine, std::function<void()> give_back) {
  const std::lock_guard lock(mutex_);
  const Key key{mine.envelope, mine.number, mine.role};
  Pair& pair = pairs_[key];
  const bool now = pair.they_are_gone;
  if (!now) pair.give_back = std::move(give_back);
  Announcement gone = mine;
  gone.block = 0;
  try {
    say(peer, gone);
  } catch (const std::bad_alloc&) {
    // No memory: the other side keeps what it has for this one.
  }
  if (now) {
    give_back();
    pairs_.erase(key);
  }
  listen(peer);
}

void Announcements::forget(std::uint64_t communicator) {
  const std::lock_guard lock(mutex_);
  constexpr int least = std::numeric_limits<int>::min();
  const auto first = numbers_.lower_bound({Envelope{communicator, least, least, least, least}, Role{}});
  auto end = first;
  while (end != numbers_.end() && end->first.first.communicator == communicator) ++end;
  numbers_.erase(first, end);
}

std::size_t Announcements::count() {
  const std::lock_guard lock(mutex_);
  return pairs_.size();
}

}  // namespace tutti::partitioned
