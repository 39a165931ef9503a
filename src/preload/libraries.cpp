#include "preload/libraries.h"

#include <dlfcn.h>

// libraries.S stores the number.
static_assert(static_cast<unsigned char>(TuttiLibraries::opened) == 1);

constinit std::atomic<TuttiLibraries> tutti_libraries{TuttiLibraries::opened};

/// Where libraries.S jumps to.
extern "C" __attribute__((visibility("hidden"))) void* tutti_next_dlopen() {
  return dlsym(RTLD_NEXT, "dlopen");
}
