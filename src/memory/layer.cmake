# The allocator under the window.
target_link_libraries(tutti_memory PRIVATE tutti_mimalloc)

# The window and the interposed malloc alone, without any MPI: what tests/window preloads.
if(NOT TUTTI_SANITIZE)
  add_library(tutti_window_only SHARED
    ${CMAKE_SOURCE_DIR}/src/preload/process_window.cpp ${CMAKE_SOURCE_DIR}/src/preload/malloc.cpp
    ${CMAKE_SOURCE_DIR}/src/preload/fork.cpp ${CMAKE_SOURCE_DIR}/src/preload/unmap.cpp
    ${CMAKE_SOURCE_DIR}/src/preload/pages.cpp ${CMAKE_SOURCE_DIR}/src/preload/other_allocators.cpp)
  target_link_libraries(tutti_window_only PRIVATE tutti_memory ${CMAKE_DL_LIBS})
  # Never unloaded: memory that it handed out may be freed at the very end of the process.
  target_link_options(tutti_window_only PRIVATE -Wl,-z,nodelete -Wl,--no-undefined)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/preload/malloc.cpp PROPERTIES COMPILE_OPTIONS "-fno-builtin")
  tutti_warnings(tutti_window_only)
endif()
