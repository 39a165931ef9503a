/* As much of MPI as the channel between nodes calls. The functions are the test's. */
#ifndef TUTTI_TEST_MESSAGES_MPI_H
#define TUTTI_TEST_MESSAGES_MPI_H

#define MPI_VERSION 5
#define MPI_SUBVERSION 0

typedef int MPI_Comm;
typedef int MPI_Request;
typedef enum { MPI_BYTE } MPI_Datatype;
typedef struct {
  int MPI_ERROR;
} MPI_Status;

#define MPI_REQUEST_NULL 0
#define MPI_STATUS_IGNORE ((MPI_Status*)0)
enum { MPI_SUCCESS = 0, MPI_ERR_TRUNCATE = 14, MPI_ERR_OTHER = 15 };

int PMPI_Isend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
               MPI_Request* request);
int PMPI_Irecv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request* request);
int PMPI_Test(MPI_Request* request, int* flag, MPI_Status* status);
int PMPI_Error_class(int code, int* error_class);
int PMPI_Cancel(MPI_Request* request);
int PMPI_Request_free(MPI_Request* request);
int PMPI_Wait(MPI_Request* request, MPI_Status* status);

#endif
