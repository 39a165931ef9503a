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
  ! Why calls are left to the host, in the words of explain.
  character(len=*), parameter :: alone = 'a rank alone', unknown_type = 'datatype not ours'
  character(len=*), parameter :: reasons(2) = [character(len=17) :: alone, unknown_type]
  ! Calls of each that the library carries out, and that it leaves to the host for each of the reasons.
  integer :: done(kinds) = 0, left(kinds, size(reasons)) = 0

  integer :: me = 0, ranks = 1, ierror = 0
  integer :: failures = 0
  ! Of all that this rank got in a test.
  integer(int64) :: digest = 0

contains

  ! To be called beside each collective.
  subroutine note(collective, why_left)
    character(len=*), intent(in) :: collective
    character(len=*), intent(in), optional :: why_left
    integer :: at
    do at = 1, kinds
      if (collectives(at) == collective) exit
    end do
    if (present(why_left)) then
      where (reasons == why_left) left(at, :) = left(at, :) + 1
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

  ! What a rank got, word by word: runs in which something else carries out the calls are compared by it.
  subroutine record(words)
    integer, intent(in) :: words(:)
    integer(int64), parameter :: word_bits = 4294967295_int64, digest_bits = 1099511627775_int64, factor = 1000003_int64
    integer :: at
    do at = 1, size(words)
      digest = iand(ieor(digest, iand(int(words(at), int64), word_bits)) * factor + 1, digest_bits)
    end do
  end subroutine record

  ! Ends a test, on all ranks.
  subroutine ends(name)
    character(len=*), intent(in) :: name
    integer :: all
    integer(int64) :: mine, all_digests
    call note('allreduce')
    call MPI_Allreduce(failures, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD IERR)
    ! Not the same if two ranks changed places.
    mine = digest * (2 * me + 1)
    call note('allreduce')
    call MPI_Allreduce(mine, all_digests, 1, MPI_INTEGER8, MPI_BXOR, MPI_COMM_WORLD IERR)
    if (me == 0) then
      print '(2a)', trim(merge('PASS ', 'FAIL ', all == 0)) // ' ', name
      print '(3a, z0)', 'RESULT ', name, ' ', all_digests
    end if
    failures = 0
    digest = 0
  end subroutine ends

  ! What explain is to say.
  subroutine tell_calls()
    integer :: at, why
    if (me /= 0) return
    do at = 1, kinds
      print '(3a, i0)', 'CALLS ', trim(collectives(at)), ' ', done(at)
      do why = 1, size(reasons)
        if (left(at, why) > 0) print '(3a, i0, 2a)', 'LEFT ', trim(collectives(at)), ' ', left(at, why), ' ', reasons(why)
      end do
    end do
  end subroutine tell_calls

  ! An error by its class, which is the same on all hosts.
  subroutine record_error(code)
    integer, intent(in) :: code
    integer :: class
    class = MPI_SUCCESS
    if (code /= MPI_SUCCESS) call MPI_Error_class(code, class IERR)
    call record([class])
  end subroutine record_error

  ! The sum of the ranks.
  integer function rank_sum()
    rank_sum = ranks * (ranks - 1) / 2
  end function rank_sum

end module tutti_support
