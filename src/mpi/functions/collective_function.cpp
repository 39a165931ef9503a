#include "mpi/functions/collective_function.h"

#include "mpi/errors.h"

namespace tutti::mpi {

bool ended_by_exception(MPI_Comm communicator, const char* const& function, int& code) {
  try {
    throw;
  } catch (const OfProgram& exception) {
    std::rethrow_exception(exception.thrown);
  } catch (const TooLittleRoom&) {
    code = MPI_ERR_TRUNCATE;
  } catch (const Disagreement&) {
    if (found_revoked(communicator)) return refuse(Refusal::revoked);
    code = error_after_leaving(communicator);
  } catch (const network::Failure& problem) {
    network_failed(communicator, problem.kind);
    code = problem.code;
  } catch (const std::exception& problem) {
    code = class_of(problem, function);
  }
  raise(communicator, code, function);
  return true;
}

}  // namespace tutti::mpi
