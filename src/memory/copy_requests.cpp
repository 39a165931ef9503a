#include "memory/copy_requests.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/copy.h"
#include "memory/pages.h"

namespace tutti::memory {

namespace {

/// Of a stamp, the owner's rank. The rest, at a million requests a second, which each move a chunk, lasts for nine years.
constexpr int owner_bits = 16;
constexpr sync::Stamp owner_mask = (sync::Stamp{1} << owner_bits) - 1;

}  // namespace

/// Written by the asker before it sets `asked`, and not again before it has the answer.
struct alignas(sync::line_bytes) CopyRequests::Line {
  sync::Flag asked;
  std::uint64_t address;
  std::uint64_t bytes;
  Copy::Direction direction;
  std::int32_t error;
};

/// The parts of a rank's area.
struct CopyRequests::Area {
  Line* line;
  std::byte* bounce;    ///< a chunk for each line
  sync::Flag* said;     ///< by asker, who writes it
  sync::Flag* answers;  ///< by asker and line
};

std::size_t CopyRequests::area_bytes(int ranks) {
  const auto count = static_cast<std::size_t>(ranks);
  return lines * chunk_bytes + round_up(lines * sizeof(Line) + round_up(count * sizeof(sync::Flag), sync::line_bytes) +
                                            lines * count * sizeof(sync::Flag),
                                        page_bytes());
}

CopyRequests::Area CopyRequests::area(int rank) const {
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

CopyRequests::CopyRequests(int self, std::vector<std::byte*> areas, std::size_t room)
    : self_(self), areas_(std::move(areas)), stageable_(room / 16), said_(areas_.size()), seen_(areas_.size()) {}

std::optional<std::size_t> CopyRequests::take_line(bool waits) {
  for (std::size_t line = waits ? 0 : 1; line < lines; ++line) {
    if (given_up_[line] && is_answered(given_up_[line]->owner, given_up_[line]->asked)) {
      given_up_[line].reset();
      taken_[line] = false;
    }
    if (!std::exchange(taken_[line], true)) return line;
  }
  return std::nullopt;
}

std::optional<CopyRequests::Asked> CopyRequests::ask(int owner, const Chunk& chunk, bool waits) {
  const Area own = area(self_), owners = area(owner);
  const sync::Stamp stamp = (++number_ << owner_bits) | static_cast<sync::Stamp>(owner);
  std::optional<std::size_t> line;
  {
    const std::lock_guard lock(mutex_);
    line = take_line(waits);
    if (!line) return std::nullopt;
    if (chunk.direction == Copy::Direction::write)
      copy_bytes(own.bounce + *line * chunk_bytes, chunk.local, chunk.bytes);
    Line& request = own.line[*line];
    request.address = chunk.address;
    request.bytes = chunk.bytes;
    request.direction = chunk.direction;
    request.error = chunk.error;
    request.asked.set(stamp);
    owners.said[self_].set(++said_[static_cast<std::size_t>(owner)]);
  }
  // It may be its own memory that a rank cannot reach by the kernel.
  if (owner == self_)
    serve();
  else if (waiter->sleepers_possible)
    waiter->wake(&owner, 1);
  return Asked{*line, stamp};
}

bool CopyRequests::is_answered(int owner, const Asked& asked) const {
  return area(owner).answers[static_cast<std::size_t>(self_) * lines + asked.line].get() == asked.stamp;
}

void CopyRequests::take(const Asked& asked, std::byte* to, std::size_t bytes) {
  if (to) copy_bytes(to, area(self_).bounce + asked.line * chunk_bytes, bytes);
  const std::lock_guard lock(mutex_);
  taken_[asked.line] = false;
}

void CopyRequests::give_up(int owner, const Asked& asked) {
  const std::lock_guard lock(mutex_);
  given_up_[asked.line] = {owner, asked};
}

void CopyRequests::carry_out(int asker, std::size_t line) {
  const Area theirs = area(asker);
  const Line& request = theirs.line[line];
  const auto address = static_cast<std::uintptr_t>(request.address);
  // The next time such a buffer is staged, which is one copy and no question.
  if (!kernel_refuses) {
    if (request.error == EPERM)
      note(0, UINTPTR_MAX);
    else
      note(address / page_bytes() * page_bytes(), round_up(address + request.bytes, page_bytes()));
  }
  std::byte* const bounce = theirs.bounce + line * chunk_bytes;
  // What the program does about its pages (a handler of SIGSEGV) happens here.
  if (request.direction == Copy::Direction::read)
    copy_bytes(bounce, reinterpret_cast<const void*>(address), request.bytes);
  else
    copy_bytes(reinterpret_cast<void*>(address), bounce, request.bytes);
  count_.fetch_add(1, std::memory_order_relaxed);
}

bool CopyRequests::serve() {
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
