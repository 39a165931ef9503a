// The host's mpi.h, with two repairs: handles that are addresses of the host's objects (Open MPI) are looked up at run
// time, and whether there are large-count functions is a number that can be tested.
#pragma once

#include <mpi.h>

#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
#define TUTTI_HAS_LARGE_COUNTS 1
#else
#define TUTTI_HAS_LARGE_COUNTS 0
#endif

#ifdef OPEN_MPI
#include "openmpi_symbols.h"  // generated from mpi.h
#endif
