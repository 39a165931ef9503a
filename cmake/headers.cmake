# The target `headers`, which ./dev lint builds: every header of src/ compiles alone. It is a target so that only what has
# changed is compiled again, and through the compiler cache.
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/src/*.h)
tutti_of_processor(headers)
set(sources "")
foreach(header ${headers})
  set(source ${CMAKE_BINARY_DIR}/headers/${header}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n")
  list(APPEND sources ${source})
endforeach()
add_library(headers OBJECT EXCLUDE_FROM_ALL ${sources})
target_include_directories(headers PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include
                                           ${CMAKE_SOURCE_DIR})
target_compile_options(headers PRIVATE -O0 -g0)
tutti_warnings(headers)
if(TARGET mpi_mpich)
  target_link_libraries(headers PRIVATE mpi_mpich)
endif()
