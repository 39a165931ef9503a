# The vector kernels use Highway's headers alone: which instructions run is decided here (instruction_set.h), so
# there is nothing of Highway to link and nothing of it for a preloaded library to export.
find_path(TUTTI_HIGHWAY_INCLUDE hwy/highway.h REQUIRED)
target_include_directories(tutti_reduction SYSTEM PRIVATE ${TUTTI_HIGHWAY_INCLUDE})
# A product and a sum contracted into one rounding on some machines only would give other bits there.
target_compile_options(tutti_reduction PRIVATE -ffp-contract=off)
# A loop of a few instructions that straddles two cache lines ran at half its speed (AMD Zen 3).
target_compile_options(tutti_reduction PRIVATE -falign-loops=64)
# A sanitizer looks at each of the many loops that the optimiser would make of these, which takes minutes.
if(TUTTI_SANITIZE)
  target_compile_options(tutti_reduction PRIVATE -O0)
endif()
