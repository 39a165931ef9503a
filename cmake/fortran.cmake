# Fortran: gfortran, and the host MPIs that have Fortran for it.
#
# TUTTI_FORTRAN_HOSTS lists those that were found, TUTTI_FORTRAN_BINDINGS_<host> their bindings (mpif mpi f08). For each
# there is an INTERFACE target mpi_fortran_<host> with its headers, modules, libraries and run path; the headers are those
# for C, too. Without gfortran, or without such a host, the list is empty.
set(TUTTI_FORTRAN_HOSTS "")
include(CheckLanguage)
check_language(Fortran)
if(CMAKE_Fortran_COMPILER)
  enable_language(Fortran)
endif()
if(NOT CMAKE_Fortran_COMPILER_ID STREQUAL "GNU" OR CMAKE_Fortran_COMPILER_VERSION VERSION_LESS 10)
  message(STATUS "Fortran: no gfortran 10 or later, programs in it are skipped")
  return()
endif()

# _tutti_fortran_host(name BINDINGS mpif|mpi|f08... FOLDERS <headers and modules> LIBRARIES <files, which must be there>)
function(_tutti_fortran_host name)
  cmake_parse_arguments(ARG "" "" "BINDINGS;FOLDERS;LIBRARIES" ${ARGN})
  foreach(library ${ARG_LIBRARIES})
    if(NOT EXISTS ${library})
      message(STATUS "Fortran with ${name}: no ${library}, skipped")
      return()
    endif()
    get_filename_component(folder ${library} DIRECTORY)
  endforeach()
  string(REPLACE "-" "_" target mpi_fortran_${name})
  add_library(${target} INTERFACE)
  target_include_directories(${target} INTERFACE ${ARG_FOLDERS})
  target_compile_definitions(${target} INTERFACE MPICH_SKIP_MPICXX OMPI_SKIP_MPICXX)
  target_link_libraries(${target} INTERFACE ${ARG_LIBRARIES})
  # The libraries that the host's own need are in its folder, too.
  target_link_options(${target} INTERFACE -Wl,--disable-new-dtags,-rpath,${folder})
  set(TUTTI_FORTRAN_HOSTS ${TUTTI_FORTRAN_HOSTS} ${name} PARENT_SCOPE)
  set(TUTTI_FORTRAN_BINDINGS_${name} ${ARG_BINDINGS} PARENT_SCOPE)
  message(STATUS "Fortran with ${name}: ${ARG_BINDINGS}")
endfunction()

# tutti_fortran_program(name host folder sources...): the program name-host, for a host of the list, in this folder.
function(tutti_fortran_program name host folder)
  set(target ${name}-${host})
  add_executable(${target} ${ARGN})
  # Buffers of several types are passed to functions that nothing is known of.
  target_compile_options(${target} PRIVATE
                         $<$<COMPILE_LANGUAGE:Fortran>:-ffree-line-length-none;-fallow-argument-mismatch>)
  string(REPLACE "-" "_" mpi mpi_fortran_${host})
  target_link_libraries(${target} PRIVATE ${mpi})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${folder}
                        Fortran_MODULE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${target})
endfunction()

# Debian's modules lie in a folder that has the number of their format in its name.
set(system ${TUTTI_SYSTEM_LIBRARIES})
file(GLOB modules ${system}/fortran/gfortran-mod-*)
list(APPEND modules ${system}/fortran/none)
list(GET modules 0 modules)
_tutti_fortran_host(openmpi-debian BINDINGS mpif mpi f08 FOLDERS ${modules}/openmpi ${system}/openmpi/include LIBRARIES
                    ${system}/libmpi_usempif08.so ${system}/libmpi_usempi_ignore_tkr.so ${system}/libmpi_mpifh.so
                    ${system}/libmpi.so.40)
_tutti_fortran_host(mpich-debian BINDINGS mpif mpi f08 FOLDERS ${modules}/mpich
                    ${CMAKE_SYSROOT}/usr/include/${TUTTI_TRIPLE}/mpich LIBRARIES ${system}/libmpichfort.so
                    ${system}/libmpich.so)
# Intel has modules for several versions of gfortran, without mpi_f08.
string(REGEX MATCH "^[0-9]+" version "${CMAKE_Fortran_COMPILER_VERSION}")
set(intel ${TUTTI_MPI_ROOT}/intel)
file(GLOB modules ${intel}/include/mpi/gfortran/${version}.*)
if(modules)
  _tutti_fortran_host(intel BINDINGS mpif mpi FOLDERS ${modules} ${intel}/include LIBRARIES
                      ${intel}/lib/libmpifort.so.12 ${intel}/lib/libmpi.so.12)
endif()
