// Persistent collectives called like blocking ones: made ready at the first call with the same arguments, from then on started
// and waited for.
#pragma once

#include "sides.h"

namespace tutti::bench {

const Functions& persistent_functions_of(Side side);

/// Forgets all that was made ready: before the program frees buffers, or asks Tutti for another choice. On all ranks alike.
void forget_persistent();

}  // namespace tutti::bench
