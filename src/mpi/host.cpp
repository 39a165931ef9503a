#include "mpi/host.h"

#include <dlfcn.h>

#include <cstring>

#include "preload/part.h"

namespace tutti::mpi {

Host host;
Next next;
constinit thread_local WatchedCall* WatchedCall::innermost = nullptr;

namespace {

template <class Function>
void look_up(Function& function, const char* name) {
  void* const address = preload::host_function(name);
  std::memcpy(&function, &address, sizeof address);
}

/// The loaded object that holds a function.
const void* object_of(const void* function) {
  Dl_info info{};
  return dladdr(function, &info) ? info.dli_fbase : nullptr;
}

/// second_name: of which the first one is a part. Mostly both names are one function's; otherwise the loader looks through
/// all symbols of the MPI for each address.
template <class Signature>
void look_up_next(NextFunction<Signature>& function, const char* second_name) {
  void* const next = preload::host_function(second_name + 1);
  void* const own = preload::host_function(second_name);
  function.set(second_name + 1, next, own, next && own && next != own && object_of(next) != object_of(own));
}

}  // namespace

void* host_symbol(const char* name) {
  return preload::host_object(name);
}

void resolve() {
#define TUTTI_RESOLVE(name) look_up(host.name, "PMPI_" #name);
  TUTTI_HOST_FUNCTIONS(TUTTI_RESOLVE)
#undef TUTTI_RESOLVE
#define TUTTI_RESOLVE(name) look_up_next(next.name, "PMPI_" #name);
  TUTTI_INTERPOSED(TUTTI_RESOLVE)
#undef TUTTI_RESOLVE
#define TUTTI_RESOLVE(name) look_up_next(next.name, "PMPIX_" #name);
  TUTTI_INTERPOSED_EXTENSIONS(TUTTI_RESOLVE)
#undef TUTTI_RESOLVE
#define TUTTI_RESOLVE(name) look_up_next(next.X_##name, "PMPIX_" #name);
  TUTTI_INTERPOSED_INITS(TUTTI_RESOLVE)
#undef TUTTI_RESOLVE
  next.Init_thread.is_called_as(next.Init);
#ifdef OPEN_MPI
  resolve_openmpi_symbols();
#endif
}

}  // namespace tutti::mpi
