// Neighbourhood collectives on topologies of every kind: what MPI 4.1, section 8.6, says arrives where it says.
#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "block_buffers.h"
#include "semantics.h"

namespace tutti::tests {

namespace {

/// A communicator with a topology and what is to arrive. Negative ranks are null processes.
struct Topology {
  std::string name;
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  std::vector<int> sources{}, source_blocks{}, destinations{};
  /// A process is a neighbour more than once: some hosts mistake its blocks for each other.
  bool repeated() const {
    auto known = sources;
    known.erase(std::remove(known.begin(), known.end(), -1), known.end());
    std::sort(known.begin(), known.end());
    return std::adjacent_find(known.begin(), known.end()) != known.end();
  }
};

/// By the text: what is sent in one direction of a dimension arrives from the other.
Topology cartesian(const std::string& name, const std::vector<int>& extents, bool periodic) {
  Topology topology{name};
  const std::vector<int> periods(extents.size(), periodic);
  MPI_Cart_create(MPI_COMM_WORLD, static_cast<int>(extents.size()), extents.data(), periods.data(), 0, &topology.comm);
  if (topology.comm == MPI_COMM_NULL) return topology;
  MPI_Comm_rank(topology.comm, &topology.rank);
  for (std::size_t d = 0; d < extents.size(); ++d) {
    int negative = 0, positive = 0;
    MPI_Cart_shift(topology.comm, static_cast<int>(d), 1, &negative, &positive);
    for (const int neighbor : {negative, positive}) topology.sources.push_back(neighbor < 0 ? -1 : neighbor);
    topology.source_blocks.push_back(static_cast<int>(2 * d) + 1);
    topology.source_blocks.push_back(static_cast<int>(2 * d));
  }
  topology.destinations = topology.sources;
  return topology;
}

using Lists = std::vector<std::vector<int>>;

/// The k-th edge from a rank is the k-th to us that it has.
void match_in_order(Topology& topology, const Lists& all_destinations) {
  for (std::size_t i = 0; i < topology.sources.size(); ++i) {
    const auto begin = topology.sources.begin();
    auto nth = std::count(begin, begin + static_cast<std::ptrdiff_t>(i), topology.sources[i]);
    const auto& theirs = all_destinations[static_cast<std::size_t>(topology.sources[i])];
    int block = -1;
    do block = static_cast<int>(std::find(theirs.begin() + block + 1, theirs.end(), topology.rank) - theirs.begin());
    while (nth-- > 0);
    topology.source_blocks.push_back(block);
  }
}

/// Each rank has its next ones on both sides as neighbours, the farther ones first.
Topology graph(int ranks) {
  Topology topology{"graph"};
  Lists lists(static_cast<std::size_t>(ranks));
  std::vector<int> index, edges;
  for (int rank = 0; rank < ranks; ++rank) {
    auto& list = lists[static_cast<std::size_t>(rank)];
    for (const int step : {2, 1, ranks - 1, ranks - 2}) {
      const int other = (rank + step + ranks) % ranks;
      if (other != rank && std::find(list.begin(), list.end(), other) == list.end()) list.push_back(other);
    }
    edges.insert(edges.end(), list.begin(), list.end());
    index.push_back(static_cast<int>(edges.size()));
  }
  edges.push_back(0);
  MPI_Graph_create(MPI_COMM_WORLD, ranks, index.data(), edges.data(), 0, &topology.comm);
  MPI_Comm_rank(topology.comm, &topology.rank);
  topology.sources = topology.destinations = lists[static_cast<std::size_t>(topology.rank)];
  match_in_order(topology, lists);
  return topology;
}

/// Any edges in any order; `repeat`: some more than once, and from a rank to itself.
Topology distributed(int ranks, bool repeat, unsigned seed, bool weighted) {
  Topology topology{repeat ? "distributed graph with repeated edges" : "distributed graph"};
  std::mt19937 random(seed);
  Lists sources(static_cast<std::size_t>(ranks)), destinations(sources);
  for (int edge = 0; edge < 3 * ranks; ++edge) {
    const int from = static_cast<int>(random() % static_cast<unsigned>(ranks));
    const int to = static_cast<int>(random() % static_cast<unsigned>(ranks));
    auto& list = destinations[static_cast<std::size_t>(from)];
    if (!repeat && std::find(list.begin(), list.end(), to) != list.end()) continue;
    list.push_back(to);
    sources[static_cast<std::size_t>(to)].push_back(from);
  }
  for (auto* lists : {&sources, &destinations})
    for (auto& list : *lists) std::shuffle(list.begin(), list.end(), random);
  MPI_Comm_rank(MPI_COMM_WORLD, &topology.rank);
  const auto self = static_cast<std::size_t>(topology.rank);
  topology.sources = sources[self];
  topology.destinations = destinations[self];
  const std::vector<int> weights(3 * static_cast<std::size_t>(ranks) + 1, 5);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, static_cast<int>(topology.sources.size()), topology.sources.data(),
                                 weighted ? weights.data() : MPI_UNWEIGHTED,
                                 static_cast<int>(topology.destinations.size()), topology.destinations.data(),
                                 weighted ? weights.data() : MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &topology.comm);
  match_in_order(topology, destinations);
  return topology;
}

/// One kind of call: its buffers, and what is in block b of the one that `rank` sends.
class Exchange {
 public:
  Exchange(Context& context, const BlockTypes& types, const Topology& topology, int round, int ints)
      : context_(context), types_(types), topology_(topology), round_(round), ints_(ints) {}

  void all() {
    const auto& comm = topology_.comm;
    make(true, true);
    check("Neighbor_allgather", MPI_Neighbor_allgather(send_.data(), send_.count(), send_.type(), receive_.data(),
                                                       receive_.count(), receive_.type(), comm));
    make(true, false);
    check("Neighbor_allgatherv",
          MPI_Neighbor_allgatherv(send_.data(), send_.count(), send_.type(), receive_.data(), receive_.counts.data(),
                                  receive_.displacements.data(), receive_.type(), comm));
    make(false, true);
    check("Neighbor_alltoall", MPI_Neighbor_alltoall(send_.data(), send_.count(), send_.type(), receive_.data(),
                                                     receive_.count(), receive_.type(), comm));
    make(false, false);
    check("Neighbor_alltoallv", MPI_Neighbor_alltoallv(send_.data(), send_.counts.data(), send_.displacements.data(),
                                                       send_.type(), receive_.data(), receive_.counts.data(),
                                                       receive_.displacements.data(), receive_.type(), comm));
    make(false, false, true);
    const auto send_types = send_.types(), types = receive_.types();
    check("Neighbor_alltoallw", MPI_Neighbor_alltoallw(send_.data(), send_.counts.data(), send_.byte_places.data(),
                                                       send_types.data(), receive_.data(), receive_.counts.data(),
                                                       receive_.byte_places.data(), types.data(), comm));
  }

#if MPI_VERSION >= 4
  void all_with_large_counts() {
    const auto& comm = topology_.comm;
    const auto wide = [](const std::vector<int>& list) { return std::vector<MPI_Count>(list.begin(), list.end()); };
    const auto far = [](const std::vector<int>& list) { return std::vector<MPI_Aint>(list.begin(), list.end()); };
    make(true, true);
    check("Neighbor_allgather_c", MPI_Neighbor_allgather_c(send_.data(), send_.count(), send_.type(), receive_.data(),
                                                           receive_.count(), receive_.type(), comm));
    make(true, false);
    check("Neighbor_allgatherv_c",
          MPI_Neighbor_allgatherv_c(send_.data(), send_.count(), send_.type(), receive_.data(),
                                    wide(receive_.counts).data(), far(receive_.displacements).data(), receive_.type(),
                                    comm));
    make(false, true);
    check("Neighbor_alltoall_c", MPI_Neighbor_alltoall_c(send_.data(), send_.count(), send_.type(), receive_.data(),
                                                         receive_.count(), receive_.type(), comm));
    make(false, false);
    check("Neighbor_alltoallv_c",
          MPI_Neighbor_alltoallv_c(send_.data(), wide(send_.counts).data(), far(send_.displacements).data(),
                                   send_.type(), receive_.data(), wide(receive_.counts).data(),
                                   far(receive_.displacements).data(), receive_.type(), comm));
    make(false, false, true);
    check("Neighbor_alltoallw_c",
          MPI_Neighbor_alltoallw_c(send_.data(), wide(send_.counts).data(), send_.byte_places.data(),
                                   send_.types().data(), receive_.data(), wide(receive_.counts).data(),
                                   receive_.byte_places.data(), receive_.types().data(), comm));
  }
#endif

 private:
  /// Of block b of what `rank` sends, in ints.
  int size_of(int rank, int b) const {
    return regular_ ? ints_ : ints_ / 4 * ((rank * 3 + (same_ ? 0 : b) * 5 + round_) % 5) / 2 * 2;
  }
  int value_of(int rank, int b, int i) const {
    return rank * 1'000'000 + (same_ ? 0 : b) * 131'071 + i * 3 + round_;
  }

  void make(bool same, bool regular, bool own_types = false) {
    same_ = same;
    regular_ = regular;
    const auto kind = [&](int i) { return &types_[round_ == 0 ? 0 : topology_.rank + round_ + (own_types ? i : 0)]; };
    std::vector<int> sizes, room;
    std::vector<const BlockTypes::Kind*> send_kinds, receive_kinds;
    const int blocks = same ? 1 : static_cast<int>(topology_.destinations.size());
    for (int b = 0; b < blocks; ++b) {
      sizes.push_back(size_of(topology_.rank, b));
      send_kinds.push_back(kind(b));
    }
    for (std::size_t i = 0; i < topology_.sources.size(); ++i) {
      const int source = topology_.sources[i];
      room.push_back(source < 0 ? ints_ : size_of(source, topology_.source_blocks[i]));
      receive_kinds.push_back(kind(static_cast<int>(i) + 2));
    }
    if (same || regular)
      send_ = BlockBuffer::regular(*kind(0), blocks, same ? size_of(topology_.rank, 0) : ints_);
    else
      send_ = BlockBuffer::irregular(send_kinds, sizes);
    receive_ = regular ? BlockBuffer::regular(*kind(2), static_cast<int>(room.size()), ints_)
                       : BlockBuffer::irregular(receive_kinds, room);
    if (send_.kinds.empty()) send_.kinds.push_back(kind(0));
    if (receive_.kinds.empty()) receive_.kinds.push_back(kind(2));
    send_.fill(77);
    for (int b = 0; b < blocks; ++b)
      for (int i = 0; i < sizes[static_cast<std::size_t>(b)]; ++i)
        send_.value(static_cast<std::size_t>(b), i) = value_of(topology_.rank, b, i);
    receive_.fill(9);
    expected_ = receive_;
    for (std::size_t s = 0; s < room.size(); ++s)
      for (int i = 0; topology_.sources[s] >= 0 && i < room[s]; ++i)
        expected_.value(s, i) = value_of(topology_.sources[s], topology_.source_blocks[s], i);
    // Who has neighbours in one direction only still says how much the others send.
    if (regular && receive_.counts.empty()) receive_.counts.push_back(ints_ / receive_.kinds[0]->ints);
    if (regular && send_.counts.empty()) send_.counts.push_back(ints_ / send_.kinds[0]->ints);
  }

  void check(const char* what, int code) {
    if (!same_ && topology_.repeated() && !last_was_ours()) return;
    const auto wrong = std::mismatch(receive_.memory.begin(), receive_.memory.end(), expected_.memory.begin());
    context_.expect(code == MPI_SUCCESS && wrong.first == receive_.memory.end(),
                    "%s on a %s, around %d ints, round %d: wrong at %td of %zu, code %d", what, topology_.name.c_str(),
                    ints_, round_, wrong.first - receive_.memory.begin(), receive_.memory.size(), code);
  }

  Context& context_;
  const BlockTypes& types_;
  const Topology& topology_;
  int round_;
  int ints_;
  bool same_ = false, regular_ = true;
  BlockBuffer send_, receive_, expected_;
};

std::vector<Topology> topologies(Context& context) {
  const int ranks = context.size();
  std::vector<Topology> all{cartesian("ring", {ranks}, true),
                            cartesian("line", {ranks}, false),
                            cartesian("torus of 1 x n", {1, ranks}, true),
                            cartesian("torus of n x 1 x 1", {ranks, 1, 1}, true),
                            cartesian("torus of 2 x n/2", {std::min(2, ranks), std::max(1, ranks / 2)}, true),
                            cartesian("single periodic process", {1}, true),
                            cartesian("pair", {1, std::min(2, ranks)}, true),
                            graph(ranks),
                            distributed(ranks, false, 1, false),
                            distributed(ranks, true, 2, true),
                            distributed(ranks, true, 3, false)};
  return all;
}

void on_topologies(Context& context, const std::function<void(const Topology&)>& body) {
  for (Topology& topology : topologies(context)) {
    if (topology.comm == MPI_COMM_NULL) continue;
    body(topology);
    MPI_Comm_free(&topology.comm);
  }
}

}  // namespace

void neighbors_get_what_is_theirs(Context& context) {
  const BlockTypes types;
  on_topologies(context, [&](const Topology& topology) {
    for (const int ints : block_sizes(context.crowded()))
      for (int round = 0; round < (context.crowded() ? 2 : 3); ++round)
        Exchange(context, types, topology, round, ints).all();
    Exchange(context, types, topology, 0, 0).all();
  });
}

void large_count_functions_of_neighbors_work([[maybe_unused]] Context& context) {
#if MPI_VERSION >= 4
  const BlockTypes types;
  on_topologies(context, [&](const Topology& topology) {
    for (const int ints : {4, 20'000}) Exchange(context, types, topology, 1, ints).all_with_large_counts();
  });
#endif
}

void a_duplicate_has_the_same_neighbors(Context& context) {
  const BlockTypes types;
  Topology ring = cartesian("duplicate of a ring", {context.size()}, true);
  const MPI_Comm original = ring.comm;
  MPI_Comm_dup(original, &ring.comm);
  Exchange(context, types, ring, 1, 40).all();
  MPI_Comm_free(&ring.comm);
  ring.comm = original;
  MPI_Comm_free(&ring.comm);
}

namespace {

/// The only edge is from rank 0 to rank 1: who receives nothing, or sends nothing, has no buffer for it.
void along_one_edge(Context& context, int ints) {
  const int rank = context.rank(), zero = 0, one = 1;
  MPI_Comm edge = MPI_COMM_NULL;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank == 1 ? 1 : 0, &zero, MPI_UNWEIGHTED, rank == 0 ? 1 : 0, &one,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &edge);
  std::vector<int> send(static_cast<std::size_t>(ints), 5), receive(send.size());
  const void* const from = rank == 0 ? send.data() : nullptr;
  void* const to = rank == 1 ? receive.data() : nullptr;
  const auto check = [&](const char* what, int code) {
    const int expected = rank == 1 ? 5 : 0;
    context.expect(code == MPI_SUCCESS && receive.front() == expected && receive.back() == expected,
                   "%s of %d ints along one edge: %d and %d, code %d", what, ints, receive.front(), receive.back(),
                   code);
    std::fill(receive.begin(), receive.end(), 0);
    exercise(context, edge, what, 10);
  };
  check("Neighbor_allgather", MPI_Neighbor_allgather(from, ints, MPI_INT, to, ints, MPI_INT, edge));
  check("Neighbor_alltoall", MPI_Neighbor_alltoall(from, ints, MPI_INT, to, ints, MPI_INT, edge));
  MPI_Comm_free(&edge);
}

/// The blocks of null processes, at both ends of a line, are nowhere.
void between_ends(Context& context) {
  Topology line = cartesian("line", {context.size()}, false);
  int send = 10 + line.rank, receive[2] = {-1, -1};
  MPI_Aint from = 0, to[2] = {0, 0};
  MPI_Get_address(&send, &from);
  for (int i = 0; i < 2; ++i) MPI_Get_address(&receive[i], &to[i]);
  MPI_Aint sends[2], receives[2];
  for (std::size_t i = 0; i < 2; ++i) {
    sends[i] = line.destinations[i] < 0 ? 0 : from;
    receives[i] = line.sources[i] < 0 ? 0 : to[i];
  }
  const int counts[2] = {1, 1};
  const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
  const int code =
      MPI_Neighbor_alltoallw(MPI_BOTTOM, counts, sends, types, MPI_BOTTOM, counts, receives, types, line.comm);
  for (std::size_t i = 0; i < 2; ++i)
    context.expect(code == MPI_SUCCESS && receive[i] == (line.sources[i] < 0 ? -1 : 10 + line.sources[i]),
                   "Neighbor_alltoallw between null processes: %d of side %zu, code %d", receive[i], i, code);
  exercise(context, line.comm, "a line", 10);
  MPI_Comm_free(&line.comm);
}

}  // namespace

void buffers_without_neighbors_may_be_null(Context& context) {
  if (!tutti_is_there() || context.size() < 2) return;  // some hosts look at them all the same
  for (const int ints : {1, 100, 100'000}) along_one_edge(context, ints);
  between_ends(context);
}

}  // namespace tutti::tests
