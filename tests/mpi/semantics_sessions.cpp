// Sessions: not every host of an ABI has them, so that this is compiled for each.
#include "semantics.h"

namespace tutti::tests {

void communicators_of_sessions_work([[maybe_unused]] Context& context) {
#if defined(MPI_SESSION_NULL)
  MPI_Session session = MPI_SESSION_NULL;
  if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS) return;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  const int code = MPI_Comm_create_from_group(group, "tutti.tests", MPI_INFO_NULL, MPI_ERRORS_RETURN, &communicator);
  if (context.expect(code == MPI_SUCCESS, "Comm_create_from_group: error %d", code)) {
    for (const int count : {3, 9000}) exercise(context, communicator, "Comm_create_from_group", count);
    MPI_Comm_free(&communicator);
  }
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
#endif
}

}  // namespace tutti::tests
