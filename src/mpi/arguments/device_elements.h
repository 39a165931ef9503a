// Elements of derived types in memory of devices: the host's MPI packs and unpacks an image of them in its own memory.
#pragma once

#include <cstddef>
#include <optional>

#include "mpi/arguments/datatypes.h"

namespace tutti::mpi {

/// `code`, of a copy that a runtime may have refused. In a blocking call its error is raised here; those of pending calls, which
/// have MPI_COMM_SELF in place of their communicator, are raised where they are completed.
int raised_if_failed(int code, MPI_Comm communicator);

// As pack() and unpack(). Nothing where the elements are the host's memory alone.
//
// Elements at absolute addresses (MPI_BOTTOM), and those that reach beyond one allocation, may lie in several memories:
// they are taken apart as they were put together, if it is by MPI_Type_create_struct and the like.

std::optional<int> pack_from_device(const void* buffer, std::size_t count, MPI_Datatype datatype, const TypeInfo& info,
                                    std::byte* bytes, MPI_Comm communicator);
std::optional<int> unpack_to_device(const std::byte* bytes, void* buffer, std::size_t count, MPI_Datatype datatype,
                                    const TypeInfo& info, MPI_Comm communicator);

}  // namespace tutti::mpi
