// One side of a partitioned message of ints, with its buffer.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <random>
#include <vector>

#include "support.h"

namespace tutti::tests {

inline int next_of(const Context& context) {
  return (context.rank() + 1) % context.size();
}
inline int before(const Context& context) {
  return (context.rank() + context.size() - 1) % context.size();
}
// partitioned_memory.cpp
void a_start_without_memory_is_an_error_and_may_be_made_again(Context& context);

/// What int `i` of a message is.
constexpr int partitioned_value(int i, int salt) {
  return i * 3 + salt * 7919;
}

class PartitionedSide {
 public:
  /// ints: of all partitions, a multiple of twice their number. has_gaps: by a type of two ints with one between them.
  PartitionedSide(Context& context, Place place, bool has_gaps, int partitions, int ints);

  void make(bool sends, int other, int tag, MPI_Comm communicator, MPI_Request& request);
  int partitions() const { return partitions_; }
  int ints() const { return ints_; }
  /// Int `i` of the data.
  int& at(int i) { return data()[has_gaps_ ? i / 2 * 3 + i % 2 * 2 : i]; }
  void fill(int salt) {
    for (int i = 0; i < ints_; ++i) at(i) = partitioned_value(i, salt);
  }
  /// How many of these ints are not what was sent, and what was written between them.
  int wrong(int salt, int first, int count);

 private:
  int* data() { return reinterpret_cast<int*>(memory_.data()); }

  bool has_gaps_;
  int partitions_, ints_;
  MPI_Datatype type_ = MPI_INT;
  Memory memory_;
};

// partitioned_mistakes.cpp
void a_message_to_nobody_is_over_at_once(Context& context);
void messages_without_partitions_have_nothing(Context& context);
void mistakes_are_refused_when_a_message_is_made(Context& context);
void mistakes_are_told(Context& context);

}  // namespace tutti::tests
