// Fills the table of stubs.S before main().
#include <dlfcn.h>

#include <cstddef>

#include "library.h"
#include "preload/functions.h"

// In the order of the list; null for functions that the host does not have.
extern "C" __attribute__((visibility("hidden"))) void* tutti_host_own[];

namespace {

__attribute__((constructor)) void look_up() {
  void* const library = tutti::bench::host_library();
  if (!library) return;
  constexpr const char* names[] = {
#define TUTTI_NAME(name) "PMPI_" #name,
      TUTTI_INTERPOSED(TUTTI_NAME)
#undef TUTTI_NAME
#define TUTTI_NAME(name) "PMPIX_" #name,
          TUTTI_INTERPOSED_INITS(TUTTI_NAME)
#undef TUTTI_NAME
  };
  for (std::size_t i = 0; i < sizeof names / sizeof *names; ++i) tutti_host_own[i] = dlsym(library, names[i]);
}

}  // namespace
