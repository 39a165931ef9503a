// Alltoall, Alltoallv and Alltoallw between nodes: every rank sends and receives for itself.
//
// Phase 1: each rank posts its messages with the ranks of other nodes, from and to its own buffers; none for a block of no
// bytes, of which both ends know. Phase 2, meanwhile: the ranks of a node list the sizes of the blocks that they have for
// each other in memory that they share, copy these blocks there, and take theirs, of long blocks slice by slice. Phase 3:
// each waits for its messages.
// Cost: (N - 1) P messages of n bytes a rank, all posted at once; inside, 2 P n copied by each rank.
// Requires: nothing. No multi-object algorithm: with large or irregular blocks there is nothing to be put together.

#include <cstdint>

#include "collectives/algorithm.h"
#include "collectives/between_nodes/packed.h"

namespace tutti {

namespace {

/// Where the blocks lie that the ranks of a node have for each other, by sender and receiver: where those of the first slice
/// do, which are the longest.
class Inside {
 public:
  Inside(const Crossing& crossing, const Slices& slices, const std::uint64_t* sizes, std::size_t places)
      : slices_(slices),
        sizes_(sizes),
        places_(places),
        starts_(starts_of(crossing, places * places, [&](std::size_t i) { return slices.bytes(0, sizes[i]); })) {}
  std::size_t bytes() const { return starts_.back(); }
  /// Of a slice.
  std::size_t size(int slice, int from, int to) const { return slices_.bytes(slice, sizes_[index(from, to)]); }
  std::size_t at(int from, int to) const { return starts_[index(from, to)]; }

 private:
  std::size_t index(int from, int to) const {
    return static_cast<std::size_t>(from) * places_ + static_cast<std::size_t>(to);
  }
  const Slices& slices_;
  const std::uint64_t* sizes_;
  std::size_t places_;
  Starts starts_;
};

Task pairs_body(Operation& operation, const AlltoallArguments& arguments) {
  Crossing crossing(operation);
  const network::Nodes& nodes = crossing.nodes;
  const auto places = static_cast<std::size_t>(crossing.places);
  auto lent = crossing.lend(places * places * sizeof(std::uint64_t));
  // So that not all send to the same rank at once.
  int to = crossing.self, from = crossing.self;
  for (int distance = 1; distance < nodes.ranks(); ++distance) {
    to = to + 1 == nodes.ranks() ? 0 : to + 1;
    from = from == 0 ? nodes.ranks() - 1 : from - 1;
    const auto to_block = static_cast<std::size_t>(to), from_block = static_cast<std::size_t>(from);
    if (nodes.node_of(from) != crossing.node)
      crossing.receive_from(from, 0, arguments.receive.at(from_block), arguments.receive.size(from_block));
    if (nodes.node_of(to) != crossing.node)
      crossing.send_to(to, 0, arguments.send.at(to_block), arguments.send.size(to_block));
  }
  auto* const sizes = reinterpret_cast<std::uint64_t*>(co_await lent);
  const auto rank_at = [&](int place) { return static_cast<std::size_t>(nodes.rank_at(crossing.node, place)); };
  for (int to = 0; to < crossing.places; ++to)
    sizes[static_cast<std::size_t>(crossing.place) * places + static_cast<std::size_t>(to)] =
        arguments.send.size(rank_at(to));
  co_await crossing.together();
  const Slices slices(operation, sizes, places * places, places * places);
  const Inside inside(crossing, slices, sizes, places);
  std::byte* const blocks = co_await crossing.lend_more(inside.bytes());
  for (int slice = 0; slice < slices.count(); ++slice) {
    if (slice > 0) co_await crossing.together();  // the memory is used again
    for (int to = 0; to < crossing.places; ++to)
      if (const std::size_t bytes = inside.size(slice, crossing.place, to))
        copy_bytes(blocks + inside.at(crossing.place, to), arguments.send.at(rank_at(to)) + slices.begin(slice), bytes);
    co_await crossing.together();
    for (int from = 0; from < crossing.places; ++from) {
      const std::size_t room = slices.bytes(slice, arguments.receive.size(rank_at(from)));
      const std::size_t bytes = operation.fitting(inside.size(slice, from, crossing.place), room);
      std::byte* const to = arguments.receive.at(rank_at(from)) + slices.begin(slice);
      if (bytes > 0) copy_bytes(to, blocks + inside.at(from, crossing.place), bytes);
    }
  }
  co_await leave(operation, crossing);
}

}  // namespace

selection::Algorithm<AlltoallArguments> between_nodes_alltoall_pairs{
    "pairs",
    {"1", "(N-1) P^2 n", "each rank for itself"},
    selection::requires_nodes,
    [](const selection::Shape& shape) {
      const double bytes = shape.class_bytes();
      const double others = (shape.nodes - 1.0) * shape.places;
      return selection::Cost{.hops = 5,
                             .beside = {.copied_bytes = 2 * shape.places * bytes},
                             .between = {.rounds = shape.nodes > 1 ? 1.0 : 0.0,
                                         .messages = others * shape.places,
                                         .bytes = others * shape.places * bytes}};
    },
    {pairs_body, crossing_flags}};

}  // namespace tutti
