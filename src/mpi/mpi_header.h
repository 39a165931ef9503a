// The host's mpi.h, with two repairs: handles that are addresses of the host's objects (Open MPI) are looked up at run
// time, and functions of MPI 4 are declared whatever its version is.
#pragma once

#include <mpi.h>

#include "mpi/newer_functions.h"

#ifdef OPEN_MPI
#include "openmpi_symbols.h"  // generated from mpi.h
#endif
