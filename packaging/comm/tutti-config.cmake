# find_package(tutti) gives tutti::comm, the functions of tutti.h for the MPI that find_package(MPI) finds. Its ABI is read
# from its mpi.h; find_package(tutti COMPONENTS openmpi) (or mpich, or abi) names it instead.
include(CMakeFindDependencyMacro)
find_dependency(MPI COMPONENTS C)

# Sets `result` to the ABI of the MPI that was found.
function(_tutti_abi result)
  set(${result} mpich PARENT_SCOPE)
  foreach(folder ${MPI_C_INCLUDE_DIRS} ${MPI_C_HEADER_DIR})
    if(EXISTS ${folder}/mpi.h)
      file(STRINGS ${folder}/mpi.h kind REGEX "define (OPEN_MPI|MPI_ABI_VERSION)" LIMIT_COUNT 1)
      if(kind MATCHES OPEN_MPI)
        set(${result} openmpi PARENT_SCOPE)
      elseif(kind OR "MPI_ABI" IN_LIST MPI_C_COMPILE_DEFINITIONS)
        set(${result} abi PARENT_SCOPE)
      endif()
      return()
    endif()
  endforeach()
endfunction()

if(tutti_FIND_COMPONENTS)
  list(GET tutti_FIND_COMPONENTS 0 tutti_ABI)
else()
  _tutti_abi(tutti_ABI)
endif()

set(_tutti_prefix ${CMAKE_CURRENT_LIST_DIR})
foreach(_tutti_step RANGE 1 3)
  get_filename_component(_tutti_prefix ${_tutti_prefix} DIRECTORY)
endforeach()
set(_tutti_archive ${_tutti_prefix}/lib/tutti/libtutti-comm-${tutti_ABI}.a)
if(NOT EXISTS ${_tutti_archive})
  set(tutti_FOUND FALSE)
  set(tutti_NOT_FOUND_MESSAGE "Tutti was not built for MPIs with the ABI \"${tutti_ABI}\": there is no lib/tutti/libtutti-comm-${tutti_ABI}.a")
  return()
endif()
set(${CMAKE_FIND_PACKAGE_NAME}_${tutti_ABI}_FOUND TRUE)
if(NOT TARGET tutti::comm)
  add_library(tutti::comm STATIC IMPORTED)
  set_target_properties(tutti::comm PROPERTIES
    IMPORTED_LOCATION ${_tutti_archive}
    INTERFACE_INCLUDE_DIRECTORIES ${_tutti_prefix}/include
    INTERFACE_LINK_LIBRARIES "MPI::MPI_C;${CMAKE_DL_LIBS}")
endif()
