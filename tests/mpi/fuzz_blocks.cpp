// Collectives that move a block for each rank or neighbour. What each rank must have afterwards follows from the draw;
// now and then the host is asked too.
#include <algorithm>

#include "fuzz_buffer.h"

namespace tutti::tests {

namespace {

constexpr int kEverybody = -1;

class FuzzBlocks final : public FuzzOperation {
 public:
  FuzzBlocks(const FuzzPlace& place, const Draw& draw);
  void run_reference() override;
  std::string check() override;
  std::size_t chosen_by_bytes() const override { return most_ * element_bytes_; }

 protected:
  void call_mpi() override {
    call(false, side_of(send_.get(), send_ ? send_->address() : nullptr),
         side_of(receive_.get(), receive_ ? receive_->address() : nullptr));
  }
  std::string describe_places() const override;

 private:
  /// A block: who sends it to whom. Block i of a buffer is edge i of a list.
  struct Edge {
    int from, to;
    unsigned number = 0;  ///< which of the edges between these two neighbours
  };
  std::uint64_t seed_of(const Edge& edge) const {
    return mix(draw_.data_seed + edge.number * 1000, edge.from, edge.to);
  }
  void list_neighbors(const DrawnCommunicator& communicator);
  void list_edges(const FuzzPlace& place);
  Spread spread() const;
  bool regular() const { return spread() == Spread::kRow; }
  bool all_to_all() const { return draw_.kind >= Kind::kAlltoall && draw_.kind <= Kind::kAlltoallw; }
  std::size_t amount(Edge edge) const;
  std::vector<std::size_t> amounts(const std::vector<Edge>& edges) const;
  std::unique_ptr<BlockBuffer> make_buffer(const FuzzPlace& place, const std::vector<Edge>& edges, bool many, int slot);
  void fill_send();
  void fill_receive();
  /// The arguments of one side, as MPI takes them.
  struct Side {
    void* address;
    int count;
    MPI_Datatype type;
    const int* counts;
    const int* displacements;
    const MPI_Aint* long_displacements;
    const MPI_Count* large_counts;
    const MPI_Datatype* types;
  };
  /// Without a buffer: nothing, or in place.
  Side side_of(const BlockBuffer* buffer, char* address) const;
  void call(bool host, const Side& send, const Side& receive) const;
  bool call_large(bool host, const Side& send, const Side& receive) const;

  bool in_place_ = false;  ///< on this rank
  std::size_t most_ = 0;   ///< elements of a block
  std::vector<Edge> send_edges_;
  std::vector<Edge> receive_edges_;
  std::unique_ptr<BlockBuffer> send_;  ///< none where this rank sends nothing, also in place
  std::unique_ptr<BlockBuffer> receive_;
  // What stands in place of arguments that are not significant.
  std::vector<int> zeros_;
  std::vector<MPI_Aint> long_zeros_;
  std::vector<MPI_Count> large_zeros_;
  std::vector<MPI_Datatype> bytes_;
  std::vector<char> sent_;       ///< copy of what was in the send buffer
  std::vector<char> initial_;    ///< copy of what was in the receive buffer
  std::vector<char> expected_;   ///< what must be in it afterwards
  std::vector<char> reference_;  ///< what the host made of `initial_`; empty if it was not asked
};

Spread FuzzBlocks::spread() const {
  switch (draw_.kind) {
    case Kind::kScatter:
    case Kind::kGather:
    case Kind::kAllgather:
    case Kind::kAlltoall:
    case Kind::kNeighborAllgather:
    case Kind::kNeighborAlltoall:
      return Spread::kRow;
    case Kind::kAlltoallw:
    case Kind::kNeighborAlltoallw:
      return Spread::kBytes;
    default:
      return Spread::kDisplacements;
  }
}

/// Equal on all ranks. Blocks of irregular collectives are often empty or small.
std::size_t FuzzBlocks::amount(Edge edge) const {
  if (regular()) return most_;
  // In place, what goes is as large as what comes.
  if (draw_.in_place && all_to_all() && edge.from > edge.to) std::swap(edge.from, edge.to);
  const std::size_t units = most_ / draw_.unit;
  const std::uint64_t number = mix(draw_.data_seed, edge.from, edge.to);
  switch (number % 5) {
    case 0:
      return 0;
    case 1:
      return std::min<std::size_t>(units, 1) * draw_.unit;
    case 2:
      return number / 5 % (units + 1) * draw_.unit;
    default:
      return units * draw_.unit;
  }
}

std::vector<std::size_t> FuzzBlocks::amounts(const std::vector<Edge>& edges) const {
  std::vector<std::size_t> result;
  for (const Edge& edge : edges) result.push_back(amount(edge));
  return result;
}

void FuzzBlocks::list_neighbors(const DrawnCommunicator& communicator) {
  if (draw_.kind == Kind::kNeighborAllgather || draw_.kind == Kind::kNeighborAllgatherv) {
    for (const int source : communicator.sources()) receive_edges_.push_back({source, kEverybody});
    send_edges_.push_back({rank_, kEverybody});
    return;
  }
  const auto number = [&](const std::vector<int>& ranks, std::size_t i) {
    if (communicator.cartesian()) return static_cast<unsigned>(i);
    return static_cast<unsigned>(std::count(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(i), ranks[i]));
  };
  const std::vector<int>& sources = communicator.sources();
  const std::vector<int>& destinations = communicator.destinations();
  for (std::size_t i = 0; i < sources.size(); ++i)
    receive_edges_.push_back({sources[i], rank_, number(sources, i) ^ (communicator.cartesian() ? 1u : 0u)});
  for (std::size_t i = 0; i < destinations.size(); ++i)
    send_edges_.push_back({rank_, destinations[i], number(destinations, i)});
}

void FuzzBlocks::list_edges(const FuzzPlace& place) {
  const Kind kind = draw_.kind;
  if (is_neighbor(kind)) {
    list_neighbors(place.communicator);
    return;
  }
  const bool scatter = kind == Kind::kScatter || kind == Kind::kScatterv;
  const bool gather = kind == Kind::kGather || kind == Kind::kGatherv;
  const bool from_all =
      all_to_all() || kind == Kind::kAllgather || kind == Kind::kAllgatherv || (gather && rank_ == root_);
  const bool to_all = all_to_all() || (scatter && rank_ == root_);
  // Who is at the other end where there is but one block.
  const int receiver = gather ? root_ : all_to_all() ? rank_ : kEverybody;
  if (from_all)
    for (int from = 0; from < size_; ++from) receive_edges_.push_back({from, receiver});
  if (to_all)
    for (int to = 0; to < size_; ++to) send_edges_.push_back({rank_, to});
  if (scatter) receive_edges_.push_back({root_, rank_});
  if (!scatter && !all_to_all()) send_edges_.push_back({rank_, receiver});
}

FuzzBlocks::FuzzBlocks(const FuzzPlace& place, const Draw& draw) : FuzzOperation(place, draw) {
  const Kind kind = draw.kind;
  list_edges(place);
  const std::size_t arguments = static_cast<std::size_t>(size_) + 4;
  zeros_.resize(arguments), long_zeros_.resize(arguments), large_zeros_.resize(arguments);
  bytes_.resize(arguments, MPI_BYTE);
  const std::size_t blocks = is_neighbor(kind) ? 4 : static_cast<std::size_t>(size_);
  most_ = draw.count / blocks / draw.unit * draw.unit;
  const bool scatter = kind == Kind::kScatter || kind == Kind::kScatterv;
  const bool gather = kind == Kind::kGather || kind == Kind::kGatherv;
  in_place_ = draw.in_place && !is_neighbor(kind) && (!(scatter || gather) || rank_ == root_);
  // What is sent and received as one block is neither spread out nor in many types.
  const bool one_to_send = !all_to_all() && !scatter && send_edges_.size() == 1 && !(kind >= Kind::kNeighborAlltoall);
  if (!send_edges_.empty() && (scatter || !in_place_)) send_ = make_buffer(place, send_edges_, !one_to_send, 0);
  if (!receive_edges_.empty() && !(scatter && in_place_)) receive_ = make_buffer(place, receive_edges_, !scatter, 1);
  if (send_) fill_send();
  if (receive_) fill_receive();
}

std::unique_ptr<BlockBuffer> FuzzBlocks::make_buffer(const FuzzPlace& place, const std::vector<Edge>& edges, bool many,
                                                     int slot) {
  return std::make_unique<BlockBuffer>(place, draw_, type_, element_bytes_, amounts(edges),
                                       many ? spread() : Spread::kRow, slot);
}

void FuzzBlocks::fill_send() {
  for (std::size_t i = 0; i < send_edges_.size(); ++i) send_->write(send_->address(), i, seed_of(send_edges_[i]));
  sent_ = send_->image();
}

void FuzzBlocks::fill_receive() {
  // In place, every block holds what goes to its rank, or the own one what goes to all.
  for (std::size_t i = 0; in_place_ && i < receive_edges_.size(); ++i) {
    const Edge& edge = receive_edges_[i];
    if (all_to_all()) receive_->write(receive_->address(), i, seed_of({edge.to, edge.from}));
    if (!all_to_all() && edge.from == rank_) receive_->write(receive_->address(), i, seed_of(edge));
  }
  initial_ = expected_ = receive_->image();
  for (std::size_t i = 0; i < receive_edges_.size(); ++i)
    if (receive_edges_[i].from != MPI_PROC_NULL)
      receive_->write(receive_->address_in(expected_), i, seed_of(receive_edges_[i]));
}

FuzzBlocks::Side FuzzBlocks::side_of(const BlockBuffer* buffer, char* address) const {
  if (buffer) {
    return {address,
            buffer->count(),
            buffer->type(),
            buffer->counts(),
            buffer->displacements(),
            buffer->long_displacements(),
            buffer->large_counts(),
            buffer->types()};
  }
  Side side{in_place_ ? MPI_IN_PLACE : nullptr,
            0,
            MPI_BYTE,
            zeros_.data(),
            zeros_.data(),
            long_zeros_.data(),
            large_zeros_.data(),
            bytes_.data()};
  if (is_neighbor(draw_.kind)) {
    // Open MPI takes a count of zero at a rank without neighbours to mean that there is nothing to send either.
    side.address = const_cast<int*>(zeros_.data());
    side.count = static_cast<int>(most_);
    side.type = type_;
  }
  return side;
}

void FuzzBlocks::call(bool host, const Side& send, const Side& receive) const {
  if (draw_.large_counts && call_large(host, send, receive)) return;
  const MPI_Comm comm = communicator_;
  switch (draw_.kind) {
    case Kind::kScatter:
      TUTTI_FUZZ_CALL(Scatter, send.address, send.count, send.type, receive.address, receive.count, receive.type, root_,
                      comm);
      break;
    case Kind::kScatterv:
      TUTTI_FUZZ_CALL(Scatterv, send.address, send.counts, send.displacements, send.type, receive.address,
                      receive.count, receive.type, root_, comm);
      break;
    case Kind::kGather:
      TUTTI_FUZZ_CALL(Gather, send.address, send.count, send.type, receive.address, receive.count, receive.type, root_,
                      comm);
      break;
    case Kind::kGatherv:
      TUTTI_FUZZ_CALL(Gatherv, send.address, send.count, send.type, receive.address, receive.counts,
                      receive.displacements, receive.type, root_, comm);
      break;
    case Kind::kAllgather:
      TUTTI_FUZZ_CALL(Allgather, send.address, send.count, send.type, receive.address, receive.count, receive.type,
                      comm);
      break;
    case Kind::kAllgatherv:
      TUTTI_FUZZ_CALL(Allgatherv, send.address, send.count, send.type, receive.address, receive.counts,
                      receive.displacements, receive.type, comm);
      break;
    case Kind::kAlltoall:
      TUTTI_FUZZ_CALL(Alltoall, send.address, send.count, send.type, receive.address, receive.count, receive.type,
                      comm);
      break;
    case Kind::kAlltoallv:
      TUTTI_FUZZ_CALL(Alltoallv, send.address, send.counts, send.displacements, send.type, receive.address,
                      receive.counts, receive.displacements, receive.type, comm);
      break;
    case Kind::kAlltoallw:
      TUTTI_FUZZ_CALL(Alltoallw, send.address, send.counts, send.displacements, send.types, receive.address,
                      receive.counts, receive.displacements, receive.types, comm);
      break;
    case Kind::kNeighborAllgather:
      TUTTI_FUZZ_CALL(Neighbor_allgather, send.address, send.count, send.type, receive.address, receive.count,
                      receive.type, comm);
      break;
    case Kind::kNeighborAllgatherv:
      TUTTI_FUZZ_CALL(Neighbor_allgatherv, send.address, send.count, send.type, receive.address, receive.counts,
                      receive.displacements, receive.type, comm);
      break;
    case Kind::kNeighborAlltoall:
      TUTTI_FUZZ_CALL(Neighbor_alltoall, send.address, send.count, send.type, receive.address, receive.count,
                      receive.type, comm);
      break;
    case Kind::kNeighborAlltoallv:
      TUTTI_FUZZ_CALL(Neighbor_alltoallv, send.address, send.counts, send.displacements, send.type, receive.address,
                      receive.counts, receive.displacements, receive.type, comm);
      break;
    default:
      TUTTI_FUZZ_CALL(Neighbor_alltoallw, send.address, send.counts, send.long_displacements, send.types,
                      receive.address, receive.counts, receive.long_displacements, receive.types, comm);
  }
}

/// False if this MPI has no such forms.
bool FuzzBlocks::call_large([[maybe_unused]] bool host, [[maybe_unused]] const Side& send,
                            [[maybe_unused]] const Side& receive) const {
#if TUTTI_FUZZ_LARGE_COUNTS
  const MPI_Comm comm = communicator_;
  switch (draw_.kind) {
    case Kind::kScatter:
      TUTTI_FUZZ_CALL(Scatter_c, send.address, send.count, send.type, receive.address, receive.count, receive.type,
                      root_, comm);
      break;
    case Kind::kScatterv:
      TUTTI_FUZZ_CALL(Scatterv_c, send.address, send.large_counts, send.long_displacements, send.type, receive.address,
                      receive.count, receive.type, root_, comm);
      break;
    case Kind::kGather:
      TUTTI_FUZZ_CALL(Gather_c, send.address, send.count, send.type, receive.address, receive.count, receive.type,
                      root_, comm);
      break;
    case Kind::kGatherv:
      TUTTI_FUZZ_CALL(Gatherv_c, send.address, send.count, send.type, receive.address, receive.large_counts,
                      receive.long_displacements, receive.type, root_, comm);
      break;
    case Kind::kAllgather:
      TUTTI_FUZZ_CALL(Allgather_c, send.address, send.count, send.type, receive.address, receive.count, receive.type,
                      comm);
      break;
    case Kind::kAllgatherv:
      TUTTI_FUZZ_CALL(Allgatherv_c, send.address, send.count, send.type, receive.address, receive.large_counts,
                      receive.long_displacements, receive.type, comm);
      break;
    case Kind::kAlltoall:
      TUTTI_FUZZ_CALL(Alltoall_c, send.address, send.count, send.type, receive.address, receive.count, receive.type,
                      comm);
      break;
    case Kind::kAlltoallv:
      TUTTI_FUZZ_CALL(Alltoallv_c, send.address, send.large_counts, send.long_displacements, send.type, receive.address,
                      receive.large_counts, receive.long_displacements, receive.type, comm);
      break;
    case Kind::kAlltoallw:
      TUTTI_FUZZ_CALL(Alltoallw_c, send.address, send.large_counts, send.long_displacements, send.types,
                      receive.address, receive.large_counts, receive.long_displacements, receive.types, comm);
      break;
    case Kind::kNeighborAllgather:
      TUTTI_FUZZ_CALL(Neighbor_allgather_c, send.address, send.count, send.type, receive.address, receive.count,
                      receive.type, comm);
      break;
    case Kind::kNeighborAllgatherv:
      TUTTI_FUZZ_CALL(Neighbor_allgatherv_c, send.address, send.count, send.type, receive.address, receive.large_counts,
                      receive.long_displacements, receive.type, comm);
      break;
    case Kind::kNeighborAlltoall:
      TUTTI_FUZZ_CALL(Neighbor_alltoall_c, send.address, send.count, send.type, receive.address, receive.count,
                      receive.type, comm);
      break;
    case Kind::kNeighborAlltoallv:
      TUTTI_FUZZ_CALL(Neighbor_alltoallv_c, send.address, send.large_counts, send.long_displacements, send.type,
                      receive.address, receive.large_counts, receive.long_displacements, receive.type, comm);
      break;
    default:
      TUTTI_FUZZ_CALL(Neighbor_alltoallw_c, send.address, send.large_counts, send.long_displacements, send.types,
                      receive.address, receive.large_counts, receive.long_displacements, receive.types, comm);
  }
  return true;
#else
  return false;
#endif
}

void FuzzBlocks::run_reference() {
  if (!draw_.ask_host) return;
  std::vector<char> sent = sent_;
  reference_ = initial_;
  call(true, side_of(send_.get(), send_ ? send_->address_in(sent) : nullptr),
       side_of(receive_.get(), receive_ ? receive_->address_in(reference_) : nullptr));
}

std::string FuzzBlocks::check() {
  std::string found;
  if (receive_) found = difference(expected_, receive_->memory(), receive_->origin(), "the receive buffer");
  if (found.empty() && send_) found = difference(sent_, send_->memory(), send_->origin(), "the send buffer");
  if (found.empty() && !reference_.empty())
    found = difference(expected_, reference_.data(), receive_->origin(), "the receive buffer of the host itself");
  return found;
}

std::string FuzzBlocks::describe_places() const {
  std::string text = ", at most " + std::to_string(most_) + " a block, units of " + std::to_string(draw_.unit);
  if (send_) text += std::string(", from ") + name_of(send_->kind());
  if (receive_) text += std::string(", to ") + name_of(receive_->kind());
  return text;
}

}  // namespace

std::unique_ptr<FuzzOperation> make_blocks(const FuzzPlace& place, const Draw& drawn) {
  Draw draw = drawn;
  // The hosts choose the algorithm by the size of the send type times the receive counts, or by the types: ranks with
  // different ones then wait for each other forever, or write past the end (Open MPI, MPICH and Intel MPI alike).
  if ((draw.kind == Kind::kAllgatherv || draw.kind == Kind::kAllgather) && draw.mixed_layouts) {
    draw.ask_host = false;
    draw.mixed_layouts = tutti_is_there();
  }
  // Open MPI 4.1, in the nonblocking forms, mistakes blocks for each other where two ranks share several edges, and looks
  // at types that Alltoallw has no use for: in place, and one for each neighbour on communicators that have some.
  if ((is_neighbor(draw.kind) && draw.kind >= Kind::kNeighborAlltoall) || draw.kind == Kind::kAlltoallw) {
    int size = 0;
    PMPI_Comm_size(place.communicator.get(), &size);
    if (size == 1 || !tutti_is_there()) draw.form = Form::kBlocking, draw.starts = 1;
  }
#ifdef OPEN_MPI
  // What a rank copies to itself from one type to another loses its end in Open MPI 4.1 and 5.0 where less than an item of
  // what is sent is left behind pieces of 128 KiB.
  constexpr std::size_t piece_bytes = 128 << 10;
  const std::size_t bytes = draw.count * place.tables.types[static_cast<std::size_t>(draw.type)].type.bytes;
  if (draw.mixed_layouts && bytes > piece_bytes) {
    int size = 0;
    PMPI_Comm_size(place.communicator.get(), &size);
    draw.ask_host = false;
    draw.mixed_layouts = size > 1 && tutti_is_there();
  }
#else
  // Intel MPI writes past the end of the root's buffer in Gather if its layout is not that of the other ranks.
  if ((draw.kind == Kind::kGather || draw.kind == Kind::kGatherv) && draw.mixed_layouts) {
    draw.ask_host = false;
    draw.mixed_layouts = tutti_is_there();
  }
  // MPICH and its kin mistake blocks for each other, write past the end, or fail, where the same two ranks share
  // several edges. What is right follows from the standard, without asking; a communicator of one rank is left to the
  // host.
  if (is_neighbor(draw.kind) && draw.kind >= Kind::kNeighborAlltoall) {
    int size = 0;
    PMPI_Comm_size(place.communicator.get(), &size);
    if (size == 1 || !tutti_is_there()) draw.kind = Kind::kNeighborAllgather;
    draw.ask_host = false;
  }
#endif
  return std::make_unique<FuzzBlocks>(place, draw);
}

}  // namespace tutti::tests
