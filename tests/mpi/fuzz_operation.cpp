#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "fuzz.h"
#include "user_operations.h"

namespace tutti::tests {

namespace {

constexpr std::size_t kGuardBytes = 64;
constexpr char kGuard = 0x6B;

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

/// The byte number i of a broadcast: depends on the draw, so that stale data is seen.
char byte_of(std::uint64_t seed, std::size_t i) {
  return static_cast<char>((i * 0x9E3779B1u + seed) >> 5);
}

}  // namespace

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

Draw draw_operation(const FuzzTables& tables, std::mt19937_64& common, std::size_t maximum_bytes) {
  Draw draw;
  draw.kind = static_cast<Draw::Kind>(common() % 10 == 0 ? 0 : 1 + common() % 3);
  draw.type = static_cast<int>(common() % tables.types.size());
  const FuzzType& type = tables.types[static_cast<std::size_t>(draw.type)];
  draw.operation = static_cast<int>(common() % type.operations.size());
  std::size_t element_bytes = type.type.bytes;
  if (draw.kind != Draw::kBcast && common() % 5 == 0) {
    draw.operation = common() % 2 ? -1 : -2;
    element_bytes = draw.operation == -1 ? sizeof(std::uint32_t) : sizeof(Matrix);
  }
  draw.count = draw_bytes(common, maximum_bytes) / element_bytes;
  draw.root = static_cast<unsigned>(common() % 1000);
  draw.in_place = common() % 3 == 0;
  draw.mixed_layouts = common() % 2 == 0;
  draw.late_us = common() % 4 == 0 ? static_cast<unsigned>(common() % 1000) : 0;
  draw.data_seed = common();
  return draw;
}

FuzzOperation::FuzzOperation(Context& context, const FuzzTables& tables, const Draw& draw, MPI_Comm communicator,
                             std::mt19937_64& local, bool alone)
    : context_(context), tables_(tables), draw_(draw), communicator_(communicator), alone_(alone) {
  PMPI_Comm_rank(communicator, &rank_);
  PMPI_Comm_size(communicator, &size_);
  root_ = static_cast<int>(draw.root % static_cast<unsigned>(size_));
  const FuzzType& type = tables.types[static_cast<std::size_t>(draw.type)];
  type_ = type.type.type;
  element_bytes_ = type.type.bytes;
  if (draw.operation == -1) type_ = MPI_UINT32_T, element_bytes_ = sizeof(std::uint32_t);
  if (draw.operation == -2) type_ = tables.matrix_type, element_bytes_ = sizeof(Matrix);
  lateness_ = local();
  if (draw.kind == Draw::kBcast) prepare_bcast(local);
  if (draw.kind == Draw::kReduce || draw.kind == Draw::kAllreduce) prepare_reduction(local);
}

/// A buffer of a kind that this rank chooses for itself.
std::unique_ptr<Memory> FuzzOperation::make_memory(std::mt19937_64& local, std::size_t bytes, int slot, Place& place) {
  place = static_cast<Place>(local() % kPlaces);
  const bool lent = place == Place::kStack || place == Place::kStatic || place == Place::kEarly;
  if (lent && !alone_) place = Place::kHeap;
  return std::make_unique<Memory>(context_, place, bytes, slot);
}

void FuzzOperation::prepare_bcast(std::mt19937_64& local) {
  const LayoutKind kind = draw_.mixed_layouts && draw_.count > 0 ? static_cast<LayoutKind>(local() % kLayoutKinds)
                                                                 : LayoutKind::kContiguous;
  layout_ = std::make_unique<Layout>(kind, type_, draw_.count, local);
  const std::size_t shift = 16 * (local() % 5) + (draw_.mixed_layouts ? 0 : 8 * (local() % 2));
  const std::size_t bytes = kGuardBytes + shift + layout_->bytes_before() + layout_->bytes_behind() + kGuardBytes;
  receive_memory_ = make_memory(local, bytes, 1, receive_place_);
  receive_ = receive_memory_->data() + kGuardBytes + shift + layout_->bytes_before();
  std::memset(receive_memory_->data(), kGuard, bytes);
  expected_.assign(bytes, kGuard);
  char* expected_at = expected_.data() + (receive_ - receive_memory_->data());
  for (std::size_t i = 0; i < draw_.count; ++i)
    for (std::size_t byte = 0; byte < element_bytes_; ++byte)
      expected_at[layout_->places()[i] + static_cast<MPI_Aint>(byte)] =
          byte_of(draw_.data_seed, i * element_bytes_ + byte);
  if (rank_ == root_) std::memcpy(receive_memory_->data(), expected_.data(), bytes);
}

void FuzzOperation::prepare_reduction(std::mt19937_64& local) {
  const std::size_t data_bytes = draw_.count * element_bytes_;
  const std::size_t shift = 16 * (local() % 5);
  const std::size_t bytes = kGuardBytes + shift + data_bytes + kGuardBytes;
  send_memory_ = make_memory(local, bytes, 0, send_place_);
  receive_memory_ = make_memory(local, bytes, 1, receive_place_);
  std::memset(send_memory_->data(), kGuard, bytes);
  std::memset(receive_memory_->data(), kGuard, bytes);
  send_ = send_memory_->data() + kGuardBytes + shift;
  receive_ = receive_memory_->data() + kGuardBytes + shift;
  const int contribution = rank_ + static_cast<int>(draw_.data_seed % 1000);
  if (draw_.operation >= 0) {
    tables_.types[static_cast<std::size_t>(draw_.type)].type.fill(send_, draw_.count, contribution);
  } else {
    for (std::size_t i = 0; i < data_bytes / 4; ++i) {
      const auto number =
          static_cast<std::uint32_t>(i * 2654435761u + static_cast<std::uint32_t>(contribution) * 97u + 1);
      std::memcpy(send_ + 4 * i, &number, sizeof number);
    }
  }
  sent_.assign(send_memory_->data(), send_memory_->data() + bytes);
  reference_.resize(data_bytes + 1);
  expected_.assign(receive_memory_->data(), receive_memory_->data() + bytes);
  if (draw_.in_place && receives()) std::memcpy(receive_, send_, data_bytes);
}

MPI_Op FuzzOperation::operation() const {
  if (draw_.operation == -1) return tables_.combine;
  if (draw_.operation == -2) return tables_.product;
  return tables_.types[static_cast<std::size_t>(draw_.type)]
      .operations[static_cast<std::size_t>(draw_.operation)]
      .operation;
}

void FuzzOperation::run() {
  if (draw_.late_us > 0) dawdle(lateness_, draw_.late_us);
  const int count = static_cast<int>(draw_.count);
  const void* send = draw_.in_place && receives() ? MPI_IN_PLACE : send_;
  switch (draw_.kind) {
    case Draw::kBarrier:
      MPI_Barrier(communicator_);
      break;
    case Draw::kBcast:
      MPI_Bcast(receive_, layout_->count(), layout_->type(), root_, communicator_);
      break;
    case Draw::kReduce:
      MPI_Reduce(send, receive_, count, type_, operation(), root_, communicator_);
      break;
    case Draw::kAllreduce:
      MPI_Allreduce(send, receive_, count, type_, operation(), communicator_);
      break;
  }
}

void FuzzOperation::run_reference() {
  if (draw_.kind != Draw::kReduce && draw_.kind != Draw::kAllreduce) return;
  const int count = static_cast<int>(draw_.count);
  const char* send = sent_.data() + (send_ - send_memory_->data());
  if (draw_.kind == Draw::kReduce)
    PMPI_Reduce(send, reference_.data(), count, type_, operation(), root_, communicator_);
  else
    PMPI_Allreduce(send, reference_.data(), count, type_, operation(), communicator_);
  if (receives())
    std::memcpy(expected_.data() + (receive_ - receive_memory_->data()), reference_.data(),
                draw_.count * element_bytes_);
}

std::string FuzzOperation::check() {
  char text[160];
  const auto compare = [&](const std::vector<char>& right, const char* memory, const char* data, const char* what) {
    const auto wrong = std::mismatch(right.begin(), right.end(), memory).first - right.begin();
    if (wrong == static_cast<std::ptrdiff_t>(right.size())) return true;
    std::snprintf(text, sizeof text, "%s buffer differs at byte %td", what, wrong - (data - memory));
    return false;
  };
  if (!expected_.empty() && !compare(expected_, receive_memory_->data(), receive_, "receive")) return text;
  if (!sent_.empty() && !compare(sent_, send_memory_->data(), send_, "send")) return text;
  return "";
}

std::string FuzzOperation::describe() const {
  constexpr const char* kNames[] = {"Barrier", "Bcast", "Reduce", "Allreduce"};
  const FuzzType& type = tables_.types[static_cast<std::size_t>(draw_.type)];
  const std::string operation = draw_.operation == -1 ? "a commutative operator"
                                : draw_.operation == -2
                                    ? "a matrix product"
                                    : type.operations[static_cast<std::size_t>(draw_.operation)].name;
  char text[512];
  std::snprintf(text, sizeof text, "%s of %zu elements of %zu bytes (%s, %s), root %d of %d%s%s, here from %s to %s",
                kNames[draw_.kind], draw_.count, element_bytes_, type.type.name.c_str(), operation.c_str(), root_,
                size_, draw_.in_place ? ", in place" : "", draw_.mixed_layouts ? ", mixed layouts" : "",
                name_of(send_place_), name_of(receive_place_));
  return text;
}

}  // namespace tutti::tests
