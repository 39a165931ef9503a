// Allreduce of doubles whose sum depends on the order in which they are added: every rank must have the same bits, and
// a second call as well.
#include <cmath>
#include <cstring>

#include "fuzz.h"

namespace tutti::tests {

namespace {

class FuzzRoundedSum final : public FuzzOperation {
 public:
  FuzzRoundedSum(const FuzzPlace& place, const Draw& draw);
  void run_reference() override;
  std::string check() override;

 protected:
  void call_mpi() override;
  std::string describe_places() const override {
    return std::string(", from ") + name_of(send_place_) + " to " + name_of(receive_place_);
  }

 private:
  std::size_t bytes() const { return draw_.count * sizeof(double); }
  void sum(double* result) const;

  Place send_place_ = Place::kHeapSmall;
  Place receive_place_ = Place::kHeapSmall;
  std::unique_ptr<Memory> send_memory_;
  std::unique_ptr<Memory> receive_memory_;
  double* send_ = nullptr;
  double* receive_ = nullptr;
  std::vector<double> first_;      ///< the result of the first call
  std::vector<double> of_rank_0_;  ///< as it has it
  std::vector<double> hosts_;
};

/// A number of any sign and of very different magnitudes: most sums are rounded.
double addend(std::uint64_t seed, int rank, std::size_t i) {
  const std::uint64_t bits = mix(seed, rank, static_cast<std::int64_t>(i));
  const double fraction = 1.0 + static_cast<double>(bits >> 12) / static_cast<double>(std::uint64_t{1} << 52);
  return std::ldexp(bits & 1 ? fraction : -fraction, static_cast<int>(bits >> 1 & 31));
}
constexpr double kMaximum = 4294967296.0;  // of addends

FuzzRoundedSum::FuzzRoundedSum(const FuzzPlace& place, const Draw& draw) : FuzzOperation(place, draw) {
  // Each rank at another alignment, so that kernels treat other elements on their own.
  const std::size_t shift = kGuardBytes + sizeof(double) * (place.local() % 8);
  // The sums of several calls are looked at between them, so that none is in memory of a device.
  const FuzzPlace here{place.context, place.tables, place.communicator, place.local, place.alone, false};
  send_memory_ = make_memory(here, shift + bytes() + kGuardBytes, 0, send_place_);
  receive_memory_ = make_memory(here, shift + bytes() + kGuardBytes, 1, receive_place_);
  send_ = reinterpret_cast<double*>(send_memory_->data() + shift);
  receive_ = reinterpret_cast<double*>(receive_memory_->data() + shift);
  for (std::size_t i = 0; i < draw.count; ++i) send_[i] = addend(draw.data_seed, rank_, i);
}

void FuzzRoundedSum::sum(double* result) const {
  if (draw_.in_place && bytes() > 0) std::memcpy(result, send_, bytes());
  const void* const send = draw_.in_place ? MPI_IN_PLACE : send_;
  const int count = static_cast<int>(draw_.count);
  if (draw_.form == Form::kNonblocking)
    return void(MPI_Iallreduce(send, result, count, MPI_DOUBLE, MPI_SUM, communicator_, &request_));
  if (draw_.form == Form::kPersistent)
    return void(inits.Allreduce(send, result, count, MPI_DOUBLE, MPI_SUM, communicator_, MPI_INFO_NULL, &request_));
#if TUTTI_FUZZ_LARGE_COUNTS
  if (draw_.large_counts) return void(MPI_Allreduce_c(send, result, count, MPI_DOUBLE, MPI_SUM, communicator_));
#endif
  MPI_Allreduce(send, result, count, MPI_DOUBLE, MPI_SUM, communicator_);
}

/// Twice in one form: another may add in another order.
void FuzzRoundedSum::call_mpi() {
  sum(receive_);
  if (is_persistent()) start();
  MPI_Wait(&request_, MPI_STATUS_IGNORE);
  first_.assign(receive_, receive_ + draw_.count);
  free();
  sum(receive_);
}

void FuzzRoundedSum::run_reference() {
  of_rank_0_ = first_;
  PMPI_Bcast(of_rank_0_.data(), static_cast<int>(bytes()), MPI_BYTE, 0, communicator_);
  hosts_.resize(draw_.count);
  PMPI_Allreduce(send_, hosts_.data(), static_cast<int>(draw_.count), MPI_DOUBLE, MPI_SUM, communicator_);
}

std::string FuzzRoundedSum::check() {
  const double tolerance = kMaximum * size_ * size_ * 0x1p-52;
  for (std::size_t i = 0; i < draw_.count; ++i) {
    const std::string where = " at element " + std::to_string(i);
    if (std::memcmp(&first_[i], &receive_[i], sizeof(double)) != 0) return "the second call gives other bits" + where;
    if (std::memcmp(&first_[i], &of_rank_0_[i], sizeof(double)) != 0) return "rank 0 has other bits" + where;
    // Negated, so that no number fails as well.
    if (!(std::abs(first_[i] - hosts_[i]) <= tolerance)) return "the sum is wrong" + where;
  }
  return "";
}

}  // namespace

std::unique_ptr<FuzzOperation> make_rounded_sum(const FuzzPlace& place, const Draw& draw) {
  return std::make_unique<FuzzRoundedSum>(place, draw);
}

}  // namespace tutti::tests
