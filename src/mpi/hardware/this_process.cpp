#include "mpi/hardware/this_process.h"

#include <atomic>
#include <mutex>
#include <optional>

#include "base/log.h"
#include "topology/cpu_set.h"

namespace tutti::mpi::hardware {

namespace {

struct Known {
  std::string topology;
  int node_rank = 0;
  std::once_flag looked, looked_for_cards;
  std::optional<topology::Resources> resources;
  std::vector<topology::CpuSet> cards;
};

/// Never destroyed: MPI_Finalize may be called by a destructor.
Known& known() {
  static Known& all = *new Known;
  return all;
}
std::atomic<bool> ours{false};

}  // namespace

void begin(const std::string& topology, int node_rank) {
  known().topology = topology;
  known().node_rank = node_rank;
  ours.store(true, std::memory_order_release);
}

void end() {
  ours.store(false, std::memory_order_release);
}

bool is_ours() {
  return ours.load(std::memory_order_acquire);
}

const topology::Resources* resources() {
  Known& all = known();
  std::call_once(all.looked, [&] {
    std::string error;
    all.resources = topology::Resources::load(all.topology, error);
    // What is wrong with the setting was said at start-up.
    if (!all.resources && !all.topology.empty()) {
      all.topology.clear();
      all.resources = topology::Resources::load("", error);
    }
    if (!all.resources) Log().warn("communicators cannot follow the hardware: %s", error.c_str());
  });
  return all.resources ? &*all.resources : nullptr;
}

std::vector<int> objects_of_this_thread() {
  const topology::Resources* const machine = resources();
  if (!machine) return {};
  return machine->objects_of(topology::affinity_of_this_thread(), known().node_rank);
}

int network_distance() {
  const topology::Resources* const machine = resources();
  if (!machine) return -1;
  Known& all = known();
  std::call_once(all.looked_for_cards, [&] { all.cards = topology::network_cards(all.topology); });
  return machine->network_distance(all.cards, topology::affinity_of_this_thread(), all.node_rank);
}

}  // namespace tutti::mpi::hardware
