// Allgather between nodes, for large messages: a ring of nodes, all ranks of a node at once, overlapped with the broadcast
// inside.
//
// Phase 1: each rank copies its block to where it belongs in its own buffer. Phase 2: N - 1 steps; in each, every rank sends
// its lane's share of the part that came last to the node behind, and receives its share of the next one from the node
// before, straight from and into its own buffer. If all nodes have P ranks and all blocks n bytes, a share is one block; of
// others it may be several, and goes through private memory if these do not follow each other. Phase 3, meanwhile: each
// rank copies from the others of its node what they have received, step by step.
// Cost, section III.B.1: alpha_r + n beta_r, then the greater one of alpha_e (N - 1) + P n (N - 1) beta_e between nodes and
// alpha_r (N - 1) + (P - 1) N n beta_r inside, which is the paper's (P - 1) N P n by P ranks at once.
// Requires: nothing. PiP-MColl, section III.B.1, Figure 4.

#include "collectives/algorithm.h"
#include "collectives/between_nodes/moves.h"
#include "collectives/between_nodes/packed.h"

namespace tutti {

namespace {

/// All blocks in each rank's buffer.
class AllBlocks final : public RingShares {
 public:
  AllBlocks(Operation& operation, const Crossing& crossing, const Packed& packed, const AllgatherArguments& arguments,
            int self)
      : operation_(operation),
        crossing_(crossing),
        packed_(packed),
        arguments_(arguments),
        self_(self),
        exposed_(post_blocks(
            operation, {arguments.receive, static_cast<std::size_t>(crossing.nodes.ranks()), Side::destination})) {
    const auto own = static_cast<std::size_t>(self);
    const std::byte* const block = arguments.send ? arguments.send : arguments.receive.at(own);
    if (packed.size(self) > 0 && block != exposed_.local.at(own))
      copy_bytes(exposed_.local.at(own), block, packed.size(self));
    find_messages();
  }

  /// Whether this rank sends nothing of its node's blocks but its own.
  bool sends_own_block() const {
    const std::size_t begin = packed_.in_node(self_), end = begin + packed_.size(self_);
    for (int lane = crossing_.place; lane < crossing_.lanes; lane += crossing_.places) {
      const topology::Range bytes = share(crossing_.node, lane);
      if (!bytes.empty() && (bytes.begin < begin || bytes.end > end)) return false;
    }
    return true;
  }
  /// Of the own node, once it is there.
  void pack_own_part() {
    for (int lane = crossing_.place; lane < crossing_.lanes; lane += crossing_.places) {
      std::byte* to = private_at(crossing_.node, lane);
      if (!to) continue;
      for_pieces(crossing_.node, share(crossing_.node, lane), [&](int rank, std::size_t at, std::size_t bytes) {
        copy_bytes(to, local(rank) + at, bytes);
        to += bytes;
      });
    }
  }
  void collect() const {
    collect_blocks(exposed_, arguments_.receive, static_cast<std::size_t>(crossing_.nodes.ranks()),
                   arguments_.send ? -1 : self_);
  }

  const std::byte* to_send(int part, int lane) override { return to_receive(part, lane); }
  std::byte* to_receive(int part, int lane) override { return messages_[index(part, lane)].at; }
  void received(int part, int lane) override {
    const std::byte* from = private_at(part, lane);
    if (!from) return;
    for_pieces(part, share(part, lane), [&](int rank, std::size_t at, std::size_t bytes) {
      copy_bytes(local(rank) + at, from, bytes);
      from += bytes;
    });
  }
  void fetch(int place, int part) override {
    if (place == crossing_.place) return;
    PulledRuns runs(operation_.peer(place), arguments_.store);
    if (part == crossing_.node) {
      const int rank = crossing_.nodes.rank_at(part, place);
      if (packed_.size(rank) > 0) add(runs, place, rank, 0, packed_.size(rank));
    } else {
      for (int lane = place; lane < crossing_.lanes; lane += crossing_.places)
        for_pieces(part, share(part, lane),
                   [&](int rank, std::size_t at, std::size_t bytes) { add(runs, place, rank, at, bytes); });
    }
    runs.pull();
  }

 private:
  struct Lies {
    std::byte* at = nullptr;
    bool is_private = false;
  };

  topology::Range share(int part, int lane) const {
    return lane_share(bytes_at(packed_.starts, part), lane, crossing_.lanes);
  }
  std::byte* local(int rank) const { return exposed_.local.at(static_cast<std::size_t>(rank)); }
  std::size_t index(int part, int lane) const {
    return static_cast<std::size_t>(lane / crossing_.places * crossing_.nodes.count() + part);
  }
  std::byte* private_at(int part, int lane) const {
    const Lies& lies = messages_[index(part, lane)];
    return lies.is_private ? lies.at : nullptr;
  }
  /// What of the blocks of a node lies in a share of its part: of(rank, place in its block, bytes).
  template <class Of>
  void for_pieces(int node, topology::Range of_part, const Of& of) const {
    std::size_t begin = 0;
    for (const int rank : crossing_.nodes.ranks_of(node)) {
      const std::size_t end = begin + packed_.size(rank);
      const std::size_t from = std::max(begin, of_part.begin), to = std::min(end, of_part.end);
      if (from < to) of(rank, from - begin, to - from);
      begin = end;
    }
  }
  /// Those that are one piece of the buffer lie there.
  void find_messages() {
    const int lanes = (crossing_.lanes + crossing_.places - 1) / crossing_.places;
    messages_ = operation_.array<Lies>(static_cast<std::size_t>(lanes * crossing_.nodes.count()));
    std::size_t all = 0;
    for (int lane = crossing_.place; lane < crossing_.lanes; lane += crossing_.places)
      for (int part = 0; part < crossing_.nodes.count(); ++part) {
        Lies& lies = messages_[index(part, lane)];
        const std::byte* end = nullptr;
        for_pieces(part, share(part, lane), [&](int rank, std::size_t at, std::size_t bytes) {
          std::byte* const piece = local(rank) + at;
          if (!lies.at) lies.at = piece;
          lies.is_private = lies.is_private || (end && piece != end);
          end = piece + bytes;
        });
        if (!lies.is_private) continue;
        all += share(part, lane).length();
      }
    if (all == 0) return;
    std::byte* memory = operation_.scratch(all);
    for (int lane = crossing_.place; lane < crossing_.lanes; lane += crossing_.places)
      for (int part = 0; part < crossing_.nodes.count(); ++part)
        if (Lies& lies = messages_[index(part, lane)]; lies.is_private) {
          lies.at = memory;
          memory += share(part, lane).length();
        }
  }
  void add(PulledRuns& runs, int place, int rank, std::size_t at, std::size_t bytes) const {
    const RemoteBlock block = posted_block(operation_, place, static_cast<std::size_t>(rank), Side::destination);
    runs.add(block.region, block.offset + at, local(rank) + at, bytes);
  }

  Operation& operation_;
  const Crossing& crossing_;
  const Packed& packed_;
  const AllgatherArguments& arguments_;
  const int self_;
  const ExposedBlocks exposed_;
  Lies* messages_ = nullptr;
};

Task ring_body(Operation& operation, const AllgatherArguments& call) {
  Crossing crossing(operation);
  const AllgatherArguments arguments = piece_of(operation, crossing, call);
  const Packed packed(crossing, arguments.receive);
  AllBlocks blocks(operation, crossing, packed, arguments, crossing.self);
  crossing.announce(0);
  const bool at_once = blocks.sends_own_block();
  if (!at_once)
    for (int place = 0; place < crossing.places; ++place) {
      if (place == crossing.place) continue;
      co_await crossing.announced(place, 0);
      blocks.fetch(place, crossing.node);
    }
  co_await operation.copied();
  blocks.pack_own_part();
  co_await around_ring(operation, crossing, blocks, packed.starts, {.fetched = at_once ? 0 : 1});
  co_await leave_together(operation, crossing);
  blocks.collect();
}

}  // namespace

selection::Algorithm<AllgatherArguments> between_nodes_allgather_ring{
    "multi-object-ring",
    {"N-1", "(N-1) P n", "PiP-MColl III.B.1; any N and P"},
    selection::requires_nodes,
    [](const selection::Shape& shape) {
      const double bytes = shape.class_bytes();
      const double steps = shape.nodes - 1.0;
      return selection::Cost{
          .hops = 2,
          .copied_bytes = bytes,
          .beside = {.copied_bytes = shape.nodes * (shape.places - 1.0) * bytes},
          .between = {.rounds = steps, .messages = steps * shape.places, .bytes = steps * shape.places * bytes}};
    },
    {ring_body, crossing_flags}};

}  // namespace tutti
