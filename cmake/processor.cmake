# TUTTI_PROCESSOR: what is built for, one of x86_64, aarch64 and ppc64le, as src/base/processor has it.
string(TOLOWER "${CMAKE_SYSTEM_PROCESSOR}" TUTTI_PROCESSOR)
if(TUTTI_PROCESSOR STREQUAL "amd64")
  set(TUTTI_PROCESSOR x86_64)
endif()
if(NOT EXISTS ${CMAKE_SOURCE_DIR}/src/base/processor/${TUTTI_PROCESSOR}.h)
  message(FATAL_ERROR "Tutti is not for ${TUTTI_PROCESSOR}: what a processor needs stands in src/base/processor.")
endif()

# Debian's name of it, in folders; and where they begin.
set(TUTTI_TRIPLE ${TUTTI_PROCESSOR}-linux-gnu)
if(TUTTI_PROCESSOR STREQUAL "ppc64le")
  set(TUTTI_TRIPLE powerpc64le-linux-gnu)
endif()
set(TUTTI_SYSTEM_LIBRARIES ${CMAKE_SYSROOT}/usr/lib/${TUTTI_TRIPLE})

# What the assembler's sources include, which CMake does not see.
set(TUTTI_INSTRUCTIONS ${CMAKE_SOURCE_DIR}/src/preload/functions.h ${CMAKE_SOURCE_DIR}/src/preload/instructions.h
    ${CMAKE_SOURCE_DIR}/src/preload/processor/${TUTTI_PROCESSOR}.inc)

# tutti_of_processor(list): takes the sources for other processors out of a list of files.
function(tutti_of_processor list)
  set(kept "")
  foreach(file ${${list}})
    if(NOT file MATCHES "/processor/" OR file MATCHES "/processor/${TUTTI_PROCESSOR}[.]")
      list(APPEND kept ${file})
    endif()
  endforeach()
  set(${list} ${kept} PARENT_SCOPE)
endfunction()
