/* Each function is looked up by its name once. */
#include "library.h"

#include <stdatomic.h>

#include "common.h"

/* NULL without libtutti.so, which is there from the beginning or never. */
static void* look_up(_Atomic(void*)* kept, const char* name) {
  static char missing;
  void* function = atomic_load_explicit(kept, memory_order_relaxed);
  if (!function) {
    function = of_tutti(name);
    if (!function) function = &missing;
    atomic_store_explicit(kept, function, memory_order_relaxed);
  }
  return function == &missing ? NULL : function;
}

/* What the library's function has done is more than 0. */
#define FUNCTION(name, parameters, arguments)            \
  int tutti_library_##name parameters {                  \
    static _Atomic(void*) kept;                          \
    int(*function) parameters;                           \
    *(void**)&function = look_up(&kept, "tutti_" #name); \
    return function && function arguments > 0;           \
  }

FUNCTION(allocate, (size_t bytes, void** block), (bytes, block))
FUNCTION(release, (void* block), (block))
FUNCTION(handle_of, (const void* address, size_t bytes, uint64_t* handle), (address, bytes, handle))
FUNCTION(pointer_to, (MPI_Comm comm, int rank, uint64_t handle, size_t bytes, void** pointer),
         (comm, rank, handle, bytes, pointer))
FUNCTION(give, (MPI_Comm comm, int rank, int tag, void* block, struct place* place), (comm, rank, tag, block, place))
FUNCTION(give_not, (void* block), (block))
FUNCTION(take, (const struct place* place, void** block), (place, block))
