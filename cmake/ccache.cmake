# Compilers are called through ccache if it is installed: a build of what was built before, in whichever folder the
# clone lies, then takes seconds. Whoever sets CMAKE_CXX_COMPILER_LAUNCHER has a launcher of his own.
option(TUTTI_CCACHE "Compile through ccache, if it is installed" ON)
find_program(TUTTI_CCACHE_PROGRAM ccache)
mark_as_advanced(TUTTI_CCACHE_PROGRAM)
set(tutti_ccache_launcher "")
if(TUTTI_CCACHE AND TUTTI_CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER AND NOT CMAKE_C_COMPILER_LAUNCHER)
  # Paths below the clone do not count, nor the folder in which the compiler is called. What is made with a precompiled
  # header is kept if what ccache cannot see in one does not count: dates, and macros that the header does not use. Such
  # a header has 60 MB: ccache keeps in mind what it is, or a file that is in the cache would take four times as long.
  set(tutti_ccache_launcher
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_INODECACHE=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${TUTTI_CCACHE_PROGRAM})
  set(CMAKE_C_COMPILER_LAUNCHER ${tutti_ccache_launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${tutti_ccache_launcher})
  message(STATUS "Compiler cache: ${TUTTI_CCACHE_PROGRAM}")
endif()
