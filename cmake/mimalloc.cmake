# tutti_mimalloc: mimalloc, compiled into us from its source (distributions ship no static library of it, and we need
# its heaps over memory of our own). It overrides no malloc and shows no symbol.
if(NOT EXISTS "${TUTTI_MIMALLOC_SOURCE}/src/static.c")
  message(FATAL_ERROR
    "The source of mimalloc is not in ${TUTTI_MIMALLOC_SOURCE}.\n"
    "Run ./dev setup, which fetches it (tools/fetch-mimalloc does that alone), or point -DTUTTI_MIMALLOC_SOURCE=<folder> "
    "at an unpacked mimalloc 2.0.9.")
endif()
file(STRINGS "${TUTTI_MIMALLOC_SOURCE}/include/mimalloc.h" tutti_mimalloc_version
     REGEX "^#define MI_MALLOC_VERSION +[0-9]+")
string(REGEX REPLACE "^#define MI_MALLOC_VERSION +([0-9]+).*" "\\1" tutti_mimalloc_version "${tutti_mimalloc_version}")
if(NOT tutti_mimalloc_version EQUAL 209)
  message(FATAL_ERROR "mimalloc in ${TUTTI_MIMALLOC_SOURCE} has version ${tutti_mimalloc_version}; 209 (2.0.9) is needed, "
    "because window_heap.c uses its internals. Run ./dev setup.")
endif()

# Made before the sanitizers are added, and always optimised: it is not ours to debug, and serialised by its callers.
add_library(tutti_mimalloc STATIC ${CMAKE_SOURCE_DIR}/src/memory/window_heap.c)
target_include_directories(tutti_mimalloc SYSTEM PRIVATE
  ${TUTTI_MIMALLOC_SOURCE}/include ${TUTTI_MIMALLOC_SOURCE}/src)
target_compile_definitions(tutti_mimalloc PRIVATE MI_DEBUG=0 MI_SECURE=0 MI_PADDING=0 MI_STAT=0 MI_TRACK_ENABLED=0)
target_compile_options(tutti_mimalloc PRIVATE -O2 -fvisibility=hidden -ftls-model=initial-exec -fno-builtin-malloc -w)
target_link_libraries(tutti_mimalloc PRIVATE Threads::Threads)
