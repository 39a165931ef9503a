// The ranks of a described machine, or of several alike, as fibres that share memory inside a node and have a network
// between nodes.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "collectives/collectives.h"
#include "engine/spanning.h"
#include "network/cost.h"
#include "network/nodes.h"
#include "selection/model.h"
#include "simulation/network.h"
#include "simulation/parameters.h"
#include "simulation/timed.h"
#include "topology/placement.h"

namespace tutti::simulated {

/// A machine's file: that of `tutti probe`, with a description of the topology and the section "simulation".
struct Machine {
  std::string description;  ///< hwloc's, or a path of an XML file
  int ranks = 0;            ///< that it is described with
  int nodes = 1;
  selection::Model model;    ///< what things cost
  selection::Model library;  ///< what the library knows of that
  Parameters parameters;
  network::Parameters network;

  /// Throws std::runtime_error that says what is wrong.
  static Machine read(const std::string& text);
};

/// mapped: as by a window that has everything. kernel: by process_vm_readv. staged: what nobody else sees.
enum class Reach { mapped, kernel, staged };

struct Job {
  int ranks = 2;  ///< of a node
  int nodes = 1;
  Reach reach = Reach::mapped;
  Settings settings = {};
  std::string mapping = "core";
};

class Ranks {
 public:
  Ranks(const Machine& machine, const Job& job);
  ~Ranks();

  int count() const { return static_cast<int>(processes_.size()); }
  bool spans_nodes() const { return nodes_.count() > 1; }
  Timed& timed() { return timed_; }
  const selection::Knowledge& knowledge() const { return knowledge_; }
  Collectives& of(int rank) { return *members_[static_cast<std::size_t>(rank)].collectives; }
  /// All calls from now on are made by what the user says: "bcast:throttled,k=4".
  void choose(const std::string& algorithms);
  /// Memory of a rank, on pages of its own: in its window, if it is as long as what programs have there. Until forget().
  std::byte* allocate(int rank, std::size_t bytes);
  void forget(int rank);

 private:
  struct Member {
    std::unique_ptr<Communicator> communicator;
    std::unique_ptr<SimulatedChannel> channel;
    std::unique_ptr<Spanning> spanning;
    std::unique_ptr<Collectives> collectives;
  };
  void set_up(int node, const Machine& machine, const Job& job);

  const topology::Placement placement_;
  const network::Nodes nodes_;
  const Settings settings_;
  selection::Knowledge knowledge_;
  Timed timed_;
  Network network_;
  std::vector<std::unique_ptr<Node>> processes_;
  std::vector<Member> members_;
  struct Area {
    Area();
    ~Area();
    Area(const Area&) = delete;
    Area& operator=(const Area&) = delete;
    std::byte* allocate(std::size_t bytes);
    std::byte* const base;
    std::size_t used = 0, open = 0;
  };
  struct Memory {
    Area window, outside;
  };
  std::byte* window_of(int node, int place) const {
    return memory_[static_cast<std::size_t>(nodes_.rank_at(node, place))].window.base;
  }
  std::deque<Memory> memory_;
};

}  // namespace tutti::simulated
