# The window with the allocator under it is apart. Their state exists once in a process, in libtutti.so, which others ask.
get_target_property(memory_sources tutti_memory SOURCES)
set(window_sources ${memory_sources})
list(FILTER memory_sources EXCLUDE REGEX "/window[^/]*$")
list(FILTER window_sources INCLUDE REGEX "/window[^/]*$")
set_target_properties(tutti_memory PROPERTIES SOURCES "${memory_sources}")
add_library(tutti_window OBJECT ${window_sources})
target_link_libraries(tutti_window PUBLIC tutti_memory tutti_mimalloc)
tutti_warnings(tutti_window)
