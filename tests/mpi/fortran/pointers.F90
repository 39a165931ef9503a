! Pointers to neighbours' memory, and blocks that are handed over, from Fortran.
program pointers
  use, intrinsic :: iso_c_binding, only: c_associated, c_f_pointer, c_loc, c_null_ptr, c_ptr
#if defined(TUTTI_F08)
  use mpi_f08
#elif defined(TUTTI_MPI)
  use mpi
#endif
  use tutti
  implicit none
#if defined(TUTTI_MPIF)
  include "mpif.h"
#endif
  integer, parameter :: n = 100000
  integer(tutti_address_kind), parameter :: bytes = 8 * n
  integer :: world, rank, ranks, before, behind, ierror, i, source, tag, wrong, all_wrong, shared
  integer(tutti_address_kind) :: told
  integer(tutti_handle_kind) :: own_handle, handle
  logical :: over
  type(c_ptr) :: block, own, found
  type(tutti_request) :: given, taken
  double precision, pointer :: values(:), theirs(:)

  call MPI_Init(ierror)
#if defined(TUTTI_F08)
  world = MPI_COMM_WORLD%MPI_VAL
#else
  world = MPI_COMM_WORLD
#endif
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  before = mod(rank + ranks - 1, ranks)
  behind = mod(rank + 1, ranks)
  wrong = 0

  ! What the rank before has, by a pointer.
  call tutti_alloc(bytes, own)
  call c_f_pointer(own, values, [n])
  values = [(dble(rank * n + i), i = 1, n)]
  call tutti_peer_handle(own, bytes, own_handle)
  call MPI_Sendrecv(own_handle, 1, MPI_INTEGER8, behind, 0, handle, 1, MPI_INTEGER8, before, 0, MPI_COMM_WORLD, &
                    MPI_STATUS_IGNORE, ierror)
  call tutti_peer_pointer(world, before, handle, bytes, found, ierror)
  if (ierror /= MPI_SUCCESS) wrong = wrong + 1
  shared = 0
  if (c_associated(found)) then
    shared = 1
    call c_f_pointer(found, theirs, [n])
    do i = 1, n
      if (theirs(i) /= dble(before * n + i)) wrong = wrong + 1
    end do
  end if
  call MPI_Barrier(MPI_COMM_WORLD, ierror)

  ! Each block goes round, and comes home.
  block = own
  do i = 1, ranks
    call tutti_igive(block, bytes, behind, 5, world, given)
    if (mod(i, 2) == 0) then
      call tutti_take(block, told, before, MPI_ANY_TAG, world, source, tag)
    else
      call tutti_itake(block, told, MPI_ANY_SOURCE, 5, world, taken)
      over = .false.
      do while (.not. over)
        call tutti_test(taken, over, source, tag)
      end do
    end if
    if (source /= before .or. tag /= 5 .or. told /= bytes) wrong = wrong + 1
    call tutti_wait(given)
    call c_f_pointer(block, values, [n])
    if (values(n) /= dble((mod(rank + ranks - i, ranks) + 1) * n)) wrong = wrong + 1
  end do
  if (shared == 1 .and. .not. c_associated(block, own)) wrong = wrong + 1
  call tutti_give(block, bytes, MPI_PROC_NULL, 0, world)
  call tutti_take(block, told, MPI_PROC_NULL, 0, world)
  if (c_associated(block) .or. told /= 0) wrong = wrong + 1
  call tutti_alloc(bytes, block)
  call tutti_free(block)

  call MPI_Reduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierror)
  if (rank == 0) print "(i0, a, i0, a)", ranks, " ranks, pointers ", shared, ": " // &
    merge("all is right ", "some is wrong", all_wrong == 0)
  call MPI_Finalize(ierror)
end program pointers
