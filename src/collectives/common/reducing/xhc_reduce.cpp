#include "collectives/common/reducing/xhc_reduce.h"

#include <algorithm>

#include "selection/looks.h"

namespace tutti {

namespace {

/// Whether the leader works in its group: only where there is no level above to serve, i.e. in the topmost.
bool leader_works(const topology::RankPlan& plan, const topology::Membership& group) {
  return group.level + 1 == static_cast<int>(plan.children.size());
}

/// What a rank brings to a level is its own contribution if this is the first level in which it takes part, else what
/// its own group below has reduced into its destination. This: as another rank sees it.
memory::Region brought(Operation& operation, int rank, int level) {
  return operation.slot(rank).flags[first_level_of].get() == operation.stamp(level)
             ? posted_source(operation, rank)
             : posted_destination(operation, rank);
}

struct Workers {
  std::size_t count = 0;
  std::size_t index = 0;
  bool self = false;
};

Workers workers_of(const topology::RankPlan& plan, const topology::Membership& group) {
  const bool with_leader = leader_works(plan, group);
  Workers workers;
  for (const int member : group.members) {
    if (member == group.leader && !with_leader) continue;
    if (member == plan.rank) workers.index = workers.count, workers.self = true;
    ++workers.count;
  }
  return workers;
}

}  // namespace

XhcReduction xhc_expose(Operation& operation, const Reduction& of, bool wants_result, int root) {
  Communicator& communicator = operation.communicator();
  XhcReduction reduction;
  reduction.plan = &communicator.plan(root, of.combiner.commutative ? Grouping::by_settings : Grouping::in_rank_order);
  reduction.bytes = of.bytes();
  const bool eager = reduction.bytes <= communicator.node().settings.eager_max;
  reduction.buffers = expose_reduction(operation, of, wants_result, eager);
  const Exposure& source = reduction.buffers.source;
  if (source.copied) copy_to_lend(operation, source.local, of.send, reduction.bytes);
  const bool leads = reduction.plan->memberships.front().leads;
  if (leads && !wants_result) {
    // A place for the partial results of the groups it leads.
    ReductionBuffers& buffers = reduction.buffers;
    buffers.destination =
        buffers.source.copied ? buffers.source : staging_buffer(operation, Side::destination, reduction.bytes);
  }
  const int first_level = reduction.plan->memberships.front().level;
  SlotFlags& own = operation.own().flags;
  own[first_level_of].set(operation.stamp(first_level));
  own[ready_for_level[first_level]].set(operation.stamp(grains_complete(reduction.bytes, reduction.bytes)));
  post(operation, reduction.buffers.source, reduction.buffers.destination);
  return reduction;
}

Task xhc_reduce(Operation& operation, const XhcReduction& reduction, const FlagName* progress) {
  Communicator& communicator = operation.communicator();
  const topology::RankPlan& plan = *reduction.plan;
  const Combiner& combiner = *reduction.buffers.combiner;
  const topology::Membership& last = plan.memberships.back();
  const Workers workers = workers_of(plan, last);
  // The same for all ranks: one that leads a group waits for a chunk there before it passes on the next, and would wait for
  // ever for members with longer ones.
  const std::size_t chunk = communicator.chunk_bytes(0, reduction.bytes);
  const memory::Region own_brought =
      plan.memberships.size() == 1 ? reduction.buffers.source.region : reduction.buffers.destination.region;
  RemoteBuffer* sources = operation.array<RemoteBuffer>(last.members.size());

  // What a group has finished goes to the next level while that works on the chunk before: in each step another chunk of
  // each level, or ranks that lead several would hold up all of them until they are through.
  const std::size_t led = plan.memberships.size() - 1;
  const std::size_t chunks = (reduction.bytes + chunk - 1) / chunk;
  for (std::size_t step = 0; step < chunks + led; ++step) {
    // The groups that we lead, from the inside out: pass on what they have finished.
    for (std::size_t i = 0; i < led; ++i) {
      if (i > step || step - i >= chunks) continue;
      const topology::Membership& group = plan.memberships[i];
      const std::size_t end = std::min((step - i + 1) * chunk, reduction.bytes);
      for (const int member : group.members) {
        if (member == plan.rank) continue;
        co_await operation.has(member, reduced_for_level[group.level], grains_needed(end));
      }
      operation.publish(ready_for_level[plan.memberships[i + 1].level], grains_complete(end, reduction.bytes));
    }
    if (step < led) continue;
    const std::size_t at = (step - led) * chunk, end = std::min(at + chunk, reduction.bytes);
    const std::uint64_t needed = grains_needed(end);
    // The group in which we work.
    if (workers.self) {
      std::size_t count = 0;
      for (const int member : last.members) {
        if (member == plan.rank) {
          sources[count++] = {member, own_brought};
          continue;
        }
        co_await operation.posted(member);
        co_await operation.has(member, ready_for_level[last.level], needed);
        sources[count++] = {member, brought(operation, member, last.level)};
      }
      const RemoteBuffer destination{last.leader,
                                     posted_destination(operation, last.leader, reduction.buffers.destination)};
      const topology::Range whole = topology::elements_in_bytes(at, end, combiner.element_bytes);
      const topology::Range share =
          topology::share_of(whole, workers.index, workers.count, topology::elements_in_line(combiner.element_bytes));
      co_await reduce_range(operation, combiner, share, {sources, count}, destination, memory::Store::cached);
      operation.publish(reduced_for_level[last.level], grains_complete(end, reduction.bytes));
    }
    if (plan.parent >= 0) continue;
    for (const int member : last.members)
      if (member != plan.rank) co_await operation.has(member, reduced_for_level[last.level], needed);
    if (progress) operation.publish(*progress, grains_complete(end, reduction.bytes));
  }
}

Task xhc_wait_until_read(Operation& operation, const XhcReduction& reduction) {
  const topology::RankPlan& plan = *reduction.plan;
  const topology::Membership& last = plan.memberships.back();
  const std::uint64_t all = grains_needed(reduction.bytes);
  for (const int member : last.members) {
    if (member == plan.rank || (member == last.leader && !leader_works(plan, last))) continue;
    co_await operation.has(member, reduced_for_level[last.level], all);
  }
}

selection::Cost xhc_cost(const selection::Shape& shape, XhcResult result) {
  const auto bytes = static_cast<double>(shape.bytes);
  const double levels = shape.levels;
  const bool eager = shape.bytes <= shape.eager_max;
  const topology::Branching branching = shape.branching();
  const double members = branching.group;
  const double down = result == XhcResult::all ? 1 : 0;
  // Of a few lines each is reduced by one rank alone, from all members of its group.
  const double reduced = std::max(1.2 * bytes, std::min<double>(bytes, cache_line_bytes) * branching.children);
  // A worker looks at four lines of each member: its post, what is ready, where that is, and what has been reduced.
  return {.hops = (2.2 + down) * levels + 4 * selection::all_look * selection::further_children(shape),
          .rounds = 1 + down + (2 + down) * levels,
          .remote_bytes = reduced + down * bytes,
          .slot_bytes = eager                                     ? (1 + down) * bytes
                        : shape.reach == selection::Reach::staged ? 2 * bytes
                                                                  : 0.0,
          .reduced_bytes = reduced,
          .left_bytes = eager ? 0.0 : (1 + down) * bytes,
          .exposures = 2,
          .startups = eager ? 0.0 : levels * members + (1.2 + down) * bytes / usual_block_bytes,
          .concurrency = readers_of_one(shape, members - 1),
          // The result, which all children read from one rank; or what the members of a group store into their leader's
          // buffer.
          .crowded_bytes = down > 0 ? bytes : 0.2 * bytes,
          .crowd = down > 0 ? branching.children : members - 1,
          .streams = std::clamp<double>(bytes / cache_line_bytes, 1, shape.ranks),
          .across = selection::Across::levels};
}

}  // namespace tutti
