// For sources of src/mpi in a program that is linked to its MPI: handles are what the host's mpi.h says.
#pragma once
