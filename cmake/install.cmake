# What `cmake --install` and the wheel consist of. Nothing holds a path of the machine it was built on: all of it is
# found relative to the Python package (tutti/places.py).
#
#                 below a prefix                             in a wheel, below the package tutti
#   libraries     lib/tutti                                  lib
#   programs      libexec/tutti                              libexec
#   to link with  include/tutti.h and tutti.f90, lib/tutti, lib/pkgconfig, lib/cmake/tutti      -
#   the command   bin/tutti (a link), share/tutti (Python)   beside it: the wheel's own files
include(GNUInstallDirs)

if(TUTTI_WHEEL)
  set(libraries lib)
  set(programs libexec)
else()
  set(libraries lib/tutti)
  set(programs libexec/tutti)
endif()

set(installed_libraries tutti-preload)
set(installed_programs tutti-run tutti-topo tutti-settings tutti-algorithms tutti-build tutti-predict tutti-table
                       tutti-probe-measure)
# The measuring programs: those for the other MPIs of an ABI are the same.
foreach(abi ${TUTTI_ABIS})
  list(APPEND installed_programs tutti-bench-${abi} tutti-start-up-${abi} tutti-network-probe-${abi})
endforeach()
foreach(abi mpich openmpi abi)
  if(TARGET tutti-${abi})
    list(APPEND installed_libraries tutti-${abi})
    set_target_properties(tutti-${abi} PROPERTIES INSTALL_RPATH "$ORIGIN")
  endif()
  if(TARGET tutti-python-${abi})
    list(APPEND installed_libraries tutti-python-${abi})
  endif()
endforeach()
# What programs link (lib/): archives, which the wheel does not have.
set(installed_archives "")
if(NOT TUTTI_WHEEL)
  foreach(abi mpich openmpi abi)
    if(TARGET tutti-comm-${abi})
      list(APPEND installed_archives tutti-comm-${abi})
    endif()
  endforeach()
endif()
# What is built for it, without what only measures parts or tests.
add_custom_target(installed DEPENDS ${installed_libraries} ${installed_programs} ${installed_archives})
install(TARGETS ${installed_libraries} LIBRARY DESTINATION ${libraries})
install(TARGETS ${installed_programs} RUNTIME DESTINATION ${programs})

if(TUTTI_WHEEL)
  install(FILES docs/settings.md DESTINATION docs)
  install(PROGRAMS packaging/wheel-command DESTINATION ${SKBUILD_SCRIPTS_DIR} RENAME tutti)
  install(PROGRAMS bin/tutti DESTINATION ${programs} RENAME tutti-python)
else()
  install(FILES include/tutti.h include/tutti.f90 DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(TARGETS ${installed_archives} ARCHIVE DESTINATION ${libraries})
  file(RELATIVE_PATH from_pkgconfig /prefix/lib/pkgconfig /prefix)
  string(REGEX REPLACE "/$" "" from_pkgconfig "${from_pkgconfig}")
  foreach(archive ${installed_archives})
    string(REPLACE "tutti-comm-" "" abi ${archive})
    configure_file(packaging/comm/tutti.pc.in ${CMAKE_CURRENT_BINARY_DIR}/packaging/tutti-${abi}.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/packaging/tutti-${abi}.pc DESTINATION lib/pkgconfig)
  endforeach()
  install(FILES packaging/comm/tutti-config.cmake DESTINATION lib/cmake/tutti)
  install(DIRECTORY tutti DESTINATION share/tutti FILES_MATCHING PATTERN "*.py" PATTERN "*.json" PATTERN "*.csv" PATTERN "*.css" PATTERN "*.js" PATTERN __pycache__ EXCLUDE)
  install(FILES docs/settings.md DESTINATION share/tutti/docs)
  # The command is tutti-run, which leaves to Python what it must.
  install(PROGRAMS packaging/tutti DESTINATION ${programs} RENAME tutti-python)
  install(CODE "
set(bin \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
file(MAKE_DIRECTORY \"\${bin}\")
file(CREATE_LINK ../${programs}/tutti-run \"\${bin}/tutti\" SYMBOLIC)")
  install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
  configure_file(packaging/modules/tutti.in ${CMAKE_CURRENT_BINARY_DIR}/packaging/tutti.module @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/packaging/tutti.module RENAME ${PROJECT_VERSION}
          DESTINATION ${CMAKE_INSTALL_DATADIR}/modulefiles/tutti)
endif()

# Manual pages and completions; of a wheel below the prefix of its environment.
if(TUTTI_WHEEL)
  set(manuals ${SKBUILD_DATA_DIR}/share/man)
  set(data ${SKBUILD_DATA_DIR}/share)
else()
  set(manuals ${CMAKE_INSTALL_MANDIR})
  set(data ${CMAKE_INSTALL_DATADIR})
endif()
install(DIRECTORY packaging/man/ DESTINATION ${manuals}/man1)
install(FILES packaging/completions/tutti.bash DESTINATION ${data}/bash-completion/completions RENAME tutti)
install(FILES packaging/completions/_tutti DESTINATION ${data}/zsh/site-functions)
install(FILES packaging/completions/tutti.fish DESTINATION ${data}/fish/vendor_completions.d)

# Last: what was installed is stripped, and its debugging information kept beside the build. gdb finds it when
# it is put into a folder .debug beside the library or program.
option(TUTTI_SPLIT_DEBUG "Strip what is installed, its debugging information goes to debug/" ${TUTTI_WHEEL})
if(TUTTI_SPLIT_DEBUG)
  set(split_targets "")
  foreach(target ${installed_libraries})
    string(APPEND split_targets " ${libraries}/$<TARGET_FILE_NAME:${target}>")
  endforeach()
  foreach(target ${installed_programs})
    string(APPEND split_targets " ${programs}/$<TARGET_FILE_NAME:${target}>")
  endforeach()
  set(split_code
"foreach(file${split_targets})
  set(file \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/\${file}\")
  get_filename_component(name \"\${file}\" NAME)
  file(MAKE_DIRECTORY \"${CMAKE_BINARY_DIR}/debug\")
  set(debug \"${CMAKE_BINARY_DIR}/debug/\${name}.debug\")
  execute_process(COMMAND ${CMAKE_OBJCOPY} --only-keep-debug \"\${file}\" \"\${debug}\" COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${CMAKE_OBJCOPY} --strip-unneeded \"--add-gnu-debuglink=\${debug}\" \"\${file}\"
                  COMMAND_ERROR_IS_FATAL ANY)
endforeach()")
  install(CODE "${split_code}")
endif()
