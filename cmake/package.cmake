# A Debian package, by CPack: cpack -G DEB in the build folder. It has the libraries and programs for every MPI that the
# build found, and depends on none: whose mpirun is in PATH is the user's.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tutti)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "Tutti <tutti@example.org>" CACHE STRING "Who maintains the package: name <address>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "faster MPI collectives inside a node, for programs as they are")
set(CPACK_PACKAGE_DESCRIPTION
"Tutti carries out the collectives of MPI programs in place of the MPI, which
makes them faster where the ranks are on one machine. Nothing in the program is
changed or rebuilt: put 'tutti run' in front of the command that starts it.
.
It works with MPICH, Intel MPI, Open MPI and the standard ABI of MPI 5.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_DEPENDS
    "libc6 (>= 2.27), python3 (>= 3.9), python3-click (>= 8.1), python3-rich, python3-typer")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3-matplotlib, python3-scipy")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES OFF) # cmake/install.cmake does
set(CPACK_COMPONENTS_ALL Unspecified)

# What Debian wants of a package's documents: compressed at one time, and a changelog.
find_program(TUTTI_GZIP gzip)
mark_as_advanced(TUTTI_GZIP)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_BINARY_DIR}/packaging/debian.cmake)
configure_file(packaging/debian.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/packaging/debian.cmake @ONLY)
include(CPack)
