// Elements of more bytes than an int counts, with gaps: MPI_Pack cannot tell how far it has come in them.
#pragma once

#include <cstddef>

#include "mpi/mpi_header.h"

namespace tutti::mpi {

/// One element of `datatype`, which has `bytes` bytes of data, from `from` to `to` without its gaps, or back. Returns
/// the host's error code.
int pack_large(const void* from, MPI_Datatype datatype, std::byte* to, std::size_t bytes, MPI_Comm communicator);
int unpack_large(const std::byte* from, std::size_t bytes, void* to, MPI_Datatype datatype, MPI_Comm communicator);

}  // namespace tutti::mpi
