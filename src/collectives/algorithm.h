// What an algorithm is written with: its arguments, what it says of itself, and the verbs in which it moves bytes.
//
//   stage   lets peers read a buffer: where it is or, if they cannot reach it there, a copy
//   pull    copies a block that a peer lets others read
//   push    copies a block to where a peer has room for it
//   keep    copies the own block
//
// No verb waits. Before a peer is pulled from or pushed to, its post has to be seen: co_await operation.posted(peer).
// What is pulled is there, and of what is pushed may be said that it is there, after co_await operation.copied().
#pragma once

#include <algorithm>

#include "base/copy.h"
#include "collectives/common/buffers/blocks.h"
#include "collectives/kinds.h"
#include "selection/algorithm.h"
#include "selection/looks.h"

namespace tutti {

/// The body of an algorithm in which the root does something else than the others.
template <auto root, auto others, class Arguments>
Task rooted(Operation& operation, const Arguments& arguments) {
  const bool is_root = operation.communicator().rank() == arguments.root;
  return is_root ? root(operation, arguments) : others(operation, arguments);
}

/// The rank that comes `distance` after the root, round the end; the root itself is at 0.
constexpr int rank_at(int root, int distance, int ranks) {
  return (root + distance) % ranks;
}
constexpr int distance_of(int rank, int root, int ranks) {
  return (rank - root + ranks) % ranks;
}

/// Exposes what peers are to read, posts it, and copies it if need be (post_filling()). destination: posted with it.
inline Exposure stage(Operation& operation, const std::byte* buffer, std::size_t bytes,
                      const Exposure& destination = {}) {
  Exposure source = expose(operation, const_cast<std::byte*>(buffer), bytes, Side::source);
  post_filling(operation, source, destination, buffer, bytes);
  return source;
}

/// Block `index` of `rank`, as far as there is room for it. spread: where it belongs, if its elements have gaps.
inline void pull(Operation& operation, int rank, int index, const Block& to, memory::Store store,
                 memory::Spread* spread = nullptr) {
  const RemoteBlock theirs = posted_block(operation, rank, static_cast<std::size_t>(index), Side::source);
  const std::size_t bytes = operation.fitting(theirs.bytes, to.bytes);
  if (bytes == 0) return;
  if (spread && spread->layout.bytes() != bytes) spread = nullptr;
  if (theirs.layout) return pull_spread(operation, rank, theirs, {to.at, bytes}, spread);
  if (spread) spread->is_there = true;
  operation.peer(rank).copy_from(theirs.region, theirs.offset, to.at, bytes, store, spread);
}
/// The same the other way round. Returns how much room there is.
inline std::size_t push(Operation& operation, int rank, int index, const Block& from, memory::Store store) {
  const RemoteBlock theirs = posted_block(operation, rank, static_cast<std::size_t>(index), Side::destination);
  if (const std::size_t bytes = std::min(theirs.bytes, from.bytes))
    operation.peer(rank).copy_to(theirs.region, theirs.offset, from.at, bytes, store);
  return theirs.bytes;
}

/// From the send to the receive buffer, unless it is where it belongs. Who fetches the blocks of others does this
/// before, as soon as it has said where its blocks are. Nobody waits for it then. What the program has just written is
/// still in the cache, out of which the blocks of others push it (and from which peers fetch the lines that they read).
inline void keep(std::byte* to, const std::byte* from, std::size_t bytes, memory::Store store) {
  if (bytes == 0 || from == to) return;
  if (store == memory::Store::streaming)
    memory::stream_copy(to, from, bytes);
  else
    copy_bytes(to, from, bytes);
}
/// The same of a call: as much as there is room for.
inline void keep_own_block(const Communicator& communicator, const ScatterArguments& arguments) {
  const Block own = arguments.send[communicator.rank()];
  if (arguments.receive) keep(arguments.receive, own.at, std::min(arguments.bytes, own.bytes), arguments.store);
}
inline void keep_own_block(const Communicator& communicator, const GatherArguments& arguments) {
  const Block own = arguments.receive[communicator.rank()];
  if (arguments.send) keep(own.at, arguments.send, std::min(arguments.bytes, own.bytes), arguments.store);
}
inline void keep_own_block(const Communicator& communicator, const AlltoallArguments& arguments) {
  const Block from = arguments.send[communicator.rank()], to = arguments.receive[communicator.rank()];
  memory::Spread* const sent = arguments.sent[communicator.rank()];
  memory::Spread* const received = arguments.received[communicator.rank()];
  // Not of a part of a block.
  const auto has_all = [&](const memory::Spread* block) { return !block || block->layout.bytes() == from.bytes; };
  if ((!sent && !received) || from.bytes != to.bytes || !has_all(sent) || !has_all(received)) {
    keep(to.at, from.at, std::min(from.bytes, to.bytes), arguments.store);
    return;
  }
  const memory::Layout packed(from.bytes);
  memory::copy_between(received ? received->layout : packed, received ? received->base : to.at,
                       sent ? sent->layout : packed, sent ? sent->base : from.at, from.bytes);
  if (received) received->is_there = true;
}

}  // namespace tutti
