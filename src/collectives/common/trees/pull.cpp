#include "collectives/common/trees/pull.h"

namespace tutti {

TreePlace flat_place(Operation& operation, int root) {
  Communicator& communicator = operation.communicator();
  TreePlace place;
  place.chunk_bytes = communicator.chunk_bytes();
  if (communicator.rank() != root) {
    place.parent = root;
    return place;
  }
  int* children = operation.array<int>(static_cast<std::size_t>(communicator.size() - 1));
  for (int rank = 0; rank < communicator.size(); ++rank)
    if (rank != root) children[place.child_count++] = rank;
  place.children = children;
  return place;
}

TreePlace place_in(Operation& operation, const topology::RankPlan& plan) {
  TreePlace place;
  place.parent = plan.parent;
  int* children = operation.array<int>(static_cast<std::size_t>(plan.child_count));
  for (const auto& level : plan.children)
    for (const int child : level) children[place.child_count++] = child;
  place.children = children;
  return place;
}

Task pull_down(Operation& operation, const BcastArguments& arguments, TreePlace place, bool through_slot) {
  const std::size_t bytes = arguments.bytes;
  const std::uint64_t all = grains_complete(bytes, bytes);
  const bool is_root = place.parent < 0;
  Exposure mine{{}, arguments.buffer, false, true};
  if (place.child_count > 0) {
    // Only the root has all before anybody reads: it alone may lend a copy of what could be read as it is.
    mine = expose(operation, arguments.buffer, bytes, is_root ? Side::source : Side::destination, through_slot);
    // What need not be copied is ready with the post: children then look at one line, not at two.
    post(operation, mine, {}, is_root && !mine.copied ? all : 0);
  }
  if (is_root) {
    for (std::size_t at = 0; mine.copied && at < bytes; at += place.chunk_bytes) {
      const std::size_t end = std::min(at + place.chunk_bytes, bytes);
      copy_to_lend(operation, mine.local + at, arguments.buffer + at, end - at);
      operation.publish(grains_there, grains_complete(end, bytes));
    }
  } else {
    if (place.predecessor >= 0) co_await operation.done(place.predecessor);
    const sync::Flag& posted = operation.slot(place.parent).post.flag;
    co_await operation.has(posted, 0, place.parent);
    const sync::Flag& available =
        posted.has(operation.stamp(all)) ? posted : operation.slot(place.parent).flags[grains_there];
    const memory::PeerTransfers parent = operation.peer(place.parent);
    std::size_t end = 0;
    for (std::size_t at = 0; at < bytes; at = end) {
      end = std::min(at + place.chunk_bytes, bytes);
      co_await operation.has(available, grains_needed(end), place.parent);
      // Nobody waits for the chunks of a leaf: it takes the rest at once, which is one call where the kernel copies.
      if (place.child_count == 0 && available.has(operation.stamp(all))) end = bytes;
      parent.copy_from(posted_source(operation, place.parent), at, mine.local + at, end - at,
                       place.child_count ? memory::Store::cached : arguments.store);
      co_await operation.copied();
      if (place.child_count > 0) operation.publish(grains_there, grains_complete(end, bytes));
      if (mine.copied) copy_bytes(arguments.buffer + at, mine.local + at, end - at);
    }
    operation.publish_done();
  }
  if (mine.in_the_ring) co_return;
  for (int i = 0; i < place.child_count; ++i) {
    const int child = place.children[i];
    co_await operation.done(child);
  }
}

}  // namespace tutti
