// The window of this process, from which the interposed malloc serves large requests (see preload_malloc.cpp).
#pragma once

#include <string>

#include "memory/window.h"

namespace tutti::memory {

/// The window of this process, or nullptr: not started yet, switched off, impossible, or this is a forked child of a
/// rank. It lives until the process ends.
Window* process_window() noexcept;

/// Starts the window now, for instance at MPI_Init, unless it is there already (then it is returned as it is). nullptr
/// and the reason if it cannot be: the user switched it off (TUTTI_ENABLE=0, TUTTI_WINDOW_SIZE=1), the program brings its own
/// malloc, or the system refuses.
Window* start_process_window(const WindowOptions& options, std::string& reason);

/// Options of the process's window as TUTTI_WINDOW_SIZE says; nothing is printed about a bad value.
WindowOptions process_window_options() noexcept;

}  // namespace tutti::memory
