#include "memory/requests.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/copy.h"

namespace tutti::memory {

namespace {

constexpr std::size_t page_bytes = 4096;
/// Of a stamp, the owner's rank. The rest, at a million requests a second, which each move a chunk, lasts for nine years.
constexpr int owner_bits = 16;
constexpr sync::Stamp owner_mask = (sync::Stamp{1} << owner_bits) - 1;

constexpr std::size_t round_up(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}

}  // namespace

/// Written by the asker before it sets `asked`, and not again before it has the answer.
struct alignas(sync::line_bytes) Requests::Line {
  sync::Flag asked;
  std::uint64_t address;
  std::uint64_t bytes;
  Direction direction;
  std::int32_t error;
};

/// The parts of a rank's area.
struct Requests::Area {
  Line* line;
  std::byte* bounce;    ///< a chunk for each line
  sync::Flag* said;     ///< by asker, who writes it
  sync::Flag* answers;  ///< by asker and line
};

std::size_t Requests::area_bytes(int ranks) {
  const auto count = static_cast<std::size_t>(ranks);
  return lines * chunk_bytes + round_up(lines * sizeof(Line) + round_up(count * sizeof(sync::Flag), sync::line_bytes) +
                                            lines * count * sizeof(sync::Flag),
                                        page_bytes);
}

Requests::Area Requests::area(int rank) const {
  Area area{};
  area.bounce = areas_[static_cast<std::size_t>(rank)];
  std::byte* at = area.bounce + lines * chunk_bytes;
  area.line = reinterpret_cast<Line*>(at);
  at += lines * sizeof(Line);
  area.said = reinterpret_cast<sync::Flag*>(at);
  at += round_up(areas_.size() * sizeof(sync::Flag), sync::line_bytes);
  area.answers = reinterpret_cast<sync::Flag*>(at);
  return area;
}

Requests::Requests(int self, std::vector<std::byte*> areas, std::size_t room)
    : self_(self), areas_(std::move(areas)), stageable_(room / 16), said_(areas_.size()), seen_(areas_.size()) {}

std::size_t Requests::take_line() {
  std::size_t line = lines;
  const auto take = [&] {
    const std::lock_guard lock(mutex_);
    if (line == lines)
      for (std::size_t i = 0; i < lines && line == lines; ++i)
        if (!std::exchange(taken_[i], true)) line = i;
    return line < lines;
  };
  const sync::WaitReason reason{"a copy that only the owner can make", nullptr, 0, self_};
  sync::wait(*waiter, reason, take);
  return line;
}

void Requests::ask(int owner, std::size_t line, Direction direction, std::uint64_t address, std::size_t bytes,
                   int error) {
  Line& request = area(self_).line[line];
  request.address = address;
  request.bytes = bytes;
  request.direction = direction;
  request.error = error;
  const sync::Stamp stamp = (++number_ << owner_bits) | static_cast<sync::Stamp>(owner);
  const Area owners = area(owner);
  {
    const std::lock_guard lock(mutex_);
    request.asked.set(stamp);
    owners.said[self_].set(++said_[static_cast<std::size_t>(owner)]);
  }
  if (waiter->sleepers_possible) waiter->wake(&owner, 1);
  const sync::Flag& answer = owners.answers[static_cast<std::size_t>(self_) * lines + line];
  const sync::WaitReason reason{"a copy that only the owner can make", nullptr, 0, owner};
  sync::wait(*waiter, reason, [&] { return answer.get() == stamp; });
}

void Requests::read(int owner, std::uint64_t address, std::byte* to, std::size_t bytes, int error) {
  if (owner == self_) return copy_bytes(to, reinterpret_cast<const void*>(address), bytes);
  const std::size_t line = take_line();
  ask(owner, line, Direction::read, address, bytes, error);
  copy_bytes(to, area(self_).bounce + line * chunk_bytes, bytes);
  const std::lock_guard lock(mutex_);
  taken_[line] = false;
}

void Requests::write(int owner, std::uint64_t address, const std::byte* from, std::size_t bytes, int error) {
  if (owner == self_) return copy_bytes(reinterpret_cast<void*>(address), from, bytes);
  const std::size_t line = take_line();
  copy_bytes(area(self_).bounce + line * chunk_bytes, from, bytes);
  ask(owner, line, Direction::write, address, bytes, error);
  const std::lock_guard lock(mutex_);
  taken_[line] = false;
}

void Requests::carry_out(int asker, std::size_t line) {
  const Area theirs = area(asker);
  const Line& request = theirs.line[line];
  const auto address = static_cast<std::uintptr_t>(request.address);
  // The next time such a buffer is staged, which is one copy and no question.
  if (!kernel_refuses) {
    if (request.error == EPERM)
      note(0, UINTPTR_MAX);
    else
      note(address / page_bytes * page_bytes, round_up(address + request.bytes, page_bytes));
  }
  std::byte* const bounce = theirs.bounce + line * chunk_bytes;
  // What the program does about its pages (a handler of SIGSEGV) happens here.
  if (request.direction == Direction::read)
    copy_bytes(bounce, reinterpret_cast<const void*>(address), request.bytes);
  else
    copy_bytes(reinterpret_cast<void*>(address), bounce, request.bytes);
  count_.fetch_add(1, std::memory_order_relaxed);
}

bool Requests::serve() {
  if (serving_.exchange(true, std::memory_order_acquire)) return false;
  bool served = false;
  const Area own = area(self_);
  for (std::size_t asker = 0; asker < areas_.size(); ++asker) {
    const sync::Stamp said = own.said[asker].get();
    if (said == seen_[asker]) continue;
    seen_[asker] = said;
    const Area theirs = area(static_cast<int>(asker));
    for (std::size_t line = 0; line < lines; ++line) {
      sync::Flag& answer = own.answers[asker * lines + line];
      const sync::Stamp stamp = theirs.line[line].asked.get();
      if ((stamp & owner_mask) != static_cast<sync::Stamp>(self_) || stamp == 0 || stamp == answer.get()) continue;
      carry_out(static_cast<int>(asker), line);
      answer.set(stamp);
      served = true;
      const int peer = static_cast<int>(asker);
      if (waiter->sleepers_possible) waiter->wake(&peer, 1);
    }
  }
  serving_.store(false, std::memory_order_release);
  return served;
}

}  // namespace tutti::memory
