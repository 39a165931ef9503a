#include "topology/resources.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "topology/positions.h"

namespace tutti::topology {

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 16> other_names{{
    {"socket", "package"},
    {"numa", "numanode"},
    {"l1", "l1cache"},
    {"l2", "l2cache"},
    {"l3", "l3cache"},
    {"l4", "l4cache"},
    {"l5", "l5cache"},
    {"l1dcache", "l1cache"},
    {"l2ucache", "l2cache"},
    {"l3ucache", "l3cache"},
    {"l1d", "l1cache"},
    {"l1i", "l1icache"},
    {"hwthread", "pu"},
    {"memorysidecache", "memcache"},
    {"l4ucache", "l4cache"},
    {"l5ucache", "l5cache"},
}};

/// Every type of hwloc's that holds processing units.
constexpr std::array<std::string_view, 16> known_types{
    "package", "die",     "group",    "numanode", "memcache", "l5cache", "l4cache", "l3cache",
    "l2cache", "l1cache", "l3icache", "l2icache", "l1icache", "core",    "pu",      "machine"};

std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c != ' ' && c != '-' && c != '_') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool is_known(const std::string& type) {
  if (type.starts_with("group") &&
      std::all_of(type.begin() + 5, type.end(), [](unsigned char c) { return std::isdigit(c); }))
    return true;
  return std::find(known_types.begin(), known_types.end(), type) != known_types.end();
}

/// Cuts `scheme` from the front of a value.
bool take_scheme(std::string_view& value, std::string_view scheme) {
  if (!plain(value).starts_with(scheme)) return false;
  value.remove_prefix(value.find("//") + 2);
  return true;
}

}  // namespace

std::string canonical_type(std::string_view name) {
  std::string type = plain(name);
  for (const auto& [other, usual] : other_names)
    if (type == other) return std::string(usual);
  return type;
}

AskedResource parse_resource(std::string_view value) {
  using Kind = AskedResource::Kind;
  const bool of_mpi = take_scheme(value, "mpi://");
  const bool of_hwloc = !of_mpi && take_scheme(value, "hwloc://");
  const std::string type = canonical_type(value);
  if (of_mpi) return {type == "mpisharedmemory" ? Kind::node : Kind::unknown, ""};
  if (type == "machine") return {Kind::node, ""};
  if (!of_hwloc && (type == "mpisharedmemory" || type == "node" || type == "host")) return {Kind::node, ""};
  return is_known(type) ? AskedResource{Kind::type, type} : AskedResource{};
}

int Resources::find(std::string_view name) const {
  const std::string type = canonical_type(name);
  for (std::size_t i = 0; i < types_.size(); ++i) {
    const std::string here = plain(types_[i].name);
    // Of several kinds of groups, the outermost.
    if (here == type || (type == "group" && here.starts_with("group"))) return static_cast<int>(i);
  }
  return -1;
}

std::vector<int> Resources::objects_of_units(const std::vector<int>& positions) const {
  std::vector<int> objects;
  objects.reserve(types_.size());
  for (const ResourceType& type : types_) {
    int object = -1;
    bool first = true;
    for (const int position : positions) {
      const int here = type.object_of[static_cast<std::size_t>(position)];
      object = first ? here : common(object, here);
      first = false;
    }
    objects.push_back(object);
  }
  return objects;
}

std::vector<int> Resources::objects_of(const CpuSet& mask, int node_rank) const {
  if (machine_.is_this_machine()) return objects_of_units(positions_in(machine_, mask));
  return objects_of_units({node_rank % machine_.unit_count()});
}

int Resources::network_distance(const std::vector<CpuSet>& cards, const CpuSet& mask, int node_rank) const {
  const std::vector<int> here = objects_of(mask, node_rank);
  int nearest = -1;
  for (const CpuSet& card : cards) {
    const std::vector<int> there = objects_of_units(positions_in(machine_, card));
    int distance = 0;
    for (std::size_t type = 0; type < there.size(); ++type)
      if (there[type] >= 0 && there[type] != here[type]) ++distance;
    nearest = nearest < 0 ? distance : std::min(nearest, distance);
  }
  return nearest;
}

}  // namespace tutti::topology
