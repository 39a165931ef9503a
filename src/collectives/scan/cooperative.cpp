// Scan and Exscan of two ranks that find out whether to divide the work.
//
// Phase 1: both expose their buffers, and rank 1 says whether this time they divide; each waits for the other. Phase 2:
// if they divide, each makes both prefixes of its half of the index range and stores the other's into its receive
// buffer, through the caches or past them; if not, each makes its own prefix, for which rank 1 reads all that rank 0
// contributes. Phase 3: both wait until the other has finished.
// Divided, both have as much to do; but half of the results are stored to lines that the other core has, which takes
// longer than all the rest if the two share no cache, and past the caches less, but takes more work. Rank 1, which has
// more to do if they do not divide, times all ways and keeps to the best one (Ways). The same bits come out of all.
// Cost: two flag hops; n bytes read by rank 1 or, divided, n/2 read and n/2 stored by each rank.
// Requires: two ranks. Divided this is share, otherwise direct; the choice is ours.

#include <algorithm>

#include "collectives/collectives.h"
#include "collectives/common/prefix.h"

namespace tutti {

namespace {

/// What rank 1 says in its post, as the bytes of its regions: the way. Each makes both prefixes of its half and stores
/// through the caches, each makes its own prefix, or, of results that may go past the caches, both of its half again.
enum Way { way_divides, way_keeps, way_divides_past_caches };

Task body(Operation& operation, const ScanArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const Combiner& combiner = *arguments.combiner;
  const int self = communicator.rank();
  const int other = 1 - self;
  const bool gets_result = !arguments.exclusive || self > 0;
  const ReductionBuffers buffers =
      expose_reduction(operation, arguments.send, arguments.receive, gets_result, arguments.count, combiner, false);
  const Learned what = arguments.exclusive ? Learned::exscan : Learned::scan;
  const bool past_caches = arguments.store == memory::Store::streaming_to_peers;
  Trial trial(self == 1 ? &communicator.ways(what, arguments.bytes()) : nullptr, past_caches ? 3 : 2);
  operation.own().post.regions.bytes = static_cast<std::uint64_t>(trial.way());
  post(operation, buffers.source, buffers.destination);

  co_await operation.others_posted();
  RemoteBuffer sources[2];
  posted_sources(operation, buffers.source, sources);
  const RemoteBuffer destinations[2] = {{0, posted_destination(operation, 0, buffers.destination)},
                                        {1, posted_destination(operation, 1, buffers.destination)}};
  trial.begins();
  const int way = self == 1 ? trial.way() : static_cast<int>(operation.slot(other).post.regions.bytes);
  if (way != way_keeps) {
    prefix_range(communicator, combiner, share_of_rank(communicator, self, buffers),
                 {sources, destinations, 2, arguments.exclusive, {}},
                 way == way_divides_past_caches ? arguments.store : memory::Store::cached);
  } else if (gets_result && (self == 1 || buffers.source.local != buffers.destination.local)) {
    sources[self].region = own_memory(buffers.source.local);
    const RemoteBuffer result{self, own_memory(buffers.destination.local)};
    const std::size_t count = arguments.exclusive ? 1 : static_cast<std::size_t>(self) + 1;
    reduce_range(communicator, combiner, {0, arguments.count}, sources, count, &result, 1, arguments.store);
  }
  operation.publish(operation.own().done.flag[0]);
  co_await operation.others_done();
  trial.ends();
  collect_result(buffers);
}

void run(Communicator& communicator, const ScanArguments& arguments) {
  Operation operation(communicator, arguments.exclusive ? "Exscan" : "Scan");
  operation.run(body(operation, arguments));
}

}  // namespace

extern const selection::Algorithm<ScanArguments> scan_cooperative;
const selection::Algorithm<ScanArguments> scan_cooperative{
    "cooperative", "two ranks", [](const selection::Shape& shape) { return shape.ranks == 2; },
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      // As by direct, or a little less, where it may pay to divide; else the looks at that way cost more than they
      // find.
      const std::size_t least = shape.exclusive ? selection::divided_exscan_min : selection::divided_scan_min;
      const bool may_pay = shape.reach == selection::Reach::mapped && shape.bytes >= least;
      return selection::Cost{.hops = 3.0,
                             .rounds = 2,
                             .remote_bytes = (may_pay ? 0.97 : 1.2) * bytes,
                             .slot_bytes = shape.reach == selection::Reach::staged ? 2 * bytes : 0.0,
                             .reduced_bytes = (may_pay ? 1.9 : 2.0) * bytes,
                             .exposures = 2,
                             .startups = std::max(1.0, bytes / usual_block_bytes),
                             .common = true};
    },
    run};

}  // namespace tutti
