// What MPI 4 has added and the host's mpi.h does not declare. Whether the host has it is seen at run time: the mpi.h of
// one version is compiled with, and libraries of others are met.
#pragma once

#include <mpi.h>

#include "preload/functions.h"

// The requests that are only looked at: of some hosts they are not const.
#if (MPI_VERSION == 4 && MPI_SUBVERSION == 1)
#define TUTTI_CONST_REQUEST MPI_Request
#else
#define TUTTI_CONST_REQUEST const MPI_Request
#endif

// The partitions that are listed: so are they.
#if (defined(OMPI_MAJOR_VERSION) && MPI_VERSION < 4) || (defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000)
#define TUTTI_CONST_INT int
#else
#define TUTTI_CONST_INT const int
#endif

// Open MPI 5 has these, though it does not say that it has MPI 4.
#if MPI_VERSION < 4 && !(defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
extern "C" {

int MPI_Psend_init(const void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                   MPI_Comm comm, MPI_Info info, MPI_Request* request);
int MPI_Precv_init(void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                   MPI_Comm comm, MPI_Info info, MPI_Request* request);
int MPI_Pready(int partition, MPI_Request request);
int MPI_Pready_range(int partition_low, int partition_high, MPI_Request request);
int MPI_Pready_list(int length, TUTTI_CONST_INT array_of_partitions[], MPI_Request request);
int MPI_Parrived(MPI_Request request, int partition, int* flag);
int MPI_Isendrecv(const void*, int, MPI_Datatype, int, int, void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int MPI_Isendrecv_replace(void*, int, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Request*);

}  // extern "C"
#endif

#if MPI_VERSION < 4 || (MPI_VERSION == 4 && MPI_SUBVERSION == 0)
extern "C" {

int MPI_Request_get_status_all(int count, const MPI_Request array_of_requests[], int* flag,
                               MPI_Status array_of_statuses[]);
int MPI_Request_get_status_any(int count, const MPI_Request array_of_requests[], int* indx, int* flag,
                               MPI_Status* status);
int MPI_Request_get_status_some(int incount, const MPI_Request array_of_requests[], int* outcount,
                                int array_of_indices[], MPI_Status array_of_statuses[]);
int MPI_Get_hw_resource_info(MPI_Info* hw_info);
int MPI_Comm_attach_buffer(MPI_Comm comm, void* buffer, int size);
int MPI_Comm_attach_buffer_c(MPI_Comm comm, void* buffer, MPI_Count size);
int MPI_Comm_detach_buffer(MPI_Comm comm, void* buffer_addr, int* size);
int MPI_Comm_detach_buffer_c(MPI_Comm comm, void* buffer_addr, MPI_Count* size);

}  // extern "C"
#endif

#if MPI_VERSION < 4
extern "C" {

int MPI_Comm_create_from_group(MPI_Group group, const char* tag, MPI_Info info, MPI_Errhandler handler,
                               MPI_Comm* newcomm);
int MPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm, MPI_Request* request);

int PMPI_Pack_c(const void* inbuf, MPI_Count incount, MPI_Datatype datatype, void* outbuf, MPI_Count outsize,
                MPI_Count* position, MPI_Comm comm);
int PMPI_Unpack_c(const void* inbuf, MPI_Count insize, MPI_Count* position, void* outbuf, MPI_Count outcount,
                  MPI_Datatype datatype, MPI_Comm comm);
int PMPI_Type_get_envelope_c(MPI_Datatype, MPI_Count*, MPI_Count*, MPI_Count*, MPI_Count*, int*);
int PMPI_Type_get_contents_c(MPI_Datatype, MPI_Count, MPI_Count, MPI_Count, MPI_Count, int*, MPI_Aint*, MPI_Count*,
                             MPI_Datatype*);

int MPI_Send_c(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
int MPI_Ssend_c(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
int MPI_Rsend_c(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
int MPI_Bsend_c(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
int MPI_Isend_c(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int MPI_Issend_c(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int MPI_Irsend_c(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int MPI_Ibsend_c(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int MPI_Recv_c(void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Status*);
int MPI_Irecv_c(void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int MPI_Send_init_c(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int MPI_Ssend_init_c(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int MPI_Rsend_init_c(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int MPI_Bsend_init_c(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int MPI_Recv_init_c(void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int MPI_Sendrecv_c(const void*, MPI_Count, MPI_Datatype, int, int, void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm,
                   MPI_Status*);
int MPI_Sendrecv_replace_c(void*, MPI_Count, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Status*);
int MPI_Isendrecv_c(const void*, MPI_Count, MPI_Datatype, int, int, void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm,
                    MPI_Request*);
int MPI_Isendrecv_replace_c(void*, MPI_Count, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Request*);
int MPI_Mrecv_c(void*, MPI_Count, MPI_Datatype, MPI_Message*, MPI_Status*);
int MPI_Imrecv_c(void*, MPI_Count, MPI_Datatype, MPI_Message*, MPI_Request*);

int MPI_Buffer_attach_c(void* buffer, MPI_Count size);
int MPI_Buffer_detach_c(void* buffer_addr, MPI_Count* size);
int MPI_Win_create_c(void* base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win* win);
int MPI_Win_allocate_c(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win);
int MPI_Win_allocate_shared_c(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr,
                              MPI_Win* win);

// Collectives, with the arguments in the order of the functions with int.
int MPI_Bcast_c(void*, MPI_Count, MPI_Datatype, int, MPI_Comm);
int MPI_Reduce_c(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, int, MPI_Comm);
int MPI_Allreduce_c(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);
int MPI_Reduce_scatter_c(const void*, void*, const MPI_Count*, MPI_Datatype, MPI_Op, MPI_Comm);
int MPI_Reduce_scatter_block_c(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);
int MPI_Scan_c(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);
int MPI_Exscan_c(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);
int MPI_Reduce_local_c(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op);
int MPI_Scatter_c(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int, MPI_Comm);
int MPI_Scatterv_c(const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int,
                   MPI_Comm);
int MPI_Gather_c(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int, MPI_Comm);
int MPI_Gatherv_c(const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, int,
                  MPI_Comm);
int MPI_Allgather_c(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, MPI_Comm);
int MPI_Allgatherv_c(const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype,
                     MPI_Comm);
int MPI_Alltoall_c(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, MPI_Comm);
int MPI_Alltoallv_c(const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, void*, const MPI_Count*,
                    const MPI_Aint*, MPI_Datatype, MPI_Comm);
int MPI_Alltoallw_c(const void*, const MPI_Count*, const MPI_Aint*, const MPI_Datatype*, void*, const MPI_Count*,
                    const MPI_Aint*, const MPI_Datatype*, MPI_Comm);
int MPI_Neighbor_allgather_c(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, MPI_Comm);
int MPI_Neighbor_allgatherv_c(const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*, const MPI_Aint*,
                              MPI_Datatype, MPI_Comm);
int MPI_Neighbor_alltoall_c(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, MPI_Comm);
int MPI_Neighbor_alltoallv_c(const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, void*, const MPI_Count*,
                             const MPI_Aint*, MPI_Datatype, MPI_Comm);
int MPI_Neighbor_alltoallw_c(const void*, const MPI_Count*, const MPI_Aint*, const MPI_Datatype*, void*,
                             const MPI_Count*, const MPI_Aint*, const MPI_Datatype*, MPI_Comm);

}  // extern "C"

namespace tutti::mpi {

/// The nonblocking and the persistent function of a collective have the arguments of the blocking one, and some more.
template <class Blocking>
struct Started;
template <class... Arguments>
struct Started<int(Arguments...)> {
  using Nonblocking = int(Arguments..., MPI_Request*);
  using Persistent = int(Arguments..., MPI_Info, MPI_Request*);
};

}  // namespace tutti::mpi

extern "C" {

#define TUTTI_DECLARE(unused, name, nonblocking) \
  tutti::mpi::Started<decltype(MPI_##name)>::Persistent MPI_##name##_init;
TUTTI_COLLECTIVE_FUNCTIONS(TUTTI_DECLARE, )
#undef TUTTI_DECLARE
#define TUTTI_DECLARE(unused, name, nonblocking)                                    \
  tutti::mpi::Started<decltype(MPI_##name##_c)>::Nonblocking MPI_##nonblocking##_c; \
  tutti::mpi::Started<decltype(MPI_##name##_c)>::Persistent MPI_##name##_init_c;
TUTTI_COUNTING_FUNCTIONS(TUTTI_DECLARE, )
#undef TUTTI_DECLARE

}  // extern "C"
#endif
