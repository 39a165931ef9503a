// Scan and Exscan along the chain of ranks, pipelined.
//
// Phase 1: every rank but the last exposes what it hands on: in a Scan its receive buffer, in an Exscan a buffer for what
// is combined of all ranks up to itself. Phase 2, block by block: rank r combines what rank r - 1 hands on with its own
// contribution, and hands that on. In an Exscan it keeps what it got. Phase 3: a rank waits until the next one has read.
// Cost: p - 1 flag hops and blocks one after the other, then n bytes read and combined once by each rank: none reads
// less. Only n bytes cross from one rank to the next, so of two domains of the machine that many for each time that the
// numbers go from one to the other; any Scan needs as many, since what is before a rank changes there.
// Requires: nothing. Ours; pipelined chains are in the literature for Bcast and Reduce.

#include "collectives/algorithm.h"
#include "collectives/common/reducing/share.h"

namespace tutti {

namespace {

/// How many blocks a rank has handed on.
constexpr FlagName handed_on_blocks{Line::ready, 0};
constexpr FlagSet chain_flags = FlagSet::of(handed_on_blocks, done_flag);

/// From one flag to the next. As many blocks as ranks: then filling the chain takes as long as what comes after it.
constexpr std::size_t block_bytes(std::size_t bytes, int ranks, std::size_t most) {
  return std::clamp(bytes / static_cast<std::size_t>(ranks), grain_bytes, std::max(most, grain_bytes));
}
/// Of whole cache lines and elements.
std::size_t block_bytes(const Communicator& communicator, const ScanArguments& arguments) {
  const std::size_t element = arguments.combiner->element_bytes;
  const std::size_t line = topology::elements_in_line(element) * element;
  const std::size_t block = block_bytes(arguments.bytes(), communicator.size(), communicator.node().settings.block);
  return std::max(line, block / line * line);
}

/// What is combined of all ranks up to this one, as the next one reads it; where it is made if nobody does.
Exposure handed_on(Operation& operation, const ScanArguments& arguments) {
  if (arguments.exclusive) return staging_buffer(operation, Side::destination, arguments.bytes());
  return expose(operation, arguments.receive, arguments.bytes(), Side::destination);
}

/// What a rank has to do about one block, whose part the one before it has handed on.
class Step {
 public:
  Step(Operation& operation, const ScanArguments& arguments, topology::Range range, std::byte* result)
      : operation_(operation),
        arguments_(arguments),
        range_(range),
        self_(operation.communicator().rank()),
        theirs_{self_ - 1, posted_destination(operation, self_ - 1)},
        operands_{theirs_, {self_, own_memory(arguments.send)}},
        destination_{self_, own_memory(result)} {
    if (keeps_before()) operands_[0] = {self_, own_memory(arguments.receive)};
  }
  /// Of an Exscan: what it gets is its result, which may be the operand as well, unless that is what it overwrites.
  bool keeps_before() const { return arguments_.exclusive && arguments_.send != arguments_.receive; }
  bool keeps_after() const { return arguments_.exclusive && !keeps_before(); }
  void keep() {
    const std::size_t element = arguments_.combiner->element_bytes, at = range_.begin * element;
    operation_.peer(self_ - 1).copy_from(theirs_.region, at, arguments_.receive + at, range_.length() * element);
  }
  auto combine() {
    return reduce_range(operation_, *arguments_.combiner, range_, {operands_, 2}, destination_, memory::Store::cached);
  }

 private:
  Operation& operation_;
  const ScanArguments& arguments_;
  const topology::Range range_;
  const int self_;
  const RemoteBuffer theirs_;
  RemoteBuffer operands_[2];
  const RemoteBuffer destination_;
};

Task chain_body(Operation& operation, const ScanArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const int self = communicator.rank();
  const bool hands_on = self + 1 < communicator.size();
  Exposure result{{}, arguments.exclusive ? nullptr : arguments.receive, false, true};
  if (hands_on) {
    result = handed_on(operation, arguments);
    post(operation, {}, result);
  }
  const std::size_t block = block_bytes(communicator, arguments);
  for (std::size_t at = 0; at < arguments.bytes(); at += block) {
    const std::size_t end = std::min(at + block, arguments.bytes());
    if (self > 0) {
      co_await operation.has(self - 1, handed_on_blocks, at / block + 1);
      Step step(operation, arguments, topology::elements_in_bytes(at, end, arguments.combiner->element_bytes),
                result.local);
      if (step.keeps_before()) step.keep();
      co_await operation.copied();
      if (result.local) co_await step.combine();
      if (step.keeps_after()) step.keep();
      co_await operation.copied();
    } else if (result.local != arguments.send) {
      copy_bytes(result.local + at, arguments.send + at, end - at);
    }
    if (hands_on) operation.publish(handed_on_blocks, at / block + 1);
  }
  operation.publish_done();
  if (result.copied && !arguments.exclusive) copy_bytes(arguments.receive, result.local, arguments.bytes());
  if (!result.in_the_ring) co_await operation.done(self + 1);
}

}  // namespace

selection::Algorithm<ScanArguments> scan_chain{
    "chain",
    {"p-1", "n read, one block after the other", "ours"},
    selection::requires_nothing,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double others = shape.ranks - 1;
      const auto block =
          static_cast<double>(block_bytes(shape.bytes, shape.ranks, static_cast<std::size_t>(usual_block_bytes)));
      // The first block of each rank but the last is in nobody's pipeline yet: rank 0 stores its own over what the next
      // one has read in the call before, the others combine theirs.
      const double last = bytes + others * std::min(bytes, block);
      // Between two sockets so many hand on at once, each way, once the chain is filled.
      const double apart = shape.distances.consecutive[index_of(topology::Distance::machine)];
      return selection::Cost{.hops = others + 1,  // a flag for each first block; who has read tells the one before
                             .rounds = others + 1,
                             .remote_bytes = last,
                             .slot_bytes = shape.reach == selection::Reach::staged || shape.exclusive ? bytes : 0.0,
                             .reduced_bytes = 2 * last,
                             .left_bytes = bytes,
                             .exposures = 1,
                             .startups = others + bytes / block,
                             .crossing = std::max(1.0, apart * others / 2),
                             .across = selection::Across::ranks};
    },
    {chain_body, chain_flags}};

}  // namespace tutti
