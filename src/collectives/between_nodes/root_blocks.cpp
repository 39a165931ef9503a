#include "collectives/between_nodes/root_blocks.h"

#include <algorithm>

namespace tutti {

RootBlocks::RootBlocks(Operation& operation, RootedCrossing& crossing, const Blocks& own, Side side,
                       std::ptrdiff_t skip)
    : operation_(operation), crossing_(crossing), own_(own), side_(side), skip_(skip), is_root_(crossing.is_root) {
  const auto ranks = static_cast<std::size_t>(crossing.nodes.ranks());
  if (is_root_)
    exposed_ = post_blocks(operation, {.blocks = own, .count = ranks, .side = side, .skip = skip});
  else
    region_ = posted_block(operation, crossing.owner, 0, side).region;
  if (region_.kind() != memory::Kind::filling) return;
  // The root may leave its own block where it is: only the root knows, and nobody else reads it.
  const int root = crossing.nodes.rank_at(crossing.node, crossing.owner);
  for (int rank = 0; rank < crossing.nodes.ranks(); ++rank) {
    const Place block = place_of(rank);
    if (rank != root) end_ = std::max(end_, static_cast<std::size_t>(block.at) + block.bytes);
  }
}

RootBlocks::Place RootBlocks::place_of(int rank) const {
  const auto r = static_cast<std::size_t>(rank);
  if (is_root_) return {exposed_.local.offset(r), exposed_.local.size(r)};
  const RemoteBlock block = posted_block(operation_, crossing_.owner, r, side_);
  return {static_cast<std::ptrdiff_t>(block.offset), block.bytes};
}

std::size_t RootBlocks::size(int rank) const {
  return place_of(rank).bytes;
}

template <class Of>
void RootBlocks::for_parts(const Packed& packed, topology::Range nodes, std::size_t at, const Of& of) const {
  std::ptrdiff_t begin = 0;
  std::size_t from = 0, bytes = 0, next = 0;
  for (std::size_t node = nodes.begin; node < nodes.end; ++node)
    for (const int rank : crossing_.nodes.ranks_of(static_cast<int>(node))) {
      const std::size_t here = next, sent = packed.size(rank);
      next += sent;
      if (sent == 0) continue;
      const Place place = place_of(rank);
      const std::size_t fits = std::min(sent, place.bytes - std::min(place.bytes, at));
      if (fits == 0) continue;
      const std::ptrdiff_t there = place.at + static_cast<std::ptrdiff_t>(at);
      if (bytes > 0 && there == begin + static_cast<std::ptrdiff_t>(bytes) && here == from + bytes) {
        bytes += fits;
        continue;
      }
      if (bytes > 0) of(begin, from, bytes);
      begin = there;
      from = here;
      bytes = fits;
    }
  if (bytes > 0) of(begin, from, bytes);
}

std::byte* RootBlocks::whole(const Packed& packed, topology::Range nodes, std::size_t at) const {
  if (!is_root_ && !memory::always_mapped(region_.kind())) return nullptr;
  const std::size_t all = bytes_at(packed.starts, nodes);
  std::byte* found = nullptr;
  // One that is as long as all of them has no other beside it.
  for_parts(packed, nodes, at, [&](std::ptrdiff_t begin, std::size_t, std::size_t bytes) {
    if (bytes == all)
      found = is_root_ ? exposed_.local.base + begin : root().pointer(region_, static_cast<std::size_t>(begin), bytes);
  });
  return found;
}

std::size_t RootBlocks::bytes_to_copy(const Packed& packed, std::size_t at) const {
  std::size_t bytes = 0;
  for (const network::Branch& branch : crossing_.tree.children)
    if (crossing_.serves(branch.lane) && !whole(packed, branch.nodes, at))
      bytes += bytes_at(packed.starts, branch.nodes);
  return bytes;
}

void RootBlocks::make_messages(const Packed& packed, std::size_t at, std::size_t scratch_at) {
  std::byte* copied = operation_.scratch(scratch_at + bytes_to_copy(packed, at)) + scratch_at;
  for (const network::Branch& to : crossing_.tree.children) {
    const std::size_t bytes = bytes_at(packed.starts, to.nodes);
    if (!crossing_.serves(to.lane) || bytes == 0) continue;
    const std::byte* message = whole(packed, to.nodes, at);
    if (!message) {
      message = copied;
      runs_.clear();
      for_parts(packed, to.nodes, at, [&](std::ptrdiff_t begin, std::size_t from, std::size_t of) {
        if (is_root_)
          copy_bytes(copied + from, exposed_.local.base + begin, of);
        else
          runs_.push_back({static_cast<std::size_t>(begin), copied + from, of});
      });
      operation_.peer(crossing_.owner).copy_runs_from(region_, runs_.data(), runs_.size());
      copied += bytes;
    }
    messages_.push_back({&to, message, bytes});
  }
}

void RootBlocks::send(int first_step) {
  for (const Message& each : messages_) crossing_.send_down(*each.to, first_step, each.begin, each.bytes);
  messages_.clear();
}

void RootBlocks::receive(const Packed& packed, std::size_t at, int first_step) {
  std::byte* copied = operation_.scratch(bytes_to_copy(packed, at));
  for (const network::Branch& from : crossing_.tree.children) {
    const std::size_t bytes = bytes_at(packed.starts, from.nodes);
    if (!crossing_.serves(from.lane) || bytes == 0) continue;
    std::byte* message = whole(packed, from.nodes, at);
    if (!message) {
      message = copied;
      coming_.push_back({from.nodes, message});
      copied += bytes;
    }
    crossing_.receive_up(from, first_step, message, bytes);
  }
}

void RootBlocks::unpack(const Packed& packed, std::size_t at) {
  for (const Coming& each : coming_)
    for_parts(packed, each.nodes, at, [&](std::ptrdiff_t begin, std::size_t from, std::size_t bytes) {
      if (is_root_)
        copy_bytes(exposed_.local.base + begin, each.from + from, bytes);
      else
        operation_.peer(crossing_.owner).copy_to(region_, static_cast<std::size_t>(begin), each.from + from, bytes);
    });
  coming_.clear();
}

void RootBlocks::copy_own_to(std::byte* to, std::size_t bytes) const {
  if (bytes == 0) return;
  const Place own = place_of(crossing_.nodes.rank_at(crossing_.node, crossing_.place));
  if (is_root_)
    copy_bytes(to, exposed_.local.base + own.at, bytes);
  else
    operation_.peer(crossing_.owner).copy_from(region_, static_cast<std::size_t>(own.at), to, bytes);
}

void RootBlocks::copy_own_from(const std::byte* from, std::size_t bytes) const {
  const int rank = crossing_.nodes.rank_at(crossing_.node, crossing_.place);
  const Place own = place_of(rank);
  const std::size_t fits = std::min(bytes, own.bytes);
  if (fits > 0) {
    if (is_root_)
      copy_bytes(exposed_.local.base + own.at, from, fits);
    else
      operation_.peer(crossing_.owner).copy_to(region_, static_cast<std::size_t>(own.at), from, fits);
  }
  if (bytes > own.bytes) say_sent(operation_, crossing_.owner, static_cast<std::size_t>(rank), bytes);
}

void RootBlocks::say_lengths(const Packed& packed) const {
  for (const network::Branch& from : crossing_.tree.children) {
    if (!crossing_.serves(from.lane)) continue;
    for (std::size_t node = from.nodes.begin; node < from.nodes.end; ++node)
      for (const int rank : crossing_.nodes.ranks_of(static_cast<int>(node)))
        if (const std::size_t sent = packed.size(rank); sent > size(rank))
          say_sent(operation_, crossing_.owner, static_cast<std::size_t>(rank), sent);
  }
}

void RootBlocks::collect() {
  const auto ranks = static_cast<std::size_t>(crossing_.nodes.ranks());
  collect_blocks(exposed_, own_, ranks, skip_);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    if (static_cast<std::ptrdiff_t>(rank) != skip_) note_if_too_long(operation_, own_, rank);
}

}  // namespace tutti
