/* MPICH's names for communicators of threads (MPIX_Threadcomm_init and so on), on a team: its tests of them are compiled with
 * this in front. There is one at a time. */
#ifndef TUTTI_TEST_THREADCOMM_H
#define TUTTI_TEST_THREADCOMM_H

#include <tutti.h>

static TUTTI_Team threadcomm_team;

static inline int threadcomm_init(MPI_Comm comm, int threads, MPI_Comm* made) {
  *made = comm;
  return TUTTI_Team_create(comm, threads, &threadcomm_team);
}
static inline TUTTI_Team team_of_threadcomm(MPI_Comm comm) {
  (void)comm;
  return threadcomm_team;
}

#define MPIX_Threadcomm_init threadcomm_init
#define MPIX_Threadcomm_start(comm) TUTTI_Team_attach(team_of_threadcomm(comm), -1)
#define MPIX_Threadcomm_finish(comm) TUTTI_Team_detach(team_of_threadcomm(comm))
#define MPIX_Threadcomm_free(comm) TUTTI_Team_free((team_of_threadcomm(*(comm)), &threadcomm_team))
#define MPI_Comm_rank(comm, rank) TUTTI_Team_rank(team_of_threadcomm(comm), rank)
#define MPI_Comm_size(comm, size) TUTTI_Team_size(team_of_threadcomm(comm), size)
#define MPI_Barrier(comm) TUTTI_Team_barrier(team_of_threadcomm(comm))
#define MPI_Bcast(a, b, c, d, comm) TUTTI_Team_bcast(a, b, c, d, team_of_threadcomm(comm))
#define MPI_Reduce(a, b, c, d, e, f, comm) TUTTI_Team_reduce(a, b, c, d, e, f, team_of_threadcomm(comm))
#define MPI_Allreduce(a, b, c, d, e, comm) TUTTI_Team_allreduce(a, b, c, d, e, team_of_threadcomm(comm))
#define MPI_Reduce_scatter(a, b, c, d, e, comm) TUTTI_Team_reduce_scatter(a, b, c, d, e, team_of_threadcomm(comm))
#define MPI_Reduce_scatter_block(a, b, c, d, e, comm) \
  TUTTI_Team_reduce_scatter_block(a, b, c, d, e, team_of_threadcomm(comm))
#define MPI_Scan(a, b, c, d, e, comm) TUTTI_Team_scan(a, b, c, d, e, team_of_threadcomm(comm))
#define MPI_Exscan(a, b, c, d, e, comm) TUTTI_Team_exscan(a, b, c, d, e, team_of_threadcomm(comm))
#define MPI_Gather(a, b, c, d, e, f, g, comm) TUTTI_Team_gather(a, b, c, d, e, f, g, team_of_threadcomm(comm))
#define MPI_Gatherv(a, b, c, d, e, f, g, h, comm) TUTTI_Team_gatherv(a, b, c, d, e, f, g, h, team_of_threadcomm(comm))
#define MPI_Scatter(a, b, c, d, e, f, g, comm) TUTTI_Team_scatter(a, b, c, d, e, f, g, team_of_threadcomm(comm))
#define MPI_Scatterv(a, b, c, d, e, f, g, h, comm) TUTTI_Team_scatterv(a, b, c, d, e, f, g, h, team_of_threadcomm(comm))
#define MPI_Allgather(a, b, c, d, e, f, comm) TUTTI_Team_allgather(a, b, c, d, e, f, team_of_threadcomm(comm))
#define MPI_Allgatherv(a, b, c, d, e, f, g, comm) TUTTI_Team_allgatherv(a, b, c, d, e, f, g, team_of_threadcomm(comm))
#define MPI_Alltoall(a, b, c, d, e, f, comm) TUTTI_Team_alltoall(a, b, c, d, e, f, team_of_threadcomm(comm))
#define MPI_Alltoallv(a, b, c, d, e, f, g, h, comm) \
  TUTTI_Team_alltoallv(a, b, c, d, e, f, g, h, team_of_threadcomm(comm))
#define MPI_Alltoallw(a, b, c, d, e, f, g, h, comm) \
  TUTTI_Team_alltoallw(a, b, c, d, e, f, g, h, team_of_threadcomm(comm))
#define MPI_Bcast_c(a, b, c, d, comm) TUTTI_Team_bcast(a, b, c, d, team_of_threadcomm(comm))
#define MPI_Reduce_c(a, b, c, d, e, f, comm) TUTTI_Team_reduce(a, b, c, d, e, f, team_of_threadcomm(comm))
#define MPI_Allreduce_c(a, b, c, d, e, comm) TUTTI_Team_allreduce(a, b, c, d, e, team_of_threadcomm(comm))
#define MPI_Reduce_scatter_c(a, b, c, d, e, comm) TUTTI_Team_reduce_scatter_c(a, b, c, d, e, team_of_threadcomm(comm))
#define MPI_Reduce_scatter_block_c(a, b, c, d, e, comm) \
  TUTTI_Team_reduce_scatter_block(a, b, c, d, e, team_of_threadcomm(comm))
#define MPI_Scan_c(a, b, c, d, e, comm) TUTTI_Team_scan(a, b, c, d, e, team_of_threadcomm(comm))
#define MPI_Exscan_c(a, b, c, d, e, comm) TUTTI_Team_exscan(a, b, c, d, e, team_of_threadcomm(comm))
#define MPI_Gather_c(a, b, c, d, e, f, g, comm) TUTTI_Team_gather(a, b, c, d, e, f, g, team_of_threadcomm(comm))
#define MPI_Gatherv_c(a, b, c, d, e, f, g, h, comm) \
  TUTTI_Team_gatherv_c(a, b, c, d, e, f, g, h, team_of_threadcomm(comm))
#define MPI_Scatter_c(a, b, c, d, e, f, g, comm) TUTTI_Team_scatter(a, b, c, d, e, f, g, team_of_threadcomm(comm))
#define MPI_Scatterv_c(a, b, c, d, e, f, g, h, comm) \
  TUTTI_Team_scatterv_c(a, b, c, d, e, f, g, h, team_of_threadcomm(comm))
#define MPI_Allgather_c(a, b, c, d, e, f, comm) TUTTI_Team_allgather(a, b, c, d, e, f, team_of_threadcomm(comm))
#define MPI_Allgatherv_c(a, b, c, d, e, f, g, comm) \
  TUTTI_Team_allgatherv_c(a, b, c, d, e, f, g, team_of_threadcomm(comm))
#define MPI_Alltoall_c(a, b, c, d, e, f, comm) TUTTI_Team_alltoall(a, b, c, d, e, f, team_of_threadcomm(comm))
#define MPI_Alltoallv_c(a, b, c, d, e, f, g, h, comm) \
  TUTTI_Team_alltoallv_c(a, b, c, d, e, f, g, h, team_of_threadcomm(comm))
#define MPI_Alltoallw_c(a, b, c, d, e, f, g, h, comm) \
  TUTTI_Team_alltoallw_c(a, b, c, d, e, f, g, h, team_of_threadcomm(comm))

#endif
