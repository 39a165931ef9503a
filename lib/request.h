/* What TUTTI_Request points to: the beginning of what its kind needs to know. */
#ifndef TUTTI_REQUEST_H
#define TUTTI_REQUEST_H

#include "tutti.h"

struct TUTTI_Request_s {
  /* Goes on with it, without waiting. Sets `flag`; where that is 1 it is over: the status is set and the memory freed.
   * Returns a code of MPI, for which the error handler was called; with an error it is over, too. */
  int (*test)(struct TUTTI_Request_s* request, int* flag, MPI_Status* status);
};

/* Goes on with it until it is over. */
__attribute__((visibility("hidden"))) int tutti_wait_for(struct TUTTI_Request_s* request, MPI_Status* status);

#endif
