// Allreduce of two ranks, each of which finds out whether to deliver its half.
//
// Phase 1: both expose their buffers and say whether they will deliver; each waits for the other. Phase 2: each reduces
// its half of the index range from both send buffers into its receive buffer. Who delivers stores each block into the
// other's receive buffer as well, while it is in the cache; what the other does not deliver, a rank reduces itself.
// Phase 3: both wait until the other has finished.
// Delivering is worth it if it takes less than twice as long as keeping, since otherwise the other rank does the same
// work again. Each rank times its half both ways and keeps to the better one (TwoWays). The same bits come out of both.
// Cost: two flag hops; n bytes read or, delivered, n/2 read and n/2 stored.
// Requires: two ranks. Between share and direct; the choice is ours.

#include "base/ticks.h"
#include "collectives/collectives.h"
#include "collectives/common/share.h"

namespace tutti {

namespace {

// What a rank says in its post, as the bytes of its regions.
constexpr std::uint64_t delivers = 1;
/// Its results overwrite its contribution, so that nobody may read that but who reduces it.
constexpr std::uint64_t overwrites = 2;

Task body(Operation& operation, const AllreduceArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const int self = communicator.rank();
  const int other = 1 - self;
  const ReductionBuffers buffers =
      expose_reduction(operation, arguments.send, arguments.receive, true, arguments.count, *arguments.combiner, false);
  TwoWays& ways = communicator.ways(buffers.count * buffers.combiner->element_bytes);
  const int way = ways.next();
  const bool in_place = buffers.source.local == buffers.destination.local;
  const std::uint64_t own = (way == 0 ? delivers : 0) | (in_place ? overwrites : 0);
  operation.own().post.regions.bytes = own;
  post(operation, buffers.source, buffers.destination);

  co_await operation.others_posted();
  const std::uint64_t theirs = operation.slot(other).post.regions.bytes;
  RemoteBuffer sources[2];
  posted_sources(operation, buffers.source, sources);
  const RemoteBuffer destinations[2] = {{self, buffers.destination.region},
                                        {other, posted_destination(operation, other, buffers.destination)}};
  const bool all_delivered = ((own | theirs) & overwrites) != 0;
  const bool delivered = all_delivered || (own & delivers);
  const std::uint64_t begin = ticks();
  reduce_range(communicator, *buffers.combiner, share_of_rank(communicator, self, buffers), sources, 2, destinations,
               delivered ? 2 : 1, arguments.store);
  if (!all_delivered) ways.took(way, (ticks() - begin) * (delivered ? 1 : 2));
  if (!all_delivered && !(theirs & delivers))
    reduce_range(communicator, *buffers.combiner, share_of_rank(communicator, other, buffers), sources, 2, destinations,
                 1, arguments.store);
  operation.publish(operation.own().done.flag[0]);
  co_await operation.others_done();
  collect_result(buffers);
}

void run(Communicator& communicator, const AllreduceArguments& arguments) {
  Operation operation(communicator, "Allreduce");
  operation.run(body(operation, arguments));
}

}  // namespace

extern const selection::Algorithm<AllreduceArguments> allreduce_cooperative;
const selection::Algorithm<AllreduceArguments> allreduce_cooperative{
    "cooperative", "two ranks", [](const selection::Shape& shape) { return shape.ranks == 2; },
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      return selection::Cost{.hops = 4.4,
                             .rounds = 2,
                             // As by share, less what that loses where storing is dear.
                             .remote_bytes = 0.8 * bytes,
                             .slot_bytes = shape.reach == selection::Reach::staged ? 2 * bytes : 0.0,
                             .reduced_bytes = bytes,
                             .exposures = 2,
                             .startups = 2 * (2 + bytes / usual_block_bytes),
                             .concurrency = 2};
    },
    run};

}  // namespace tutti
