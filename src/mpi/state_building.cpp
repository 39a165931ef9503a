#include "mpi/state_building.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace tutti::mpi {

namespace {

std::atomic<std::uint64_t> communicators_made{1};  // MPI_COMM_WORLD

/// Where this rank's part of a communicator is to be.
struct PartAndRow {
  std::size_t part, row;
};

void give_back(const PartAndRow& room) {
  job()->node.arena->release(room.part, memory::Arena::Contents::tidy);
  job()->node.rows->release(room.row);
}

std::optional<PartAndRow> take_room(int ranks) {
  Node& node = job()->node;
  const auto row = node.rows->allocate();
  if (!row) return std::nullopt;
  if (const auto part = node.arena->reserve(shared_bytes(node.settings, ranks))) return PartAndRow{*part, *row};
  node.rows->release(*row);
  return std::nullopt;
}

/// What the ranks of this rank's node have told, as members of a communicator. has_rows: see set_up().
std::unique_ptr<CommunicatorLayout> layout_on_node(int rank, const std::vector<Entry>& all, bool has_rows) {
  const Entry& mine = all[static_cast<std::size_t>(rank)];
  auto layout = std::make_unique<CommunicatorLayout>();
  for (const Entry& entry : all) {
    if (entry.node != mine.node) continue;
    // Identities are numbers of a node's.
    if (layout->node_ranks.empty()) layout->identity = entry.identity;
    if (&entry == &mine) layout->rank = static_cast<int>(layout->node_ranks.size());
    layout->node_ranks.push_back(entry.node_rank);
    layout->offsets.push_back(entry.offset);
    if (has_rows) layout->rows.push_back(entry.row * memory::Rows::unit_bytes);
  }
  return layout;
}

/// Of each rank a number that is its node's.
std::vector<int> nodes_of(const std::vector<Entry>& all) {
  std::map<std::uint64_t, int> numbers;
  std::vector<int> nodes;
  for (const Entry& entry : all) nodes.push_back(numbers.emplace(entry.node, numbers.size()).first->second);
  return nodes;
}

/// The state of a communicator whose ranks have told each other their entries, or the reason why there is none. Without
/// `room`, as of MPI_COMM_WORLD, nobody parts from it. Collective over the communicator where it spans nodes.
void set_up(CommunicatorState& state, const Joining& joining, const std::vector<Entry>& all, bool mapped_by_all,
            const std::optional<PartAndRow>& room) {
  const MPI_Comm communicator = joining.communicator;
  const int rank = joining.rank;
  SpanningState* const apart_from = joining.apart_from;
  const Entry& mine = all[static_cast<std::size_t>(rank)];
  bool same_node = true, usable = mapped_by_all, too_many = false;
  state.identity = all.front().identity ^ all.front().node;
  state.rank = rank;
  for (const Entry& entry : all) {
    state.node_ranks.push_back(entry.node == mine.node ? entry.node_rank : -1);
    same_node = same_node && entry.node == mine.node;
    usable = usable && entry.offset != no_offset;
    too_many = too_many || (entry.flags & Entry::has_too_many) != 0;
  }
  const bool spans = usable && !same_node && job()->spans_nodes && (apart_from || !too_many);
  if (spans)
    state.spanning = apart_from ? std::make_unique<SpanningState>(communicator, *apart_from)
                                : std::make_unique<SpanningState>(communicator, nodes_of(all), rank);
  usable = spans ? state.spanning->is_there() : usable && same_node;
  state.refusal = same_node ? Refusal::memory : Refusal::nodes;
  if (!usable) {
    state.spanning.reset();
    if (room) give_back(*room);
    return;
  }
  auto layout = layout_on_node(rank, all, room.has_value());
  // Now, since whoever frees a communicator cannot fail to.
  for (int owner = 0; room && owner < static_cast<int>(layout->node_ranks.size()); ++owner)
    Remains::row_of(job()->node, *layout, owner);
  state.layout = std::move(layout);
}

constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// Takes address space for the first bytes of each peer's arena. How many of them can be mapped from then on, whatever
/// the limits of the process become.
std::size_t take_of_arenas(std::size_t bytes) {
  std::size_t least = SIZE_MAX;
  for (const memory::Peer& peer : job()->node.peers)
    if (peer.arena_view) least = std::min(least, peer.arena_view->take(bytes));
  return least;
}

/// Of arenas that are used about as much as this rank's own.
std::int32_t usual_arena_reach() {
  const std::size_t ahead = job()->node.arena->extent() + 4 * mebibyte;
  return static_cast<std::int32_t>(std::min<std::size_t>(take_of_arenas(ahead) / mebibyte, INT32_MAX));
}

/// Whether every rank can map the parts of all others on its node. Each finds the same; they are asked only where it is
/// not known of all of them.
bool all_can_map(MPI_Comm communicator, const std::vector<Entry>& all) {
  std::size_t needed = 0, known = SIZE_MAX;
  for (const Entry& entry : all) {
    const bool spans = entry.node != all.front().node;
    if ((spans && !job()->spans_nodes) || entry.offset == no_offset) return true;  // nobody will
    needed = std::max<std::size_t>({needed, entry.row * memory::Rows::unit_bytes + all.size(),
                                    entry.offset + shared_bytes(job()->node.settings, static_cast<int>(all.size()))});
    known = std::min(known, static_cast<std::size_t>(entry.arena_reach) * mebibyte);
  }
  if (needed <= known) return true;
  const int mine = take_of_arenas(needed) >= needed;
  int of_all = 0;
  host.Allreduce(&mine, &of_all, 1, MPI_INT, MPI_MIN, communicator);
  return of_all != 0;
}

/// What the ranks of a new communicator have to tell each other, in their order; nothing if the host has reported an error.
/// By ours where all ranks of `parent` are in it: the host's first collective on a communicator takes longer.
std::optional<std::vector<Entry>> exchange(const Entry& mine, int size, MPI_Comm communicator,
                                           CommunicatorState* parent) {
  std::vector<Entry> all(static_cast<std::size_t>(size));
  if (parent && parent->is_ours() && !parent->spanning && !parent->revoked) {
    set_out(*parent);
    Communicator& core = *parent->communicator;
    if (core.size() == size && core.exchange(&mine, sizeof mine, all.data())) {
      std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.rank < b.rank; });
      return all;
    }
  }
  const int code = host.Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, communicator);
  return code == MPI_SUCCESS ? std::optional(std::move(all)) : std::nullopt;
}

}  // namespace

[[gnu::noinline]] void set_out(CommunicatorState& state) {
  static constinit std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (!state.layout) return;
  Node& node = job()->node;
  const CommunicatorLayout& layout = *state.layout;
  auto arrangement = job()->arrangements.of(node.settings, node.placement, layout.node_ranks, layout.rank);
  state.communicator = std::make_unique<Communicator>(node, layout, std::move(arrangement));
  if (state.spanning) state.spanning->set_inside(*state.communicator);
  state.collectives = std::make_unique<Collectives>(*state.communicator, job()->knowledge,
                                                    state.spanning ? &state.spanning->of_blocking_calls() : nullptr);
  state.layout.reset();
  explain::made(state);
}

bool join(CommunicatorState& state, Joining& joining) {
  const auto [communicator, rank, size, parent, apart_from, is_gone, free_apart] = joining;
  job()->left_behind.look(looked_at_each_time);
  // There are no more of them on the node.
  const std::optional<PartAndRow> room = take_room(std::min(size, job()->node.size));
  const int node_rank = job()->node.rank;
  const Entry mine{job()->node_identity,
                   room ? room->part : no_offset,
                   (static_cast<std::uint64_t>(node_rank) << 32) | ++communicators_made,
                   node_rank,
                   usual_arena_reach(),
                   (is_gone ? Entry::is_gone : 0) | (MessageCommunicator::may_be_made() ? 0 : Entry::has_too_many),
                   room ? static_cast<std::uint32_t>(room->row / memory::Rows::unit_bytes) : 0,
                   rank,
                   0,
                   free_apart};
  const auto all = exchange(mine, size, communicator, parent);
  joining.free_apart = all ? free_apart : 0;
  for (std::size_t i = 0; all && i < all->size(); ++i) joining.free_apart &= (*all)[i].free_apart;
  // The host has told the program of an error; it cannot use the communicator either. Otherwise, handles are each rank's
  // own: where one rank knows it as new, it is.
  const bool is_going = all && std::all_of(all->begin(), all->end(),
                                           [](const Entry& entry) { return (entry.flags & Entry::is_gone) != 0; });
  if (!all || is_going) {
    if (room) give_back(*room);
    state.refusal = Refusal::arguments;
    return !is_going;
  }
  set_up(state, joining, *all, all_can_map(communicator, *all), room);
  return true;
}

std::uint64_t free_apart_on_all(CommunicatorState& of, std::uint64_t free) {
  Communicator& core = *of.communicator;
  std::vector<std::uint64_t> all(static_cast<std::size_t>(core.size()));
  if (!core.exchange(&free, sizeof free, all.data())) return 0;
  for (const std::uint64_t each : all) free &= each;
  return free;
}

bool build(CommunicatorState& state, MPI_Comm communicator, CommunicatorState* parent, bool is_gone) {
  int inter = 0, size = 0, rank = 0;
  host.Comm_test_inter(communicator, &inter);
  host.Comm_size(communicator, &size);
  state.refusal = inter ? Refusal::intercommunicator : Refusal::alone;
  if (inter || size < 2) return !is_gone;
  host.Comm_rank(communicator, &rank);
  // What would be exchanged has travelled with the first exchange of the start-up.
  Joining joining{communicator, rank, size, parent, nullptr, is_gone};
  if (communicator == MPI_COMM_WORLD) {
    if (!is_gone) set_up(state, joining, job()->world, true, std::nullopt);
    return !is_gone;
  }
  // Each rank finds the same, by itself: asking would need all of them to answer.
  state.refusal = Refusal::jobs;
  if (!(parent && parent->is_of_one_job()) && !of_one_job(communicator, size)) return !is_gone;
  return join(state, joining);
}

}  // namespace tutti::mpi
