#include "memory/transfers.h"

#include <sched.h>
#include <sys/uio.h>

#include <algorithm>

#include "base/copy.h"
#include "base/simulated.h"

namespace tutti::memory {

void Transfers::leave_open(const Peer& peer, const Copy& copy, const Lack& lack) {
  open_.push_back({&peer, copy, lack});
  if (advance(open_.back())) open_.pop_back();
}

bool Transfers::advance_all() {
  for (std::size_t i = 0; i < open_.size();) {
    if (!advance(open_[i])) {
      ++i;
      continue;
    }
    // The one that comes in its place may ask now for what was too much before.
    open_[i] = open_.back();
    open_.pop_back();
  }
  return open_.empty();
}

/// Whether it is over.
bool Transfers::advance(Open& open) const {
  const Peer& peer = *open.peer;
  for (;;) {
    if (open.asked) {
      if (!peer.requests->is_answered(peer.rank, *open.asked)) return false;
      take(open);
    } else if (open.lack.of != Lack::Of::filling) {
      if (ask(open)) continue;
      return false;
    }
    if (open.copy.bytes == 0) return true;
    const Lack before = open.lack;
    open.lack = peer.advance(open.copy, open.filled);
    if (open.lack.of == Lack::Of::nothing) return true;
    if (open.lack.of == Lack::Of::filling) return false;
    // What the owner has said is not enough: the next look asks again.
    if (open.lack.of == Lack::Of::count && before.of == Lack::Of::count) return false;
  }
}

/// False if it has to be asked later, since as much as may be is under way.
bool Transfers::ask(Open& open) const {
  const Peer& peer = *open.peer;
  const Copy& copy = open.copy;
  const bool counts = open.lack.of == Lack::Of::count;
  open.part = counts ? sizeof open.filled : std::min(open.lack.bytes, CopyRequests::chunk_bytes);
  const std::uint64_t address =
      counts ? peer.address_of_count(copy.region) : peer.address_of(copy.region) + copy.offset;
  const CopyRequests::Chunk chunk{counts ? Copy::Direction::read : copy.direction, address, copy.local, open.part,
                                  open.lack.error};
  open.asked = peer.requests->ask(peer.rank, chunk, waits_);
  return open.asked.has_value();
}

void Transfers::take(Open& open) {
  CopyRequests& requests = *open.peer->requests;
  Copy& copy = open.copy;
  const bool counts = open.lack.of == Lack::Of::count;
  std::byte* const to = counts ? reinterpret_cast<std::byte*>(&open.filled) : copy.local;
  requests.take(*open.asked, counts || copy.direction == Copy::Direction::read ? to : nullptr, open.part);
  open.asked.reset();
  if (!counts) copy.advance(open.part);
}

void Transfers::give_up() {
  for (const Open& open : open_)
    if (open.asked) open.peer->requests->give_up(open.peer->rank, *open.asked);
  open_.clear();
}

void Transfers::begin_runs(const Peer& peer, Region region, const Run* runs, std::size_t count, Store store) {
  for (std::size_t done = 0; done < count;) {
    const std::size_t part = std::min(count - done, Peer::runs_at_once);
    // One by one, also what the kernel has not copied as a whole: each is looked into by itself then.
    if (!peer.copy_runs_by_kernel(region, runs + done, part))
      for (std::size_t i = done; i < done + part; ++i)
        begin(peer, {Copy::Direction::read, store, region, runs[i].offset, runs[i].destination, runs[i].bytes});
    done += part;
  }
}

namespace {

/// For those who may wait: what asks before there are operations.
void carry_out(const Peer& peer, const Copy& copy) {
  Transfers transfers(true);
  transfers.begin(peer, copy);
  if (transfers.over()) return;
  if (peer.requests)
    sync::wait(*peer.requests->waiter, {"a copy that its owner makes", nullptr, 0, peer.rank},
               [&] { return transfers.go_on(); });
  else
    while (!transfers.go_on()) {
      if constexpr (simulated::on) simulated::pause();
      sched_yield();
    }
}

}  // namespace

void Peer::copy_from(Region region, std::size_t offset, void* destination, std::size_t bytes, Store store) const {
  carry_out(*this, {Copy::Direction::read, store, region, offset, static_cast<std::byte*>(destination), bytes});
}

void Peer::copy_to(Region region, std::size_t offset, const void* source, std::size_t bytes, Store store) const {
  auto* const from = static_cast<std::byte*>(const_cast<void*>(source));
  carry_out(*this, {Copy::Direction::write, store, region, offset, from, bytes});
}

}  // namespace tutti::memory
