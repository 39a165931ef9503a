#include "collectives/common/smhc.h"

#include <algorithm>

namespace tutti::smhc {

namespace {

/// The two pieces of a rank do not share a line.
constexpr std::size_t round_to_line(std::size_t bytes) {
  return (bytes + sync::line_bytes - 1) / sync::line_bytes * sync::line_bytes;
}

std::byte* piece_of(Operation& operation, int rank, const Pieces& mine, std::size_t i) {
  return operation.communicator().peer(rank).pointer(posted_source(operation, rank), mine.offset(i), mine.piece);
}

}  // namespace

Pieces post_pieces(Operation& operation, std::size_t bytes, std::size_t unit) {
  Communicator& communicator = operation.communicator();
  const std::size_t chunk_bytes = communicator.chunk_bytes();
  Pieces pieces;
  pieces.bytes = bytes;
  if (bytes <= communicator.slot_bytes()) {
    pieces.region = operation.data_region();
    pieces.local = operation.own_data();
    pieces.piece = bytes;
    pieces.count = 1;
  } else {
    pieces.piece = std::max<std::size_t>(1, chunk_bytes / unit) * unit;
    pieces.distance = round_to_line(pieces.piece);
    pieces.count = (bytes + pieces.piece - 1) / pieces.piece;
    pieces.local = operation.staging(static_cast<int>(Side::source), 2 * pieces.distance);
    pieces.region = communicator.arena_region(pieces.local);
  }
  post(operation, {pieces.region, pieces.local, true, pieces.in_the_ring()}, {});
  return pieces;
}

Task release(Operation& operation, TreePlace place, Pieces mine, std::byte* buffer) {
  for (std::size_t i = 0; i < mine.count; ++i) {
    std::byte* user = buffer + mine.begin(i);
    std::byte* shared = mine.local + mine.offset(i);
    const std::byte* source = user;
    if (place.parent >= 0) {
      co_await operation.has(place.parent, released, i + 1);
      source = piece_of(operation, place.parent, mine, i);
    }
    if (place.child_count > 0) {
      for (int c = 0; c < place.child_count && i >= 2; ++c) co_await operation.done(place.children[c], i - 1);
      copy_bytes(shared, source, mine.length(i));
      operation.publish(released, i + 1);
    }
    if (place.parent < 0) continue;
    copy_bytes(user, place.child_count > 0 ? shared : source, mine.length(i));
    if (!mine.in_the_ring()) operation.publish_done(i + 1);
  }
  if (mine.in_the_ring()) co_return;
  for (int c = 0; c < place.child_count; ++c) co_await operation.done(place.children[c], mine.count);
}

Task collect(Operation& operation, TreePlace place, Pieces mine, const std::byte* send, std::byte* result,
             const Combiner& combiner) {
  Communicator& communicator = operation.communicator();
  // The members of the group in rank order, this rank among them.
  const auto members = static_cast<std::size_t>(place.child_count) + 1;
  int* member = operation.array<int>(members);
  std::copy_n(place.children, place.child_count, member);
  member[place.child_count] = communicator.rank();
  std::sort(member, member + members);

  const void** sources = operation.sources();
  for (std::size_t i = 0; i < mine.count; ++i) {
    const std::byte* contribution = send + mine.begin(i);
    std::byte* shared = mine.local + mine.offset(i);
    if (place.parent >= 0 && i >= 2) co_await operation.has(place.parent, combined, i - 1);
    if (place.child_count == 0) {
      copy_bytes(shared, contribution, mine.length(i));
    } else {
      for (std::size_t m = 0; m < members; ++m) {
        sources[m] = contribution;
        if (member[m] == communicator.rank()) continue;
        co_await operation.has(member[m], collected, i + 1);
        sources[m] = piece_of(operation, member[m], mine, i);
      }
      combiner(place.parent < 0 ? result + mine.begin(i) : shared, sources, members,
               mine.length(i) / combiner.element_bytes);
      if (!mine.in_the_ring()) operation.publish(combined, i + 1);
    }
    if (place.parent >= 0) operation.publish(collected, i + 1);
  }
  if (place.parent >= 0 && !mine.in_the_ring()) co_await operation.has(place.parent, combined, mine.count);
}

Task bcast(Operation& operation, const TreePlace& place, const BcastArguments& arguments) {
  return release(operation, place, post_pieces(operation, arguments.bytes, 1), arguments.buffer);
}

Task reduce(Operation& operation, const TreePlace& place, const ReduceArguments& arguments) {
  const Pieces pieces = post_pieces(operation, arguments.bytes(), arguments.combiner->element_bytes);
  return collect(operation, place, pieces, arguments.send, arguments.receive, *arguments.combiner);
}

Task allreduce(Operation& operation, TreePlace place, const AllreduceArguments& arguments) {
  const Pieces pieces = post_pieces(operation, arguments.bytes(), arguments.combiner->element_bytes);
  co_await collect(operation, place, pieces, arguments.send, arguments.receive, *arguments.combiner);
  // The result has come from everybody's pieces: they are free for the way down.
  co_await release(operation, place, pieces, arguments.receive);
}

}  // namespace tutti::smhc
