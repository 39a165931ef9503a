! Pointers to the memory of neighbours, and blocks that are handed over without a copy, for programs in Fortran
! (docs/pointers.md; tutti.h says what each function does).
!
! Compile this file with the program, and link with libtutti-comm as programs in C do. Communicators are integers: those of
! "use mpi" and mpif.h as they are, those of mpi_f08 by their component MPI_VAL. Memory is a type(c_ptr), of which
! c_f_pointer makes an array. As in MPI an error ends the program, or comes in ierror where the communicator's error handler
! returns.
module tutti
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_intptr_t, c_ptr, c_null_ptr
  implicit none
  private
  public :: tutti_address_kind, tutti_handle_kind, tutti_request
  public :: tutti_alloc, tutti_free, tutti_peer_handle, tutti_peer_pointer
  public :: tutti_give, tutti_take, tutti_igive, tutti_itake, tutti_wait, tutti_test

  ! As MPI_ADDRESS_KIND; and of what a rank tells about its memory, an MPI_INTEGER8.
  integer, parameter :: tutti_address_kind = c_intptr_t, tutti_handle_kind = c_int64_t

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
