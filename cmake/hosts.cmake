# The host MPIs that programs and interposed libraries are built for.
#
# For each host that is found there is an INTERFACE target with its headers and its library, whose folder CMake makes the
# run path of what is built, and not of what is installed:
#   mpi_mpich, mpi_openmpi, mpi_intel   from the prefixes ${TUTTI_MPI_ROOT}/{mpich,openmpi,intel}
#   mpi_abi                             the MPI 5 standard ABI (libmpi_abi), as the MPICH prefix ships it
#   mpi_openmpi_debian                  the system's Open MPI (the package libopenmpi-dev)
# Hosts of one ABI run the same programs: TUTTI_ABI_<name> is the host whose headers these are compiled with, and
# TUTTI_ABIS lists these hosts.
# TUTTI_HOSTS lists the names (mpich openmpi intel abi openmpi-debian) that were found, TUTTI_MISSING_HOSTS the others.
# TUTTI_PARTITIONED_HOSTS: those that have partitioned messages.

set(TUTTI_HOSTS "")
set(TUTTI_MISSING_HOSTS "")
set(TUTTI_ABIS "")

# _tutti_host(name ABI <name> INCLUDE <header folder> LIBRARY_FOLDER <folder> LIBRARIES <file names, best first>
#             DEFINITIONS ...)
# The library is named by its file with a version: the one without may be a linker script, which CMake does not read.
function(_tutti_host name)
  cmake_parse_arguments(ARG "" "ABI;INCLUDE;LIBRARY_FOLDER" "LIBRARIES;DEFINITIONS" ${ARGN})
  set(library "")
  foreach(candidate ${ARG_LIBRARIES})
    if(NOT library AND EXISTS ${ARG_LIBRARY_FOLDER}/${candidate})
      set(library ${ARG_LIBRARY_FOLDER}/${candidate})
    endif()
  endforeach()
  if(NOT library OR NOT EXISTS ${ARG_INCLUDE}/mpi.h)
    message(STATUS "Host MPI ${name}: not found (looked for ${ARG_INCLUDE}/mpi.h), skipped")
    set(TUTTI_MISSING_HOSTS ${TUTTI_MISSING_HOSTS} ${name} PARENT_SCOPE)
    return()
  endif()
  string(REPLACE "-" "_" target mpi_${name})
  add_library(${target} INTERFACE)
  target_include_directories(${target} SYSTEM INTERFACE ${ARG_INCLUDE})
  # The C++ bindings of MPI-2 are not used, and their headers do not compile as C++20.
  target_compile_definitions(${target} INTERFACE MPICH_SKIP_MPICXX OMPI_SKIP_MPICXX
                                                 ${ARG_DEFINITIONS})
  target_link_libraries(${target} INTERFACE ${library} Threads::Threads)
  set(TUTTI_HOSTS ${TUTTI_HOSTS} ${name} PARENT_SCOPE)
  if(NOT ARG_ABI IN_LIST TUTTI_ABIS)
    set(ARG_ABI ${name})
    set(TUTTI_ABIS ${TUTTI_ABIS} ${name} PARENT_SCOPE)
  endif()
  set(TUTTI_ABI_${name} ${ARG_ABI} PARENT_SCOPE)
  message(STATUS "Host MPI ${name}: ${library}")
endfunction()

# The one MPI of TUTTI_MPI_PREFIX: what kind it is its header tells.
function(_tutti_host_of_prefix)
  set(debian lib/${TUTTI_TRIPLE})
  find_path(include mpi.h PATHS ${TUTTI_MPI_PREFIX} NO_DEFAULT_PATH NO_CACHE
            PATH_SUFFIXES include include/openmpi include/mpich ${debian}/openmpi/include)
  find_path(folder NAMES libmpi.so libmpi.so.12 libmpi.so.40 PATHS ${TUTTI_MPI_PREFIX} NO_DEFAULT_PATH NO_CACHE
            PATH_SUFFIXES lib lib64 lib/release ${debian})
  if(NOT include OR NOT folder)
    message(FATAL_ERROR
      "TUTTI_MPI_PREFIX=${TUTTI_MPI_PREFIX}: there is no include/mpi.h, or no libmpi.so in lib or lib64.")
  endif()
  file(STRINGS ${include}/mpi.h kind REGEX "define (OPEN_MPI|I_MPI_VERSION|I_MPI_NUMVERSION)( |$)" LIMIT_COUNT 1)
  if(kind MATCHES OPEN_MPI)
    _tutti_host(openmpi ABI openmpi INCLUDE ${include} LIBRARY_FOLDER ${folder} LIBRARIES libmpi.so.40 libmpi.so)
  elseif(kind)
    _tutti_host(intel ABI mpich INCLUDE ${include} LIBRARY_FOLDER ${folder} LIBRARIES libmpi.so.12 libmpi.so)
  else()
    _tutti_host(mpich ABI mpich INCLUDE ${include} LIBRARY_FOLDER ${folder} LIBRARIES libmpi.so.12 libmpi.so)
    if(EXISTS ${folder}/libmpi_abi.so.1)
      _tutti_host(abi ABI abi INCLUDE ${include} LIBRARY_FOLDER ${folder} LIBRARIES libmpi_abi.so.1 DEFINITIONS MPI_ABI)
    endif()
  endif()
  foreach(name TUTTI_HOSTS TUTTI_ABIS TUTTI_ABI_openmpi TUTTI_ABI_intel TUTTI_ABI_mpich TUTTI_ABI_abi)
    set(${name} ${${name}} PARENT_SCOPE)
  endforeach()
endfunction()

if(TUTTI_MPI_PREFIX)
  _tutti_host_of_prefix()
else()
  _tutti_host(mpich ABI mpich INCLUDE ${TUTTI_MPI_ROOT}/mpich/include LIBRARY_FOLDER ${TUTTI_MPI_ROOT}/mpich/lib
              LIBRARIES libmpi.so.12 libmpi.so)
  _tutti_host(openmpi ABI openmpi INCLUDE ${TUTTI_MPI_ROOT}/openmpi/include LIBRARY_FOLDER ${TUTTI_MPI_ROOT}/openmpi/lib
              LIBRARIES libmpi.so.40 libmpi.so)
  _tutti_host(intel ABI mpich INCLUDE ${TUTTI_MPI_ROOT}/intel/include LIBRARY_FOLDER ${TUTTI_MPI_ROOT}/intel/lib
              LIBRARIES libmpi.so.12 libmpi.so)
  # MPICH's mpi.h is the standard ABI's header when MPI_ABI is defined, which is what its mpicc_abi does.
  _tutti_host(abi ABI abi INCLUDE ${TUTTI_MPI_ROOT}/mpich/include LIBRARY_FOLDER ${TUTTI_MPI_ROOT}/mpich/lib
              LIBRARIES libmpi_abi.so.1 libmpi_abi.so.0 DEFINITIONS MPI_ABI)
  _tutti_host(openmpi-debian ABI openmpi INCLUDE ${TUTTI_SYSTEM_LIBRARIES}/openmpi/include
              LIBRARY_FOLDER ${TUTTI_SYSTEM_LIBRARIES} LIBRARIES libmpi.so.40 libmpi.so)
  # For other processors: PyPI has no MPICH for all of them.
  if(CMAKE_CROSSCOMPILING)
    _tutti_host(mpich-debian ABI mpich INCLUDE ${CMAKE_SYSROOT}/usr/include/${TUTTI_TRIPLE}/mpich
                LIBRARY_FOLDER ${TUTTI_SYSTEM_LIBRARIES} LIBRARIES libmpich.so.12)
    if(TARGET mpi_mpich_debian)
      # Its header declares arrays of statuses as such, so that GCC takes MPI_STATUSES_IGNORE for one that is too short.
      target_compile_options(mpi_mpich_debian INTERFACE $<$<COMPILE_LANGUAGE:C>:-Wno-stringop-overflow>)
    endif()
  endif()
  # The headers are the same for all processors: without a library there is a part of Tutti, and no program.
  foreach(name mpich openmpi abi)
    string(REPLACE abi mpich folder ${name})
    if(CMAKE_CROSSCOMPILING AND NOT TARGET mpi_${name} AND EXISTS ${TUTTI_MPI_ROOT}/${folder}/include/mpi.h)
      add_library(mpi_${name} INTERFACE)
      target_include_directories(mpi_${name} SYSTEM INTERFACE ${TUTTI_MPI_ROOT}/${folder}/include)
      target_compile_definitions(mpi_${name} INTERFACE MPICH_SKIP_MPICXX OMPI_SKIP_MPICXX)
      message(STATUS "Host MPI ${name}: the headers alone, ${TUTTI_MPI_ROOT}/${folder}/include")
    endif()
  endforeach()
  if(TARGET mpi_abi)
    target_compile_definitions(mpi_abi INTERFACE MPI_ABI)
  endif()
endif()

# Those whose headers have partitioned messages (MPI 4, and Open MPI 5).
set(TUTTI_PARTITIONED_HOSTS "")
foreach(host ${TUTTI_HOSTS})
  string(REPLACE "-" "_" target mpi_${host})
  get_target_property(includes ${target} INTERFACE_INCLUDE_DIRECTORIES)
  file(GLOB headers ${includes}/mpi.h ${includes}/mpi_*.h)
  foreach(header ${headers})
    file(STRINGS ${header} found REGEX "MPI_Psend_init" LIMIT_COUNT 1)
    if(found AND NOT host IN_LIST TUTTI_PARTITIONED_HOSTS)
      list(APPEND TUTTI_PARTITIONED_HOSTS ${host})
    endif()
  endforeach()
endforeach()

# tutti_mpi_program(name sources... [LINK libraries...] [OPTIONS compiler options...]): builds the ordinary MPI program
# name-<host> for every host. It is compiled once an ABI.
function(tutti_mpi_program name)
  cmake_parse_arguments(ARG "" "" "LINK;OPTIONS" ${ARGN})
  foreach(host ${TUTTI_HOSTS})
    string(REPLACE "-" "_" target mpi_${host})
    set(objects ${name}-objects-${TUTTI_ABI_${host}})
    if(NOT TARGET ${objects})
      add_library(${objects} OBJECT ${ARG_UNPARSED_ARGUMENTS})
      target_link_libraries(${objects} PRIVATE ${target} ${ARG_LINK})
      target_compile_options(${objects} PRIVATE ${ARG_OPTIONS})
      tutti_warnings(${objects})
    endif()
    add_executable(${name}-${host} $<TARGET_OBJECTS:${objects}>)
    target_link_libraries(${name}-${host} PRIVATE ${target} ${ARG_LINK})
  endforeach()
endfunction()

# tutti_link_comm(target host): with libtutti-comm, of which there is an archive an ABI.
function(tutti_link_comm target host)
  set(archive ${host})
  if(host MATCHES "^(intel|mpich-debian)$")
    set(archive mpich)
  elseif(host STREQUAL "openmpi-debian")
    set(archive openmpi)
  endif()
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(${target} PRIVATE tutti-comm-${archive})
endfunction()
