#include "mpi/host.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

namespace tutti::mpi {

Host host;
Next next;
int (*comm_revoke)(MPI_Comm) = nullptr;
int (*comm_is_revoked)(MPI_Comm, int*) = nullptr;

namespace {

void* library = nullptr;  // the host's shared object

/// The loaded object whose own table defines PMPI_Init: found although it may be in nobody's global scope.
int look_for_host(dl_phdr_info* info, std::size_t, void*) {
  if (!info->dlpi_name || !*info->dlpi_name) return 0;
  const char* slash = std::strrchr(info->dlpi_name, '/');
  const char* name = slash ? slash + 1 : info->dlpi_name;
  if (std::strncmp(name, "libmpi", 6) != 0) return 0;
  void* handle = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) return 0;
  if (dlsym(handle, "PMPI_Init")) {
    library = handle;
    return 1;
  }
  dlclose(handle);
  return 0;
}

void* next_definition(const char* name) {
  void* address = dlsym(RTLD_NEXT, name);
  return address || !library ? address : dlsym(library, name);
}

template <class Function>
void assign(Function& function, void* address) {
  std::memcpy(&function, &address, sizeof address);
}

}  // namespace

void* host_symbol(const char* name) {
  // The program itself may hold the object (a copy relocation), so the search begins there and not after us.
  void* address = dlsym(RTLD_DEFAULT, name);
  return address || !library ? address : dlsym(library, name);
}

void resolve() {
  static std::once_flag once;
  std::call_once(once, [] {
    dl_iterate_phdr(look_for_host, nullptr);
#define TUTTI_RESOLVE(name) assign(host.name, next_definition("PMPI_" #name));
    TUTTI_HOST_FUNCTIONS(TUTTI_RESOLVE)
#undef TUTTI_RESOLVE
#define TUTTI_RESOLVE(name) assign(next.name, next_definition("MPI_" #name));
    TUTTI_INTERPOSED_FUNCTIONS(TUTTI_RESOLVE)
    TUTTI_INTERPOSED_LARGE(TUTTI_RESOLVE)
    TUTTI_INTERPOSED_BLOCKS(TUTTI_RESOLVE)
#if TUTTI_HAS_LARGE_COUNTS
#define TUTTI_RESOLVE_LARGE(name) TUTTI_RESOLVE(name##_c)
    TUTTI_INTERPOSED_BLOCKS(TUTTI_RESOLVE_LARGE)
#undef TUTTI_RESOLVE_LARGE
#endif
#undef TUTTI_RESOLVE
    assign(comm_revoke, next_definition("MPIX_Comm_revoke"));
    assign(comm_is_revoked, next_definition("MPIX_Comm_is_revoked"));
#ifdef OPEN_MPI
    resolve_openmpi_symbols();
#endif
    if (!next.Init || !host.Allgather) {
      static const char message[] =
          "tutti: error: an MPI function was called, but no MPI library is loaded in this process; "
          "run it without LD_PRELOAD of tutti\n";
      [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, message, sizeof message - 1);
      std::abort();
    }
  });
}

}  // namespace tutti::mpi
