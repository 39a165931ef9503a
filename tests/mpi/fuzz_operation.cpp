#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "block_buffers.h"
#include "fuzz.h"
#include "user_operations.h"

namespace tutti::tests {

namespace {

constexpr const char* kKindNames[kKinds] = {"Barrier",
                                            "Bcast",
                                            "Reduce",
                                            "Allreduce",
                                            "Reduce_scatter",
                                            "Reduce_scatter_block",
                                            "Scan",
                                            "Exscan",
                                            "Reduce_local",
                                            "Scatter",
                                            "Scatterv",
                                            "Gather",
                                            "Gatherv",
                                            "Allgather",
                                            "Allgatherv",
                                            "Alltoall",
                                            "Alltoallv",
                                            "Alltoallw",
                                            "Neighbor_allgather",
                                            "Neighbor_allgatherv",
                                            "Neighbor_alltoall",
                                            "Neighbor_alltoallv",
                                            "Neighbor_alltoallw"};

/// Log-uniform, often at or beside a number where implementations change their way.
std::size_t draw_bytes(std::mt19937_64& random, std::size_t maximum) {
  constexpr std::size_t kBoundaries[] = {0,      8,      16,     64,      128,     512,     4096,     8192,
                                         16'384, 32'768, 65'536, 131'072, 262'144, 524'288, 1'048'576};
  std::size_t bytes = 0;
  if (random() % 3 == 0) {
    bytes = kBoundaries[random() % std::size(kBoundaries)] + random() % 3;
    bytes = bytes == 0 ? 0 : bytes - 1;
  } else {
    const double most = std::log(static_cast<double>(maximum));
    bytes = static_cast<std::size_t>(std::exp(most * static_cast<double>(random() % 10'000) / 10'000.0));
  }
  return std::min(bytes, maximum);
}

class FuzzBarrier final : public FuzzOperation {
 public:
  using FuzzOperation::FuzzOperation;

 protected:
  void call_mpi() override {
    constexpr bool host = false;
    TUTTI_FUZZ_CALL(Barrier, communicator_);
  }
};

/// The whole message is one layout, as irregular as a datatype can be.
class FuzzBcast final : public FuzzOperation {
 public:
  FuzzBcast(const FuzzPlace& place, const Draw& draw);
  std::string check() override {
    return difference(expected_, memory_->data(), buffer_ - memory_->data(), "the buffer");
  }

 protected:
  void call_mpi() override {
    constexpr bool host = false;
#if TUTTI_FUZZ_LARGE_COUNTS
    if (draw_.large_counts) {
      TUTTI_FUZZ_CALL(Bcast_c, buffer_, layout_->count(), layout_->type(), root_, communicator_);
      return;
    }
#endif
    TUTTI_FUZZ_CALL(Bcast, buffer_, layout_->count(), layout_->type(), root_, communicator_);
  }
  std::string describe_places() const override {
    return std::string(", in ") + name_of(place_);
  }

 private:
  std::unique_ptr<Layout> layout_;
  Place place_ = Place::kHeapSmall;
  std::unique_ptr<Memory> memory_;
  char* buffer_ = nullptr;
  std::vector<char> expected_;  ///< guards included
};

FuzzBcast::FuzzBcast(const FuzzPlace& place, const Draw& draw) : FuzzOperation(place, draw) {
  std::mt19937_64& local = place.local;
  const LayoutKind kind =
      draw.mixed_layouts && draw.count > 0 ? static_cast<LayoutKind>(local() % kLayoutKinds) : LayoutKind::kContiguous;
  layout_ = std::make_unique<Layout>(kind, type_, draw.count, local);
  const std::size_t shift = 16 * (local() % 5) + (draw.mixed_layouts ? 0 : 8 * (local() % 2));
  const std::size_t bytes = kGuardBytes + shift + layout_->bytes_before() + layout_->bytes_behind() + kGuardBytes;
  memory_ = make_memory(place, bytes, 1, place_);
  buffer_ = memory_->data() + kGuardBytes + shift + layout_->bytes_before();
  std::memset(memory_->data(), kGuard, bytes);
  expected_.assign(bytes, kGuard);
  char* expected_at = expected_.data() + (buffer_ - memory_->data());
  for (std::size_t i = 0; i < draw.count; ++i)
    for (std::size_t byte = 0; byte < element_bytes_; ++byte)
      expected_at[layout_->places()[i] + static_cast<MPI_Aint>(byte)] =
          byte_of(draw.data_seed, i * element_bytes_ + byte);
  if (rank_ == root_) std::memcpy(memory_->data(), expected_.data(), bytes);
}

}  // namespace

const char* name_of(Kind kind) {
  return kKindNames[static_cast<int>(kind)];
}

FuzzTables::FuzzTables() {
  for (const TypeCase& type : reducible_types()) {
    // The padding of a pair may or may not arrive; everything else is compared byte by byte.
    if (type.category == Category::kPair && type.name != "MPI_2INT") continue;
    if (type.name.find("LONG_DOUBLE") != std::string::npos) continue;
    types.push_back({type, operations_on(type.category)});
  }
  PMPI_Op_create(&combine_numbers, 1, &combine);
  PMPI_Op_create(&multiply_matrices, 0, &product);
  matrix_type = make_matrix_type();
}

FuzzTables::~FuzzTables() {
  PMPI_Op_free(&combine);
  PMPI_Op_free(&product);
  PMPI_Type_free(&matrix_type);
}

Draw draw_operation(const FuzzTables& tables, const std::vector<Kind>& kinds, std::mt19937_64& common,
                    std::size_t maximum_bytes, bool nonblocking, const Without& without) {
  Draw draw;
  draw.kind = kinds[common() % kinds.size()];
  draw.type = static_cast<int>(common() % tables.types.size());
  const FuzzType& type = tables.types[static_cast<std::size_t>(draw.type)];
  draw.operation = static_cast<int>(common() % type.operations.size());
  std::size_t element_bytes = type.type.bytes;
  if (is_reduction(draw.kind) && common() % 5 == 0) {
    draw.operation = common() % 2 ? kCombine : kProduct;
    element_bytes = draw.operation == kCombine ? sizeof(std::uint32_t) : sizeof(Matrix);
  }
  if (draw.kind == Kind::kAllreduce && common() % 4 == 0) {
    draw.operation = kRoundedSum;
    element_bytes = sizeof(double);
  }
  draw.count = draw_bytes(common, maximum_bytes) / element_bytes;
  draw.root = static_cast<unsigned>(common() % 1000);
  draw.in_place = common() % 3 == 0;
  draw.mixed_layouts = common() % 2 == 0;
  if (draw.mixed_layouts) draw.unit = 1 + common() % 12;
  if (nonblocking && draw.kind != Kind::kReduceLocal && common() % 4 != 0) draw.form = Form::kNonblocking;
  if (draw.form == Form::kNonblocking && common() % 3 == 0 && tutti_is_there()) draw.form = Form::kPersistent;
  if (draw.form == Form::kPersistent && !draw.in_place) draw.starts += static_cast<int>(common() % 3);
  draw.large_counts = common() % 4 == 0;
  draw.ask_host = common() % 4 == 0;
  if (without.mixed_layouts && draw.mixed_layouts) draw.ask_host = false, draw.mixed_layouts = tutti_is_there();
  draw.late_us = common() % 4 == 0 ? static_cast<unsigned>(common() % 1000) : 0;
  draw.data_seed = common();
  return draw;
}

namespace {

/// Persistent ones of the hosts, which get what one rank does alone, have mistakes.
Draw without_hosts_persistent(Draw draw, MPI_Comm communicator) {
  int size = 0;
  PMPI_Comm_size(communicator, &size);
  if (size == 1 && draw.form == Form::kPersistent) draw.form = Form::kNonblocking, draw.starts = 1;
  return draw;
}

}  // namespace

FuzzOperation::FuzzOperation(const FuzzPlace& place, const Draw& draw)
    : tables_(place.tables),
      draw_(without_hosts_persistent(draw, place.communicator.get())),
      communicator_(place.communicator.get()),
      lateness_(place.local()) {
  PMPI_Comm_rank(communicator_, &rank_);
  PMPI_Comm_size(communicator_, &size_);
  root_ = static_cast<int>(draw.root % static_cast<unsigned>(size_));
  const FuzzType& type = tables_.types[static_cast<std::size_t>(draw.type)];
  type_ = type.type.type;
  element_bytes_ = type.type.bytes;
  if (draw.operation == kRoundedSum) type_ = MPI_DOUBLE, element_bytes_ = sizeof(double);
  if (draw.operation == kCombine) type_ = MPI_UINT32_T, element_bytes_ = sizeof(std::uint32_t);
  if (draw.operation == kProduct) type_ = tables_.matrix_type, element_bytes_ = sizeof(Matrix);
}

std::unique_ptr<FuzzOperation> make_operation(const FuzzPlace& place, const Draw& draw) {
  if (draw.kind == Kind::kBarrier) return std::make_unique<FuzzBarrier>(place, draw);
  if (draw.kind == Kind::kBcast) return std::make_unique<FuzzBcast>(place, draw);
  if (draw.operation == kRoundedSum) return make_rounded_sum(place, draw);
  return is_reduction(draw.kind) ? make_reduction(place, draw) : make_blocks(place, draw);
}

void FuzzOperation::run() {
  if (draw_.late_us > 0) dawdle(lateness_, draw_.late_us);
  call_mpi();
  is_ours_ = last_was_ours();
  for (int i = 1; i < draw_.starts; ++i) {
    MPI_Start(&request_);
    MPI_Wait(&request_, MPI_STATUS_IGNORE);
  }
}

std::string FuzzOperation::describe() const {
  const FuzzType& type = tables_.types[static_cast<std::size_t>(draw_.type)];
  std::string what = type.type.name;
  if (is_reduction(draw_.kind)) {
    what += ", " + (draw_.operation >= 0          ? type.operations[static_cast<std::size_t>(draw_.operation)].name
                    : draw_.operation == kCombine ? "a commutative operator"
                    : draw_.operation == kProduct ? "a matrix product"
                                                  : "a sum of doubles that is rounded");
  }
  char text[512];
  std::snprintf(text, sizeof text, "%s%s%s of %zu elements of %zu bytes (%s), root %d of %d%s%s",
                draw_.form == Form::kNonblocking  ? "nonblocking "
                : draw_.form == Form::kPersistent ? "persistent "
                                                  : "",
                name_of(draw_.kind), draw_.large_counts ? " (large counts)" : "", draw_.count, element_bytes_,
                what.c_str(), root_, size_, draw_.in_place ? ", in place" : "",
                draw_.mixed_layouts ? ", mixed layouts" : "");
  return text + describe_places();
}

std::unique_ptr<Memory> make_memory(const FuzzPlace& place, std::size_t bytes, int slot, Place& chosen) {
  chosen = static_cast<Place>(place.local() % kPlaces);
  if (place.devices && place.local() % 2) chosen = Place::kDevice;
  const bool lent = chosen == Place::kStack || chosen == Place::kStatic || chosen == Place::kEarly;
  if (lent && !place.alone) chosen = Place::kHeap;
  return std::make_unique<Memory>(place.context, chosen, bytes, slot);
}

std::uint64_t mix(std::uint64_t seed, std::int64_t a, std::int64_t b) {
  std::uint64_t mixed = seed + static_cast<std::uint64_t>(a * 1'000'003 + b + 7) * 0x9E3779B97F4A7C15u;
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
  return mixed ^ (mixed >> 31);
}

std::string difference(const std::vector<char>& expected, const char* memory, std::ptrdiff_t origin, const char* what) {
  const auto wrong = std::mismatch(expected.begin(), expected.end(), memory).first - expected.begin();
  if (wrong == static_cast<std::ptrdiff_t>(expected.size())) return "";
  return std::string(what) + " differs at byte " + std::to_string(wrong - origin);
}

}  // namespace tutti::tests
