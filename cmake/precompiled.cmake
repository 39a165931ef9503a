# tutti_precompile(target headers... | REUSE_FROM target): headers that nearly every source of the target includes are
# parsed once. They are most of what a build from nothing costs, three builds a test run.
#
# Not with a compiler launcher: ccache stores no objects that were made with precompiled headers, and rebuilding with it
# is faster still. That is also where an #include that is missing in a source shows.
set(tutti_precompile_default OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(tutti_precompile_default ON)
endif()
option(TUTTI_PRECOMPILE "Precompile headers that many sources include" ${tutti_precompile_default})

function(tutti_precompile target)
  if(NOT TUTTI_PRECOMPILE)
    return()
  endif()
  if(ARGV1 STREQUAL "REUSE_FROM")
    target_precompile_headers(${target} REUSE_FROM ${ARGV2})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()
