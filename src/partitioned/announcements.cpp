#include "partitioned/announcements.h"

#include <limits>
#include <new>

namespace tutti::partitioned {

namespace {

Role other(Role role) {
  return role == Role::sender ? Role::receiver : Role::sender;
}

}  // namespace

Announcements::Announcements(Node& node, std::size_t area) : lists_(node, area) {}

void Announcements::listen(int peer) {
  lists_.listen(peer, [this](std::uint64_t, const Announcement& what) {
    const Key key{what.envelope, what.number, other(what.role)};
    Pair& pair = pairs_[key];
    if (what.block != 0) {
      pair.theirs = what;
      return;
    }
    pair.they_are_gone = true;
    if (!pair.give_back) return;
    pair.give_back();
    pairs_.erase(key);
  });
}

void Announcements::introduce(int peer, Announcement& mine) {
  const std::lock_guard lock(mutex_);
  std::uint64_t& next = numbers_[{mine.envelope, mine.role}];
  mine.number = next;
  lists_.say(peer, mine);
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
    lists_.say(peer, gone);
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
