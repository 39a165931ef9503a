// What makes this library the part for one ABI: libtutti.so loads it and takes these functions.

#include "preload/part.h"

#include <cstddef>

#include "mpi/host.h"
#include "preload/functions.h"

extern "C" int MPIX_Comm_revoke(MPI_Comm comm);
extern "C" int tutti_last_choice(char* algorithm, int algorithm_bytes, char* mechanism, int mechanism_bytes);
extern "C" int tutti_set_choice(MPI_Comm communicator, const char* algorithm, const char* mechanism);
extern "C" int tutti_predict(MPI_Comm communicator, const char* collective, std::size_t bytes, char* text, int room);
extern "C" int tutti_origin(char* text, int room);

extern "C" __attribute__((visibility("default"))) tutti::preload::Functions tutti_part() {
  tutti::mpi::resolve();
  static const tutti::preload::Function functions[] = {
#define TUTTI_FUNCTION(name) {"MPI_" #name, reinterpret_cast<void*>(&::MPI_##name)},
      TUTTI_INTERPOSED(TUTTI_FUNCTION)
#undef TUTTI_FUNCTION
#define TUTTI_FUNCTION(name) {"PMPI_" #name, reinterpret_cast<void*>(&::PMPI_##name)},
          TUTTI_INTERPOSED_PROFILING(TUTTI_FUNCTION)
#undef TUTTI_FUNCTION
#define TUTTI_FUNCTION(name) {"MPIX_" #name, reinterpret_cast<void*>(&::MPIX_##name)},
              TUTTI_INTERPOSED_EXTENSIONS(TUTTI_FUNCTION)
#undef TUTTI_FUNCTION
#define TUTTI_FUNCTION(name) {"tutti_" #name, reinterpret_cast<void*>(&::tutti_##name)},
                  TUTTI_OWN_FUNCTIONS(TUTTI_FUNCTION)
#undef TUTTI_FUNCTION
  };
  return {functions, static_cast<int>(sizeof functions / sizeof *functions)};
}
