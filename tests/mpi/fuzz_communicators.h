// Communicators of the fuzzer: any ranks in any order, with and without a topology.
#pragma once

#include <mpi.h>

#include <random>
#include <string>
#include <vector>

namespace tutti::tests {

/// What is left out of what is drawn (--without): hosts have mistakes there.
struct Without {
  bool dist_graph_create = false;  ///< MPI_Dist_graph_create_adjacent makes the same graphs
  bool mixed_layouts = false;      ///< of what the host does
};

/// A communicator made from MPI_COMM_WORLD as common numbers say, and who this rank's neighbours are.
class DrawnCommunicator {
 public:
  /// MPI_COMM_WORLD itself.
  DrawnCommunicator() : communicator_(MPI_COMM_WORLD) {}
  /// Collective on MPI_COMM_WORLD. local: this rank's own numbers, for the order in which it lists its neighbours.
  DrawnCommunicator(std::mt19937_64& common, std::mt19937_64& local, bool topology, const Without& without);
  ~DrawnCommunicator();
  DrawnCommunicator(const DrawnCommunicator&) = delete;
  DrawnCommunicator& operator=(const DrawnCommunicator&) = delete;

  /// MPI_COMM_NULL on ranks that were left out.
  MPI_Comm get() const { return communicator_; }
  /// Ranks this one receives from and sends to, in the order of the blocks; MPI_PROC_NULL beyond an edge.
  const std::vector<int>& sources() const { return sources_; }
  const std::vector<int>& destinations() const { return destinations_; }
  /// A grid: what is sent in one direction arrives from the opposite one. Elsewhere edges between the same two ranks
  /// match in order.
  bool cartesian() const { return cartesian_; }
  const std::string& description() const { return description_; }

 private:
  void make_plain(std::mt19937_64& common);
  void make_cartesian(MPI_Comm base, std::mt19937_64& common);
  void make_graph(MPI_Comm base, std::mt19937_64& common);
  void make_distributed_graph(MPI_Comm base, std::mt19937_64& common, std::mt19937_64& local, bool adjacent);

  MPI_Comm communicator_ = MPI_COMM_NULL;
  bool cartesian_ = false;
  std::vector<int> sources_;
  std::vector<int> destinations_;
  std::string description_ = "MPI_COMM_WORLD";
};

}  // namespace tutti::tests
