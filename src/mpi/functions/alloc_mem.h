// MPI_Alloc_mem from the window: also in programs that bring their own malloc, whose other memory is not in it.
#pragma once

#include "mpi/mpi_header.h"

namespace tutti::mpi {

/// A block of the window of at least `bytes` bytes in `*block`. False if the request is the host's: small, with hints,
/// or there is no window that peers can read.
bool allocate_from_window(MPI_Aint bytes, MPI_Info info, void** block);

/// Takes back what allocate_from_window gave. False if the block is not one of those.
bool release_to_window(void* block);

}  // namespace tutti::mpi
