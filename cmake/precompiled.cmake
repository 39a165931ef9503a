# tutti_precompile(target headers... | REUSE_FROM target): the standard headers that nearly every source includes, and
# these, are parsed once. Parsing them took half a second of each source, with GCC 12.
#
# None of ours are among them: a precompiled header is told from the header by its place, so that `#pragma once` would
# not hold in another clone that gets it from the compiler cache.
#
# GCC never makes the same one twice, and what is compiled with another is another object to ccache: clones share their
# objects if they have the precompiled header from the cache, too, and not if each has made its own at the same time.
#
# An #include that is missing in a source shows where nothing is precompiled: in the target `headers`, and with Clang.
set(tutti_precompile_default OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND "${CMAKE_CXX_COMPILER_LAUNCHER}" STREQUAL "${tutti_ccache_launcher}")
  set(tutti_precompile_default ON)
endif()
option(TUTTI_PRECOMPILE "Precompile headers that many sources include" ${tutti_precompile_default})
if(TUTTI_PRECOMPILE AND tutti_ccache_launcher)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)  # by which ccache sees that one is used
endif()

set(TUTTI_STANDARD_HEADERS <algorithm> <array> <atomic> <chrono> <functional> <map> <memory> <mutex> <optional> <span>
                           <string> <string_view> <vector>)

function(tutti_precompile target)
  if(NOT TUTTI_PRECOMPILE)
    return()
  endif()
  if(ARGV1 STREQUAL "REUSE_FROM")
    target_precompile_headers(${target} REUSE_FROM ${ARGV2})
  else()
    target_precompile_headers(${target} PRIVATE ${TUTTI_STANDARD_HEADERS} ${ARGN})
  endif()
endfunction()
