! Heat in a square, by Jacobi's method: each step exchanges rows with the neighbours, and asks of all ranks how much has
! changed. Rows of the square are spread over the ranks. The third word says where the arrays are: heap, common (a COMMON
! block) or stack, for which gfortran needs an option.
!
!     mpifort -O2 -fstack-arrays -o stencil examples/stencil.f90 && tutti run mpirun -n 2 ./stencil 128 20000 common
program stencil
  use mpi
  implicit none
  ! Of the COMMON block, for squares of up to 1024.
  integer, parameter :: most = 1026 * 1026
  double precision :: static_old(most), static_new(most)
  common /square/ static_old, static_new
  integer :: ierror, rank, ranks, above, below, n, steps, rows
  character(len=20) :: arrays

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  n = number_given(1, 128)
  steps = number_given(2, 20000)
  call get_command_argument(3, arrays)

  rows = n / ranks
  if (rank < mod(n, ranks)) rows = rows + 1
  above = merge(rank - 1, MPI_PROC_NULL, rank > 0)
  below = merge(rank + 1, MPI_PROC_NULL, rank < ranks - 1)
  select case (arrays)
  case ('', 'heap')
    call solve_on_heap()
  case ('common')
    if ((n + 2) * (rows + 2) > most) error stop 'too large for the COMMON block'
    call solve(static_old, static_new)
  case ('stack')
    call solve_on_stack()
  case default
    error stop 'arrays may be heap, common or stack'
  end select
  call MPI_Finalize(ierror)

contains

  integer function number_given(argument, otherwise)
    integer, intent(in) :: argument, otherwise
    character(len=20) :: word
    call get_command_argument(argument, word)
    number_given = otherwise
    if (word /= '') read (word, *) number_given
  end function number_given

  subroutine solve_on_heap()
    double precision, allocatable :: old(:, :), new(:, :)
    allocate(old(0:n + 1, 0:rows + 1), new(0:n + 1, 0:rows + 1))
    call solve(old, new)
  end subroutine solve_on_heap

  subroutine solve_on_stack()
    double precision :: old(0:n + 1, 0:rows + 1), new(0:n + 1, 0:rows + 1)
    call solve(old, new)
  end subroutine solve_on_stack

  ! By columns in memory, so that a row of the square is one piece.
  subroutine solve(old, new)
    double precision, intent(inout) :: old(0:n + 1, 0:rows + 1), new(0:n + 1, 0:rows + 1)
    double precision :: change, all_changes, started, seconds
    integer :: step, i, j
    old = 0
    if (rank == 0) old(:, 0) = 100
    new = old

    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    started = MPI_Wtime()
    do step = 1, steps
      call MPI_Sendrecv(old(:, 1), n + 2, MPI_DOUBLE_PRECISION, above, 1, old(:, rows + 1), n + 2, MPI_DOUBLE_PRECISION, &
        below, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
      call MPI_Sendrecv(old(:, rows), n + 2, MPI_DOUBLE_PRECISION, below, 2, old(:, 0), n + 2, MPI_DOUBLE_PRECISION, above, &
        2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
      change = 0
      do j = 1, rows
        do i = 1, n
          new(i, j) = 0.25d0 * (old(i - 1, j) + old(i + 1, j) + old(i, j - 1) + old(i, j + 1))
          change = change + (new(i, j) - old(i, j))**2
        end do
      end do
      call MPI_Allreduce(change, all_changes, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror)
      old(1:n, 1:rows) = new(1:n, 1:rows)
      if (all_changes < 1d-12) exit
    end do
    seconds = MPI_Wtime() - started
    if (rank == 0) print '(a, f8.3, a, es12.5)', 'seconds: ', seconds, ', last change: ', sqrt(all_changes)
  end subroutine solve
end program stencil
