// The two sides that are compared: the host's own functions (PMPI_, as host_own/ has them) and those of Tutti (MPI_).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "options.h"

namespace tutti::bench {

enum class Side { kHost, kTutti };

// Their names in both forms.
// clang-format off
#define TUTTI_BENCH_FUNCTIONS(X)                                                                                  \
  X(Barrier, Ibarrier) X(Bcast, Ibcast) X(Reduce, Ireduce) X(Allreduce, Iallreduce) X(Scan, Iscan)                \
  X(Exscan, Iexscan) X(Scatter, Iscatter) X(Scatterv, Iscatterv) X(Gather, Igather) X(Gatherv, Igatherv)          \
  X(Allgather, Iallgather) X(Allgatherv, Iallgatherv) X(Alltoall, Ialltoall) X(Alltoallv, Ialltoallv)             \
  X(Alltoallw, Ialltoallw) X(Reduce_scatter, Ireduce_scatter) X(Reduce_scatter_block, Ireduce_scatter_block)      \
  X(Neighbor_allgather, Ineighbor_allgather) X(Neighbor_allgatherv, Ineighbor_allgatherv)                         \
  X(Neighbor_alltoall, Ineighbor_alltoall) X(Neighbor_alltoallv, Ineighbor_alltoallv)                             \
  X(Neighbor_alltoallw, Ineighbor_alltoallw)
// Of messages between two ranks.
#define TUTTI_BENCH_MESSAGES(X) X(Send) X(Recv) X(Isend) X(Irecv) X(Waitall) X(Sendrecv)
// clang-format on

/// The functions of one side, under their names in MPI. Those of messages are there in the form of messages only.
struct Functions {
#define TUTTI_BENCH_MEMBER(name, started) decltype(&MPI_##name) name;
  TUTTI_BENCH_FUNCTIONS(TUTTI_BENCH_MEMBER)
#undef TUTTI_BENCH_MEMBER
#define TUTTI_BENCH_MEMBER(name) decltype(&MPI_##name) name = nullptr;
  TUTTI_BENCH_MESSAGES(TUTTI_BENCH_MEMBER)
#undef TUTTI_BENCH_MEMBER
};

const Functions& functions_of(Side side, Form form);

/// What the rank computes from now on between the start of a collective and the wait for it: so many ticks of Clock, without
/// touching memory.
void compute_meanwhile(std::uint64_t ticks);
/// Does that.
void compute();

/// True if the library stands in front of the host, i.e. MPI_ functions are Tutti's.
bool tutti_is_loaded();

/// "MPICH 5.0.2", "Open MPI 5.0.11", "Intel MPI 2021.18"; for others the first line of MPI_Get_library_version.
std::string host_name();

/// What Tutti did in its last collective on this rank; empty strings if it does not say.
struct Choice {
  std::string algorithm;
  std::string mechanism;
};
Choice last_choice();

/// Lets Tutti choose anew on this communicator: algorithm as TUTTI_ALGORITHM, mechanism as TUTTI_MECHANISM. Collective,
/// between calls. False, on all ranks, if it cannot: not loaded, or the communicator is the host's.
bool set_choice(MPI_Comm communicator, const std::string& algorithm, const std::string& mechanism);

/// What Tutti's model says of one collective, size and communicator, of all algorithms that it may carry it out by.
struct Prediction {
  bool known = false;  ///< false: Tutti does not say
  int levels = 1;      ///< of the hierarchy
  double ranks_per_core = 1;
  std::string reach;                      ///< mapped, kernel or staged
  std::size_t chosen_bytes = 0;           ///< what the library was asked with
  std::size_t class_bytes = 0;            ///< the size that stands for all of its class
  int nodes = 1;                          ///< that the communicator spans
  int ranks_per_node = 1;                 ///< of the node that has most of its ranks
  std::map<std::string, double> us = {};  ///< microseconds by name, "throttled,k=4"

  /// The prediction for an algorithm, as Contender::name() has it; negative if there is none.
  double us_of(const std::string& name) const;
  /// True if the model takes it for more than `factor` times slower than the best.
  bool rules_out(const std::string& name, double factor) const;
};
/// collective: its name in TUTTI_ALGORITHM; bytes: what the library chooses by. Local, and equal on all ranks.
Prediction predict(MPI_Comm communicator, const char* collective, std::size_t bytes);

/// Where this process runs, as decision tables have it: names and values; empty if Tutti does not say.
std::vector<std::pair<std::string, std::string>> origin();

}  // namespace tutti::bench
