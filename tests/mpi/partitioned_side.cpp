#include <algorithm>

#include "partitioned.h"

namespace tutti::tests {

PartitionedSide::PartitionedSide(Context& context, Place place, bool has_gaps, int partitions, int ints)
    : has_gaps_(has_gaps),
      partitions_(partitions),
      ints_(ints),
      memory_(context, place, (static_cast<std::size_t>(ints) * 3 / 2 + 1) * sizeof(int), 0) {
  if (has_gaps) {
    MPI_Type_vector(2, 1, 2, MPI_INT, &type_);
    MPI_Type_commit(&type_);
  }
  std::fill_n(data(), ints * 3 / 2, -7);
}

void PartitionedSide::make(bool sends, int other, int tag, MPI_Comm communicator, MPI_Request& request) {
  const MPI_Count count = ints_ / partitions_ / (has_gaps_ ? 2 : 1);
  if (sends)
    MPI_Psend_init(data(), partitions_, count, type_, other, tag, communicator, MPI_INFO_NULL, &request);
  else
    MPI_Precv_init(data(), partitions_, count, type_, other, tag, communicator, MPI_INFO_NULL, &request);
  // It stays until the request is freed.
  if (has_gaps_) MPI_Type_free(&type_);
}

int PartitionedSide::wrong(int salt, int first, int count) {
  int wrong = 0;
  for (int i = first; i < first + count; ++i) wrong += at(i) != partitioned_value(i, salt);
  for (int i = first; has_gaps_ && i < first + count; i += 2) wrong += (&at(i))[1] != -7;
  return wrong;
}

}  // namespace tutti::tests
