# Programs and libraries that run with an older C library than that of the machine they are built on: 2.27 and later.
#
# What binds them to a new one is the version that the linker writes beside the name of a function. Most of these
# functions are old. So what is linked sees them first in stand-ins for the C library that are made here, which name
# the first version of each (cmake/glibc_floor/old_versions.txt). What is really new is defined in new_functions.c, for
# static libstdc++ and libgcc. Compiled objects are the same with and without this.
#
# The versions in that file are those of x86-64. On aarch64 and ppc64le all of these functions came with the first one,
# 2.17.
set(tutti_floor_sources ${CMAKE_CURRENT_LIST_DIR}/glibc_floor)
set(tutti_floor_folder ${CMAKE_BINARY_DIR}/glibc_floor)
set(tutti_floor_sysroot "")
if(CMAKE_SYSROOT)
  set(tutti_floor_sysroot --sysroot=${CMAKE_SYSROOT})
endif()

function(_tutti_floor_run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status ERROR_VARIABLE words)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "glibc_floor: ${words}")
  endif()
endfunction()

# One stand-in: a shared library of the name, whose functions have the versions listed for it.
function(_tutti_floor_library name result)
  file(STRINGS ${tutti_floor_sources}/old_versions.txt lines REGEX "^${name} ")
  if(NOT TUTTI_PROCESSOR STREQUAL "x86_64")
    list(TRANSFORM lines REPLACE "GLIBC_[0-9.]+" "GLIBC_2.17")
  endif()
  set(code "")
  set(map "")
  set(versions "")
  foreach(line ${lines})
    string(REPLACE " " ";" words "${line}")
    list(POP_FRONT words file version)
    list(JOIN words "; " functions)
    string(APPEND map_of_${version} " ${functions};")
    list(APPEND versions ${version})
    foreach(function ${words})
      string(APPEND code "void ${function}(void) {}\n")
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES versions)
  foreach(version ${versions})
    string(APPEND map "${version} { global:${map_of_${version}} };\n")
  endforeach()
  set(base ${tutti_floor_folder}/${name})
  file(WRITE ${base}.c "${code}")
  file(WRITE ${base}.map "${map}")
  _tutti_floor_run(${CMAKE_C_COMPILER} ${tutti_floor_sysroot} -w -fno-builtin -fPIC -shared -nostdlib -Wl,-soname,${name}
                   -Wl,--version-script=${base}.map ${base}.c -o ${base})
  set(${result} ${base} PARENT_SCOPE)
endfunction()

function(_tutti_floor_object name result)
  # Of a name that changes with it, so that what it is in is linked anew.
  file(SHA256 ${tutti_floor_sources}/${name}.c hash)
  string(SUBSTRING ${hash} 0 8 hash)
  set(object ${tutti_floor_folder}/${name}-${hash}.o)
  _tutti_floor_run(${CMAKE_C_COMPILER} ${tutti_floor_sysroot} -O2 -fPIC -fno-builtin -Wall -Wextra -Werror -fvisibility=hidden
                   -c ${tutti_floor_sources}/${name}.c -o ${object})
  set(${result} ${object} PARENT_SCOPE)
endfunction()

file(MAKE_DIRECTORY ${tutti_floor_folder})
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${tutti_floor_sources}/old_versions.txt
             ${tutti_floor_sources}/new_functions.c ${tutti_floor_sources}/start.c)
_tutti_floor_object(new_functions tutti_floor_functions)
_tutti_floor_object(start tutti_floor_start)
set(tutti_floor_libraries "")
foreach(name libdl.so.2 libpthread.so.0)
  _tutti_floor_library(${name} library)
  list(APPEND tutti_floor_libraries ${library})
endforeach()
list(JOIN tutti_floor_libraries " " tutti_floor_libraries)
# Before what is linked needs them: where the linker takes needed libraries only, it would not take these.
set(tutti_floor_libraries "-Wl,--push-state,--no-as-needed ${tutti_floor_libraries} -Wl,--pop-state")

string(APPEND CMAKE_SHARED_LINKER_FLAGS " ${tutti_floor_functions} ${tutti_floor_libraries}")
# Modules are in C, and need no new functions.
string(APPEND CMAKE_MODULE_LINKER_FLAGS " ${tutti_floor_libraries}")
string(APPEND CMAKE_EXE_LINKER_FLAGS
       " -static-libstdc++ -static-libgcc ${tutti_floor_functions} ${tutti_floor_start} ${tutti_floor_libraries}")
