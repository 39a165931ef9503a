// Whether the ranks of all nodes call MPI_Init through the library, in the same version, found out without those that do
// not: they would never answer.
//
// Launchers keep names for jobs, by which programs find each other. One rank of each node leaves a name there when all of
// its node take part. Rank 0 looks for these, and leaves the verdict when they are of all ranks of the job, or when it
// has waited long enough; the others take that over. Each name has one rank that writes it, since launchers do not agree
// on what is to happen otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mpi/start/roll_call.h"

namespace tutti::mpi {

/// What a launcher keeps for a job. Nothing of it is a collective.
class Names {
 public:
  virtual ~Names() = default;
  virtual bool publish(const std::string& name, const std::string& value) = 0;
  virtual std::optional<std::string> look_up(const std::string& name) = 0;
  virtual void withdraw(const std::string& name) = 0;
};

class JobCall : public OtherNodes {
 public:
  struct Self {
    std::string job;  ///< equal on all ranks of the job, on all nodes
    int rank = 0;     ///< of `ranks`, in MPI_COMM_WORLD
    int ranks = 1;
    int local_ranks = 1;        ///< on this node
    std::uint64_t version = 0;  ///< of what ranks say to each other
  };

  /// patience: how many seconds it waits at most for the others; a few more for the verdict.
  JobCall(Self self, Names& names, double patience) : self_(std::move(self)), names_(names), patience_(patience) {}

  bool all_take_part() override;
  void refuse() override;
  /// Of the rank that has found out that not all take part: a few words about it. Empty elsewhere.
  const std::string& why_not() const { return why_not_; }
  /// False: the launcher keeps no names, so that others are taken to be there, as without this call.
  bool keeps_names() const { return keeps_names_; }
  /// When every rank of the job has taken the result, and not before: the names are given back.
  void forget();

 private:
  struct Node {
    int first = 0;
    int ranks = 0;
    std::uint64_t version = 0;
  };
  enum class Found { everybody, refusal, another_version, too_few };

  std::string name_of(int rank) const;
  std::string verdict() const;
  bool leave(const std::string& name, const std::string& value);
  std::optional<Node> node_at(int rank);
  Found look_around(std::vector<Node>& known, int& next);
  bool judge();
  bool obey();
  bool give_verdict(bool all);

  Self self_;
  Names& names_;
  const double patience_;
  std::vector<std::string> left_;  ///< the names that this rank has left
  std::string why_not_;
  bool keeps_names_ = true;
};

}  // namespace tutti::mpi
