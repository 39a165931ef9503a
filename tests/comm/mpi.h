/* As much of MPI as lib/comm.c calls, for ranks that are threads of one process (thread_ranks.cpp): so that hierarchies are
 * tested on machines that are only described, with as many ranks as those have. */
#ifndef TUTTI_TEST_MPI_H
#define TUTTI_TEST_MPI_H

#ifdef __cplusplus
extern "C" {
#endif

#define MPI_VERSION 5
#define MPI_SUBVERSION 0

typedef long MPI_Aint;
typedef long long MPI_Count;
typedef struct ThreadStatus MPI_Status;
typedef struct ThreadComm* MPI_Comm;
typedef struct ThreadInfo* MPI_Info;
typedef enum { MPI_INT } MPI_Datatype;
typedef enum { MPI_MIN, MPI_MAX } MPI_Op;

#define MPI_COMM_NULL ((MPI_Comm)0)
#define MPI_INFO_NULL ((MPI_Info)0)
#define MPI_COMM_WORLD (thread_world())
#define MPI_COMM_SELF (thread_world())

enum {
  MPI_SUCCESS = 0,
  MPI_ERR_COMM = 5,
  MPI_ERR_ARG = 12,
  MPI_UNDEFINED = -32766,
  MPI_COMM_TYPE_SHARED = 1,
  MPI_MAX_INFO_VAL = 256
};

/* All ranks, on the calling thread. */
MPI_Comm thread_world(void);

int MPI_Initialized(int* flag);
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

#ifdef __cplusplus
}
#endif

#endif
