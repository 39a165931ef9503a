! Memory with gaps, derived types, absolute addresses, and memory of the MPI.
#include "bindings.h"
module tutti_layouts
  use tutti_support
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: slices_of_arrays, derived_types, absolute_addresses, texts, memory_of_the_mpi

  type, bind(c) :: particle
    integer(c_int) :: number
    real(c_double) :: place(3)
    integer(c_int8_t) :: charge
  end type particle

contains

  ! What the binding or the compiler makes of them. Between their elements nothing changes.
  subroutine slices_of_arrays()
    call slices(40)
    call slices(8000)
  end subroutine slices_of_arrays

  subroutine slices(n)
    integer, intent(in) :: n
    integer :: a(2 * n), b(3 * n), i
    integer :: all_of(n, ranks)
    a = -7
    if (me == 0) a(1::2) = [(i, i = 1, n)]
    call note('bcast')
    call MPI_Bcast(a(1::2), n, MPI_INTEGER, 0, MPI_COMM_WORLD IERR)
    call expect(all(a(1::2) == [(i, i = 1, n)]) .and. all(a(2::2) == -7), 'Bcast of a slice')
    call record(transfer(a, [0]))
    ! Bindings that make derived types of slices have no operators for them.
    if (.not. MPI_SUBARRAYS_SUPPORTED) then
      b = -8
      call note('allreduce')
      call MPI_Allreduce(a(1:2 * n:2), b(2::3), n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD IERR)
      call expect(all(b(2::3) == ranks * [(i, i = 1, n)]) .and. all(b(1::3) == -8) .and. all(b(3::3) == -8), &
        'Allreduce from a slice to a slice')
      call record(transfer(b, [0]))
    end if
    call note('allgather')
    call MPI_Allgather(a(2 * n - 1:1:-2), n, MPI_INTEGER, all_of, n, MPI_INTEGER, MPI_COMM_WORLD IERR)
    call expect(all(all_of == spread([(n + 1 - i, i = 1, n)], 2, ranks)), 'Allgather of a slice that is turned round')
    call record(transfer(all_of, [0]))
  end subroutine slices

  subroutine derived_types()
    integer, parameter :: n = 60
    real(real64) :: matrix(n, n), other(n, n)
    type(particle) :: some(n)
    TYPE_T :: row, particles, plain
    integer(MPI_ADDRESS_KIND) :: places(3), extent, lower
    integer :: i
    ! A row of a matrix that is stored by columns.
    call MPI_Type_vector(n, 1, n, MPI_DOUBLE_PRECISION, plain IERR)
    extent = 8
    lower = 0
    call MPI_Type_create_resized(plain, lower, extent, row IERR)
    call MPI_Type_commit(row IERR)
    matrix = me
    call note('bcast')
    call MPI_Bcast(matrix(2, 1), 1, row, ranks - 1, MPI_COMM_WORLD IERR)
    call expect(all(nint(matrix(2, :)) == ranks - 1) .and. all(nint(matrix(3:, :)) == me), 'Bcast of a row')
    call record(transfer(matrix, [0]))
    ! By rows on one side, by columns on the other.
    matrix = reshape([(real(i, real64), i = 1, n * n)], [n, n])
    other = 0
    call note('alltoall')
    call MPI_Alltoall(matrix, n * (n / ranks), MPI_DOUBLE_PRECISION, other, n / ranks, row, MPI_COMM_WORLD IERR)
    call expect(all(other(1:n / ranks, :) == transpose(matrix(:, me * (n / ranks) + 1:(me + 1) * (n / ranks)))), &
      'Alltoall that transposes')
    call record(transfer(other(1:n / ranks, :), [0]))
    call MPI_Type_free(row IERR)
    call MPI_Type_free(plain IERR)
    call MPI_Get_address(some(1)%number, places(1) IERR)
    call MPI_Get_address(some(1)%place, places(2) IERR)
    call MPI_Get_address(some(1)%charge, places(3) IERR)
    places = places - places(1)
    call MPI_Type_create_struct(3, [1, 3, 1], places, [MPI_INTEGER, MPI_DOUBLE_PRECISION, MPI_INTEGER1], plain IERR)
    extent = storage_size(some) / 8
    call MPI_Type_create_resized(plain, lower, extent, particles IERR)
    call MPI_Type_commit(particles IERR)
    some = particle(me, [me, me, me], int(me, c_int8_t))
    call note('bcast')
    call MPI_Bcast(some(1)%number, n, particles, 0, MPI_COMM_WORLD IERR)
    call expect(all(some%number == 0) .and. all(some%charge == 0) .and. all(nint(some(n)%place) == 0), &
      'Bcast of a derived type')
    call record(some%number)
    call MPI_Type_free(particles IERR)
    call MPI_Type_free(plain IERR)
  end subroutine derived_types

  ! Two arrays in one message, from MPI_BOTTOM.
  subroutine absolute_addresses()
    integer, asynchronous :: a(30)
    real(real64), asynchronous :: b(500)
    integer(MPI_ADDRESS_KIND) :: places(2)
    TYPE_T :: both
    a = me
    b = me
    call MPI_Get_address(a, places(1) IERR)
    call MPI_Get_address(b, places(2) IERR)
    call MPI_Type_create_struct(2, [30, 500], places, [MPI_INTEGER, MPI_DOUBLE_PRECISION], both IERR)
    call MPI_Type_commit(both IERR)
    call note('bcast')
    call MPI_Bcast(MPI_BOTTOM, 1, both, ranks - 1, MPI_COMM_WORLD IERR)
    call expect(all(a == ranks - 1) .and. all(nint(b) == ranks - 1), 'Bcast from MPI_BOTTOM')
    call record(transfer(a, [0]))
    call record(transfer(b, [0]))
    call MPI_Type_free(both IERR)
  end subroutine absolute_addresses

  subroutine texts()
    character(len=100) :: line
    character(len=8) :: words(ranks)
    line = 'nothing'
    if (me == 0) line = 'said by rank 0'
    call note('bcast')
    call MPI_Bcast(line, len(line), MPI_CHARACTER, 0, MPI_COMM_WORLD IERR)
    call expect(line == 'said by rank 0', 'Bcast of a text')
    call record(transfer(line, [0]))
    write (line, '(a, i1)') 'rank ', me
    call note('allgather')
    call MPI_Allgather(line, 8, MPI_CHARACTER, words, 8, MPI_CHARACTER, MPI_COMM_WORLD IERR)
    call expect(words(ranks)(1:5) == 'rank ' .and. words(1) == 'rank 0', 'Allgather of texts')
    call record(transfer(words, [0]))
  end subroutine texts

  subroutine memory_of_the_mpi()
#ifndef TUTTI_MPIF
    integer, parameter :: n = 50000
    integer(MPI_ADDRESS_KIND), parameter :: bytes = 4 * n
    type(c_ptr) :: block
    integer, pointer :: a(:)
    call MPI_Alloc_mem(bytes, MPI_INFO_NULL, block IERR)
    call c_f_pointer(block, a, [n])
    a = me
    call note('bcast')
    call MPI_Bcast(a, n, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD IERR)
    call expect(all(a == ranks - 1), 'Bcast of memory of the MPI')
    call record(transfer(a, [0]))
    call MPI_Free_mem(a IERR)
#endif
  end subroutine memory_of_the_mpi

end module tutti_layouts
