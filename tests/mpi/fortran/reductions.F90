! Operators on Fortran's types.
#include "bindings.h"
#define REDUCED(send, receive, type, op, expected) call note('allreduce'); call MPI_Allreduce(send, receive, size(send), type, op, MPI_COMM_WORLD IERR); call expect(all(receive .eq. (expected)), 'op on type'); call record(transfer(receive, [0]))
#define AGREED(send, receive, type, op, expected) call note('allreduce'); call MPI_Allreduce(send, receive, size(send), type, op, MPI_COMM_WORLD IERR); call expect(all(receive .eqv. (expected)), 'op on type'); call record(merge(1, 0, receive))
module tutti_reductions
  use tutti_support
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: operators_on_numbers, operators_on_logicals, places_of_extremes, operators_of_the_program, forms_of_reductions, &
    sums_that_round

contains

  subroutine operators_on_numbers()
    call integers(1)
    call integers(3000)
    call reals(1)
    call reals(3000)
    call complexes(700)
  end subroutine operators_on_numbers

  subroutine integers(n)
    integer, intent(in) :: n
    integer :: a(n), b(n), c(n), i
    integer(int64) :: d(n), e(n), f(n)
    c = [(i, i = 1, n)]
    a = c + me
    REDUCED(a, b, MPI_INTEGER, MPI_SUM, ranks * c + rank_sum())
    REDUCED(a, b, MPI_INTEGER, MPI_MAX, c + ranks - 1)
    REDUCED(a, b, MPI_INTEGER, MPI_MIN, c)
    a = 2 ** me
    REDUCED(a, b, MPI_INTEGER, MPI_PROD, 2 ** rank_sum())
    REDUCED(a, b, MPI_INTEGER, MPI_BOR, 2 ** ranks - 1)
    REDUCED(a, b, MPI_INTEGER, MPI_BXOR, 2 ** ranks - 1)
    a = 255 - 2 ** me
    REDUCED(a, b, MPI_INTEGER, MPI_BAND, 255 - (2 ** ranks - 1))
    ! More than an integer holds.
    f = [(i * 4294967296_int64, i = 1, n)]
    d = f + me
    REDUCED(d, e, MPI_INTEGER8, MPI_SUM, ranks * f + rank_sum())
    REDUCED(d, e, MPI_INTEGER8, MPI_MAX, f + ranks - 1)
  end subroutine integers

  subroutine reals(n)
    integer, intent(in) :: n
    integer :: i
    real(real32) :: a(n), b(n), c(n)
    real(real64) :: d(n), e(n), f(n)
    c = [(i, i = 1, n)] / 2.0
    f = c
    a = c + me
    d = f + me
    REDUCED(a, b, MPI_REAL, MPI_SUM, ranks * c + rank_sum())
    REDUCED(a, b, MPI_REAL, MPI_MIN, c)
    REDUCED(a, b, MPI_REAL4, MPI_MAX, c + ranks - 1)
    REDUCED(d, e, MPI_DOUBLE_PRECISION, MPI_SUM, ranks * f + rank_sum())
    REDUCED(d, e, MPI_DOUBLE_PRECISION, MPI_MAX, f + ranks - 1)
    REDUCED(d, e, MPI_REAL8, MPI_MIN, f)
  end subroutine reals

  subroutine complexes(n)
    integer, intent(in) :: n
    complex(real32) :: a(n), b(n)
    complex(real64) :: d(n), e(n)
    a = cmplx(me, 1)
    d = cmplx(1, me, kind=real64)
    REDUCED(a, b, MPI_COMPLEX, MPI_SUM, cmplx(rank_sum(), ranks))
    REDUCED(d, e, MPI_DOUBLE_COMPLEX, MPI_SUM, cmplx(ranks, rank_sum(), kind=real64))
    a = (0.0, 1.0)
    REDUCED(a, b, MPI_COMPLEX, MPI_PROD, (0.0, 1.0) ** ranks)
  end subroutine complexes

  subroutine operators_on_logicals()
    logical :: a(9), b(9)
    integer :: i
    a = [(mod(i, ranks) == me, i = 0, 8)]
    AGREED(a, b, MPI_LOGICAL, MPI_LOR, .true.)
    AGREED(a, b, MPI_LOGICAL, MPI_LAND, .false.)
    AGREED(a, b, MPI_LOGICAL, MPI_LXOR, .true.)
    a = .true.
    AGREED(a, b, MPI_LOGICAL, MPI_LAND, .true.)
  end subroutine operators_on_logicals

  ! Pairs of equal types, the second of which is the place.
  subroutine places_of_extremes()
    integer :: a(2, 40), b(2, 40)
    real(real32) :: c(2, 40), d(2, 40)
    real(real64) :: e(2, 40), f(2, 40)
    a(1, :) = 10 - me
    a(2, :) = me
    c = real(a)
    e = a
    call note('allreduce')
    call MPI_Allreduce(a, b, 40, MPI_2INTEGER, MPI_MINLOC, MPI_COMM_WORLD IERR)
    call expect(all(b(1, :) == 11 - ranks) .and. all(b(2, :) == ranks - 1), 'MPI_MINLOC on MPI_2INTEGER')
    call record(transfer(b, [0]))
    call note('allreduce')
    call MPI_Allreduce(c, d, 40, MPI_2REAL, MPI_MAXLOC, MPI_COMM_WORLD IERR)
    call expect(all(nint(d(1, :)) == 10) .and. all(nint(d(2, :)) == 0), 'MPI_MAXLOC on MPI_2REAL')
    call record(transfer(d, [0]))
    call note('allreduce')
    call MPI_Allreduce(e, f, 40, MPI_2DOUBLE_PRECISION, MPI_MINLOC, MPI_COMM_WORLD IERR)
    call expect(all(nint(f(1, :)) == 11 - ranks) .and. all(nint(f(2, :)) == ranks - 1), &
      'MPI_MINLOC on MPI_2DOUBLE_PRECISION')
    call record(transfer(f, [0]))
  end subroutine places_of_extremes

  ! An affine map after another one, which does not commute. Elements are pairs: x -> first * x + second.
  subroutine followed_by(left, right, pairs)
    integer, intent(in) :: pairs, left(2, pairs)
    integer, intent(inout) :: right(2, pairs)
    integer :: i
    do i = 1, pairs
      right(:, i) = [left(1, i) * right(1, i), left(2, i) * right(1, i) + right(2, i)]
    end do
  end subroutine followed_by

#ifdef TUTTI_F08
  subroutine compose(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    TYPE_T :: datatype
    integer, pointer :: left(:, :), right(:, :)
    call c_f_pointer(invec, left, [2, len])
    call c_f_pointer(inoutvec, right, [2, len])
    call expect(datatype /= MPI_DATATYPE_NULL, 'type that an operator gets')
    call followed_by(left, right, len)
  end subroutine compose
#else
  subroutine compose(invec, inoutvec, len, datatype)
    integer :: len, datatype
    integer :: invec(2, len), inoutvec(2, len)
    call expect(datatype /= MPI_DATATYPE_NULL, 'type that an operator gets')
    call followed_by(invec, inoutvec, len)
  end subroutine compose
#endif

  ! The maps of ranks 0 to last, one after the other.
  function composed(last) result(map)
    integer, intent(in) :: last
    integer :: map(2), rank, next(2)
    map = [2, 0]
    do rank = 1, last
      next = [2, rank]
      call followed_by(map, next, 1)
      map = next
    end do
  end function composed

  subroutine operators_of_the_program()
    integer, parameter :: n = 300
    integer :: a(2, n), b(2, n), i
    TYPE_T :: pair
    OP_T :: op
    call MPI_Type_contiguous(2, MPI_INTEGER, pair IERR)
    call MPI_Type_commit(pair IERR)
    call MPI_Op_create(compose, .false., op IERR)
    a(1, :) = 2
    a(2, :) = me
    call note('allreduce')
    call MPI_Allreduce(a, b, n, pair, op, MPI_COMM_WORLD IERR)
    call expect(all([(all(b(:, i) == composed(ranks - 1)), i = 1, n)]), 'Allreduce with an operator of the program')
    call record(transfer(b, [0]))
    call note('scan')
    call MPI_Scan(a, b, n, pair, op, MPI_COMM_WORLD IERR)
    call expect(all([(all(b(:, i) == composed(me)), i = 1, n)]), 'Scan with an operator of the program')
    call record(transfer(b, [0]))
    call MPI_Op_free(op IERR)
    call MPI_Type_free(pair IERR)
  end subroutine operators_of_the_program

  subroutine forms_of_reductions()
    call to_one_and_scans(5)
    call to_one_and_scans(6000)
    call scattered(4)
    call scattered(2500)
  end subroutine forms_of_reductions

  subroutine to_one_and_scans(n)
    integer, intent(in) :: n
    real(real64) :: a(n), b(n)
    integer :: root
    do root = 0, ranks - 1
      a = me + 1
      b = -1
      call note('reduce')
      call MPI_Reduce(a, b, n, MPI_DOUBLE_PRECISION, MPI_SUM, root, MPI_COMM_WORLD IERR)
      call expect(all(nint(b) == merge(rank_sum() + ranks, -1, me == root)), 'Reduce')
      call record(transfer(b, [0]))
      ! With MPICH 4.0 itself this ends in a segmentation fault for long arrays on other roots.
      if (n > 1000 .and. root > 0) cycle
      call note('reduce')
      if (me == root) then
        call MPI_Reduce(MPI_IN_PLACE, a, n, MPI_DOUBLE_PRECISION, MPI_SUM, root, MPI_COMM_WORLD IERR)
      else
        call MPI_Reduce(a, b, n, MPI_DOUBLE_PRECISION, MPI_SUM, root, MPI_COMM_WORLD IERR)
      end if
      call expect(all(nint(a) == merge(rank_sum() + ranks, me + 1, me == root)), 'Reduce in place')
      call record(transfer(a, [0]))
    end do
    a = me + 1
    call note('allreduce')
    call MPI_Allreduce(MPI_IN_PLACE, a, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD IERR)
    call expect(all(nint(a) == rank_sum() + ranks), 'Allreduce in place')
    call record(transfer(a, [0]))
    a = me + 1
    call note('scan')
    call MPI_Scan(a, b, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD IERR)
    call expect(all(nint(b) == (me + 1) * (me + 2) / 2), 'Scan')
    call record(transfer(b, [0]))
    b = -1
    call note('exscan')
    call MPI_Exscan(a, b, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD IERR)
    call expect(all(nint(b) == merge(-1, me * (me + 1) / 2, me == 0)), 'Exscan')
    call record(transfer(b, [0]))
    call note('scan')
    call MPI_Scan(MPI_IN_PLACE, a, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD IERR)
    call expect(all(nint(a) == (me + 1) * (me + 2) / 2), 'Scan in place')
    call record(transfer(a, [0]))
    call MPI_Reduce_local(b, a, n, MPI_DOUBLE_PRECISION, MPI_MAX IERR)
    call expect(all(nint(a) == (me + 1) * (me + 2) / 2), 'Reduce_local')
    call record(transfer(a, [0]))
  end subroutine to_one_and_scans

  subroutine scattered(n)
    integer, intent(in) :: n
    integer :: a(n * ranks), b(n), counts(ranks), i
    a = [((me + 1) * i, i = 1, n * ranks)]
    counts = n
    call note('reduce_scatter_block')
    call MPI_Reduce_scatter_block(a, b, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD IERR)
    call expect(all(b == [((rank_sum() + ranks) * (me * n + i), i = 1, n)]), 'Reduce_scatter_block')
    call record(transfer(b, [0]))
    call note('reduce_scatter')
    call MPI_Reduce_scatter(a, b, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD IERR)
    call expect(all(b == [((rank_sum() + ranks) * (me * n + i), i = 1, n)]), 'Reduce_scatter')
    call record(transfer(b, [0]))
    call note('reduce_scatter')
    call MPI_Reduce_scatter(MPI_IN_PLACE, a, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD IERR)
    call expect(all(a(1:n) == b), 'Reduce_scatter in place')
    call record(transfer(a(1:n), [0]))
  end subroutine scattered

  ! Sums that depend on the order beyond two ranks.
  subroutine sums_that_round()
    integer, parameter :: n = 5000
    real(real64) :: a(n), b(n), c(n)
    integer :: i, rank
    c = 0
    do rank = 0, ranks - 1
      a = [(1 / (i + rank + 0.5_real64), i = 1, n)]
      c = c + a
    end do
    a = [(1 / (i + me + 0.5_real64), i = 1, n)]
    call note('allreduce')
    call MPI_Allreduce(a, b, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD IERR)
    call expect(all(abs(b - c) <= 1e-14_real64 * c), 'sums that are rounded')
    if (ranks == 2) call record(transfer(b, [0]))
  end subroutine sums_that_round

end module tutti_reductions
