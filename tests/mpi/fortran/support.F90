! What the tests share: the MPI by one of its bindings, checks, and how many calls the library is to have carried out.
#include "bindings.h"
module tutti_support
#ifdef TUTTI_F08
  use mpi_f08
#endif
#ifdef TUTTI_MPI
  use mpi
#endif
  use, intrinsic :: iso_fortran_env, only: int64, real32, real64
  implicit none
#ifdef TUTTI_MPIF
  include 'mpif.h'
#endif

  integer, parameter :: kinds = 22
  character(len=24), parameter :: collectives(kinds) = [character(len=24) :: 'barrier', 'bcast', 'reduce', 'allreduce', &
    'reduce_scatter', 'reduce_scatter_block', 'scan', 'exscan', 'scatter', 'scatterv', 'gather', 'gatherv', 'allgather', &
    'allgatherv', 'alltoall', 'alltoallv', 'alltoallw', 'neighbor_allgather', 'neighbor_allgatherv', 'neighbor_alltoall', &
    'neighbor_alltoallv', 'neighbor_alltoallw']
  ! Calls of each that the library carries out, and that it leaves to the host.
  integer :: done(kinds) = 0, left(kinds) = 0

  integer :: me = 0, ranks = 1, ierror = 0
  integer :: failures = 0

contains

  ! To be called beside each collective.
  subroutine note(collective, by_host)
    character(len=*), intent(in) :: collective
    logical, intent(in), optional :: by_host
    integer :: at
    do at = 1, kinds
      if (collectives(at) == collective) exit
    end do
    if (present(by_host)) then
      left(at) = left(at) + 1
    else
      done(at) = done(at) + 1
    end if
  end subroutine note

  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (holds) return
    failures = failures + 1
    if (failures <= 5) print '(a, i0, 2a)', 'rank ', me, ': wrong: ', what
  end subroutine expect

  ! Ends a test, on all ranks.
  subroutine ends(name)
    character(len=*), intent(in) :: name
    integer :: all
    call note('allreduce')
    call MPI_Allreduce(failures, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD IERR)
    if (me == 0) print '(2a)', trim(merge('PASS ', 'FAIL ', all == 0)) // ' ', name
    failures = 0
  end subroutine ends

  ! What explain is to say.
  subroutine tell_calls()
    integer :: at
    if (me /= 0) return
    do at = 1, kinds
      print '(2a, 2(1x, i0))', 'CALLS ', trim(collectives(at)), done(at), left(at)
    end do
  end subroutine tell_calls

  ! The sum of the ranks.
  integer function rank_sum()
    rank_sum = ranks * (ranks - 1) / 2
  end function rank_sum

end module tutti_support
