// Which ranks of this node call MPI_Init through the library, found out without those that do not: they would never
// answer. Programs that were started together may be preloaded or not, each for itself.
//
// Before the host's MPI_Init a rank binds an abstract socket named after the launcher's job and its local rank. Hosts
// let nobody out of MPI_Init before all have come in, so whose name is not there afterwards will not take part. The
// first rank that is sure decides for the node by binding one more name; the others take over what it says. Names are
// gone with their processes, however these end.
//
// Where the job has ranks on other nodes, too, the first of the node asks for these before it decides (job_call.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tutti::mpi {

/// Where a launcher has put this process.
struct LaunchedRank {
  std::string job;      ///< what no other job on this machine has, nor another version of this library
  int local_rank = 0;   ///< from 0, among the ranks of the job on this node
  int local_ranks = 1;  ///< on this node
  std::string
      whole_job;  ///< equal on all nodes; what other jobs of this launcher do not have. Empty: it keeps no names
};

/// By the environment and the descriptors that Hydra (MPICH, Intel MPI), PRRTE (Open MPI) or srun (Slurm, by PMI-2 and PMIx)
/// have left; nothing if none has started this process, if it was spawned by ranks under Hydra, where the job cannot be told
/// from its parents', or if it is in one of several components of a job of Slurm. version: of what ranks say to each other.
std::optional<LaunchedRank> launched_rank(std::uint64_t version);

/// The ranks on the other nodes, for one that decides for its own.
class OtherNodes {
 public:
  virtual ~OtherNodes() = default;
  /// All ranks of this node take part. Equal on all nodes.
  virtual bool all_take_part() = 0;
  /// Some ranks of this node do not.
  virtual void refuse() = 0;
};

class RollCall {
 public:
  enum class Result {
    all,      ///< every rank takes part
    some,     ///< some do not: nobody is to take part
    unknown,  ///< there is no way to know
  };

  explicit RollCall(std::optional<LaunchedRank> self) : self_(std::move(self)) {}
  ~RollCall() { close_all(); }
  RollCall(const RollCall&) = delete;
  RollCall& operator=(const RollCall&) = delete;

  /// Before the host's MPI_Init.
  void announce();
  /// After it; equal on all ranks of the node that take part. Waits `patience` seconds at most for names to appear.
  /// others: null if there are no other nodes.
  Result take(double patience, OtherNodes* others = nullptr);
  /// After take(), on the one rank that has decided that some do not take part: the local ranks that do not. Empty
  /// elsewhere.
  const std::vector<int>& missing() const { return missing_; }
  /// This rank's number among those of the node; -1: unknown.
  int local_rank() const { return self_ ? self_->local_rank : -1; }
  /// How many ranks there are on this node; 0: unknown.
  int local_ranks() const { return self_ ? self_->local_ranks : 0; }
  std::string whole_job() const { return self_ ? self_->whole_job : ""; }
  /// When every rank of the node has taken the result: the names are given back.
  void close_all();

 private:
  std::vector<int> absent() const;
  Result decided() const;

  std::optional<LaunchedRank> self_;
  int own_ = -1;       ///< the socket that bears this rank's name
  int decision_ = -1;  ///< that which bears the decision, if this rank has made it
  std::vector<int> missing_;
};

}  // namespace tutti::mpi
