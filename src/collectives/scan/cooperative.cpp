// Scan and Exscan of ranks that find out whether to divide the work.
//
// Phase 1: all expose their buffers, and the last rank says whether this time they divide; each waits for the others.
// Phase 2: if they divide, each makes all prefixes of its part of the index range and stores those of others into their
// receive buffers, through the caches or past them; if not, each makes its own prefix, for which it reads all that the
// ranks before it contribute. Phase 3: all wait until the others have finished.
// Divided, all have as much to do; but most of the results are stored to lines that other cores have, which takes longer
// than all the rest if these share no cache, and past the caches less, but takes more work. The last rank, which has
// most to do if they do not divide, times all ways and keeps to the best one (Ways). The same bits come out of all,
// since each combines from rank 0 on, whether from prefix to prefix or all at once (Combiner).
// Cost: two flag hops; rank r reads r n bytes or, divided, each reads and stores (p - 1) n/p.
// Requires: at most TUTTI_FLAT_MAX ranks. Divided this is share, otherwise direct; the choice is ours.

#include <algorithm>

#include "base/copy.h"
#include "collectives/collectives.h"
#include "collectives/common/reducing/prefix.h"

namespace tutti {

extern const selection::Algorithm<ScanArguments> scan_share;

namespace {

/// What the last rank says in its post, as the bytes of its regions: the way. Each makes all prefixes of its part and
/// stores through the caches, each makes its own prefix, or, of results that may go past the caches, all of its part
/// again.
enum Way { way_divides, way_keeps, way_divides_past_caches };

Task body(Operation& operation, const ScanArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const Combiner& combiner = *arguments.combiner;
  const int self = communicator.rank();
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const int last = communicator.size() - 1;
  const bool gets_result = !arguments.exclusive || self > 0;
  const Learned what = arguments.exclusive ? Learned::exscan : Learned::scan;
  const bool past_caches = arguments.store == memory::Store::streaming_to_peers;
  // Where ranks share cores, what they do between their calls is in the time of a call; see docs/measurements/caches.md.
  const bool whole_call = communicator.node().oversubscribed;
  Trial trial(self == last ? &communicator.ways(what, arguments.bytes()) : nullptr, past_caches ? 3 : 2, whole_call);
  if (whole_call) trial.begins();
  ReductionBuffers buffers =
      expose_reduction(operation, arguments.send, arguments.receive, gets_result, arguments.count, combiner, false);
  operation.own().post.regions.bytes = static_cast<std::uint64_t>(trial.way());
  post_filling(operation, buffers, arguments.send);

  co_await operation.others_posted();
  RemoteBuffer* sources = operation.array<RemoteBuffer>(ranks);
  posted_sources(operation, buffers.source, sources);
  if (!whole_call) trial.begins();
  const int way = self == last ? trial.way() : static_cast<int>(operation.slot(last).post.regions.bytes);
  const bool in_place = buffers.source.local == buffers.destination.local;
  std::byte* aside = nullptr;
  if (way != way_keeps) {
    RemoteBuffer* destinations = operation.array<RemoteBuffer>(ranks);
    for (int rank = 0; rank <= last; ++rank)
      destinations[rank] = {rank, posted_destination(operation, rank, buffers.destination)};
    prefix_range(communicator, combiner, share_of_rank(communicator, self, buffers),
                 {sources, destinations, ranks, arguments.exclusive, {}},
                 way == way_divides_past_caches ? arguments.store : memory::Store::cached);
  } else if (gets_result && (self > 0 || !in_place)) {
    // In place the ranks after this one still read what is there.
    if (in_place && self < last) aside = communicator.staging(static_cast<int>(Side::destination), arguments.bytes());
    sources[self].region = own_memory(buffers.source.local);
    const RemoteBuffer result{self, own_memory(aside ? aside : buffers.destination.local)};
    const std::size_t count = static_cast<std::size_t>(self) + (arguments.exclusive ? 0 : 1);
    reduce_range(communicator, combiner, {0, arguments.count}, sources, count, &result, 1, arguments.store);
  }
  operation.publish(operation.own().done.flag[0]);
  co_await operation.others_done();
  trial.ends();
  if (aside)
    copy_bytes(arguments.receive, aside, arguments.bytes());
  else
    collect_result(buffers);
}

void run(Communicator& communicator, const ScanArguments& arguments) {
  Operation operation(communicator, arguments.exclusive ? "Exscan" : "Scan");
  operation.run(body(operation, arguments));
}

}  // namespace

extern const selection::Algorithm<ScanArguments> scan_cooperative;
const selection::Algorithm<ScanArguments> scan_cooperative{
    "cooperative",
    {"2", "as direct or as share", "direct or share; finding out is ours"},
    selection::requires_few_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      if (shape.ranks > 2) {
        // As by direct, or a little less where it may pay to divide. Where each has its own core, it always does.
        const double sources = (shape.ranks - 1) * (shape.oversubscribed() ? 0.5 : 1.0);
        const bool may_pay =
            shape.reach == selection::Reach::mapped && shape.bytes >= selection::divided_scan_min_of_many;
        // Of more than four that share cores, dividing takes less; stored through the caches a little less than share.
        if (may_pay && shape.oversubscribed() && shape.ranks > 4) {
          selection::Cost divided = scan_share.cost(shape);
          divided.copied_bytes *= 0.9;
          divided.remote_bytes *= 0.9;
          divided.written_bytes *= 0.9;
          return divided;
        }
        return selection::Cost{.hops = 2.0 + 0.2 * shape.ranks,
                               .rounds = 2.7,
                               .remote_bytes = (may_pay ? 0.9 : 1.2) * sources * bytes,
                               .slot_bytes = shape.reach == selection::Reach::staged ? 2 * bytes : 0.0,
                               .reduced_bytes = (sources + 1) * bytes,
                               .exposures = 2,
                               .startups = sources * std::max(1.0, bytes / usual_block_bytes),
                               .concurrency = readers_of_one(shape, shape.ranks - 1),
                               .streams = mean_readers(shape),
                               .common = true,
                               .across = selection::Across::all};
      }
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
