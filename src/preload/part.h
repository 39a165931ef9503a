// What libtutti.so and a part (libtutti-mpich.so and so on, one for each ABI of MPI) are to each other.
//
// libtutti.so is preloaded and knows no mpi.h. When the program first calls MPI, it finds out which one that is, loads
// the part for its ABI, and lets the part's functions take the calls.
#pragma once

#include "preload/shared.h"

namespace tutti::preload {

/// A function by its whole name.
struct Function {
  const char* name;
  void* address;
};

/// What a part gives: its functions in the order of the list (functions.h).
struct Functions {
  const Function* begin;
  int count;
};

/// Each part has one of these under the name tutti_part. It is called once, when host_function() is there to be used.
using Part = Functions();

// For parts, of the MPI that they were loaded for:

/// The definition that comes after libtutti.so in link order, so that other tools still see the call; else the MPI's
/// own. Null if there is none.
TUTTI_SHARED void* host_function(const char* name);

/// An object of the MPI. The program itself may hold it (a copy relocation), so the search begins there.
TUTTI_SHARED void* host_object(const char* name);

}  // namespace tutti::preload
