#include "preload/libraries.h"

#include <dlfcn.h>

#include "preload/library_opener.h"

// The assembler has these numbers (processor/).
static_assert(static_cast<unsigned char>(TuttiLibraries::opened) == 1);
static_assert(tutti::preload::nobody == 0 && tutti::preload::several == static_cast<std::uintptr_t>(-1));

constinit std::atomic<TuttiLibraries> tutti_libraries{TuttiLibraries::opened};
constinit std::atomic<std::uintptr_t> tutti_opener{tutti::preload::nobody};

/// Where dlopen (stubs.S) goes on.
extern "C" __attribute__((visibility("hidden"))) void* tutti_next_dlopen() {
  return dlsym(RTLD_NEXT, "dlopen");
}
