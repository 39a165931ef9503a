// Neighbor_allgather(v) and Neighbor_alltoall(v,w): copied straight from the neighbour's buffer.
//
// Phase 1: every rank that has somebody to send to posts its blocks: small ones as letters, the smallest of them in the
// flag's own line; those that peers cannot reach, and others that are small together, copied into the operation's data
// area; others where they are. Phase 2: it takes the blocks of its sources, those first that are there already. Phase
// 3: who has exposed its own memory waits until its destinations have taken what is theirs.
// Cost: one flag hop for what travels in lines or data areas, else two; n bytes copied of n received, twice if small.
// A rank waits for its own neighbours only.
// Requires: nothing. How a rank sends is its own decision, read by the receivers from the post: degrees and, for the
// forms with a v or w, sizes are known to few. After MPI 4.1, section 8.6; single copy as in XHC, section III.C.

#include "base/copy.h"
#include "collectives/collectives.h"
#include "collectives/common/blocks.h"
#include "collectives/common/letter.h"

namespace tutti {

namespace {

/// use(i) for each block that has to travel: not to null processes, nor to this rank itself; once if all get the same.
template <class Use>
void for_each_sent(const NeighborArguments& arguments, int self, Use&& use) {
  const bool same = arguments.send.is_regular() && arguments.send.stride == 0;
  for (int i = 0; i < arguments.destination_count; ++i) {
    if (arguments.destinations[i] < 0 || arguments.destinations[i] == self) continue;
    use(static_cast<std::size_t>(same ? 0 : i));
    if (same) return;
  }
}

/// What of `blocks` has to travel if they are not letters.
std::size_t bytes_of(const Blocks& blocks, std::size_t count) {
  if (blocks.is_regular()) return blocks.stride == 0 ? blocks.bytes : blocks.bytes * count;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) bytes += blocks.sizes[i];
  return bytes;
}

void send_letters(Operation& operation, const NeighborArguments& arguments, const Letters::Form& form,
                  std::size_t count) {
  Communicator& communicator = operation.communicator();
  Letters letters(communicator);
  for_each_sent(arguments, communicator.rank(), [&](std::size_t i) {
    letters.write(operation.sequence(), form, i, arguments.send.at(i), arguments.send.size(i));
  });
  letters.send(operation.sequence(), form, count);
}

/// True if peers read this rank's own memory, so that it has to wait for them.
bool expose_blocks(Operation& operation, const NeighborArguments& arguments, bool pays_to_copy) {
  const auto count = static_cast<std::size_t>(arguments.destination_count);
  const std::size_t eager_max = operation.communicator().node().settings.eager_max;
  const bool small = pays_to_copy && bytes_of(arguments.send, count) <= eager_max;
  return !post_blocks(operation, arguments.send, count, Side::source, small).exposure.in_the_ring;
}

/// Takes the block of source `i`, which has posted. True if the source may be waiting for that.
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
  if (Letters(communicator).open(operation.sequence(), source, index, to, room)) return false;
  const RemoteBlock block = posted_block(operation, source, index, Side::source);
  if (const std::size_t bytes = fitting(communicator, block.bytes, room))
    communicator.peer(source).copy_from(block.region, block.offset, to, bytes, arguments.store);
  return true;
}

/// Takes the blocks of all sources. True if one of them may be waiting for that.
bool take_all(Operation& operation, const NeighborArguments& arguments) {
  const int self = operation.communicator().rank();
  const auto sources = static_cast<std::size_t>(arguments.source_count);
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
    operation.wait(operation.slot(source).post.flag, 0, source);
    answer |= take(operation, arguments, later[at]);
  }
  return answer;
}

/// No coroutine: it waits for one thing after the other.
void run(Communicator& communicator, const NeighborArguments& arguments) {
  const int self = communicator.rank();
  const Blocks& send = arguments.send;
  Letters::Lengths lengths;
  for_each_sent(arguments, self, [&](std::size_t i) { lengths.add(i, send.size(i), send.at(i)); });
  const Letters letters(communicator);
  Letters::Form form = letters.form_for(lengths);
  if (send.is_regular() && send.stride == 0) form.sizes = Letters::Sizes::same;
  Operation operation(communicator, "Neighbor exchange", Letters::in_flight(form));
  bool wait_for_readers = false;
  if (lengths.count > 0) {
    if (form.place != Letters::Place::none)
      send_letters(operation, arguments, form, lengths.count);
    else
      wait_for_readers = expose_blocks(operation, arguments, letters.pays_to_copy(lengths));
  }
  // Sources that wait do so for this flag; those that sent a copy do not.
  if (take_all(operation, arguments)) operation.publish(operation.own().done.flag[0]);
  for (int i = 0; wait_for_readers && i < arguments.destination_count; ++i) {
    const int reader = arguments.destinations[i];
    if (reader < 0 || reader == self) continue;
    operation.wait(operation.slot(reader).done.flag[0], 0, reader);
    communicator.check(reader, operation.sequence());
  }
  operation.complete();
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
