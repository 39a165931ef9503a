#include "collectives/common/reducing/halving.h"

namespace tutti {

Halving::Halving(Operation& operation, const ReductionBuffers& buffers)
    : buffers_(buffers),
      sequence_(operation.communicator(), *buffers.combiner),
      folded_(operation.communicator().size()),
      place_(folded_.place_of(sequence_.place(operation.communicator().rank()))) {}

topology::Range Halving::range_of(int place, int step) const {
  topology::Range range{0, buffers_.count};
  for (int each = 0; each < step; ++each) {
    const auto half = static_cast<std::size_t>(place >> each & 1);
    range = topology::share_of(range, half, 2, topology::elements_in_line(buffers_.combiner->element_bytes));
  }
  return range;
}

Task reduce_by_halving(Operation& operation, const Halving& halving) {
  Communicator& communicator = operation.communicator();
  const ReductionBuffers& buffers = halving.buffers();
  const Folded& folded = halving.folded();
  const int self = communicator.rank();
  const RemoteBuffer result{self, own_memory(buffers.destination.local)};
  RemoteBuffer have{self, own_memory(buffers.source.local)};
  RemoteBuffer operands[2];
  const auto combine = [&](const RemoteBuffer& left, const RemoteBuffer& right, topology::Range range) {
    operands[0] = left;
    operands[1] = right;
    have = result;
    return reduce_range(operation, *buffers.combiner, range, {operands, 2}, result, memory::Store::cached);
  };
  const Sequence& sequence = halving.sequence();
  const int own_place = sequence.place(self);
  if (folded.takes_over(own_place)) {
    const int other = sequence.rank(own_place + 1);
    co_await operation.posted(other);
    co_await combine(have, {other, posted_source(operation, other)}, {0, buffers.count});
  }
  operation.publish(combined_so_often, 1);
  for (int step = 0; step < folded.steps; ++step) {
    const int other = halving.partner(step);
    const bool untouched = step == 0 && !folded.takes_over(sequence.place(other));
    const int combined = step + 1;
    const Slot& slot = operation.slot(other);
    co_await operation.has(untouched ? slot.post.flag : slot.flags[combined_so_often], untouched ? 0 : combined, other);
    const RemoteBuffer theirs{other,
                              untouched ? posted_source(operation, other) : posted_destination(operation, other)};
    if (halving.partner_is_before(step))
      co_await combine(theirs, have, halving.range(step + 1));
    else
      co_await combine(have, theirs, halving.range(step + 1));
    operation.publish(combined_so_often, combined + 1);
  }
}

Task leave_halving(Operation& operation, const Halving& halving) {
  const Folded& folded = halving.folded();
  const Sequence& sequence = halving.sequence();
  const int own_place = sequence.place(operation.communicator().rank());
  operation.publish_done();
  if (folded.takes_over(own_place)) {
    const int other = sequence.rank(own_place + 1);
    co_await operation.done(other);
  }
  for (int step = 0; step < folded.steps; ++step) co_await operation.done(halving.partner(step));
}

}  // namespace tutti
