// One collective of the fuzzer: drawn the same on all ranks, prepared by each in its own way, run, and checked.
#pragma once

#include <mpi.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "fuzz_communicators.h"
#include "fuzz_starts.h"
#include "layouts.h"
#include "support.h"
#include "types.h"

// In a FuzzOperation: calls a collective of the host (PMPI_) or the one that the program sees (MPI_), or starts that, or makes
// it ready.
// Expects a variable `host`.
#define TUTTI_FUZZ_CALL(name, ...)                                 \
  if (host)                                                        \
    PMPI_##name(__VA_ARGS__);                                      \
  else if (draw_.form == Form::kPersistent)                        \
    TUTTI_FUZZ_INIT_##name(__VA_ARGS__, MPI_INFO_NULL, &request_); \
  else if (draw_.form == Form::kNonblocking)                       \
    TUTTI_FUZZ_START_##name(__VA_ARGS__, &request_);               \
  else                                                             \
    MPI_##name(__VA_ARGS__)

#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
#define TUTTI_FUZZ_LARGE_COUNTS 1
#else
#define TUTTI_FUZZ_LARGE_COUNTS 0
#endif

namespace tutti::tests {

enum class Kind {
  kBarrier,
  kBcast,
  kReduce,
  kAllreduce,
  kReduceScatter,
  kReduceScatterBlock,
  kScan,
  kExscan,
  kReduceLocal,  ///< of no communicator
  kScatter,
  kScatterv,
  kGather,
  kGatherv,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kAlltoallw,
  kNeighborAllgather,
  kNeighborAllgatherv,
  kNeighborAlltoall,
  kNeighborAlltoallv,
  kNeighborAlltoallw,
};
constexpr int kKinds = 23;
/// As in MPI_, without the prefix.
const char* name_of(Kind kind);
constexpr bool is_reduction(Kind kind) {
  return kind >= Kind::kReduce && kind <= Kind::kReduceLocal;
}
constexpr bool is_neighbor(Kind kind) {
  return kind >= Kind::kNeighborAllgather;
}

enum class Form { kBlocking, kNonblocking, kPersistent };

/// Operations on types of their own.
enum OwnOperation {
  kCombine = -1,     ///< a commutative operator of ours
  kProduct = -2,     ///< of matrices, not commutative
  kRoundedSum = -3,  ///< of doubles whose sum depends on the order; of Allreduce only
};

/// What all ranks of the job agree on without talking, because they draw from the same numbers.
struct Draw {
  Kind kind = Kind::kBarrier;
  int type = 0;           ///< index in Fuzzer's list of types
  int operation = 0;      ///< index in the type's list, or one of the following
  std::size_t count = 0;  ///< elements of the whole message: of all blocks together where there are blocks
  std::size_t unit = 1;   ///< each block is a multiple of so many elements, which may be one item of a derived type
  unsigned root = 0;      ///< modulo the communicator's size
  bool in_place = false;
  bool mixed_layouts = false;
  Form form = Form::kBlocking;
  int starts = 1;             ///< of a persistent one; all but the last are waited for at once
  bool large_counts = false;  ///< the _c form, where this MPI has it
  bool ask_host = false;      ///< the host does the same and must agree, though the result is known without it
  unsigned late_us = 0;       ///< how late a rank may come
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

/// kinds: to choose from. nonblocking: whether some are to be.
Draw draw_operation(const FuzzTables& tables, const std::vector<Kind>& kinds, std::mt19937_64& common,
                    std::size_t maximum_bytes, bool nonblocking, const Without& without);

/// Where this rank is, what it shares, and its own numbers: they decide where buffers are, layouts, and lateness.
struct FuzzPlace {
  Context& context;
  const FuzzTables& tables;
  const DrawnCommunicator& communicator;
  std::mt19937_64& local;
  bool alone;    ///< no other operation exists at the same time, so memory that the program has but once may be used
  bool devices;  ///< some buffers are in memory of devices
};

/// One rank's part of a drawn collective.
class FuzzOperation {
 public:
  FuzzOperation(const FuzzPlace& place, const Draw& draw);
  virtual ~FuzzOperation() = default;
  FuzzOperation(const FuzzOperation&) = delete;
  FuzzOperation& operator=(const FuzzOperation&) = delete;

  /// Calls MPI_, perhaps late.
  void run();
  /// Of what has been started: to be completed before it is checked.
  MPI_Request& request() { return request_; }
  /// Whether the library does it, of a persistent one.
  bool is_ours() const { return is_ours_; }
  bool is_persistent() const { return draw_.form == Form::kPersistent; }
  /// The last start of a persistent one, after run(). Ranks may do so in orders of their own.
  void start() { MPI_Start(&request_); }
  void free() {
    if (is_persistent() && request_ != MPI_REQUEST_NULL) MPI_Request_free(&request_);
  }
  /// Calls PMPI_ on data of the same value, where the result is not known otherwise or the host was to be asked.
  virtual void run_reference() {}
  /// Says what was wrong; empty if nothing.
  virtual std::string check() { return ""; }
  Kind kind() const { return draw_.kind; }
  /// What the library chooses by: bytes of the message, or of a block.
  virtual std::size_t chosen_by_bytes() const { return draw_.count * element_bytes_; }
  /// What was done, for the report of a failure.
  std::string describe() const;

 protected:
  virtual void call_mpi() = 0;
  virtual std::string describe_places() const { return ""; }

  const FuzzTables& tables_;
  const Draw draw_;
  MPI_Comm communicator_;
  int rank_ = 0;
  int size_ = 1;
  int root_ = 0;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  std::size_t element_bytes_ = 1;
  mutable MPI_Request request_ = MPI_REQUEST_NULL;

 private:
  bool is_ours_ = false;
  std::uint64_t lateness_ = 0;
};

std::unique_ptr<FuzzOperation> make_operation(const FuzzPlace& place, const Draw& draw);
std::unique_ptr<FuzzOperation> make_reduction(const FuzzPlace& place, const Draw& draw);
std::unique_ptr<FuzzOperation> make_rounded_sum(const FuzzPlace& place, const Draw& draw);
std::unique_ptr<FuzzOperation> make_blocks(const FuzzPlace& place, const Draw& draw);

// What the kinds of operations share.

constexpr std::size_t kGuardBytes = 64;
constexpr char kGuard = 0x6B;

/// A buffer of a kind that this rank chooses for itself.
std::unique_ptr<Memory> make_memory(const FuzzPlace& place, std::size_t bytes, int slot, Place& chosen);
/// The byte number i of a message: depends on the draw, so that stale data is seen.
inline char byte_of(std::uint64_t seed, std::size_t i) {
  return static_cast<char>((i * 0x9E3779B1u + seed) >> 5);
}
/// A number that depends on all three.
std::uint64_t mix(std::uint64_t seed, std::int64_t a, std::int64_t b);
/// Empty, or where `memory` is not as expected, counted from byte `origin`.
std::string difference(const std::vector<char>& expected, const char* memory, std::ptrdiff_t origin, const char* what);

}  // namespace tutti::tests
