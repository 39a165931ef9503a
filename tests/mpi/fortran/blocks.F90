! Collectives of blocks, and of one buffer without an operator.
#include "bindings.h"
module tutti_blocks
  use tutti_support
  implicit none
  private
  public :: blocks_of_equal_sizes, blocks_of_different_sizes, blocks_in_place, blocks_of_different_types, large_blocks

contains

  ! What rank `from` sends as its element `at` to rank `to`.
  elemental integer function element(from, to, at)
    integer, intent(in) :: from, to, at
    element = 10000 * from + 1000 * to + mod(at, 1000)
  end function element

  subroutine blocks_of_equal_sizes()
    call equal_sizes(1)
    call equal_sizes(77)
    call equal_sizes(9000)
  end subroutine blocks_of_equal_sizes

  subroutine equal_sizes(n)
    integer, intent(in) :: n
    integer :: one(n), all_of(n, ranks), got(n, ranks), i, r, root
    root = ranks - 1
    one = [(element(me, 0, i), i = 1, n)]
    do r = 1, ranks
      all_of(:, r) = [(element(r - 1, 0, i), i = 1, n)]
    end do
    got = -1
    call note('gather')
    call MPI_Gather(one, n, MPI_INTEGER, got, n, MPI_INTEGER, root, MPI_COMM_WORLD IERR)
    if (me == root) call expect(all(got == all_of), 'Gather')
    call record(transfer(got, [0]))
    call note('allgather')
    call MPI_Allgather(one, n, MPI_INTEGER, got, n, MPI_INTEGER, MPI_COMM_WORLD IERR)
    call expect(all(got == all_of), 'Allgather')
    call record(transfer(got, [0]))
    call note('scatter')
    call MPI_Scatter(all_of, n, MPI_INTEGER, one, n, MPI_INTEGER, root, MPI_COMM_WORLD IERR)
    call expect(all(one == all_of(:, me + 1)), 'Scatter')
    call record(transfer(one, [0]))
    do r = 1, ranks
      all_of(:, r) = [(element(me, r - 1, i), i = 1, n)]
    end do
    call note('alltoall')
    call MPI_Alltoall(all_of, n, MPI_INTEGER, got, n, MPI_INTEGER, MPI_COMM_WORLD IERR)
    do r = 1, ranks
      call expect(all(got(:, r) == [(element(r - 1, me, i), i = 1, n)]), 'Alltoall')
      call record(transfer(got(:, r), [0]))
    end do
    one = merge(one, -1, me == root)
    call note('bcast')
    call MPI_Bcast(one, n, MPI_INTEGER, root, MPI_COMM_WORLD IERR)
    call expect(all(one == [(element(root, 0, i), i = 1, n)]), 'Bcast')
    call record(transfer(one, [0]))
    call note('barrier')
    call MPI_Barrier(MPI_COMM_WORLD IERR)
  end subroutine equal_sizes

  subroutine blocks_of_different_sizes()
    call different_sizes(1)
    call different_sizes(2000)
  end subroutine blocks_of_different_sizes

  ! Rank r has r + 1 units; displacements leave room between blocks.
  subroutine different_sizes(unit)
    integer, intent(in) :: unit
    integer :: counts(ranks), displs(ranks), i, r, mine
    integer, allocatable :: own(:), all_of(:), got(:)
    counts = [(unit * r, r = 1, ranks)]
    displs = [(unit * ranks * (r - 1), r = 1, ranks)]
    mine = counts(me + 1)
    allocate(own(mine), all_of(unit * ranks * ranks), got(unit * ranks * ranks))
    own = [(element(me, 0, i), i = 1, mine)]
    got = -1
    all_of = -1
    do r = 1, ranks
      all_of(displs(r) + 1:displs(r) + counts(r)) = [(element(r - 1, 0, i), i = 1, counts(r))]
    end do
    call note('gatherv')
    call MPI_Gatherv(own, mine, MPI_INTEGER, got, counts, displs, MPI_INTEGER, 0, MPI_COMM_WORLD IERR)
    if (me == 0) call expect(all(got == all_of), 'Gatherv')
    call record(transfer(got, [0]))
    got = -1
    call note('allgatherv')
    call MPI_Allgatherv(own, mine, MPI_INTEGER, got, counts, displs, MPI_INTEGER, MPI_COMM_WORLD IERR)
    call expect(all(got == all_of), 'Allgatherv')
    call record(transfer(got, [0]))
    own = -1
    call note('scatterv')
    call MPI_Scatterv(all_of, counts, displs, MPI_INTEGER, own, mine, MPI_INTEGER, 0, MPI_COMM_WORLD IERR)
    call expect(all(own == [(element(me, 0, i), i = 1, mine)]), 'Scatterv')
    call record(transfer(own, [0]))
    ! To rank r go as many as that has.
    do r = 1, ranks
      all_of(displs(r) + 1:displs(r) + counts(r)) = [(element(me, r - 1, i), i = 1, counts(r))]
    end do
    got = -1
    call note('alltoallv')
    call MPI_Alltoallv(all_of, counts, displs, MPI_INTEGER, got, spread(mine, 1, ranks), displs, MPI_INTEGER, &
      MPI_COMM_WORLD IERR)
    do r = 1, ranks
      call expect(all(got(displs(r) + 1:displs(r) + mine) == [(element(r - 1, me, i), i = 1, mine)]), 'Alltoallv')
      call record(transfer(got(displs(r) + 1:displs(r) + mine), [0]))
    end do
  end subroutine different_sizes

  subroutine blocks_in_place()
    integer, parameter :: n = 600
    integer :: a(n, ranks), b(n, ranks), counts(ranks), displs(ranks), i, r
    do r = 1, ranks
      b(:, r) = [(element(r - 1, 0, i), i = 1, n)]
    end do
    counts = n
    displs = [((r - 1) * n, r = 1, ranks)]
    a = merge(b, -1, spread([(r == me + 1, r = 1, ranks)], 1, n))
    call note('allgather')
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, a, n, MPI_INTEGER, MPI_COMM_WORLD IERR)
    call expect(all(a == b), 'Allgather in place')
    call record(transfer(a, [0]))
    a = merge(b, -1, spread([(r == me + 1, r = 1, ranks)], 1, n))
    call note('allgatherv')
    call MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, a, counts, displs, MPI_INTEGER, MPI_COMM_WORLD IERR)
    call expect(all(a == b), 'Allgatherv in place')
    call record(transfer(a, [0]))
    a = merge(b, -1, spread([(r == me + 1, r = 1, ranks)], 1, n))
    call note('gather')
    if (me == 0) then
      call MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, a, n, MPI_INTEGER, 0, MPI_COMM_WORLD IERR)
      call expect(all(a == b), 'Gather in place')
      call record(transfer(a, [0]))
    else
      call MPI_Gather(a(:, me + 1), n, MPI_INTEGER, a, n, MPI_INTEGER, 0, MPI_COMM_WORLD IERR)
    end if
    call note('scatter')
    if (me == 0) then
      call MPI_Scatter(b, n, MPI_INTEGER, MPI_IN_PLACE, n, MPI_INTEGER, 0, MPI_COMM_WORLD IERR)
    else
      call MPI_Scatter(b, n, MPI_INTEGER, a(:, 1), n, MPI_INTEGER, 0, MPI_COMM_WORLD IERR)
    end if
    call expect(all(a(:, 1) == b(:, me + 1)), 'Scatter in place')
    call record(transfer(a(:, 1), [0]))
    do r = 1, ranks
      a(:, r) = [(element(me, r - 1, i), i = 1, n)]
      b(:, r) = [(element(r - 1, me, i), i = 1, n)]
    end do
    call note('alltoall')
    call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, a, n, MPI_INTEGER, MPI_COMM_WORLD IERR)
    call expect(all(a == b), 'Alltoall in place')
    call record(transfer(a, [0]))
    do r = 1, ranks
      a(:, r) = [(element(me, r - 1, i), i = 1, n)]
    end do
    call note('alltoallv')
    call MPI_Alltoallv(MPI_IN_PLACE, counts, displs, MPI_DATATYPE_NULL, a, counts, displs, MPI_INTEGER, &
      MPI_COMM_WORLD IERR)
    call expect(all(a == b), 'Alltoallv in place')
    call record(transfer(a, [0]))
  end subroutine blocks_in_place

  ! Integers to the ranks with even numbers, reals to the others; a type for each block, and places in bytes.
  subroutine blocks_of_different_types()
    integer, parameter :: n = 50
    integer :: sent(n, ranks), got(n, ranks), counts(ranks), displs(ranks), i, r
    TYPE_T :: to(ranks), from(ranks)
    counts = n
    displs = [(4 * n * (r - 1), r = 1, ranks)]
    do r = 1, ranks
      if (mod(r, 2) == 1) then
        to(r) = MPI_INTEGER
        sent(:, r) = [(element(me, r - 1, i), i = 1, n)]
      else
        to(r) = MPI_REAL
        sent(:, r) = transfer([(real(element(me, r - 1, i)), i = 1, n)], sent(:, r))
      end if
      from(r) = MPI_INTEGER
      if (mod(me, 2) == 1) from(r) = MPI_REAL
    end do
    call note('alltoallw')
    call MPI_Alltoallw(sent, counts, displs, to, got, counts, displs, from, MPI_COMM_WORLD IERR)
    call record(transfer(got, [0]))
    do r = 1, ranks
      if (mod(me, 2) == 0) then
        call expect(all(got(:, r) == [(element(r - 1, me, i), i = 1, n)]), 'Alltoallw, integers')
      else
        call expect(all(nint(transfer(got(:, r), [0.0])) == [(element(r - 1, me, i), i = 1, n)]), 'Alltoallw, reals')
      end if
    end do
  end subroutine blocks_of_different_types

  ! In static memory, on the heap, and where the compiler puts it.
  subroutine large_blocks()
    integer, parameter :: n = 200000
    real(real64), save :: fixed(n)
    real(real64), allocatable :: made(:)
    real(real64) :: automatic(ranks * 10000)
    allocate(made(n))
    fixed = me
    call note('bcast')
    call MPI_Bcast(fixed, n, MPI_DOUBLE_PRECISION, ranks - 1, MPI_COMM_WORLD IERR)
    call expect(all(nint(fixed) == ranks - 1), 'Bcast of static memory')
    call record(transfer(fixed, [0]))
    call note('allreduce')
    call MPI_Allreduce(fixed, made, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD IERR)
    call expect(all(nint(made) == ranks * (ranks - 1)), 'Allreduce from static memory')
    call record(transfer(made, [0]))
    automatic = me
    call note('alltoall')
    call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, automatic, 10000, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD IERR)
    call expect(nint(sum(automatic)) == 10000 * rank_sum(), 'Alltoall of an automatic array')
    call record(transfer(automatic, [0]))
    call note('allgather')
    call MPI_Allgather(automatic, 10000, MPI_DOUBLE_PRECISION, made, 10000, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD IERR)
    call expect(nint(made(1)) == 0, 'Allgather of an automatic array')
  end subroutine large_blocks

end module tutti_blocks
