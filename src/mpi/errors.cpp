#include "mpi/errors.h"

#include <new>
#include <system_error>
#include <typeinfo>

#include "base/log.h"
#include "mpi/communicators.h"

namespace tutti::mpi {

namespace {

/// Whether the handler ends the job. Its message would name the function by which we call it.
bool is_fatal(MPI_Comm communicator) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (host.Comm_get_errhandler(communicator, &handler) != MPI_SUCCESS) return false;
  const bool fatal = handler == MPI_ERRORS_ARE_FATAL
#if MPI_VERSION >= 4
                     || handler == MPI_ERRORS_ABORT
#endif
      ;
  host.Errhandler_free(&handler);
  return fatal;
}

}  // namespace

int raise(MPI_Comm communicator, int code, const char* function) {
  const Job* const here = job();
  if (here && is_fatal(communicator)) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    host.Error_string(code, text, &length);
    here->node.log.error("rank %d in %s: %s", here->node.log.rank(), function, text);
  }
  host.Comm_call_errhandler(communicator, code);
  return code;
}

int class_of(const std::exception& problem, const char* function) {
  const auto* const of_system = dynamic_cast<const std::system_error*>(&problem);
  const bool no_memory =
      dynamic_cast<const std::bad_alloc*>(&problem) || (of_system && of_system->code() == std::errc::not_enough_memory);
  const Job* const here = job();
  // There is no more to say of the commonest.
  if (here && typeid(problem) != typeid(std::bad_alloc))
    here->node.log.error("rank %d in %s: %s", here->node.log.rank(), function, problem.what());
  return no_memory ? MPI_ERR_NO_MEM : MPI_ERR_OTHER;
}

void prepare_unwinding() {
  try {
    throw OfProgram{};
  } catch (const OfProgram&) {
  }
}

}  // namespace tutti::mpi
