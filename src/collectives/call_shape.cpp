#include "collectives/call_shape.h"

#include <algorithm>

#include "collectives/kinds.h"
#include "engine/communicator.h"

namespace tutti {

namespace {

/// Each communicator keeps what it has lent copies in; and what is longer lies in no cache.
constexpr std::size_t moved_most = std::size_t{8} << 20;

}  // namespace

double ranks_per_core_of(const topology::Placement& placement, int ranks, bool oversubscribed) {
  if (!oversubscribed) return 1;
  const double cores = std::max(1, placement.cores_available);
  return std::max<double>(placement.ranks_per_core, ranks / cores);
}

Surroundings surroundings_of(const Settings& settings, int ranks, int levels, double ranks_per_core,
                             const topology::Distances& distances) {
  Surroundings surroundings;
  surroundings.common.ranks = ranks;
  surroundings.common.levels = std::max(1, levels);
  surroundings.common.ranks_per_core = ranks_per_core;
  surroundings.common.distances = distances;
  surroundings.common.eager_max = settings.eager_max;
  surroundings.common.slot_bytes = slot_bytes_of(settings, ranks);
  surroundings.common.flat_max = settings.flat_max;
  surroundings.common.moved_max = std::min(2 * segment_bytes(settings), moved_most);
  surroundings.common.moves = settings.move == "plain"    ? selection::Moves::plain
                              : settings.move == "caches" ? selection::Moves::caches
                              : settings.move == "memory" ? selection::Moves::memory
                                                          : selection::Moves::cheapest;
  surroundings.window_min = settings.window_min;
  return surroundings;
}

selection::Shape call_shape(const Surroundings& surroundings, std::size_t bytes, bool regular, bool commutative) {
  using selection::Reach;
  selection::Shape shape = surroundings.common;
  shape.bytes = bytes <= 1 ? bytes : std::size_t{1} << size_class_of(bytes);
  shape.regular = regular;
  shape.commutative = commutative;
  if (const topology::Joined& joined = shape.distances.in_rank_order; !commutative && joined.levels > 0) {
    shape.levels = joined.levels;
    shape.distances.levels = joined.hops;
    shape.distances.boundaries = joined.boundaries;
    shape.distances.branching = joined.branching;
  }
  const bool in_slots = shape.bytes <= shape.eager_max;
  // By the largest of the class, a power of two as most messages are.
  const bool in_window =
      surroundings.window && (shape.bytes >= surroundings.window_min || surroundings.ranks_are_threads);
  if (in_window || (surroundings.xpmem && !in_slots))
    shape.reach = Reach::mapped;
  else
    shape.reach = surroundings.cma && !in_slots ? Reach::kernel : Reach::staged;
  // With a window, what is larger than a slot is usually in it.
  shape.kernel_beyond_slot = surroundings.cma && !surroundings.xpmem && !surroundings.window;
  return shape;
}

void add_nodes(selection::Shape& shape, const network::Nodes& nodes) {
  shape.ranks = nodes.ranks();
  shape.levels = 2;
  shape.ranks_per_core = 1;
  shape.moved_max = 0;
  shape.nodes = nodes.count();
  shape.places = nodes.most_places();
  for (int node = 0; node < nodes.count(); ++node) shape.runs = std::max(shape.runs, nodes.runs_of(node));
}

selection::Shape shape_between_nodes(const network::Nodes& nodes, std::string_view collective, std::size_t bytes,
                                     bool commutative) {
  selection::Shape shape;
  add_nodes(shape, nodes);
  shape.bytes = std::size_t{1} << size_class_of(bytes);
  shape.regular = !is_irregular(collective);
  shape.commutative = commutative;
  return shape;
}

}  // namespace tutti
