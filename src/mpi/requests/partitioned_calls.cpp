#include "mpi/requests/partitioned_calls.h"

#include <algorithm>

#include "base/copy.h"
#include "mpi/arguments/device_memory.h"

namespace tutti::mpi {

PartitionedBuffer::PartitionedBuffer(const void* buffer, int partitions, std::size_t count, MPI_Datatype datatype,
                                     const TypeInfo& info)
    : buffer_(const_cast<void*>(buffer)), partitions_(partitions), count_(count), datatype_(datatype), info_(info) {
  if (info.contiguous && !device_of(at(0))) return;
  MPI_Aint lower_bound = 0;
  host.Type_get_extent(datatype, &lower_bound, &extent_);
  packed_ = CallMemory(this->partitions().all() + info.bytes);
}

void* PartitionedBuffer::at(int partition) const {
  return static_cast<std::byte*>(buffer_) + static_cast<MPI_Aint>(count_) * extent_ * partition;
}

int PartitionedBuffer::pack(int partition) const {
  const std::size_t bytes = count_ * info_.bytes;
  if (bytes == 0) return MPI_SUCCESS;
  return mpi::pack(at(partition), count_, datatype_, info_, packed_.get() + static_cast<std::size_t>(partition) * bytes,
                   MPI_COMM_SELF);
}

int PartitionedBuffer::unpack(int partition, std::size_t bytes) const {
  const std::size_t begin = static_cast<std::size_t>(partition) * count_ * info_.bytes;
  if (info_.bytes == 0 || bytes <= begin) return MPI_SUCCESS;
  const std::size_t there = std::min(count_ * info_.bytes, bytes - begin);
  const std::size_t count = there / info_.bytes, rest = there % info_.bytes;
  std::byte* const packed = packed_.get() + begin;
  if (count > 0)
    if (const int code = mpi::unpack(packed, at(partition), count, datatype_, info_, MPI_COMM_SELF);
        code != MPI_SUCCESS || rest == 0)
      return code;
  // The first bytes of one more element. No function of MPI unpacks a part of one: it keeps what it has of the others.
  std::byte* const element = static_cast<std::byte*>(at(partition)) + static_cast<MPI_Aint>(count) * extent_;
  std::byte* const whole = packed_.get() + partitions().all();
  if (const int code = mpi::pack(element, 1, datatype_, info_, whole, MPI_COMM_SELF); code != MPI_SUCCESS) return code;
  copy_bytes(whole, packed + count * info_.bytes, rest);
  return mpi::unpack(whole, element, 1, datatype_, info_, MPI_COMM_SELF);
}

int PartitionedReceive::before() {
  if (buffer_.is_packed()) is_unpacked_.assign(static_cast<std::size_t>(partitions()), false);
  return MPI_SUCCESS;
}

int PartitionedReceive::hand_over(int partition) {
  if (!buffer_.is_packed()) return MPI_SUCCESS;
  const std::lock_guard lock(mutex_);
  if (is_unpacked_[static_cast<std::size_t>(partition)]) return MPI_SUCCESS;
  is_unpacked_[static_cast<std::size_t>(partition)] = true;
  return buffer_.unpack(partition, side_.sent_bytes());
}

int PartitionedReceive::after(int code) {
  for (int i = 0; i < partitions() && code == MPI_SUCCESS; ++i) code = hand_over(i);
  return code;
}

void PartitionedReceive::tell(MPI_Status& status) const {
  const std::size_t bytes = std::min(side_.sent_bytes(), buffer_.partitions().all());
  host.Status_set_elements_x(&status, MPI_BYTE, static_cast<MPI_Count>(bytes));
  host.Status_set_cancelled(&status, 0);
  status.MPI_SOURCE = source_;
  status.MPI_TAG = tag_;
}

}  // namespace tutti::mpi
