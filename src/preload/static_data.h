// Static data of the program and its libraries, which is put into the window when the rank starts: the decision is in
// docs/decisions/static-data.md.
#pragma once

#include "preload/shared.h"

namespace tutti::memory {

/// To be called before the MPI starts, which may have threads from then on. Takes what can be taken soundly; once.
TUTTI_SHARED void take_static_data();

/// Why no static data is in the window; empty if some is, and before it was tried.
TUTTI_SHARED const char* why_no_static_data() noexcept;

}  // namespace tutti::memory
