// Which functions of MPI the loader finds in libtutti.so: not those that the MPI lacks (docs/decisions/one-library.md).
#pragma once

namespace tutti::preload {

/// From now on the loader finds of the functions that some MPIs lack those alone that `look_up` knows; with its
/// addresses, what was given to programs and libraries before becomes ours. To be called by one thread at a time.
void offer_names(void* (*look_up)(const char* name));

}  // namespace tutti::preload
