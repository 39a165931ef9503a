// The one place that speaks to hwloc.
#include <hwloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <string>

#include "topology/machine.h"
#include "topology/resources.h"

namespace tutti::topology {

namespace {

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, Destroy>;

bool is_file(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

/// Empty if the file can be opened.
std::string why_unreadable(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || access(path.c_str(), R_OK) != 0) return std::strerror(errno);
  return S_ISREG(status.st_mode) ? "" : "not a regular file";
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  out += text;
  out += '"';
  return out;
}

bool looks_like_path(const std::string& description) {
  return description.find('/') != std::string::npos || description.ends_with(".xml");
}

/// What is looked for.
enum class Discover {
  levels,     ///< what Machine has. It costs time at every start of every program: nothing else is looked for.
  resources,  ///< everything that holds processing units
  network,    ///< the same, and network cards
};

void set_filters(hwloc_topology_t topology, Discover what) {
  hwloc_topology_set_all_types_filter(
      topology, what == Discover::levels ? HWLOC_TYPE_FILTER_KEEP_NONE : HWLOC_TYPE_FILTER_KEEP_ALL);
  // Groups carry NUMA nodes that have no cache, socket or core of the same extent (as in "package:2 numa:4
  // core:8").
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_CORE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE})
    hwloc_topology_set_type_filter(topology, type, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_io_types_filter(
      topology, what == Discover::network ? HWLOC_TYPE_FILTER_KEEP_IMPORTANT : HWLOC_TYPE_FILTER_KEEP_NONE);
}

void discover(hwloc_topology_t topology, Discover what) {
  set_filters(topology, what);

  // Peers may be confined to other processing units than we are, and the machine is loaded for all of them.
  unsigned long flags = HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED;
#if HWLOC_API_VERSION >= 0x00020500
  flags |= HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING;
#endif
#if HWLOC_API_VERSION >= 0x00020800
  flags |= HWLOC_TOPOLOGY_FLAG_NO_DISTANCES | HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS | HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS;
#endif
  hwloc_topology_set_flags(topology, flags);
#if HWLOC_API_VERSION >= 0x00020100
  // The x86 back end moves the calling thread over every processing unit to ask each one in turn.
  hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
#endif
}

Topology open_topology(Discover what, std::string& error) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) {
    error = "hwloc cannot start";
    return nullptr;
  }
  discover(raw, what);
  return Topology(raw);
}

bool finish(hwloc_topology_t topology) {
  return hwloc_topology_load(topology) == 0;
}

Topology load_native(Discover what, std::string& error) {
  Topology topology = open_topology(what, error);
  if (!topology || finish(topology.get())) return topology;
  error = std::string("hwloc cannot discover this machine: ") + std::strerror(errno);
  return nullptr;
}

Topology load_file(const std::string& path, Discover what, std::string& error) {
  Topology topology = open_topology(what, error);
  if (!topology) return nullptr;
  if (const std::string problem = why_unreadable(path); !problem.empty()) {
    error = "topology file " + quoted(path) + " cannot be read: " + problem;
    return nullptr;
  }
  if (hwloc_topology_set_xml(topology.get(), path.c_str()) == 0 && finish(topology.get())) return topology;
  error = "topology file " + quoted(path) + " is not an XML file that hwloc can read (write one with lstopo)";
  return nullptr;
}

/// Whether the description says what its processing units are. Where it does not, hwloc takes whatever comes
/// last for them: "core:8" would become eight units without a core. Untyped descriptions ("2 4 8") are
/// hwloc's to complete.
bool names_units(const std::string& description) {
  std::string lower;
  for (const char c : description) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower.find("pu:") != std::string::npos || lower.find(':') == std::string::npos;
}

Topology load_synthetic(const std::string& description, Discover what, std::string& error) {
  Topology topology = open_topology(what, error);
  if (!topology) return nullptr;
  const std::string full = names_units(description) ? description : description + " pu:1";
  if (hwloc_topology_set_synthetic(topology.get(), full.c_str()) == 0 && finish(topology.get())) return topology;
  error = "topology " + quoted(description) +
          " is neither a file nor an hwloc synthetic description such as \"package:2 numa:4 core:8 pu:1\"";
  return nullptr;
}

Topology load_topology(const std::string& description, Discover what, std::string& error) {
  if (description.empty()) return load_native(what, error);
  if (is_file(description) || looks_like_path(description)) return load_file(description, what, error);
  return load_synthetic(description, what, error);
}

std::optional<LevelKind> kind_of(hwloc_obj_type_t type) {
  switch (type) {
    case HWLOC_OBJ_L2CACHE:
      return LevelKind::l2;
    case HWLOC_OBJ_L3CACHE:
      return LevelKind::l3;
    case HWLOC_OBJ_PACKAGE:
      return LevelKind::socket;
    default:
      return std::nullopt;
  }
}

ProcessingUnit read_unit(hwloc_obj_t object) {
  ProcessingUnit unit;
  unit.os_index = static_cast<int>(object->os_index);
  for (hwloc_obj_t ancestor = object->parent; ancestor; ancestor = ancestor->parent) {
    if (ancestor->type == HWLOC_OBJ_CORE) unit.core = static_cast<int>(ancestor->logical_index);
    if (const auto kind = kind_of(ancestor->type))
      unit.domain[index_of(*kind)] = static_cast<int>(ancestor->logical_index);
  }
  return unit;
}

/// Of the smallest: cores may be of several kinds, and what fits there fits everywhere.
std::size_t cache_bytes(hwloc_topology_t topology, hwloc_obj_type_t type) {
  std::size_t smallest = 0;
  for (hwloc_obj_t cache = nullptr; (cache = hwloc_get_next_obj_by_type(topology, type, cache)) != nullptr;) {
    const auto bytes = static_cast<std::size_t>(cache->attr->cache.size);
    if (bytes > 0 && (smallest == 0 || bytes < smallest)) smallest = bytes;
  }
  return smallest;
}

}  // namespace

/// Fills a Machine from a loaded topology.
class MachineLoader {
 public:
  static std::optional<Machine> load(hwloc_topology_t topology, const std::string& description, std::string& error) {
    Machine machine = read(topology);
    if (machine.units().empty()) {
      error = "topology " + quoted(description) + " has no processing units";
      return std::nullopt;
    }
    machine.is_this_machine_ = description.empty() && hwloc_topology_is_thissystem(topology);
    return machine;
  }

 private:
  static Machine read(hwloc_topology_t topology) {
    Machine machine;
    hwloc_obj_t object = nullptr;
    while ((object = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, object)) != nullptr)
      machine.units_.push_back(read_unit(object));
    number_missing_cores(machine);
    machine.index_units();
    read_numa(topology, machine);
    machine.index_units();
    machine.l2_bytes_ = cache_bytes(topology, HWLOC_OBJ_L2CACHE);
    machine.l3_bytes_ = cache_bytes(topology, HWLOC_OBJ_L3CACHE);
    return machine;
  }

  /// Where hwloc knows no cores, every unit is one.
  static void number_missing_cores(Machine& machine) {
    int next = 0;
    for (const ProcessingUnit& unit : machine.units_) next = std::max(next, unit.core + 1);
    for (ProcessingUnit& unit : machine.units_)
      if (unit.core < 0) unit.core = next++;
  }

  /// NUMA nodes hang beside the tree, and a unit may be local to several (main and high-bandwidth memory, a
  /// node of the whole machine): the one with fewest units says most about neighbourhood; of equals, the
  /// first.
  static void read_numa(hwloc_topology_t topology, Machine& machine) {
    constexpr std::size_t numa = index_of(LevelKind::numa);
    std::vector<int> units_of_best(machine.units_.size(), std::numeric_limits<int>::max());
    hwloc_obj_t node = nullptr;
    while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr) {
      const int units_of_node = hwloc_bitmap_weight(node->cpuset);
      for (int os_index = hwloc_bitmap_first(node->cpuset); os_index >= 0;
           os_index = hwloc_bitmap_next(node->cpuset, os_index)) {
        const int found = machine.find(os_index);
        if (found < 0) continue;
        const auto position = static_cast<std::size_t>(found);
        if (units_of_node >= units_of_best[position]) continue;
        units_of_best[position] = units_of_node;
        machine.units_[position].domain[numa] = static_cast<int>(node->logical_index);
      }
    }
    number_densely(machine, numa);
  }

  /// Nodes without units of their own (far memory) leave gaps in the numbers: close them.
  static void number_densely(Machine& machine, std::size_t kind) {
    std::map<int, int> dense;
    for (ProcessingUnit& unit : machine.units_) {
      int& domain = unit.domain[kind];
      if (domain >= 0) domain = dense.emplace(domain, static_cast<int>(dense.size())).first->second;
    }
  }
};

std::optional<Machine> Machine::load(const std::string& description, std::string& error) {
  const Topology topology = load_topology(description, Discover::levels, error);
  return topology ? MachineLoader::load(topology.get(), description, error) : std::nullopt;
}

/// Fills Resources from a loaded topology.
class ResourcesLoader {
 public:
  static std::optional<Resources> load(hwloc_topology_t topology, const std::string& description, std::string& error) {
    auto machine = MachineLoader::load(topology, description, error);
    if (!machine) return std::nullopt;
    Resources resources;
    resources.machine_ = std::move(*machine);
    for (int depth = 1; depth < hwloc_topology_get_depth(topology); ++depth) add_depth(topology, depth, resources);
    add_numa(resources);
    for (ResourceType& type : resources.types_)
      type.objects = 1 + *std::max_element(type.object_of.begin(), type.object_of.end());
    std::erase_if(resources.types_, [](const ResourceType& type) { return type.objects == 0; });
    std::stable_sort(resources.types_.begin(), resources.types_.end(),
                     [](const ResourceType& a, const ResourceType& b) { return a.objects < b.objects; });
    return resources;
  }

 private:
  static void add_depth(hwloc_topology_t topology, int depth, Resources& resources) {
    const hwloc_obj_type_t type = hwloc_get_depth_type(topology, depth);
    std::string name = hwloc_obj_type_string(type);
    if (type == HWLOC_OBJ_GROUP) name += std::to_string(hwloc_get_obj_by_depth(topology, depth, 0)->attr->group.depth);
    add(resources, name, [&](std::size_t position) {
      const int os_index = resources.machine_.units()[position].os_index;
      for (hwloc_obj_t object = hwloc_get_pu_obj_by_os_index(topology, static_cast<unsigned>(os_index)); object;
           object = object->parent)
        if (object->depth == depth) return static_cast<int>(object->logical_index);
      return -1;
    });
  }

  /// As the levels of collectives have them. They come before what is of the same extent.
  static void add_numa(Resources& resources) {
    add(resources, hwloc_obj_type_string(HWLOC_OBJ_NUMANODE),
        [&](std::size_t position) { return resources.machine_.units()[position].domain[index_of(LevelKind::numa)]; });
    std::rotate(resources.types_.rbegin(), resources.types_.rbegin() + 1, resources.types_.rend());
  }

  template <class ObjectOf>
  static void add(Resources& resources, std::string name, ObjectOf&& object_of) {
    ResourceType type;
    type.name = std::move(name);
    for (std::size_t i = 0; i < resources.machine_.units().size(); ++i) type.object_of.push_back(object_of(i));
    resources.types_.push_back(std::move(type));
  }
};

std::optional<Resources> Resources::load(const std::string& description, std::string& error) {
  const Topology topology = load_topology(description, Discover::resources, error);
  return topology ? ResourcesLoader::load(topology.get(), description, error) : std::nullopt;
}

namespace {

bool is_network_card(hwloc_obj_t device, hwloc_obj_osdev_type_t type) {
  return device->attr->osdev.type == type && device->name && std::strcmp(device->name, "lo") != 0;
}

std::vector<CpuSet> near_devices(hwloc_topology_t topology, hwloc_obj_osdev_type_t type) {
  std::vector<CpuSet> places;
  hwloc_obj_t device = nullptr;
  while ((device = hwloc_get_next_osdev(topology, device)) != nullptr) {
    if (!is_network_card(device, type)) continue;
    const hwloc_obj_t beside = hwloc_get_non_io_ancestor_obj(topology, device);
    CpuSet units;
    for (int i = hwloc_bitmap_first(beside->cpuset); i >= 0; i = hwloc_bitmap_next(beside->cpuset, i)) units.insert(i);
    places.push_back(std::move(units));
  }
  return places;
}

}  // namespace

std::vector<CpuSet> network_cards(const std::string& description) {
  std::string error;
  const Topology topology = load_topology(description, Discover::network, error);
  if (!topology) return {};
  std::vector<CpuSet> places = near_devices(topology.get(), HWLOC_OBJ_OSDEV_OPENFABRICS);
  return places.empty() ? near_devices(topology.get(), HWLOC_OBJ_OSDEV_NETWORK) : places;
}

}  // namespace tutti::topology
