// Whether the ranks of all nodes call MPI_Init through the library, in the same version, found out without those that do
// not: they would never answer.
//
// Launchers keep names for jobs, by which programs find each other. One rank of each node leaves a name there when all of
// its node take part. Rank 0 looks for these, and leaves the verdict when they are of all ranks of the job, or when it
// has waited long enough; the others take that over. Each name has one rank that writes it, since launchers do not agree
// on what is to happen otherwise.
//
// Nobody's clock counts for the verdict. Rank 0 leaves its own name before it looks for others. Who does not see that for
// long takes its name back and looks once more: if rank 0 is not there then, it will never find the name. If it is, it
// may have found it, and its verdict is waited for.
//
// A launcher is one process, which may be slow, and nodes may be thousands. So rank 0 looks for each node once, and waits as
// long as it finds more; others ask after a time, and then ever more rarely, that depend on how many there are.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
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

/// The time, in seconds, and how one waits.
class Time {
 public:
  virtual ~Time() = default;
  virtual double now() = 0;
  virtual void pause(double seconds) = 0;

  /// That of this machine.
  static Time& real();
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

  /// patience: how many seconds it waits at most without finding more of the others, if nodes are few and the launcher is
  /// quick.
  JobCall(Self self, Names& names, double patience, Time& time = Time::real())
      : self_(std::move(self)), names_(names), patience_(patience), time_(time) {}

  bool all_take_part() override;
  void refuse() override;
  /// Of the rank that has found out that not all take part: a few words about it. Empty elsewhere.
  const std::string& why_not() const { return why_not_; }
  /// False: the launcher keeps no names, so that others are taken to be there, as without this call.
  bool keeps_names() const { return keeps_names_; }
  /// The names are given back. After a verdict that all take part when every rank of the job has taken it, and not before;
  /// otherwise at any time: who does not find rank 0's any more knows what that means.
  void forget();

 private:
  struct Node {
    int first = 0;
    int ranks = 0;
    std::uint64_t version = 0;
  };
  enum class Found { everybody, more, nothing, refusal, another_version };

  std::string name_of(int rank) const;
  std::string verdict() const;
  /// About how many nodes there are, and which of them this is.
  double nodes() const;
  double index() const { return static_cast<double>(self_.rank) / self_.local_ranks; }
  double patience() const;
  bool leave(const std::string& name, const std::string& value);
  std::optional<Node> node_at(int rank);
  Found look_along(int rank);
  Found look_around();
  bool judge();
  bool obey();
  bool go_without_name();
  bool give_verdict(bool all);
  bool give_up(const std::string& why);

  Self self_;
  Names& names_;
  const double patience_;
  Time& time_;
  std::vector<std::string> left_;  ///< the names that this rank has left
  double took_ = 0;                ///< seconds, for the last of them
  std::string why_not_;
  bool keeps_names_ = true;
  // What rank 0 has found.
  std::set<int> firsts_;   ///< of the other nodes
  std::vector<int> ends_;  ///< where the next node should begin, if ranks follow each other, and has not been found
  int there_ = 0;          ///< ranks
  int next_ = 1;           ///< that is tried without any reason
};

}  // namespace tutti::mpi
