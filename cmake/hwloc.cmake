# tutti_hwloc: the target that src/topology links.
#
# The library is preloaded into programs that may use an hwloc of their own, so hwloc must not come in as a shared
# library: its symbols, and those of what it needs, would lie in the global scope of every program. The static library
# is taken if there is one, in a private copy:
# - it becomes one object whose names are local, all but the functions we call, since distributions build the archive
#   for programs (-fPIE) and only local data can then be reached from within a shared library;
# - a few names of the world outside are replaced (src/topology/hwloc_outside.c says why).
# Where that fails, the shared library is linked, and a message says so.
# Whoever builds a shared library of it passes -Wl,--exclude-libs,ALL, which hides the rest.
option(TUTTI_STATIC_HWLOC "Link hwloc statically, so that the preloaded library drags no shared one in" ON)

find_path(TUTTI_HWLOC_INCLUDE hwloc.h REQUIRED)
# A folder for the processor, in Debian: the compiler looks there by itself only below /usr.
find_path(TUTTI_HWLOC_CONFIG_INCLUDE hwloc/autogen/config.h HINTS ${TUTTI_HWLOC_INCLUDE} REQUIRED)
set(tutti_hwloc_includes ${TUTTI_HWLOC_INCLUDE} ${TUTTI_HWLOC_CONFIG_INCLUDE})
list(REMOVE_DUPLICATES tutti_hwloc_includes)
find_library(TUTTI_HWLOC_SHARED NAMES hwloc REQUIRED)
find_library(TUTTI_HWLOC_STATIC NAMES libhwloc.a)
mark_as_advanced(TUTTI_HWLOC_INCLUDE TUTTI_HWLOC_CONFIG_INCLUDE TUTTI_HWLOC_SHARED TUTTI_HWLOC_STATIC)

set(tutti_hwloc_called "hwloc_topology_*" "hwloc_get_*" "hwloc_bitmap_*" "hwloc_obj_type_string")
set(tutti_hwloc_replaced
  dlopen getenv stderr stdout program_invocation_name
  udev_new udev_unref udev_device_new_from_subsystem_sysname udev_device_get_property_value udev_device_unref)

# tutti_hwloc_copy(folder result): makes folder/libtutti_hwloc.a; `result` tells whether that worked.
function(tutti_hwloc_copy folder result)
  set(options --wildcard)
  foreach(name ${tutti_hwloc_called})
    list(APPEND options --keep-global-symbol=${name})
  endforeach()
  foreach(name ${tutti_hwloc_replaced})
    list(APPEND options --redefine-sym ${name}=tutti_hwloc_${name})
  endforeach()
  file(MAKE_DIRECTORY ${folder})
  file(REMOVE ${folder}/new.a)
  set(${result} FALSE PARENT_SCOPE)
  foreach(step
      "${CMAKE_LINKER};-r;--whole-archive;${TUTTI_HWLOC_STATIC};-o;${folder}/whole.o"
      "${CMAKE_OBJCOPY};${options};${folder}/whole.o;${folder}/tutti_hwloc.o"
      "${CMAKE_AR};rcsD;${folder}/new.a;${folder}/tutti_hwloc.o")
    execute_process(COMMAND ${step} RESULT_VARIABLE status ERROR_VARIABLE words)
    if(NOT status EQUAL 0)
      message(STATUS "hwloc: no private copy: ${words}")
      return()
    endif()
  endforeach()
  # Not written if it is the same: whoever configures again links nothing again.
  configure_file(${folder}/new.a ${folder}/libtutti_hwloc.a COPYONLY)
  set(${result} TRUE PARENT_SCOPE)
endfunction()

# tutti_hwloc_private(result): `result` becomes the path of the private copy, or empty if there cannot be one.
function(tutti_hwloc_private result)
  set(${result} "" PARENT_SCOPE)
  if(NOT TUTTI_STATIC_HWLOC OR NOT TUTTI_HWLOC_STATIC OR NOT CMAKE_OBJCOPY OR NOT CMAKE_LINKER)
    return()
  endif()
  tutti_hwloc_copy(${CMAKE_BINARY_DIR}/hwloc copied)
  if(NOT copied)
    return()
  endif()
  # A libhwloc.a of another build may want libraries we know nothing of (libxml2, libpciaccess), or may not be fit for
  # shared libraries at all: try.
  set(archive ${CMAKE_BINARY_DIR}/hwloc/libtutti_hwloc.a)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  try_compile(linked ${CMAKE_BINARY_DIR}/hwloc/try
    SOURCES ${PROJECT_SOURCE_DIR}/cmake/hwloc_try.c ${PROJECT_SOURCE_DIR}/src/topology/hwloc_outside.c
    COMPILE_DEFINITIONS -fPIC
    CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${tutti_hwloc_includes}"
    LINK_OPTIONS -shared -Wl,-z,defs -Wl,-z,text -Wl,--exclude-libs,ALL
    LINK_LIBRARIES ${archive} m pthread dl
    OUTPUT_VARIABLE words)
  if(linked)
    set(${result} ${archive} PARENT_SCOPE)
  else()
    message(VERBOSE "hwloc: the private copy cannot be linked: ${words}")
  endif()
endfunction()

tutti_hwloc_private(tutti_hwloc_archive)
add_library(tutti_hwloc INTERFACE)
target_include_directories(tutti_hwloc SYSTEM INTERFACE ${tutti_hwloc_includes})
if(tutti_hwloc_archive)
  add_library(tutti_hwloc_outside STATIC ${PROJECT_SOURCE_DIR}/src/topology/hwloc_outside.c)
  tutti_warnings(tutti_hwloc_outside)
  target_link_libraries(tutti_hwloc INTERFACE ${tutti_hwloc_archive} tutti_hwloc_outside m ${CMAKE_DL_LIBS})
  message(STATUS "hwloc: static, private (${TUTTI_HWLOC_STATIC})")
else()
  target_link_libraries(tutti_hwloc INTERFACE ${TUTTI_HWLOC_SHARED})
  message(STATUS "hwloc: shared (${TUTTI_HWLOC_SHARED}); preloading will bring it into every program")
endif()
