// Errors of ours, which the program meets as it meets the host's, and exceptions, which it meets only if they are its own.
#pragma once

#include <exception>
#include <utility>

#include "mpi/host.h"

namespace tutti::mpi {

/// Calls the communicator's error handler. function: of MPI, which the program has called; it is named where the handler
/// ends the job. Returns code.
int raise(MPI_Comm communicator, int code, const char* function);

/// The class of error that an exception of ours comes to. What is out of the ordinary is said.
int class_of(const std::exception& problem, const char* function);

/// What an operator of the program has thrown. The call that ran it ends first, since peers wait for it; then the program
/// gets it, as it would out of the host.
struct OfProgram {
  std::exception_ptr thrown;
};

/// Once, before functions of the program are run: the unwinder that is linked into this library makes its tables at the first
/// exception of the library's own, and an exception of the program's that passed through before that would end the process.
void prepare_unwinding();

/// What a function of MPI, or one that the host calls, does by us alone: no function of the program runs in it. part() returns
/// a code of the host, and exceptions become one. failed: whether there was one.
template <class Part>
int code_of(const char* function, bool& failed, Part&& part) {
  failed = false;
  try {
    return std::forward<Part>(part)();
  } catch (const std::exception& problem) {
    failed = true;
    return class_of(problem, function);
  }
}

/// The same with errors that are raised on the communicator.
template <class Part>
int guard(MPI_Comm communicator, const char* function, Part&& part) {
  bool failed = false;
  const int code = code_of(function, failed, std::forward<Part>(part));
  return failed ? raise(communicator, code, function) : code;
}

}  // namespace tutti::mpi
