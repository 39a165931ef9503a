# What `./dev demo` runs: the library with its parts, what measures, and `tutti run`. The tools, the other measured programs
# and the tests are most of a build. MPICH is measured by its own ABI; that of MPI 5 is the same library once more.
add_custom_target(demo)
add_dependencies(demo tutti-preload tutti-run tutti-settings)
set(demo_hosts ${TUTTI_HOSTS})
if("mpich" IN_LIST demo_hosts)
  list(REMOVE_ITEM demo_hosts abi)
endif()
foreach(host ${demo_hosts})
  string(REPLACE "-debian" "" part ${host})
  string(REPLACE "intel" "mpich" part ${part})
  add_dependencies(demo tutti-${part} tutti-bench-${host})
endforeach()
