#include "fuzz_communicators.h"

#include <algorithm>

namespace tutti::tests {

namespace {

int rank_of(MPI_Comm communicator) {
  int rank = 0;
  PMPI_Comm_rank(communicator, &rank);
  return rank;
}

int size_of(MPI_Comm communicator) {
  int size = 1;
  PMPI_Comm_size(communicator, &size);
  return size;
}

/// How many edges a random graph has from one rank to another: mostly none or one, sometimes several, also to oneself.
class Edges {
 public:
  Edges(std::uint64_t draw, bool symmetric) : draw_(draw), symmetric_(symmetric) {}
  int from(int source, int destination) const {
    if (symmetric_ && source > destination) std::swap(source, destination);
    std::uint64_t mixed = draw_ + static_cast<std::uint64_t>(source * 1009 + destination + 1) * 0x9E3779B97F4A7C15u;
    mixed ^= mixed >> 29;
    mixed *= 0xBF58476D1CE4E5B9u;
    mixed ^= mixed >> 32;
    constexpr int kEdges[8] = {0, 0, 0, 1, 1, 1, 2, 3};
    return kEdges[mixed % 8];
  }

 private:
  std::uint64_t draw_;
  bool symmetric_;
};

}  // namespace

DrawnCommunicator::DrawnCommunicator(std::mt19937_64& common, std::mt19937_64& local, bool topology,
                                     const Without& without) {
  if (!topology) {
    make_plain(common);
    return;
  }
  MPI_Comm base = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, common() % 2 ? rank_of(MPI_COMM_WORLD) : -rank_of(MPI_COMM_WORLD), &base);
  switch (common() % 4) {
    case 0:
      make_cartesian(base, common);
      break;
    case 1:
      make_graph(base, common);
      break;
    default:
      make_distributed_graph(base, common, local, without.dist_graph_create);
  }
  MPI_Comm_free(&base);
}

DrawnCommunicator::~DrawnCommunicator() {
  if (communicator_ != MPI_COMM_WORLD && communicator_ != MPI_COMM_NULL) MPI_Comm_free(&communicator_);
}

void DrawnCommunicator::make_plain(std::mt19937_64& common) {
  const int rank = rank_of(MPI_COMM_WORLD);
  const unsigned kind = static_cast<unsigned>(common() % 4);
  const std::uint64_t draw = common();
  const int parts = 1 + static_cast<int>(draw % 3);
  switch (kind) {
    case 0:
      description_ = "a duplicate";
      MPI_Comm_dup(MPI_COMM_WORLD, &communicator_);
      break;
    case 1:
      description_ = "all in reverse";
      MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &communicator_);
      break;
    case 2:
      description_ = "every n-th";
      MPI_Comm_split(MPI_COMM_WORLD, rank % parts, -rank, &communicator_);
      break;
    default:
      description_ = "some in any order";
      MPI_Comm_split(MPI_COMM_WORLD, static_cast<int>((draw >> (8 + 2 * (rank % 20))) % 2),
                     static_cast<int>((draw * static_cast<std::uint64_t>(rank * 2 + 1)) >> 50), &communicator_);
  }
}

/// One to three dimensions, some of them of one rank only or of two, closed to rings or not.
void DrawnCommunicator::make_cartesian(MPI_Comm base, std::mt19937_64& common) {
  const int dimensions = 1 + static_cast<int>(common() % 3);
  // Sometimes one rank is left out.
  const int ranks = std::max(1, size_of(base) - (common() % 4 == 0 ? 1 : 0));
  const std::uint64_t draw = common();
  int extents[3] = {0, 0, 0};
  int periods[3];
  for (int i = 0; i < 3; ++i) periods[i] = draw >> i & 1;
  MPI_Dims_create(ranks, dimensions, extents);
  if (draw >> 3 & 1) std::reverse(extents, extents + dimensions);
  MPI_Cart_create(base, dimensions, extents, periods, 0, &communicator_);
  cartesian_ = true;
  description_ = "a grid";
  for (int i = 0; i < dimensions; ++i) {
    description_ += i ? 'x' : ' ';
    description_ += std::to_string(extents[i]);
    if (periods[i]) description_ += '*';
  }
  if (communicator_ == MPI_COMM_NULL) return;
  for (int i = 0; i < dimensions; ++i) {
    int before = 0, behind = 0;
    MPI_Cart_shift(communicator_, i, 1, &before, &behind);
    for (const int rank : {before, behind}) sources_.push_back(rank), destinations_.push_back(rank);
  }
}

/// The standard wants the edges of such a graph in both directions where there is neighbourhood communication.
void DrawnCommunicator::make_graph(MPI_Comm base, std::mt19937_64& common) {
  const Edges edges(common(), true);
  const int ranks = size_of(base);
  std::vector<int> index, neighbours;
  for (int rank = 0; rank < ranks; ++rank) {
    for (int other = 0; other < ranks; ++other)
      for (int edge = edges.from(rank, other); edge > 0; --edge) neighbours.push_back(other);
    index.push_back(static_cast<int>(neighbours.size()));
  }
  neighbours.push_back(0);  // never empty
  MPI_Graph_create(base, ranks, index.data(), neighbours.data(), 0, &communicator_);
  description_ = "a graph";
  const int rank = rank_of(communicator_);
  int count = 0;
  MPI_Graph_neighbors_count(communicator_, rank, &count);
  sources_.resize(static_cast<std::size_t>(count));
  MPI_Graph_neighbors(communicator_, rank, count, sources_.data());
  destinations_ = sources_;
}

/// adjacent: always by the ranks at both ends of an edge.
void DrawnCommunicator::make_distributed_graph(MPI_Comm base, std::mt19937_64& common, std::mt19937_64& local,
                                               bool adjacent) {
  const Edges edges(common(), false);
  adjacent = common() % 3 != 0 || adjacent;
  const int ranks = size_of(base);
  const int self = rank_of(base);
  std::vector<int> sources, destinations;
  for (int other = 0; other < ranks; ++other) {
    for (int edge = edges.from(other, self); edge > 0; --edge) sources.push_back(other);
    for (int edge = edges.from(self, other); edge > 0; --edge) destinations.push_back(other);
  }
  std::shuffle(sources.begin(), sources.end(), local);
  std::shuffle(destinations.begin(), destinations.end(), local);
  const int in = static_cast<int>(sources.size());
  const int out = static_cast<int>(destinations.size());
  sources.push_back(0), destinations.push_back(0);  // never empty
  if (adjacent) {
    MPI_Dist_graph_create_adjacent(base, in, sources.data(), MPI_UNWEIGHTED, out, destinations.data(), MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &communicator_);
  } else {
    MPI_Dist_graph_create(base, 1, &self, &out, destinations.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &communicator_);
  }
  description_ = adjacent ? "a graph of adjacent ranks" : "a distributed graph";
  int indegree = 0, outdegree = 0, weighted = 0;
  MPI_Dist_graph_neighbors_count(communicator_, &indegree, &outdegree, &weighted);
  sources_.resize(static_cast<std::size_t>(indegree) + 1);
  destinations_.resize(static_cast<std::size_t>(outdegree) + 1);
  MPI_Dist_graph_neighbors(communicator_, indegree, sources_.data(), MPI_UNWEIGHTED, outdegree, destinations_.data(),
                           MPI_UNWEIGHTED);
  sources_.pop_back();
  destinations_.pop_back();
}

}  // namespace tutti::tests
