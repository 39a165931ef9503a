# tutti_units(result name count sources...): what to compile instead of these sources of src/, which include the same
# headers: `count` generated files that include them. Parsing the headers was five sixths of what a source cost.
#
# What has internal linkage has names of its own then, inside the folder. CMake's UNITY_BUILD would name the sources by
# where the clone lies, so that another clone had none of the objects from the compiler cache.
#
# Without it (preset clang) each source is compiled alone: an #include that is missing shows, and clang-tidy sees each.
option(TUTTI_UNITS "Compile several sources at once" ON)
if(TUTTI_UNITS AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC warns of coroutines whose variables have types of their own in each file that is not the main one.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()

function(tutti_units result name count)
  if(NOT TUTTI_UNITS)
    set(${result} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(sources ${ARGN})
  list(SORT sources)
  list(LENGTH sources length)
  set(units "")
  foreach(unit RANGE 1 ${count})
    math(EXPR first "${length} * (${unit} - 1) / ${count}")
    math(EXPR behind "${length} * ${unit} / ${count}")
    set(text "")
    while(first LESS behind)
      list(GET sources ${first} source)
      file(RELATIVE_PATH source ${CMAKE_SOURCE_DIR}/src ${source})
      string(APPEND text "#include \"${source}\"\n")
      math(EXPR first "${first} + 1")
    endwhile()
    set(file ${CMAKE_BINARY_DIR}/units/${name}_${unit}.cpp)
    file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
    list(APPEND units ${file})
  endforeach()
  set(${result} ${units} PARENT_SCOPE)
endfunction()

# tutti_cold(sources...): for what is run when a job starts or a choice is made, and not in each call: -O1, which takes
# half as long to compile. To be called where their target is made.
function(tutti_cold)
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>)
endfunction()
