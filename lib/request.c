/* Requests of functions that start something (request.h). */
#include "request.h"

#include <sched.h>

/* Asks so often before it offers the processor to others, who may be the ones that it waits for. */
enum { ASKED_AT_ONCE = 100 };

static int of_nothing(MPI_Status* status) {
  MPI_Request nothing = MPI_REQUEST_NULL;
  return MPI_Wait(&nothing, status);
}

int tutti_wait_for(struct TUTTI_Request_s* request, MPI_Status* status) {
  for (int asked = 0;; ++asked) {
    int over = 0;
    const int code = request->test(request, &over, status);
    if (over || code != MPI_SUCCESS) return code;
    if (asked >= ASKED_AT_ONCE) sched_yield();
  }
}

int TUTTI_Wait(TUTTI_Request* request, MPI_Status* status) {
  struct TUTTI_Request_s* const what = *request;
  if (what == TUTTI_REQUEST_NULL) return of_nothing(status);
  *request = TUTTI_REQUEST_NULL;
  return tutti_wait_for(what, status);
}

int TUTTI_Test(TUTTI_Request* request, int* flag, MPI_Status* status) {
  *flag = 1;
  if (*request == TUTTI_REQUEST_NULL) return of_nothing(status);
  const int code = (*request)->test(*request, flag, status);
  if (*flag || code != MPI_SUCCESS) *request = TUTTI_REQUEST_NULL;
  return code;
}
