// A shared library that uses hwloc as ours does; cmake/hwloc.cmake tries whether it can be linked.
#include <hwloc.h>

int tutti_hwloc_try(void);

int tutti_hwloc_try(void) {
  hwloc_topology_t topology;
  if (hwloc_topology_init(&topology) != 0) return 1;
  hwloc_topology_set_xml(topology, "machine.xml");
  hwloc_topology_set_synthetic(topology, "pu:1");
  hwloc_topology_load(topology);
  hwloc_topology_destroy(topology);
  return 0;
}
