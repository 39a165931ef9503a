// Bcast, flat, single copy, the root copies too.
//
// Phase 1: every rank exposes its buffer. Phase 2: each reader copies the root's buffer from the front; meanwhile the
// root stores the back part into one reader's buffer after the other, until they meet (common/meeting.h). Phase 3: all
// wait until the root and the readers have finished.
// A reader whose buffer the root cannot store to copies everything; so do all if the root's buffer cannot be read as it
// is and the root makes a copy, which they read meanwhile.
// Cost: two flag hops, and from there on those of the meeting; n (p-1)/p to n (2p-1)/2p bytes copied by each reader, n/2p
// to n/p for each by the root.
// Requires: at most TUTTI_FLAT_MAX ranks. Whether the root stores into a reader's buffer follows from both posts, which
// both know. The single-copy pull is XHC's (section IV.A) without hierarchy; the root's part is ours.

#include "collectives/common/meeting.h"

#include "collectives/algorithm.h"

namespace tutti {

namespace {

/// The root gets no more than an equal share: storing to another core's memory takes as long as reading from it where
/// both share a cache, and twice as long where they do not.
constexpr Meeting::Shares shares{.front = 8, .back = 12};

/// How a reader whose post has `destination` and the root whose post has `source` share the message.
Meeting meeting_of(const BcastArguments& arguments, int ranks, memory::Region source, memory::Region destination) {
  const bool is_copy = source.kind() == memory::Kind::arena || source.kind() == memory::Kind::filling;
  if (is_copy || !destination.loads_and_stores()) return Meeting(arguments.bytes);
  return Meeting(arguments.bytes, ranks, shares);
}

Task meeting_root(Operation& operation, const BcastArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const Exposure mine = stage(operation, arguments.buffer, arguments.bytes);
  for (int i = 1; !mine.copied && i < communicator.size(); ++i) {
    const int reader = rank_at(arguments.root, i, communicator.size());
    co_await operation.posted(reader);
    const memory::Region region = posted_destination(operation, reader);
    const Meeting meeting = meeting_of(arguments, communicator.size(), mine.region, region);
    if (!meeting.is_helped()) continue;
    const std::uint64_t kept = meeting.help(operation, reader, i, [&](std::size_t begin, std::size_t end) {
      operation.peer(reader).copy_to(region, begin, arguments.buffer + begin, end - begin, arguments.store);
    });
    co_await operation.copied();
    Meeting::say_kept(operation, i, kept);
  }
  if (mine.in_the_ring) co_return;
  for (int i = 1; i < communicator.size(); ++i) {
    const int reader = rank_at(arguments.root, i, communicator.size());
    std::uint64_t copied = 0;
    if (!mine.copied)
      copied = meeting_of(arguments, communicator.size(), mine.region, posted_destination(operation, reader))
                   .awaited(operation, i);
    co_await operation.done(reader, copied);
  }
  operation.seen_all();
}

Task meeting_reader(Operation& operation, const BcastArguments& arguments) {
  Communicator& communicator = operation.communicator();
  const int root = arguments.root;
  const int distance = distance_of(communicator.rank(), root, communicator.size());
  // The root stores only where it can do so directly; anything else is read by its owner.
  memory::Region own = communicator.node().reachable(arguments.buffer, arguments.bytes);
  if (!own.loads_and_stores()) own = {};
  post(operation, {}, {own, arguments.buffer, false, false});

  co_await operation.posted(root);
  const memory::Region source = posted_source(operation, root);
  const Meeting meeting = meeting_of(arguments, communicator.size(), source, own);
  const auto copy = [&operation, &arguments, source](std::size_t begin, std::size_t end) {
    operation.peer(arguments.root).copy_from(source, begin, arguments.buffer + begin, end - begin, arguments.store);
  };
  copy(0, meeting.front());
  co_await operation.copied();
  co_await Meeting::meet(operation, meeting, root, distance, copy);
  take_stored(arguments.buffer + meeting.front(), arguments.bytes - meeting.front(), arguments.store);
}

}  // namespace

selection::Algorithm<BcastArguments> bcast_meeting{
    "meeting",
    {"2", "n, of which the root stores n/2p to n/p", "XHC IV.A; the root's part is ours"},
    selection::requires_few_ranks,
    [](const selection::Shape& shape) {
      const auto bytes = static_cast<double>(shape.bytes);
      const double others = shape.ranks - 1.0;
      // The root stores only where buffers are mapped.
      const bool mapped = shape.reach == selection::Reach::mapped;
      const Meeting meeting = mapped ? Meeting(shape.bytes, shape.ranks, shares) : Meeting(shape.bytes);
      const auto read = static_cast<double>(meeting.usual_part());
      const double stored = others * (bytes - read);
      // Copying out overlaps with copying in but for the first piece.
      const bool staged = shape.reach == selection::Reach::staged;
      // Where they meet, each looks at what the other one has taken.
      return selection::Cost{
          .hops = (mapped ? 3.6 : 2.6) + selection::there_and_back * selection::further_ranks(shape),
          // The root waits for the readers' posts, they for it, and it for their end.
          .rounds = mapped ? 4.0 : 2.0,
          .remote_bytes = read,
          .slot_bytes = staged ? std::min<double>(bytes, memory::filled_at_once) : 0.0,
          .left_bytes = read,
          .exposures = 2,
          .startups = 1,
          .concurrency = others,
          .workers = others,
          .common = true,
          .beside = {.remote_bytes = stored, .written_bytes = stored, .slot_bytes = staged ? bytes : 0.0}};
    },
    {rooted<meeting_root, meeting_reader>, Meeting::flags},
    {.stores_to_peers = true}};

}  // namespace tutti
