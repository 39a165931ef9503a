#include "mpi/host.h"

#include <cstring>

#include "preload/part.h"

namespace tutti::mpi {

Host host;
Next next;
int (*comm_revoke)(MPI_Comm) = nullptr;

namespace {

template <class Function>
void look_up(Function& function, const char* name) {
  void* const address = preload::host_function(name);
  std::memcpy(&function, &address, sizeof address);
}

}  // namespace

void* host_symbol(const char* name) {
  return preload::host_object(name);
}

void resolve() {
#define TUTTI_RESOLVE(name) look_up(host.name, "PMPI_" #name);
  TUTTI_HOST_FUNCTIONS(TUTTI_RESOLVE)
  TUTTI_HOST_LARGE(TUTTI_RESOLVE)
#undef TUTTI_RESOLVE
#define TUTTI_RESOLVE(name) look_up(next.name, "MPI_" #name);
  TUTTI_INTERPOSED(TUTTI_RESOLVE)
#undef TUTTI_RESOLVE
  look_up(comm_revoke, "MPIX_Comm_revoke");
#ifdef OPEN_MPI
  resolve_openmpi_symbols();
#endif
}

}  // namespace tutti::mpi
