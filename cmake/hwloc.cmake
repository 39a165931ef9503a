# tutti_hwloc: the target that src/topology links.
#
# The library is preloaded into programs that may use an hwloc of their own, so hwloc must not come in as a shared
# library: its symbols, and those of what it needs, would lie in the global scope of every program. The static library
# is taken if there is one, in a private copy in which a few of its outside names are replaced (see
# src/topology/hwloc_outside.c). Without a static library or objcopy the shared one is linked, and a message says so.
option(TUTTI_STATIC_HWLOC "Link hwloc statically, so that the preloaded library drags no shared one in" ON)

find_path(TUTTI_HWLOC_INCLUDE hwloc.h REQUIRED)
find_library(TUTTI_HWLOC_SHARED NAMES hwloc REQUIRED)
find_library(TUTTI_HWLOC_STATIC NAMES libhwloc.a)
mark_as_advanced(TUTTI_HWLOC_INCLUDE TUTTI_HWLOC_SHARED TUTTI_HWLOC_STATIC)

set(tutti_hwloc_replaced
  dlopen getenv stderr stdout program_invocation_name
  udev_new udev_unref udev_device_new_from_subsystem_sysname udev_device_get_property_value udev_device_unref)

# tutti_hwloc_private(result): builds the copy, and sets `result` to its path if a program can be linked with it.
function(tutti_hwloc_private result)
  set(${result} "" PARENT_SCOPE)
  if(NOT TUTTI_STATIC_HWLOC OR NOT TUTTI_HWLOC_STATIC OR NOT CMAKE_OBJCOPY)
    return()
  endif()
  set(archive ${CMAKE_BINARY_DIR}/hwloc/libtutti_hwloc.a)
  set(renames "")
  foreach(name ${tutti_hwloc_replaced})
    list(APPEND renames --redefine-sym ${name}=tutti_hwloc_${name})
  endforeach()
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/hwloc)
  execute_process(COMMAND ${CMAKE_OBJCOPY} ${renames} ${TUTTI_HWLOC_STATIC} ${archive} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    return()
  endif()
  # A libhwloc.a of another build may want libraries we know nothing of (libxml2, libpciaccess): try.
  try_compile(linked ${CMAKE_BINARY_DIR}/hwloc/try
    SOURCES ${PROJECT_SOURCE_DIR}/cmake/hwloc_try.c ${PROJECT_SOURCE_DIR}/src/topology/hwloc_outside.c
    CMAKE_FLAGS -DINCLUDE_DIRECTORIES=${TUTTI_HWLOC_INCLUDE}
    LINK_LIBRARIES ${archive} m pthread dl)
  if(linked)
    set(${result} ${archive} PARENT_SCOPE)
  endif()
endfunction()

tutti_hwloc_private(tutti_hwloc_archive)
add_library(tutti_hwloc INTERFACE)
target_include_directories(tutti_hwloc SYSTEM INTERFACE ${TUTTI_HWLOC_INCLUDE})
if(tutti_hwloc_archive)
  add_library(tutti_hwloc_outside STATIC ${PROJECT_SOURCE_DIR}/src/topology/hwloc_outside.c)
  tutti_warnings(tutti_hwloc_outside)
  target_link_libraries(tutti_hwloc INTERFACE ${tutti_hwloc_archive} tutti_hwloc_outside m ${CMAKE_DL_LIBS})
  message(STATUS "hwloc: static, private (${TUTTI_HWLOC_STATIC})")
else()
  target_link_libraries(tutti_hwloc INTERFACE ${TUTTI_HWLOC_SHARED})
  message(STATUS "hwloc: shared (${TUTTI_HWLOC_SHARED}); preloading will bring it into every program")
endif()
