// Fills the table of stubs.S before main().
#include <dlfcn.h>

#include <cstddef>

#include "preload/functions.h"

// In the order of the list; null for functions that the host does not have.
extern "C" __attribute__((visibility("hidden"))) void* tutti_host_own[];

namespace {

/// The host's library, by a function that nobody stands in front of.
void* host_library() {
  Dl_info info{};
  if (!dladdr(dlsym(RTLD_DEFAULT, "PMPI_Wtime"), &info)) return nullptr;
  return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

__attribute__((constructor)) void look_up() {
  void* const library = host_library();
  if (!library) return;
  constexpr const char* names[] = {
#define TUTTI_NAME(name) "PMPI_" #name,
      TUTTI_INTERPOSED(TUTTI_NAME)
#undef TUTTI_NAME
  };
  for (std::size_t i = 0; i < sizeof names / sizeof *names; ++i) tutti_host_own[i] = dlsym(library, names[i]);
}

}  // namespace
