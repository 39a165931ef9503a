target_link_libraries(tutti_topology PRIVATE tutti_hwloc)
# What it knows is asked when a communicator is made.
get_target_property(topology_sources tutti_topology SOURCES)
tutti_cold(${topology_sources})
