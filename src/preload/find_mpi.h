// Which MPI a call is meant for, and what it is.
#pragma once

#include <string>

namespace tutti::preload {

/// The MPIs that parts are made for.
enum class Abi { unknown, openmpi, mpich, standard };

/// A loaded MPI.
struct Mpi {
  void* handle = nullptr;      ///< of dlopen
  const void* base = nullptr;  ///< where it is loaded, which tells MPIs apart
  std::string file;
};

/// The MPI that the loader would give the calls of the code at `caller` if libtutti.so were not there: that of the
/// global scope after us, else one that the caller's library needs; else the first that is loaded. Without a handle if
/// there is none.
Mpi find_mpi(const void* caller);

/// The object that holds the code at `address`; null if none does.
const void* object_of(const void* address);

/// Whether the code at `address` is the MPI's: its library's, or that of a plug-in which it has loaded; or ours. The
/// bindings of other languages, which come with it, too, are not: what they call is what the program has called.
bool is_own_code(const Mpi& mpi, const void* address);

/// By what it exports: the names that the ABI's mpi.h refers to.
Abi abi_of(const Mpi& mpi);

/// Whether the launcher's variables say that it has started the ranks of another MPI, so that each process of this one
/// is a job of its own.
bool started_by_another(const Mpi& mpi);

}  // namespace tutti::preload
