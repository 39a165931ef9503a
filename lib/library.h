/* The functions of libtutti.so for memory of neighbours (src/mpi/functions/pointers.cpp). Where it is not there each says
 * that the program has to do without: 0. */
#ifndef TUTTI_LIBRARY_H
#define TUTTI_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include "tutti.h"

/* Where a block that is given lies, for every process of the node: as tutti::memory::given::Place. */
struct place {
  int32_t home;
  uint64_t offset, bytes, returned;
};

#define TUTTI_HIDDEN __attribute__((visibility("hidden")))
TUTTI_HIDDEN int tutti_library_allocate(size_t bytes, void** block);
TUTTI_HIDDEN int tutti_library_release(void* block);
TUTTI_HIDDEN int tutti_library_handle_of(const void* address, size_t bytes, uint64_t* handle);
TUTTI_HIDDEN int tutti_library_pointer_to(MPI_Comm comm, int rank, uint64_t handle, size_t bytes, void** pointer);
TUTTI_HIDDEN int tutti_library_give(MPI_Comm comm, int rank, int tag, void* block, struct place* place);
TUTTI_HIDDEN int tutti_library_give_not(void* block);
TUTTI_HIDDEN int tutti_library_take(const struct place* place, void** block);

#endif
