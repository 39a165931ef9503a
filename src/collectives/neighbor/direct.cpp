// Neighbor_allgather(v) and Neighbor_alltoall(v,w): copied straight from the neighbour's buffer.
//
// Phase 1: every rank that has somebody to send to posts its blocks: the smallest, all of them, in the flag's own line;
// small ones, and those that peers cannot reach, copied into the operation's data area; others where they are. Phase 2:
// it takes the blocks of its sources, those first that are there already. Phase 3: who has exposed its own memory waits
// until its destinations have taken what is theirs.
// Cost: one flag hop for what travels in lines or data areas, else two; n bytes copied of n received, twice if small.
// A rank waits for its own neighbours only.
// Requires: nothing. How a rank sends is its own decision, read by the receivers from the post: degrees and, for the
// forms with a v or w, sizes are known to few. After MPI 4.1, section 8.6; single copy as in XHC, section III.C.

#include "base/copy.h"
#include "collectives/collectives.h"
#include "collectives/common/blocks.h"
#include "reduction/copy.h"

namespace tutti {

namespace {

// The progress of the post's flag says what it holds: 0 where the blocks are (blocks.h), otherwise the blocks
// themselves, regular ones of so many bytes, or one for all destinations.
constexpr std::uint64_t inline_blocks = 1;
constexpr std::uint64_t inline_same_block = inline_blocks + Post::inline_bytes + 1;

bool somebody(const int* ranks, int count, int self) {
  for (int i = 0; i < count; ++i)
    if (ranks[i] >= 0 && ranks[i] != self) return true;
  return false;
}

/// What of `blocks` has to travel.
std::size_t bytes_of(const Blocks& blocks, std::size_t count) {
  if (blocks.is_regular()) return blocks.stride == 0 ? blocks.bytes : blocks.bytes * count;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) bytes += blocks.sizes[i];
  return bytes;
}

/// True if peers read this rank's own memory, so that it has to wait for them.
bool post_send(Operation& operation, const NeighborArguments& arguments) {
  const auto count = static_cast<std::size_t>(arguments.destination_count);
  const Blocks& blocks = arguments.send;
  const std::size_t bytes = bytes_of(blocks, count);
  if (!blocks.is_regular() || bytes > Post::inline_bytes) {
    const bool small = bytes <= operation.communicator().node().settings.eager_max;
    return !post_blocks(operation, blocks, count, Side::source, small).exposure.in_the_ring;
  }
  Post& post = operation.own().post;
  if (blocks.stride == 0 || blocks.stride == blocks.bytes)
    reduction::copy(post.payload, blocks.base, bytes);
  else
    for (std::size_t i = 0; i < count; ++i)
      reduction::copy(post.payload + i * blocks.bytes, blocks.at(i), blocks.bytes);
  operation.publish(post.flag, (blocks.stride == 0 ? inline_same_block : inline_blocks) + blocks.bytes);
  return false;
}

/// Takes the block of source `i`, which has posted. True if it was taken from the source's own memory.
bool take(Operation& operation, const NeighborArguments& arguments, std::size_t i) {
  Communicator& communicator = operation.communicator();
  const int source = arguments.sources[i];
  const auto index = static_cast<std::size_t>(arguments.source_blocks[i]);
  std::byte* const to = arguments.receive.at(i);
  const std::size_t room = arguments.receive.size(i);
  if (source == communicator.rank()) {
    const std::size_t bytes = fitting(communicator, arguments.send.size(index), room);
    if (bytes) copy_bytes(to, arguments.send.at(index), bytes);
    return false;
  }
  communicator.check(source, operation.sequence());
  const Post& post = operation.slot(source).post;
  if (const std::uint64_t inlined = post.flag.get() & sync::progress_max) {
    const bool same = inlined >= inline_same_block;
    const auto sent = static_cast<std::size_t>(inlined - (same ? inline_same_block : inline_blocks));
    reduction::copy(to, post.payload + (same ? 0 : index * sent), fitting(communicator, sent, room));
    return false;
  }
  const RemoteBlock block = posted_block(operation, source, index, Side::source);
  if (const std::size_t bytes = fitting(communicator, block.bytes, room))
    communicator.peer(source).copy_from(block.region, block.offset, to, bytes, arguments.store);
  return true;
}

Task exchange(Operation& operation, const NeighborArguments& arguments) {
  const int self = operation.communicator().rank();
  const auto sources = static_cast<std::size_t>(arguments.source_count);
  const bool wait_for_readers =
      somebody(arguments.destinations, arguments.destination_count, self) && post_send(operation, arguments);

  bool answer = false;
  std::size_t left = 0;
  auto* later = operation.array<std::uint32_t>(sources);
  for (std::size_t i = 0; i < sources; ++i) {
    const int source = arguments.sources[i];
    if (source < 0) continue;
    if (source == self || operation.slot(source).post.flag.has(operation.stamp()))
      answer |= take(operation, arguments, i);
    else
      later[left++] = static_cast<std::uint32_t>(i);
  }
  for (std::size_t at = 0; at < left; ++at) {
    const int source = arguments.sources[later[at]];
    co_await operation.has(operation.slot(source).post.flag, 0, source);
    answer |= take(operation, arguments, later[at]);
  }
  // Sources that wait do so for this flag; those that sent a copy do not.
  if (answer) operation.publish(operation.own().done.flag[0]);
  if (!wait_for_readers) co_return;
  for (int i = 0; i < arguments.destination_count; ++i) {
    const int reader = arguments.destinations[i];
    if (reader >= 0 && reader != self) co_await operation.has(operation.slot(reader).done.flag[0], 0, reader);
  }
}

void run(Communicator& communicator, const NeighborArguments& arguments) {
  Operation operation(communicator, "Neighbor exchange");
  operation.run(exchange(operation, arguments));
}

}  // namespace

extern const selection::Algorithm<NeighborArguments> neighbor_direct;
const selection::Algorithm<NeighborArguments> neighbor_direct{
    "direct", "nothing", [](const selection::Shape&) { return true; },
    [](const selection::Shape& shape) {
      // The degree is not among what all ranks know; in a grid of two dimensions it is 4.
      const double degree = std::min(4, shape.ranks - 1);
      const double bytes = degree * static_cast<double>(shape.bytes);
      const bool small = bytes <= static_cast<double>(shape.eager_max);
      return selection::Cost{.hops = small ? 1.0 : 2.0,
                             .rounds = small ? 1.0 : 2.0,
                             .remote_bytes = bytes,
                             .slot_bytes = small || shape.reach == selection::Reach::staged ? bytes : 0.0,
                             .exposures = small ? 0.0 : 1.0,
                             .startups = small ? 0.0 : degree,
                             .concurrency = degree};
    },
    run};

}  // namespace tutti
