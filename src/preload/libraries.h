// Whether the program has opened libraries: what they bring, such as a runtime of devices, is there from then on.
#pragma once

#include <atomic>

#include "preload/shared.h"

/// What has happened since somebody last looked at the libraries of the process. Who looks stores the other values.
enum class TuttiLibraries : unsigned char {
  looked_at,    ///< nothing: nobody needs to look
  opened,       ///< dlopen was called, and may not be over yet. So it is at the start, too.
  being_opened  ///< this may still be so
};

/// Stored to by dlopen (stubs.S), loaded by others in each call.
extern "C" TUTTI_SHARED std::atomic<TuttiLibraries> tutti_libraries;
