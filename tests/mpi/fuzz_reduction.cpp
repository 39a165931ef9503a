// Reductions of the fuzzer. The result is the host's own.
#include <cstring>

#include "fuzz.h"

namespace tutti::tests {

namespace {

/// Writes what a rank contributes, or any other number.
void fill(const FuzzTables& tables, const Draw& draw, char* buffer, std::size_t count, std::size_t bytes,
          int contribution) {
  if (draw.operation >= 0) {
    tables.types[static_cast<std::size_t>(draw.type)].type.fill(buffer, count, contribution);
    return;
  }
  for (std::size_t i = 0; i < bytes / 4; ++i) {
    const auto number =
        static_cast<std::uint32_t>(i * 2654435761u + static_cast<std::uint32_t>(contribution) * 97u + 1);
    std::memcpy(buffer + 4 * i, &number, sizeof number);
  }
}

MPI_Op operation_of(const FuzzTables& tables, const Draw& draw) {
  if (draw.operation == kCombine) return tables.combine;
  if (draw.operation == kProduct) return tables.product;
  return tables.types[static_cast<std::size_t>(draw.type)]
      .operations[static_cast<std::size_t>(draw.operation)]
      .operation;
}

class FuzzReduction final : public FuzzOperation {
 public:
  FuzzReduction(const FuzzPlace& place, const Draw& draw);
  void run_reference() override;
  std::string check() override;
  std::size_t chosen_by_bytes() const override { return count_ * element_bytes_; }

 protected:
  void call_mpi() override { call(false, in_place() ? MPI_IN_PLACE : send_, receive_); }
  std::string describe_places() const override {
    return std::string(", from ") + name_of(send_place_) + " to " + name_of(receive_place_);
  }

 private:
  void call(bool host, const void* send, void* receive) const;
  bool receives() const { return draw_.kind != Kind::kReduce || rank_ == root_; }
  // Without the preload MPI_ is the host's too, and with it where pending calls have an operator of the program, in the
  // standard ABI. MPICH copies between overlapping parts in a Reduce_scatter in place with unequal counts, and ends the
  // program when it notices.
  bool in_place() const { return draw_.in_place && receives() && (is_surely_ours() || !scatters()); }
  bool is_surely_ours() const { return tutti_is_there() && (draw_.operation >= 0 || draw_.form == Form::kBlocking); }
  bool scatters() const { return draw_.kind == Kind::kReduceScatter || draw_.kind == Kind::kReduceScatterBlock; }
  void draw_counts();
  /// Elements of the result on this rank.
  std::size_t result_count() const {
    return scatters() ? static_cast<std::size_t>(counts_[static_cast<std::size_t>(rank_)]) : count_;
  }

  std::size_t count_ = 0;                ///< elements of the send buffer
  std::vector<int> counts_;              ///< of each rank's part of the result, where it is scattered
  std::vector<MPI_Count> large_counts_;  ///< the same
  Place send_place_ = Place::kHeapSmall;
  Place receive_place_ = Place::kHeapSmall;
  std::unique_ptr<Memory> send_memory_;
  std::unique_ptr<Memory> receive_memory_;
  char* send_ = nullptr;
  char* receive_ = nullptr;
  std::vector<char> sent_;      ///< a copy of what was in the send buffer, guards included
  std::vector<char> expected_;  ///< what the receive buffer must hold afterwards, guards included
};

FuzzReduction::FuzzReduction(const FuzzPlace& place, const Draw& draw)
    : FuzzOperation(place, draw), count_(draw.count) {
  std::mt19937_64& local = place.local;
  if (scatters()) draw_counts();
  large_counts_.assign(counts_.begin(), counts_.end());
  const std::size_t data_bytes = count_ * element_bytes_;
  const std::size_t shift = 16 * (local() % 5);
  const std::size_t bytes = kGuardBytes + shift + data_bytes + kGuardBytes;
  const FuzzPlace ours{place.context, place.tables, place.communicator,
                       local,         place.alone,  place.devices && is_surely_ours()};
  send_memory_ = make_memory(ours, bytes, 0, send_place_);
  receive_memory_ = make_memory(ours, bytes, 1, receive_place_);
  std::memset(send_memory_->data(), kGuard, bytes);
  std::memset(receive_memory_->data(), kGuard, bytes);
  send_ = send_memory_->data() + kGuardBytes + shift;
  receive_ = receive_memory_->data() + kGuardBytes + shift;
  fill(tables_, draw, send_, count_, data_bytes, rank_ + static_cast<int>(draw.data_seed % 1000));
  sent_.assign(send_memory_->data(), send_memory_->data() + bytes);
  if (in_place()) std::memcpy(receive_, send_, data_bytes);
  expected_.assign(receive_memory_->data(), receive_memory_->data() + bytes);
}

/// Equal parts, or any parts, many of them empty or small.
void FuzzReduction::draw_counts() {
  const std::size_t most = draw_.count / static_cast<std::size_t>(size_);
  count_ = 0;
  for (int rank = 0; rank < size_; ++rank) {
    const std::uint64_t number = mix(draw_.data_seed, rank, -1);
    std::size_t count = most;
    if (draw_.kind == Kind::kReduceScatter && number % 4 == 0) count = 0;
    if (draw_.kind == Kind::kReduceScatter && number % 4 == 1) count = number / 4 % (most + 1);
    counts_.push_back(static_cast<int>(count));
    count_ += count;
  }
}

void FuzzReduction::call(bool host, const void* send, void* receive) const {
  const int count = static_cast<int>(scatters() ? result_count() : count_);
  const MPI_Op op = operation_of(tables_, draw_);
#if TUTTI_FUZZ_LARGE_COUNTS
  if (draw_.large_counts) {
    switch (draw_.kind) {
      case Kind::kReduce:
        TUTTI_FUZZ_CALL(Reduce_c, send, receive, count, type_, op, root_, communicator_);
        break;
      case Kind::kAllreduce:
        TUTTI_FUZZ_CALL(Allreduce_c, send, receive, count, type_, op, communicator_);
        break;
      case Kind::kReduceScatter:
        TUTTI_FUZZ_CALL(Reduce_scatter_c, send, receive, large_counts_.data(), type_, op, communicator_);
        break;
      case Kind::kReduceScatterBlock:
        TUTTI_FUZZ_CALL(Reduce_scatter_block_c, send, receive, count, type_, op, communicator_);
        break;
      case Kind::kScan:
        TUTTI_FUZZ_CALL(Scan_c, send, receive, count, type_, op, communicator_);
        break;
      default:
        TUTTI_FUZZ_CALL(Exscan_c, send, receive, count, type_, op, communicator_);
    }
    return;
  }
#endif
  switch (draw_.kind) {
    case Kind::kReduce:
      TUTTI_FUZZ_CALL(Reduce, send, receive, count, type_, op, root_, communicator_);
      break;
    case Kind::kAllreduce:
      TUTTI_FUZZ_CALL(Allreduce, send, receive, count, type_, op, communicator_);
      break;
    case Kind::kReduceScatter:
      TUTTI_FUZZ_CALL(Reduce_scatter, send, receive, counts_.data(), type_, op, communicator_);
      break;
    case Kind::kReduceScatterBlock:
      TUTTI_FUZZ_CALL(Reduce_scatter_block, send, receive, count, type_, op, communicator_);
      break;
    case Kind::kScan:
      TUTTI_FUZZ_CALL(Scan, send, receive, count, type_, op, communicator_);
      break;
    default:
      TUTTI_FUZZ_CALL(Exscan, send, receive, count, type_, op, communicator_);
  }
}

/// Not in place, into memory of its own; where the host leaves that alone, nothing is expected of the buffer either.
void FuzzReduction::run_reference() {
  const char* send = sent_.data() + (send_ - send_memory_->data());
  std::vector<char> result(count_ * element_bytes_ + 1);
  call(true, send, result.data());
  if (!receives() || (draw_.kind == Kind::kExscan && rank_ == 0)) return;
  char* expected = expected_.data() + (receive_ - receive_memory_->data());
  const std::size_t bytes = result_count() * element_bytes_;
  std::memcpy(expected, result.data(), bytes);
  // In place, what lay behind the own part was an input; what is there afterwards is nobody's business.
  if (in_place() && scatters()) std::memcpy(expected + bytes, receive_ + bytes, count_ * element_bytes_ - bytes);
}

std::string FuzzReduction::check() {
  const std::string received =
      difference(expected_, receive_memory_->data(), receive_ - receive_memory_->data(), "the receive buffer");
  if (!received.empty()) return received;
  return difference(sent_, send_memory_->data(), send_ - send_memory_->data(), "the send buffer");
}

class FuzzReduceLocal final : public FuzzOperation {
 public:
  FuzzReduceLocal(const FuzzPlace& place, const Draw& draw);
  void run_reference() override {
    std::vector<char> in = in_.image;
    call(true, in.data() + in_.origin, expected_.data() + inout_.origin);
  }
  std::string check() override {
    const std::string result =
        difference(expected_, inout_.memory->data(), static_cast<std::ptrdiff_t>(inout_.origin), "the inout buffer");
    if (!result.empty()) return result;
    return difference(in_.image, in_.memory->data(), static_cast<std::ptrdiff_t>(in_.origin), "the in buffer");
  }

 protected:
  void call_mpi() override { call(false, in_.memory->data() + in_.origin, inout_.memory->data() + inout_.origin); }
  std::string describe_places() const override {
    return std::string(", from ") + name_of(in_.place) + " to " + name_of(inout_.place);
  }

 private:
  struct Buffer {
    Place place = Place::kHeapSmall;
    std::unique_ptr<Memory> memory = nullptr;
    std::size_t origin = 0;        ///< where the elements begin, at any element's boundary
    std::vector<char> image = {};  ///< a copy of it before the call, guards included
  };
  Buffer make_buffer(const FuzzPlace& place, int slot) const;
  void call(bool host, const void* in, void* inout) const;

  Buffer in_, inout_;
  std::vector<char> expected_;
};

FuzzReduceLocal::FuzzReduceLocal(const FuzzPlace& place, const Draw& draw)
    : FuzzOperation(place, draw), in_(make_buffer(place, 0)), inout_(make_buffer(place, 1)), expected_(inout_.image) {}

FuzzReduceLocal::Buffer FuzzReduceLocal::make_buffer(const FuzzPlace& place, int slot) const {
  Buffer buffer;
  const std::size_t data_bytes = draw_.count * element_bytes_;
  buffer.origin = kGuardBytes + element_bytes_ * (place.local() % 5);
  const std::size_t bytes = buffer.origin + data_bytes + kGuardBytes;
  buffer.memory = make_memory(place, bytes, slot, buffer.place);
  char* const memory = buffer.memory->data();
  std::memset(memory, kGuard, bytes);
  fill(tables_, draw_, memory + buffer.origin, draw_.count, data_bytes, slot + static_cast<int>(place.local() % 1000));
  buffer.image.assign(memory, memory + bytes);
  return buffer;
}

void FuzzReduceLocal::call(bool host, const void* in, void* inout) const {
  const int count = static_cast<int>(draw_.count);
  const MPI_Op op = operation_of(tables_, draw_);
#if TUTTI_FUZZ_LARGE_COUNTS
  if (draw_.large_counts) {
    TUTTI_FUZZ_CALL(Reduce_local_c, in, inout, count, type_, op);
    return;
  }
#endif
  TUTTI_FUZZ_CALL(Reduce_local, in, inout, count, type_, op);
}

}  // namespace

std::unique_ptr<FuzzOperation> make_reduction(const FuzzPlace& place, const Draw& draw) {
  if (draw.kind == Kind::kReduceLocal) return std::make_unique<FuzzReduceLocal>(place, draw);
  return std::make_unique<FuzzReduction>(place, draw);
}

}  // namespace tutti::tests
