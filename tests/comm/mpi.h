/* As much of MPI as lib/ calls, for ranks that are threads of one process (thread_ranks.cpp): so that hierarchies are
 * tested on machines that are only described, with as many ranks as those have. And messages of MPI_COMM_WORLD
 * (thread_messages.cpp), so that sanitizers see what is handed over. */
#ifndef TUTTI_TEST_MPI_H
#define TUTTI_TEST_MPI_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPI_VERSION 5
#define MPI_SUBVERSION 0

typedef struct ThreadComm* MPI_Comm;
typedef struct ThreadInfo* MPI_Info;
typedef struct ThreadType* MPI_Datatype;
typedef struct ThreadRequest* MPI_Request;
typedef struct ThreadMessage* MPI_Message;
typedef ptrdiff_t MPI_Aint;
typedef long long MPI_Count;
typedef struct {
  int MPI_SOURCE, MPI_TAG, MPI_ERROR;
  MPI_Count bytes;
} MPI_Status;
typedef enum { MPI_MIN, MPI_MAX } MPI_Op;

#define MPI_COMM_NULL ((MPI_Comm)0)
#define MPI_INFO_NULL ((MPI_Info)0)
#define MPI_REQUEST_NULL ((MPI_Request)0)
#define MPI_STATUS_IGNORE ((MPI_Status*)0)
#define MPI_BOTTOM ((void*)0)
#define MPI_INT (thread_type(sizeof(int)))
#define MPI_BYTE (thread_type(1))
#define MPI_COMM_WORLD (thread_world())
#define MPI_COMM_SELF (thread_world())

enum {
  MPI_SUCCESS = 0,
  MPI_ERR_COUNT = 2,
  MPI_ERR_COMM = 5,
  MPI_ERR_RANK = 6,
  MPI_ERR_ARG = 12,
  MPI_ERR_OTHER = 15,
  MPI_ERR_NO_MEM = 34,
  MPI_ANY_TAG = -1,
  MPI_PROC_NULL = -1,
  MPI_ANY_SOURCE = -2,
  MPI_UNDEFINED = -32766,
  MPI_COMM_TYPE_SHARED = 1,
  MPI_MAX_INFO_VAL = 256
};

/* All ranks, on the calling thread. */
MPI_Comm thread_world(void);

int MPI_Comm_rank(MPI_Comm comm, int* rank);
int MPI_Comm_size(MPI_Comm comm, int* size);
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made);
int MPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm* made);
int MPI_Comm_free(MPI_Comm* comm);
int MPI_Comm_call_errhandler(MPI_Comm comm, int code);
int MPI_Allreduce(const void* mine, void* all, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
int MPI_Info_create(MPI_Info* info);
int MPI_Info_set(MPI_Info info, const char* key, const char* value);
int MPI_Info_get(MPI_Info info, const char* key, int length, char* value, int* found);
int MPI_Info_free(MPI_Info* info);
int MPI_Abort(MPI_Comm comm, int code);
int MPI_Initialized(int* flag);

/* Predefined ones, of so many bytes. */
MPI_Datatype thread_type(int bytes);
int MPI_Comm_test_inter(MPI_Comm comm, int* flag);
int MPI_Comm_remote_size(MPI_Comm comm, int* size);
int MPI_Get_address(const void* location, MPI_Aint* address);
int MPI_Type_contiguous(int count, MPI_Datatype type, MPI_Datatype* made);
int MPI_Type_create_struct(int count, const int lengths[], const MPI_Aint places[], const MPI_Datatype types[],
                           MPI_Datatype* made);
int MPI_Type_commit(MPI_Datatype* type);
int MPI_Type_free(MPI_Datatype* type);
int MPI_Send(const void* buffer, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm);
int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request* request);
int MPI_Recv(void* buffer, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Status* status);
int MPI_Improbe(int rank, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status);
int MPI_Mrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status);
int MPI_Imrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message, MPI_Request* request);
int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status);
int MPI_Wait(MPI_Request* request, MPI_Status* status);
int MPI_Get_elements_x(const MPI_Status* status, MPI_Datatype type, MPI_Count* count);
int MPI_Status_set_elements_x(MPI_Status* status, MPI_Datatype type, MPI_Count count);

#ifdef __cplusplus
}
#endif

#endif
