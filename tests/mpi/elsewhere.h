// What a rank may wait in while others need it for a collective that it has started: rank 0 comes first, and waits for the
// others.
#pragma once

#include <mpi.h>

#include <vector>

#include "support.h"

namespace tutti::tests {

struct Elsewhere {
  const char* name;
  void (*wait)(Context&, bool first, MPI_Comm other);
};
const std::vector<Elsewhere>& places_to_wait_in();

}  // namespace tutti::tests
