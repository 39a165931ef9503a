# What `./dev demo` runs: the library with its parts, what measures, and `tutti run`. The tools, the other measured programs
# and the tests are most of a build.
add_custom_target(demo)
add_dependencies(demo tutti-preload tutti-run tutti-settings)
foreach(abi mpich openmpi abi)
  if(TARGET tutti-${abi})
    add_dependencies(demo tutti-${abi})
  endif()
endforeach()
foreach(host ${TUTTI_HOSTS})
  add_dependencies(demo tutti-bench-${host})
endforeach()
