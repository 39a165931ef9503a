! Types of 16 bytes, which C does not have.
#include "bindings.h"
module tutti_wide_types
  use tutti_support
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: types_of_fortran_alone, integers_of_16_bytes

  integer, parameter :: huge_kind = selected_int_kind(36)

contains

  ! Types that C does not have: what only moves is carried out, what is computed is the host's, if it can do so at all.
  ! What comes out is its own business, too (MPICH and Open MPI take 16 bytes for C's long double).
  subroutine types_of_fortran_alone()
    integer, parameter :: quad = selected_real_kind(30), n = 20
    real(quad) :: a(n)
    complex(quad) :: c(n)
    integer(huge_kind) :: d(n)
    a = merge(1, 0, me == 0) / 3.0_quad
    c = cmplx(a, 1, quad)
    d = 10_huge_kind**30 + me
    call one_type(transfer(a, [0]), n, MPI_REAL16)
    call one_type(transfer(c, [0]), n, MPI_COMPLEX32)
    call one_type(transfer(d, [0]), n, MPI_INTEGER16)
  end subroutine types_of_fortran_alone

  ! The type's values as words. Hosts have it or not: then there is an error, the same without the library.
  subroutine one_type(values, n, datatype)
    integer, intent(in) :: values(:), n
    TYPE_T, intent(in) :: datatype
    integer :: a(size(values)), b(size(values)), code
    COMM_T :: own
    call MPI_Comm_dup(MPI_COMM_WORLD, own IERR)
    call MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN IERR)
    a = values
    call MPI_Bcast(a, n, datatype, 0, own, code)
    call record_error(code)
    if (code == MPI_SUCCESS) then
      call note('bcast')
      call record(a)
    end if
    a = values
    b = 0
    call MPI_Allreduce(a, b, n, datatype, MPI_SUM, own, code)
    call record_error(code)
    if (code == MPI_SUCCESS) then
      call note('allreduce', unknown_type)
      call record(b)
    end if
    call MPI_Scan(a, b, n, datatype, MPI_SUM, own, code)
    call record_error(code)
    if (code == MPI_SUCCESS) then
      call note('scan', unknown_type)
      call record(b)
    end if
    call MPI_Comm_free(own IERR)
  end subroutine one_type

  ! Programs that need integer(16) where the host has no such type describe it, and add up by an operator of their own.
  subroutine integers_of_16_bytes()
    integer, parameter :: n = 200
    integer(huge_kind) :: a(n), b(n)
    integer :: i
    TYPE_T :: sixteen
    OP_T :: op
    call MPI_Type_contiguous(2, MPI_INTEGER8, sixteen IERR)
    call MPI_Type_commit(sixteen IERR)
    call MPI_Op_create(add_huge, .true., op IERR)
    a = [(10_huge_kind**30 * i + me, i = 1, n)]
    call note('allreduce')
    call MPI_Allreduce(a, b, n, sixteen, op, MPI_COMM_WORLD IERR)
    call expect(all(b == [(10_huge_kind**30 * i * ranks + rank_sum(), i = 1, n)]), 'Allreduce of integer(16)')
    call record(transfer(b, [0]))
    call note('bcast')
    call MPI_Bcast(a, n, sixteen, ranks - 1, MPI_COMM_WORLD IERR)
    call expect(all(a == [(10_huge_kind**30 * i + ranks - 1, i = 1, n)]), 'Bcast of integer(16)')
    call record(transfer(a, [0]))
    call MPI_Op_free(op IERR)
    call MPI_Type_free(sixteen IERR)
  end subroutine integers_of_16_bytes

#ifdef TUTTI_F08
  subroutine add_huge(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    TYPE_T :: datatype
    integer(huge_kind), pointer :: left(:), right(:)
    call c_f_pointer(invec, left, [len])
    call c_f_pointer(inoutvec, right, [len])
    call expect(datatype /= MPI_DATATYPE_NULL, 'type that an operator gets')
    right = left + right
  end subroutine add_huge
#else
  subroutine add_huge(invec, inoutvec, len, datatype)
    integer :: len, datatype
    integer(huge_kind) :: invec(len), inoutvec(len)
    call expect(datatype /= MPI_DATATYPE_NULL, 'type that an operator gets')
    inoutvec = invec + inoutvec
  end subroutine add_huge
#endif

end module tutti_wide_types
