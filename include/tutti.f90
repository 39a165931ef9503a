! Pointers to the memory of neighbours, blocks that are handed over without a copy, and teams of threads, for programs in
! Fortran (docs/pointers.md, docs/teams.md; tutti.h says what each function does).
!
! Compile this file with the program, and link with libtutti-comm as programs in C do. Communicators are integers: those of
! "use mpi" and mpif.h as they are, those of mpi_f08 by their component MPI_VAL. Memory is a type(c_ptr), of which
! c_f_pointer makes an array, and c_loc what is given for one. Types and operators are integers as communicators are. As in MPI an error ends the program, or comes in ierror where the communicator's error handler
! returns.
module tutti
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_intptr_t, c_long_long, c_ptr, c_null_ptr
  implicit none
  private
  public :: tutti_address_kind, tutti_handle_kind, tutti_request
  public :: tutti_alloc, tutti_free, tutti_peer_handle, tutti_peer_pointer
  public :: tutti_give, tutti_take, tutti_igive, tutti_itake, tutti_wait, tutti_test
  public :: tutti_team, tutti_count_kind, tutti_in_place
  public :: tutti_team_create, tutti_team_free, tutti_team_attach, tutti_team_detach, tutti_team_rank, tutti_team_size
  public :: tutti_team_barrier, tutti_team_ibarrier
  public :: tutti_team_bcast, tutti_team_ibcast, tutti_team_reduce, tutti_team_ireduce, tutti_team_allreduce
  public :: tutti_team_iallreduce, tutti_team_reduce_scatter_block, tutti_team_ireduce_scatter_block
  public :: tutti_team_scan, tutti_team_iscan, tutti_team_exscan, tutti_team_iexscan, tutti_team_gather
  public :: tutti_team_igather, tutti_team_gatherv, tutti_team_igatherv, tutti_team_scatter
  public :: tutti_team_iscatter, tutti_team_scatterv, tutti_team_iscatterv, tutti_team_allgather
  public :: tutti_team_iallgather, tutti_team_allgatherv, tutti_team_iallgatherv, tutti_team_alltoall
  public :: tutti_team_ialltoall, tutti_team_alltoallv, tutti_team_ialltoallv

  ! As MPI_ADDRESS_KIND; and of what a rank tells about its memory, an MPI_INTEGER8.
  integer, parameter :: tutti_address_kind = c_intptr_t, tutti_handle_kind = c_int64_t

  ! Of counts.
  integer, parameter :: c_count = c_long_long, tutti_count_kind = c_count

  ! It begins as none.
  type, bind(C) :: tutti_team
    type(c_ptr) :: team = c_null_ptr
  end type tutti_team

  ! It begins as nothing that would have to be waited for.
  type, bind(C) :: tutti_request
    type(c_ptr) :: request = c_null_ptr
  end type tutti_request

  interface
    integer(c_int) function c_alloc(bytes, base) bind(C, name="TUTTI_Alloc")
      import :: c_int, c_intptr_t, c_ptr
      integer(c_intptr_t), value :: bytes
      type(c_ptr), intent(out) :: base
    end function c_alloc
    integer(c_int) function c_free(base) bind(C, name="TUTTI_Free")
      import :: c_int, c_ptr
      type(c_ptr), value :: base
    end function c_free
    integer(c_int) function c_handle(address, bytes, handle) bind(C, name="TUTTI_Peer_handle")
      import :: c_int, c_int64_t, c_intptr_t, c_ptr
      type(c_ptr), value :: address
      integer(c_intptr_t), value :: bytes
      integer(c_int64_t), intent(out) :: handle
    end function c_handle
    integer(c_int) function c_pointer(comm, rank, handle, bytes, found) bind(C, name="TUTTI_Peer_pointer_f")
      import :: c_int, c_int64_t, c_intptr_t, c_ptr
      integer(c_int), value :: comm, rank
      integer(c_int64_t), value :: handle
      integer(c_intptr_t), value :: bytes
      type(c_ptr), intent(out) :: found
    end function c_pointer
    integer(c_int) function c_give(block, bytes, rank, tag, comm) bind(C, name="TUTTI_Give_f")
      import :: c_int, c_intptr_t, c_ptr
      type(c_ptr), value :: block
      integer(c_intptr_t), value :: bytes
      integer(c_int), value :: rank, tag, comm
    end function c_give
    integer(c_int) function c_igive(block, bytes, rank, tag, comm, request) bind(C, name="TUTTI_Igive_f")
      import :: c_int, c_intptr_t, c_ptr, tutti_request
      type(c_ptr), value :: block
      integer(c_intptr_t), value :: bytes
      integer(c_int), value :: rank, tag, comm
      type(tutti_request), intent(out) :: request
    end function c_igive
    integer(c_int) function c_take(block, bytes, rank, tag, comm, where) bind(C, name="TUTTI_Take_f")
      import :: c_int, c_intptr_t, c_ptr
      type(c_ptr), intent(out) :: block
      integer(c_intptr_t), intent(out) :: bytes
      integer(c_int), value :: rank, tag, comm
      integer(c_int), intent(out) :: where(2)
    end function c_take
    integer(c_int) function c_itake(block, bytes, rank, tag, comm, request) bind(C, name="TUTTI_Itake_f")
      import :: c_int, c_intptr_t, c_ptr, tutti_request
      type(c_ptr), asynchronous :: block
      integer(c_intptr_t), asynchronous :: bytes
      integer(c_int), value :: rank, tag, comm
      type(tutti_request), intent(out) :: request
    end function c_itake
    integer(c_int) function c_wait(request, where) bind(C, name="TUTTI_Wait_f")
      import :: c_int, tutti_request
      type(tutti_request), intent(inout) :: request
      integer(c_int), intent(out) :: where(2)
    end function c_wait
    integer(c_int) function c_test(request, flag, where) bind(C, name="TUTTI_Test_f")
      import :: c_int, tutti_request
      type(tutti_request), intent(inout) :: request
      integer(c_int), intent(out) :: flag
      integer(c_int), intent(out) :: where(2)
    end function c_test
    integer(c_int) function c_team_create(comm, threads, team) bind(C, name="TUTTI_Team_create_f")
      import :: c_int, tutti_team
      integer(c_int), value :: comm, threads
      type(tutti_team), intent(out) :: team
    end function c_team_create
    integer(c_int) function c_team_free(team) bind(C, name="TUTTI_Team_free")
      import :: c_int, tutti_team
      type(tutti_team), intent(inout) :: team
    end function c_team_free
    integer(c_int) function c_team_attach(team, thread) bind(C, name="TUTTI_Team_attach")
      import :: c_int, tutti_team
      type(tutti_team), value :: team
      integer(c_int), value :: thread
    end function c_team_attach
    integer(c_int) function c_team_detach(team) bind(C, name="TUTTI_Team_detach")
      import :: c_int, tutti_team
      type(tutti_team), value :: team
    end function c_team_detach
    integer(c_int) function c_team_rank(team, rank) bind(C, name="TUTTI_Team_rank")
      import :: c_int, tutti_team
      type(tutti_team), value :: team
      integer(c_int), intent(out) :: rank
    end function c_team_rank
    integer(c_int) function c_team_size(team, ranks) bind(C, name="TUTTI_Team_size")
      import :: c_int, tutti_team
      type(tutti_team), value :: team
      integer(c_int), intent(out) :: ranks
    end function c_team_size
    integer(c_int) function c_team_barrier(team) bind(C, name="TUTTI_Team_barrier")
      import :: c_int, tutti_team
      type(tutti_team), value :: team
    end function c_team_barrier
    integer(c_int) function c_team_ibarrier(team, request) bind(C, name="TUTTI_Team_ibarrier")
      import :: c_int, tutti_request, tutti_team
      type(tutti_team), value :: team
      type(tutti_request), intent(out) :: request
    end function c_team_ibarrier
    type(c_ptr) function c_in_place() bind(C, name="TUTTI_In_place_f")
      import :: c_ptr
    end function c_in_place
    integer(c_int) function c_team_bcast(buffer, count, datatype, root, &
      team) &
      bind(C, name="TUTTI_Team_bcast_f")
      import :: c_count, c_int, c_ptr, tutti_team
      type(c_ptr), value :: buffer
      integer(c_count), value :: count
      integer(c_int), value :: datatype, root
      type(tutti_team), value :: team
    end function c_team_bcast
    integer(c_int) function c_team_ibcast(buffer, count, datatype, root, team, &
      request) &
      bind(C, name="TUTTI_Team_ibcast_f")
      import :: c_count, c_int, c_ptr, tutti_request, tutti_team
      type(c_ptr), value :: buffer
      integer(c_count), value :: count
      integer(c_int), value :: datatype, root
      type(tutti_team), value :: team
      type(tutti_request), intent(out) :: request
    end function c_team_ibcast
    integer(c_int) function c_team_reduce(sendbuf, recvbuf, count, datatype, op, root, &
      team) &
      bind(C, name="TUTTI_Team_reduce_f")
      import :: c_count, c_int, c_ptr, tutti_team
      type(c_ptr), value :: sendbuf, recvbuf
      integer(c_count), value :: count
      integer(c_int), value :: datatype, op, root
      type(tutti_team), value :: team
    end function c_team_reduce
    integer(c_int) function c_team_ireduce(sendbuf, recvbuf, count, datatype, op, root, team, &
      request) &
      bind(C, name="TUTTI_Team_ireduce_f")
      import :: c_count, c_int, c_ptr, tutti_request, tutti_team
      type(c_ptr), value :: sendbuf, recvbuf
      integer(c_count), value :: count
      integer(c_int), value :: datatype, op, root
      type(tutti_team), value :: team
      type(tutti_request), intent(out) :: request
    end function c_team_ireduce
    integer(c_int) function c_team_allreduce(sendbuf, recvbuf, count, datatype, op, &
      team) &
      bind(C, name="TUTTI_Team_allreduce_f")
      import :: c_count, c_int, c_ptr, tutti_team
      type(c_ptr), value :: sendbuf, recvbuf
      integer(c_count), value :: count
      integer(c_int), value :: datatype, op
      type(tutti_team), value :: team
    end function c_team_allreduce
    integer(c_int) function c_team_iallreduce(sendbuf, recvbuf, count, datatype, op, team, &
      request) &
      bind(C, name="TUTTI_Team_iallreduce_f")
      import :: c_count, c_int, c_ptr, tutti_request, tutti_team
      type(c_ptr), value :: sendbuf, recvbuf
      integer(c_count), value :: count
      integer(c_int), value :: datatype, op
      type(tutti_team), value :: team
      type(tutti_request), intent(out) :: request
    end function c_team_iallreduce
    integer(c_int) function c_team_reduce_scatter_block(sendbuf, recvbuf, recvcount, datatype, op, &
      team) &
      bind(C, name="TUTTI_Team_reduce_scatter_block_f")
      import :: c_count, c_int, c_ptr, tutti_team
      type(c_ptr), value :: sendbuf, recvbuf
      integer(c_count), value :: recvcount
      integer(c_int), value :: datatype, op
      type(tutti_team), value :: team
    end function c_team_reduce_scatter_block
    integer(c_int) function c_team_ireduce_scatter_block(sendbuf, recvbuf, recvcount, datatype, op, team, &
      request) &
      bind(C, name="TUTTI_Team_ireduce_scatter_block_f")
      import :: c_count, c_int, c_ptr, tutti_request, tutti_team
      type(c_ptr), value :: sendbuf, recvbuf
      integer(c_count), value :: recvcount
      integer(c_int), value :: datatype, op
      type(tutti_team), value :: team
      type(tutti_request), intent(out) :: request
    end function c_team_ireduce_scatter_block
    integer(c_int) function c_team_scan(sendbuf, recvbuf, count, datatype, op, &
      team) &
      bind(C, name="TUTTI_Team_scan_f")
      import :: c_count, c_int, c_ptr, tutti_team
      type(c_ptr), value :: sendbuf, recvbuf
      integer(c_count), value :: count
      integer(c_int), value :: datatype, op
      type(tutti_team), value :: team
    end function c_team_scan
    integer(c_int) function c_team_iscan(sendbuf, recvbuf, count, datatype, op, team, &
      request) &
      bind(C, name="TUTTI_Team_iscan_f")
      import :: c_count, c_int, c_ptr, tutti_request, tutti_team
      type(c_ptr), value :: sendbuf, recvbuf
      integer(c_count), value :: count
      integer(c_int), value :: datatype, op
      type(tutti_team), value :: team
      type(tutti_request), intent(out) :: request
    end function c_team_iscan
    integer(c_int) function c_team_exscan(sendbuf, recvbuf, count, datatype, op, &
      team) &
      bind(C, name="TUTTI_Team_exscan_f")
      import :: c_count, c_int, c_ptr, tutti_team
      type(c_ptr), value :: sendbuf, recvbuf
      integer(c_count), value :: count
      integer(c_int), value :: datatype, op
      type(tutti_team), value :: team
    end function c_team_exscan
    integer(c_int) function c_team_iexscan(sendbuf, recvbuf, count, datatype, op, team, &
      request) &
      bind(C, name="TUTTI_Team_iexscan_f")
      import :: c_count, c_int, c_ptr, tutti_request, tutti_team
      type(c_ptr), value :: sendbuf, recvbuf
      integer(c_count), value :: count
      integer(c_int), value :: datatype, op
      type(tutti_team), value :: team
      type(tutti_request), intent(out) :: request
    end function c_team_iexscan
    integer(c_int) function c_team_gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, &
      team) &
      bind(C, name="TUTTI_Team_gather_f")
      import :: c_count, c_int, c_ptr, tutti_team
      type(c_ptr), value :: sendbuf, recvbuf
      integer(c_count), value :: sendcount, recvcount
      integer(c_int), value :: sendtype, recvtype, root
      type(tutti_team), value :: team
    end function c_team_gather
    integer(c_int) function c_team_igather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, &
      team, request) &
      bind(C, name="TUTTI_Team_igather_f")
      import :: c_count, c_int, c_ptr, tutti_request, tutti_team
      type(c_ptr), value :: sendbuf, recvbuf
      integer(c_count), value :: sendcount, recvcount
      integer(c_int), value :: sendtype, recvtype, root
      type(tutti_team), value :: team
      type(tutti_request), intent(out) :: request
    end function c_team_igather
    integer(c_int) function c_team_gatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, &
      root, team) &
      bind(C, name="TUTTI_Team_gatherv_f")
      import :: c_count, c_int, c_ptr, tutti_team
      type(c_ptr), value :: sendbuf, recvbuf
      integer(c_count), value :: sendcount
      integer(c_int), value :: sendtype, recvtype, root
      integer(c_int), intent(in) :: recvcounts(*), displs(*)
      type(tutti_team), value :: team
    end function c_team_gatherv
    integer(c_int) function c_team_igatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
      recvtype, root, team, request) &
      bind(C, name="TUTTI_Team_igatherv_f")
      import :: c_count, c_int, c_ptr, tutti_request, tutti_team
      type(c_ptr), value :: sendbuf, recvbuf
      integer(c_count), value :: sendcount
      integer(c_int), value :: sendtype, recvtype, root
      integer(c_int), intent(in) :: recvcounts(*), displs(*)
      type(tutti_team), value :: team
      type(tutti_request), intent(out) :: request
    end function c_team_igatherv
    integer(c_int) function c_team_scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, &
      team) &
      bind(C, name="TUTTI_Team_scatter_f")
      import :: c_count, c_int, c_ptr, tutti_team
      type(c_ptr), value :: sendbuf, recvbuf
      integer(c_count), value :: sendcount, recvcount
      integer(c_int), value :: sendtype, recvtype, root
      type(tutti_team), value :: team
    end function c_team_scatter
    integer(c_int) function c_team_iscatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, &
      team, request) &
      bind(C, name="TUTTI_Team_iscatter_f")
      import :: c_count, c_int, c_ptr, tutti_request, tutti_team
      type(c_ptr), value :: sendbuf, recvbuf
      integer(c_count), value :: sendcount, recvcount
      integer(c_int), value :: sendtype, recvtype, root
      type(tutti_team), value :: team
      type(tutti_request), intent(out) :: request
    end function c_team_iscatter
    integer(c_int) function c_team_scatterv(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, &
      recvtype, root, team) &
      bind(C, name="TUTTI_Team_scatterv_f")
      import :: c_count, c_int, c_ptr, tutti_team
      type(c_ptr), value :: sendbuf, recvbuf
      integer(c_count), value :: recvcount
      integer(c_int), value :: sendtype, recvtype, root
      integer(c_int), intent(in) :: sendcounts(*), displs(*)
      type(tutti_team), value :: team
    end function c_team_scatterv
    integer(c_int) function c_team_iscatterv(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, &
      recvtype, root, team, request) &
      bind(C, name="TUTTI_Team_iscatterv_f")
      import :: c_count, c_int, c_ptr, tutti_request, tutti_team
      type(c_ptr), value :: sendbuf, recvbuf
      integer(c_count), value :: recvcount
      integer(c_int), value :: sendtype, recvtype, root
      integer(c_int), intent(in) :: sendcounts(*), displs(*)
      type(tutti_team), value :: team
      type(tutti_request), intent(out) :: request
    end function c_team_iscatterv
    integer(c_int) function c_team_allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
      team) &
      bind(C, name="TUTTI_Team_allgather_f")
      import :: c_count, c_int, c_ptr, tutti_team
      type(c_ptr), value :: sendbuf, recvbuf
      integer(c_count), value :: sendcount, recvcount
      integer(c_int), value :: sendtype, recvtype
      type(tutti_team), value :: team
    end function c_team_allgather
    integer(c_int) function c_team_iallgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, team, &
      request) &
      bind(C, name="TUTTI_Team_iallgather_f")
      import :: c_count, c_int, c_ptr, tutti_request, tutti_team
      type(c_ptr), value :: sendbuf, recvbuf
      integer(c_count), value :: sendcount, recvcount
      integer(c_int), value :: sendtype, recvtype
      type(tutti_team), value :: team
      type(tutti_request), intent(out) :: request
    end function c_team_iallgather
    integer(c_int) function c_team_allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
      recvtype, team) &
      bind(C, name="TUTTI_Team_allgatherv_f")
      import :: c_count, c_int, c_ptr, tutti_team
      type(c_ptr), value :: sendbuf, recvbuf
      integer(c_count), value :: sendcount
      integer(c_int), value :: sendtype, recvtype
      integer(c_int), intent(in) :: recvcounts(*), displs(*)
      type(tutti_team), value :: team
    end function c_team_allgatherv
    integer(c_int) function c_team_iallgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, &
      recvtype, team, request) &
      bind(C, name="TUTTI_Team_iallgatherv_f")
      import :: c_count, c_int, c_ptr, tutti_request, tutti_team
      type(c_ptr), value :: sendbuf, recvbuf
      integer(c_count), value :: sendcount
      integer(c_int), value :: sendtype, recvtype
      integer(c_int), intent(in) :: recvcounts(*), displs(*)
      type(tutti_team), value :: team
      type(tutti_request), intent(out) :: request
    end function c_team_iallgatherv
    integer(c_int) function c_team_alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, &
      team) &
      bind(C, name="TUTTI_Team_alltoall_f")
      import :: c_count, c_int, c_ptr, tutti_team
      type(c_ptr), value :: sendbuf, recvbuf
      integer(c_count), value :: sendcount, recvcount
      integer(c_int), value :: sendtype, recvtype
      type(tutti_team), value :: team
    end function c_team_alltoall
    integer(c_int) function c_team_ialltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, team, &
      request) &
      bind(C, name="TUTTI_Team_ialltoall_f")
      import :: c_count, c_int, c_ptr, tutti_request, tutti_team
      type(c_ptr), value :: sendbuf, recvbuf
      integer(c_count), value :: sendcount, recvcount
      integer(c_int), value :: sendtype, recvtype
      type(tutti_team), value :: team
      type(tutti_request), intent(out) :: request
    end function c_team_ialltoall
    integer(c_int) function c_team_alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, &
      rdispls, recvtype, team) &
      bind(C, name="TUTTI_Team_alltoallv_f")
      import :: c_count, c_int, c_ptr, tutti_team
      type(c_ptr), value :: sendbuf, recvbuf
      integer(c_int), value :: sendtype, recvtype
      integer(c_int), intent(in) :: sendcounts(*), sdispls(*), recvcounts(*), rdispls(*)
      type(tutti_team), value :: team
    end function c_team_alltoallv
    integer(c_int) function c_team_ialltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, &
      rdispls, recvtype, team, request) &
      bind(C, name="TUTTI_Team_ialltoallv_f")
      import :: c_count, c_int, c_ptr, tutti_request, tutti_team
      type(c_ptr), value :: sendbuf, recvbuf
      integer(c_int), value :: sendtype, recvtype
      integer(c_int), intent(in) :: sendcounts(*), sdispls(*), recvcounts(*), rdispls(*)
      type(tutti_team), value :: team
      type(tutti_request), intent(out) :: request
    end function c_team_ialltoallv
  end interface

contains

  subroutine tutti_alloc(bytes, base, ierror)
    integer(c_intptr_t), intent(in) :: bytes
    type(c_ptr), intent(out) :: base
    integer, optional, intent(out) :: ierror
    call tell(c_alloc(bytes, base), ierror)
  end subroutine tutti_alloc

  subroutine tutti_free(base, ierror)
    type(c_ptr), intent(in) :: base
    integer, optional, intent(out) :: ierror
    call tell(c_free(base), ierror)
  end subroutine tutti_free

  subroutine tutti_peer_handle(address, bytes, handle, ierror)
    type(c_ptr), intent(in) :: address
    integer(c_intptr_t), intent(in) :: bytes
    integer(c_int64_t), intent(out) :: handle
    integer, optional, intent(out) :: ierror
    call tell(c_handle(address, bytes, handle), ierror)
  end subroutine tutti_peer_handle

  ! found: c_null_ptr where there is no pointer.
  subroutine tutti_peer_pointer(comm, rank, handle, bytes, found, ierror)
    integer, intent(in) :: comm, rank
    integer(c_int64_t), intent(in) :: handle
    integer(c_intptr_t), intent(in) :: bytes
    type(c_ptr), intent(out) :: found
    integer, optional, intent(out) :: ierror
    call tell(c_pointer(comm, rank, handle, bytes, found), ierror)
  end subroutine tutti_peer_pointer

  subroutine tutti_give(block, bytes, rank, tag, comm, ierror)
    type(c_ptr), intent(in) :: block
    integer(c_intptr_t), intent(in) :: bytes
    integer, intent(in) :: rank, tag, comm
    integer, optional, intent(out) :: ierror
    call tell(c_give(block, bytes, rank, tag, comm), ierror)
  end subroutine tutti_give

  subroutine tutti_igive(block, bytes, rank, tag, comm, request, ierror)
    type(c_ptr), intent(in) :: block
    integer(c_intptr_t), intent(in) :: bytes
    integer, intent(in) :: rank, tag, comm
    type(tutti_request), intent(out) :: request
    integer, optional, intent(out) :: ierror
    call tell(c_igive(block, bytes, rank, tag, comm, request), ierror)
  end subroutine tutti_igive

  ! source, given_tag: of what has come.
  subroutine tutti_take(block, bytes, rank, tag, comm, source, given_tag, ierror)
    type(c_ptr), intent(out) :: block
    integer(c_intptr_t), intent(out) :: bytes
    integer, intent(in) :: rank, tag, comm
    integer, optional, intent(out) :: source, given_tag, ierror
    integer(c_int) :: where(2)
    call tell(c_take(block, bytes, rank, tag, comm, where), ierror)
    call tell_where(where, source, given_tag)
  end subroutine tutti_take

  ! block and bytes are set when it is over.
  subroutine tutti_itake(block, bytes, rank, tag, comm, request, ierror)
    type(c_ptr), asynchronous :: block
    integer(c_intptr_t), asynchronous :: bytes
    integer, intent(in) :: rank, tag, comm
    type(tutti_request), intent(out) :: request
    integer, optional, intent(out) :: ierror
    call tell(c_itake(block, bytes, rank, tag, comm, request), ierror)
  end subroutine tutti_itake

  subroutine tutti_wait(request, source, given_tag, ierror)
    type(tutti_request), intent(inout) :: request
    integer, optional, intent(out) :: source, given_tag, ierror
    integer(c_int) :: where(2)
    call tell(c_wait(request, where), ierror)
    call tell_where(where, source, given_tag)
  end subroutine tutti_wait

  subroutine tutti_test(request, flag, source, given_tag, ierror)
    type(tutti_request), intent(inout) :: request
    logical, intent(out) :: flag
    integer, optional, intent(out) :: source, given_tag, ierror
    integer(c_int) :: is_over, where(2)
    call tell(c_test(request, is_over, where), ierror)
    flag = is_over /= 0
    if (flag) call tell_where(where, source, given_tag)
  end subroutine tutti_test

  ! Where MPI has MPI_IN_PLACE.
  type(c_ptr) function tutti_in_place()
    tutti_in_place = c_in_place()
  end function tutti_in_place

  subroutine tutti_team_create(comm, threads, team, ierror)
    integer, intent(in) :: comm, threads
    type(tutti_team), intent(out) :: team
    integer, optional, intent(out) :: ierror
    call tell(c_team_create(comm, threads, team), ierror)
  end subroutine tutti_team_create

  subroutine tutti_team_free(team, ierror)
    type(tutti_team), intent(inout) :: team
    integer, optional, intent(out) :: ierror
    call tell(c_team_free(team), ierror)
  end subroutine tutti_team_free

  subroutine tutti_team_attach(team, thread, ierror)
    type(tutti_team), intent(in) :: team
    integer, intent(in) :: thread
    integer, optional, intent(out) :: ierror
    call tell(c_team_attach(team, thread), ierror)
  end subroutine tutti_team_attach

  subroutine tutti_team_detach(team, ierror)
    type(tutti_team), intent(in) :: team
    integer, optional, intent(out) :: ierror
    call tell(c_team_detach(team), ierror)
  end subroutine tutti_team_detach

  subroutine tutti_team_rank(team, rank, ierror)
    type(tutti_team), intent(in) :: team
    integer, intent(out) :: rank
    integer, optional, intent(out) :: ierror
    call tell(c_team_rank(team, rank), ierror)
  end subroutine tutti_team_rank

  subroutine tutti_team_size(team, ranks, ierror)
    type(tutti_team), intent(in) :: team
    integer, intent(out) :: ranks
    integer, optional, intent(out) :: ierror
    call tell(c_team_size(team, ranks), ierror)
  end subroutine tutti_team_size

  subroutine tutti_team_barrier(team, ierror)
    type(tutti_team), intent(in) :: team
    integer, optional, intent(out) :: ierror
    call tell(c_team_barrier(team), ierror)
  end subroutine tutti_team_barrier

  subroutine tutti_team_ibarrier(team, request, ierror)
    type(tutti_team), intent(in) :: team
    type(tutti_request), intent(out) :: request
    integer, optional, intent(out) :: ierror
    call tell(c_team_ibarrier(team, request), ierror)
  end subroutine tutti_team_ibarrier

  subroutine tutti_team_bcast(buffer, count, datatype, root, team, ierror)
    type(c_ptr), intent(in) :: buffer
    integer(c_count), intent(in) :: count
    integer, intent(in) :: datatype, root
    type(tutti_team), intent(in) :: team
    integer, optional, intent(out) :: ierror
    call tell(c_team_bcast(buffer, count, datatype, root, team), ierror)
  end subroutine tutti_team_bcast

  subroutine tutti_team_ibcast(buffer, count, datatype, root, team, request, ierror)
    type(c_ptr), intent(in) :: buffer
    integer(c_count), intent(in) :: count
    integer, intent(in) :: datatype, root
    type(tutti_team), intent(in) :: team
    type(tutti_request), intent(out) :: request
    integer, optional, intent(out) :: ierror
    call tell(c_team_ibcast(buffer, count, datatype, root, team, request), ierror)
  end subroutine tutti_team_ibcast

  subroutine tutti_team_reduce(sendbuf, recvbuf, count, datatype, op, root, team, ierror)
    type(c_ptr), intent(in) :: sendbuf, recvbuf
    integer(c_count), intent(in) :: count
    integer, intent(in) :: datatype, op, root
    type(tutti_team), intent(in) :: team
    integer, optional, intent(out) :: ierror
    call tell(c_team_reduce(sendbuf, recvbuf, count, datatype, op, root, team), ierror)
  end subroutine tutti_team_reduce

  subroutine tutti_team_ireduce(sendbuf, recvbuf, count, datatype, op, root, team, request, ierror)
    type(c_ptr), intent(in) :: sendbuf, recvbuf
    integer(c_count), intent(in) :: count
    integer, intent(in) :: datatype, op, root
    type(tutti_team), intent(in) :: team
    type(tutti_request), intent(out) :: request
    integer, optional, intent(out) :: ierror
    call tell(c_team_ireduce(sendbuf, recvbuf, count, datatype, op, root, team, request), ierror)
  end subroutine tutti_team_ireduce

  subroutine tutti_team_allreduce(sendbuf, recvbuf, count, datatype, op, team, ierror)
    type(c_ptr), intent(in) :: sendbuf, recvbuf
    integer(c_count), intent(in) :: count
    integer, intent(in) :: datatype, op
    type(tutti_team), intent(in) :: team
    integer, optional, intent(out) :: ierror
    call tell(c_team_allreduce(sendbuf, recvbuf, count, datatype, op, team), ierror)
  end subroutine tutti_team_allreduce

  subroutine tutti_team_iallreduce(sendbuf, recvbuf, count, datatype, op, team, request, ierror)
    type(c_ptr), intent(in) :: sendbuf, recvbuf
    integer(c_count), intent(in) :: count
    integer, intent(in) :: datatype, op
    type(tutti_team), intent(in) :: team
    type(tutti_request), intent(out) :: request
    integer, optional, intent(out) :: ierror
    call tell(c_team_iallreduce(sendbuf, recvbuf, count, datatype, op, team, request), ierror)
  end subroutine tutti_team_iallreduce

  subroutine tutti_team_reduce_scatter_block(sendbuf, recvbuf, recvcount, datatype, op, team, ierror)
    type(c_ptr), intent(in) :: sendbuf, recvbuf
    integer(c_count), intent(in) :: recvcount
    integer, intent(in) :: datatype, op
    type(tutti_team), intent(in) :: team
    integer, optional, intent(out) :: ierror
    call tell(c_team_reduce_scatter_block(sendbuf, recvbuf, recvcount, datatype, op, team), ierror)
  end subroutine tutti_team_reduce_scatter_block

  subroutine tutti_team_ireduce_scatter_block(sendbuf, recvbuf, recvcount, datatype, op, team, request, ierror)
    type(c_ptr), intent(in) :: sendbuf, recvbuf
    integer(c_count), intent(in) :: recvcount
    integer, intent(in) :: datatype, op
    type(tutti_team), intent(in) :: team
    type(tutti_request), intent(out) :: request
    integer, optional, intent(out) :: ierror
    call tell(c_team_ireduce_scatter_block(sendbuf, recvbuf, recvcount, datatype, op, team, request), ierror)
  end subroutine tutti_team_ireduce_scatter_block

  subroutine tutti_team_scan(sendbuf, recvbuf, count, datatype, op, team, ierror)
    type(c_ptr), intent(in) :: sendbuf, recvbuf
    integer(c_count), intent(in) :: count
    integer, intent(in) :: datatype, op
    type(tutti_team), intent(in) :: team
    integer, optional, intent(out) :: ierror
    call tell(c_team_scan(sendbuf, recvbuf, count, datatype, op, team), ierror)
  end subroutine tutti_team_scan

  subroutine tutti_team_iscan(sendbuf, recvbuf, count, datatype, op, team, request, ierror)
    type(c_ptr), intent(in) :: sendbuf, recvbuf
    integer(c_count), intent(in) :: count
    integer, intent(in) :: datatype, op
    type(tutti_team), intent(in) :: team
    type(tutti_request), intent(out) :: request
    integer, optional, intent(out) :: ierror
    call tell(c_team_iscan(sendbuf, recvbuf, count, datatype, op, team, request), ierror)
  end subroutine tutti_team_iscan

  subroutine tutti_team_exscan(sendbuf, recvbuf, count, datatype, op, team, ierror)
    type(c_ptr), intent(in) :: sendbuf, recvbuf
    integer(c_count), intent(in) :: count
    integer, intent(in) :: datatype, op
    type(tutti_team), intent(in) :: team
    integer, optional, intent(out) :: ierror
    call tell(c_team_exscan(sendbuf, recvbuf, count, datatype, op, team), ierror)
  end subroutine tutti_team_exscan

  subroutine tutti_team_iexscan(sendbuf, recvbuf, count, datatype, op, team, request, ierror)
    type(c_ptr), intent(in) :: sendbuf, recvbuf
    integer(c_count), intent(in) :: count
    integer, intent(in) :: datatype, op
    type(tutti_team), intent(in) :: team
    type(tutti_request), intent(out) :: request
    integer, optional, intent(out) :: ierror
    call tell(c_team_iexscan(sendbuf, recvbuf, count, datatype, op, team, request), ierror)
  end subroutine tutti_team_iexscan

  subroutine tutti_team_gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, team, ierror)
    type(c_ptr), intent(in) :: sendbuf, recvbuf
    integer(c_count), intent(in) :: sendcount, recvcount
    integer, intent(in) :: sendtype, recvtype, root
    type(tutti_team), intent(in) :: team
    integer, optional, intent(out) :: ierror
    call tell(c_team_gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, team), ierror)
  end subroutine tutti_team_gather

  subroutine tutti_team_igather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, team, &
    request, ierror)
    type(c_ptr), intent(in) :: sendbuf, recvbuf
    integer(c_count), intent(in) :: sendcount, recvcount
    integer, intent(in) :: sendtype, recvtype, root
    type(tutti_team), intent(in) :: team
    type(tutti_request), intent(out) :: request
    integer, optional, intent(out) :: ierror
    call tell(c_team_igather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, team, &
      request), ierror)
  end subroutine tutti_team_igather

  subroutine tutti_team_gatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, &
    team, ierror)
    type(c_ptr), intent(in) :: sendbuf, recvbuf
    integer(c_count), intent(in) :: sendcount
    integer, intent(in) :: sendtype, recvtype, root
    integer(c_int), intent(in) :: recvcounts(*), displs(*)
    type(tutti_team), intent(in) :: team
    integer, optional, intent(out) :: ierror
    call tell(c_team_gatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, &
      team), ierror)
  end subroutine tutti_team_gatherv

  subroutine tutti_team_igatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, &
    team, request, ierror)
    type(c_ptr), intent(in) :: sendbuf, recvbuf
    integer(c_count), intent(in) :: sendcount
    integer, intent(in) :: sendtype, recvtype, root
    integer(c_int), intent(in) :: recvcounts(*), displs(*)
    type(tutti_team), intent(in) :: team
    type(tutti_request), intent(out) :: request
    integer, optional, intent(out) :: ierror
    call tell(c_team_igatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, team, &
      request), ierror)
  end subroutine tutti_team_igatherv

  subroutine tutti_team_scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, team, ierror)
    type(c_ptr), intent(in) :: sendbuf, recvbuf
    integer(c_count), intent(in) :: sendcount, recvcount
    integer, intent(in) :: sendtype, recvtype, root
    type(tutti_team), intent(in) :: team
    integer, optional, intent(out) :: ierror
    call tell(c_team_scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, team), ierror)
  end subroutine tutti_team_scatter

  subroutine tutti_team_iscatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, team, &
    request, ierror)
    type(c_ptr), intent(in) :: sendbuf, recvbuf
    integer(c_count), intent(in) :: sendcount, recvcount
    integer, intent(in) :: sendtype, recvtype, root
    type(tutti_team), intent(in) :: team
    type(tutti_request), intent(out) :: request
    integer, optional, intent(out) :: ierror
    call tell(c_team_iscatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, team, &
      request), ierror)
  end subroutine tutti_team_iscatter

  subroutine tutti_team_scatterv(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, &
    team, ierror)
    type(c_ptr), intent(in) :: sendbuf, recvbuf
    integer(c_count), intent(in) :: recvcount
    integer, intent(in) :: sendtype, recvtype, root
    integer(c_int), intent(in) :: sendcounts(*), displs(*)
    type(tutti_team), intent(in) :: team
    integer, optional, intent(out) :: ierror
    call tell(c_team_scatterv(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, &
      team), ierror)
  end subroutine tutti_team_scatterv

  subroutine tutti_team_iscatterv(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, &
    team, request, ierror)
    type(c_ptr), intent(in) :: sendbuf, recvbuf
    integer(c_count), intent(in) :: recvcount
    integer, intent(in) :: sendtype, recvtype, root
    integer(c_int), intent(in) :: sendcounts(*), displs(*)
    type(tutti_team), intent(in) :: team
    type(tutti_request), intent(out) :: request
    integer, optional, intent(out) :: ierror
    call tell(c_team_iscatterv(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, team, &
      request), ierror)
  end subroutine tutti_team_iscatterv

  subroutine tutti_team_allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, team, ierror)
    type(c_ptr), intent(in) :: sendbuf, recvbuf
    integer(c_count), intent(in) :: sendcount, recvcount
    integer, intent(in) :: sendtype, recvtype
    type(tutti_team), intent(in) :: team
    integer, optional, intent(out) :: ierror
    call tell(c_team_allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, team), ierror)
  end subroutine tutti_team_allgather

  subroutine tutti_team_iallgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, team, request, &
    ierror)
    type(c_ptr), intent(in) :: sendbuf, recvbuf
    integer(c_count), intent(in) :: sendcount, recvcount
    integer, intent(in) :: sendtype, recvtype
    type(tutti_team), intent(in) :: team
    type(tutti_request), intent(out) :: request
    integer, optional, intent(out) :: ierror
    call tell(c_team_iallgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, team, request), ierror)
  end subroutine tutti_team_iallgather

  subroutine tutti_team_allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, team, &
    ierror)
    type(c_ptr), intent(in) :: sendbuf, recvbuf
    integer(c_count), intent(in) :: sendcount
    integer, intent(in) :: sendtype, recvtype
    integer(c_int), intent(in) :: recvcounts(*), displs(*)
    type(tutti_team), intent(in) :: team
    integer, optional, intent(out) :: ierror
    call tell(c_team_allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, team), ierror)
  end subroutine tutti_team_allgatherv

  subroutine tutti_team_iallgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, team, &
    request, ierror)
    type(c_ptr), intent(in) :: sendbuf, recvbuf
    integer(c_count), intent(in) :: sendcount
    integer, intent(in) :: sendtype, recvtype
    integer(c_int), intent(in) :: recvcounts(*), displs(*)
    type(tutti_team), intent(in) :: team
    type(tutti_request), intent(out) :: request
    integer, optional, intent(out) :: ierror
    call tell(c_team_iallgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, team, &
      request), ierror)
  end subroutine tutti_team_iallgatherv

  subroutine tutti_team_alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, team, ierror)
    type(c_ptr), intent(in) :: sendbuf, recvbuf
    integer(c_count), intent(in) :: sendcount, recvcount
    integer, intent(in) :: sendtype, recvtype
    type(tutti_team), intent(in) :: team
    integer, optional, intent(out) :: ierror
    call tell(c_team_alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, team), ierror)
  end subroutine tutti_team_alltoall

  subroutine tutti_team_ialltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, team, request, ierror)
    type(c_ptr), intent(in) :: sendbuf, recvbuf
    integer(c_count), intent(in) :: sendcount, recvcount
    integer, intent(in) :: sendtype, recvtype
    type(tutti_team), intent(in) :: team
    type(tutti_request), intent(out) :: request
    integer, optional, intent(out) :: ierror
    call tell(c_team_ialltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, team, request), ierror)
  end subroutine tutti_team_ialltoall

  subroutine tutti_team_alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, &
    recvtype, team, ierror)
    type(c_ptr), intent(in) :: sendbuf, recvbuf
    integer, intent(in) :: sendtype, recvtype
    integer(c_int), intent(in) :: sendcounts(*), sdispls(*), recvcounts(*), rdispls(*)
    type(tutti_team), intent(in) :: team
    integer, optional, intent(out) :: ierror
    call tell(c_team_alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, &
      team), ierror)
  end subroutine tutti_team_alltoallv

  subroutine tutti_team_ialltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, &
    recvtype, team, request, ierror)
    type(c_ptr), intent(in) :: sendbuf, recvbuf
    integer, intent(in) :: sendtype, recvtype
    integer(c_int), intent(in) :: sendcounts(*), sdispls(*), recvcounts(*), rdispls(*)
    type(tutti_team), intent(in) :: team
    type(tutti_request), intent(out) :: request
    integer, optional, intent(out) :: ierror
    call tell(c_team_ialltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, &
      team, request), ierror)
  end subroutine tutti_team_ialltoallv

  subroutine tell(code, ierror)
    integer(c_int), intent(in) :: code
    integer, optional, intent(out) :: ierror
    if (present(ierror)) ierror = code
  end subroutine tell

  subroutine tell_where(where, source, given_tag)
    integer(c_int), intent(in) :: where(2)
    integer, optional, intent(out) :: source, given_tag
    if (present(source)) source = where(1)
    if (present(given_tag)) given_tag = where(2)
  end subroutine tell_where

end module tutti
