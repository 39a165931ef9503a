! Two calls of which TUTTI_PROFILE is to tell the lines (tests/mpi/profiling.py).
program profile
#if defined(TUTTI_F08)
  use mpi_f08
#elif defined(TUTTI_MPI)
  use mpi
#endif
  implicit none
#if defined(TUTTI_MPIF)
  include "mpif.h"
#endif
  integer :: step, ierror, rank
  double precision :: mine(4), sums(4)

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  mine = 1
  do step = 1, 30
    call add
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
  end do
  if (rank == 0) print '(a, i0)', 'barrier ', __LINE__ - 2
  call MPI_Finalize(ierror)
contains
  subroutine add
    call MPI_Allreduce(mine, sums, 4, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror)
    if (rank == 0 .and. step == 1) print '(a, i0)', 'sums ', __LINE__ - 1
  end subroutine
end program
