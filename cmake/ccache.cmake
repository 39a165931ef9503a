# Compilers are called through ccache if it is installed: a build of what was built before, in whichever folder the
# clone lies, then takes seconds. Whoever sets CMAKE_CXX_COMPILER_LAUNCHER has a launcher of his own.
option(TUTTI_CCACHE "Compile through ccache, if it is installed" ON)
find_program(TUTTI_CCACHE_PROGRAM ccache)
mark_as_advanced(TUTTI_CCACHE_PROGRAM)
if(TUTTI_CCACHE AND TUTTI_CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER AND NOT CMAKE_C_COMPILER_LAUNCHER)
  # Paths below the clone do not count, nor the folder in which the compiler is called.
  # What a source includes the compiler tells: without that each is preprocessed once more.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
      ${TUTTI_CCACHE_PROGRAM})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  message(STATUS "Compiler cache: ${TUTTI_CCACHE_PROGRAM}")
endif()
