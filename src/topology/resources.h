// All that a machine consists of, by hwloc's names, for communicators that follow the hardware (MPI 4.1, MPI_COMM_SPLIT_TYPE).
//
// A Machine has the few levels that collectives go by. Here is every type of object that holds processing units.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/cpu_set.h"
#include "topology/machine.h"

namespace tutti::topology {

/// The objects of one type.
struct ResourceType {
  std::string name;            ///< as hwloc writes it: "Package", "L3Cache", "Group0"
  int objects = 0;             ///< how many the machine has
  std::vector<int> object_of;  ///< by position in Machine::units(); -1: the unit is in none
};

class Resources {
 public:
  /// description: as for Machine::load(). On failure nothing, and `error` says why.
  static std::optional<Resources> load(const std::string& description, std::string& error);

  const Machine& machine() const { return machine_; }
  /// The outermost type, of which there are fewest objects, first; of equals, as hwloc nests them. The machine itself,
  /// which is one, is not among them.
  const std::vector<ResourceType>& types() const { return types_; }
  /// Index in types() of the type with this name (see canonical_type); -1 if the machine has none.
  int find(std::string_view name) const;
  /// By type: the one object in which all units of the mask are; -1 if they are in several, or in none. On a machine that
  /// is only described, masks say nothing: rank i of the node sits on unit i, wrapping round, as topology::place() has it.
  std::vector<int> objects_of(const CpuSet& mask, int node_rank) const;

  /// How far a rank is from the nearest of the network cards beside `cards`, which are masks of the units that are near
  /// to one each: 0 if it can only run there, and one more for each type of which the two do not share the object. -1
  /// without a card.
  int network_distance(const std::vector<CpuSet>& cards, const CpuSet& mask, int node_rank) const;

 private:
  friend class ResourcesLoader;
  std::vector<int> objects_of_units(const std::vector<int>& positions) const;

  Machine machine_;
  std::vector<ResourceType> types_;
};

/// The units near to each network card of the machine: of adapters that bypass the kernel (InfiniBand and the like) if
/// there are any, else of Ethernet. Empty if there is none that hwloc sees. Takes longer than load().
std::vector<CpuSet> network_cards(const std::string& description);

/// What stands for `name` where types are compared: without case, blanks, "-" and "_"; "socket" is "package", "numa"
/// "numanode", "l3" and "l3u..." "l3cache", "hwthread" "pu".
std::string canonical_type(std::string_view name);

/// What a value of the info key mpi_hw_resource_type asks for.
struct AskedResource {
  enum class Kind {
    unknown,
    node,  ///< what shares memory
    type,  ///< objects of `type`, if the machine has any
  };
  Kind kind = Kind::unknown;
  std::string type;  ///< canonical
};

/// "mpi_shared_memory" (also with "mpi://"), "node", "host", "machine"; a type of hwloc's, also with "hwloc://", by the
/// names that MPI, hwloc, Open MPI and MPICH use. Case does not matter.
AskedResource parse_resource(std::string_view value);

}  // namespace tutti::topology
