// One collective of the fuzzer: drawn the same on all ranks, prepared by each in its own way, run, and checked.
#pragma once

#include <mpi.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "layouts.h"
#include "support.h"
#include "types.h"

namespace tutti::tests {

/// What all ranks of the job agree on without talking, because they draw from the same numbers.
struct Draw {
  enum Kind { kBarrier, kBcast, kReduce, kAllreduce };
  Kind kind = kBarrier;
  int type = 0;       ///< index in Fuzzer's list of types
  int operation = 0;  ///< index in the type's list; -1: commutative operator of ours; -2: matrices, not commutative
  std::size_t count = 0;
  unsigned root = 0;  ///< modulo the communicator's size
  bool in_place = false;
  bool mixed_layouts = false;
  unsigned late_us = 0;  ///< how late a rank may come
  std::uint64_t data_seed = 0;
};

struct FuzzType {
  TypeCase type;
  std::vector<OperationCase> operations;
};

/// What the operations of a run share.
class FuzzTables {
 public:
  FuzzTables();
  ~FuzzTables();
  FuzzTables(const FuzzTables&) = delete;
  FuzzTables& operator=(const FuzzTables&) = delete;

  std::vector<FuzzType> types;
  MPI_Op combine = MPI_OP_NULL;  ///< commutative, on MPI_UINT32_T
  MPI_Op product = MPI_OP_NULL;  ///< not commutative, on matrix_type
  MPI_Datatype matrix_type = MPI_DATATYPE_NULL;
};

Draw draw_operation(const FuzzTables& tables, std::mt19937_64& common, std::size_t maximum_bytes);

/// One rank's part of a drawn collective.
class FuzzOperation {
 public:
  /// local: this rank's own numbers; they decide where buffers are, layouts, and lateness. alone: no other operation
  /// exists at the same time, so memory that the program has but once may be used.
  FuzzOperation(Context& context, const FuzzTables& tables, const Draw& draw, MPI_Comm communicator,
                std::mt19937_64& local, bool alone);

  /// Calls MPI_.
  void run();
  /// Calls PMPI_ on data of the same value where the result is not known otherwise.
  void run_reference();
  /// Says what was wrong; empty if nothing.
  std::string check();
  /// What was done, for the report of a failure.
  std::string describe() const;

 private:
  std::unique_ptr<Memory> make_memory(std::mt19937_64& local, std::size_t bytes, int slot, Place& place);
  void prepare_bcast(std::mt19937_64& local);
  void prepare_reduction(std::mt19937_64& local);
  MPI_Op operation() const;
  bool receives() const { return draw_.kind == Draw::kAllreduce || rank_ == root_; }

  Context& context_;
  const FuzzTables& tables_;
  Draw draw_;
  MPI_Comm communicator_;
  bool alone_;
  int rank_ = 0;
  int size_ = 1;
  int root_ = 0;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  std::size_t element_bytes_ = 1;
  std::uint64_t lateness_ = 0;
  std::unique_ptr<Layout> layout_;
  Place send_place_ = Place::kHeapSmall;
  Place receive_place_ = Place::kHeapSmall;
  std::unique_ptr<Memory> send_memory_;
  std::unique_ptr<Memory> receive_memory_;
  char* send_ = nullptr;
  char* receive_ = nullptr;
  std::vector<char> sent_;       ///< a copy of what was in the send buffer, guards included
  std::vector<char> expected_;   ///< what the receive buffer must hold afterwards, guards included
  std::vector<char> reference_;  ///< the host's result
};

}  // namespace tutti::tests
