// Links everything of hwloc that the library uses; run by cmake/hwloc.cmake to see whether it can be linked.
#include <hwloc.h>

int main(void) {
  hwloc_topology_t topology;
  if (hwloc_topology_init(&topology) != 0) return 1;
  hwloc_topology_set_xml(topology, "machine.xml");
  hwloc_topology_set_synthetic(topology, "pu:1");
  hwloc_topology_load(topology);
  hwloc_topology_destroy(topology);
  return 0;
}
