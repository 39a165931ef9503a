! Does a program in Fortran gain by Tutti what one in C gains? Bcast and Allreduce, called in Fortran (mpi_f08) and in C,
! each through Tutti and by the host's own functions: four that take turns in one process, in an order drawn anew each
! time. A turn is two calls, of which the second counts, from a common start; before each call those who send write
! other data, after it all ranks check what they got; and the slowest rank counts.
!
!     compare SECONDS LARGEST-BYTES
!
! SECONDS: how long each size is measured. Prints a line a size: collective, bytes, samples, whether all was right, and of
! Fortran by the host, Fortran through Tutti, C by the host, C through Tutti in microseconds the mean of the middle half,
! the ends of its 95 % confidence interval, and the median. At last how many calls went through Tutti, on each rank.
program compare
  use mpi_f08
  use, intrinsic :: iso_c_binding, only: c_double, c_int, c_int64_t
  use tutti_from_c
  implicit none

  integer, parameter :: runners = 4, samples_max = 20000, warm_ups = 3, rounds_at_once = 10
  ! Of the runners.
  logical, parameter :: in_fortran(runners) = [.true., .true., .false., .false.]
  integer(c_int), parameter :: way(runners) = [0, 1, 0, 1]

  integer :: rank, ranks, bytes, largest
  real(c_double) :: seconds
  logical :: right = .true.
  integer :: made = 0
  real(c_double), allocatable :: send(:), receive(:), samples(:, :), slowest(:)
  integer(c_int64_t) :: salt = 0, drawn = 20261

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  seconds = number_given(1, 1d0)
  largest = nint(number_given(2, 2d0**21))
  if (begin_comparing() == 0) then
    if (rank == 0) print '(a)', 'there is nothing to compare: Tutti is not loaded, or the host cannot be found'
    call MPI_Abort(MPI_COMM_WORLD, 2)
  end if
  allocate(samples(samples_max, runners), slowest(samples_max))
  call measure_all('bcast')
  call measure_all('allreduce')
  if (rank == 0) print '(a, i0)', 'CALLS ', made
  call end_comparing()
  call MPI_Finalize()

contains

  real(c_double) function number_given(argument, otherwise)
    integer, intent(in) :: argument
    real(c_double), intent(in) :: otherwise
    character(len=20) :: word
    call get_command_argument(argument, word)
    number_given = otherwise
    if (word /= '') read (word, *) number_given
  end function number_given

  subroutine measure_all(collective)
    character(len=*), intent(in) :: collective
    bytes = 8
    do while (bytes <= largest)
      call measure(collective, bytes / 8)
      bytes = 8 * bytes
    end do
  end subroutine measure_all

  subroutine measure(collective, n)
    character(len=*), intent(in) :: collective
    integer, intent(in) :: n
    integer :: done, round, at, order(runners)
    real(c_double) :: began, middles(4, runners)
    logical :: all_right
    allocate(send(n), receive(n))
    done = -warm_ups
    right = .true.
    began = MPI_Wtime()
    do while (goes_on(done, began))
      do round = 1, rounds_at_once
        order = drawn_order()
        done = done + 1
        do at = 1, runners
          call take_turn(collective, n, order(at), done)
        end do
      end do
    end do
    do at = 1, runners
      call MPI_Reduce(samples(:, at), slowest, done, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD)
      call middle_of(slowest, done, middles(:, at))
    end do
    call MPI_Reduce(right, all_right, 1, MPI_LOGICAL, MPI_LAND, 0, MPI_COMM_WORLD)
    if (rank == 0) print '(2a, 2(1x, i0), 1x, l1, 16(1x, f0.4))', 'CELL ', collective, 8 * n, done, all_right, middles
    deallocate(send, receive)
  end subroutine measure

  ! The clock of rank 0 decides, so that all stop at the same call.
  logical function goes_on(done, began)
    integer, intent(in) :: done
    real(c_double), intent(in) :: began
    goes_on = done <= 0 .or. (MPI_Wtime() - began < seconds .and. done + rounds_at_once <= samples_max)
    call MPI_Bcast(goes_on, 1, MPI_LOGICAL, 0, MPI_COMM_WORLD)
  end function goes_on

  ! The same on all ranks.
  function drawn_order() result(order)
    integer :: order(runners), at, other, kept
    order = [1, 2, 3, 4]
    do at = runners, 2, -1
      drawn = mod(drawn * 1103515245_c_int64_t + 12345_c_int64_t, 2147483648_c_int64_t)
      other = 1 + int(mod(drawn / 65536_c_int64_t, int(at, c_int64_t)))
      kept = order(at)
      order(at) = order(other)
      order(other) = kept
    end do
  end function drawn_order

  ! place: of the sample; what is done before the first one does not count.
  subroutine take_turn(collective, n, runner, place)
    character(len=*), intent(in) :: collective
    integer, intent(in) :: n, runner, place
    real(c_double) :: us
    call take_way(way(runner))
    us = timed(collective, n, runner, .false.)
    us = timed(collective, n, runner, .true.)
    if (place > 0) samples(place, runner) = us
    made = made + 2 * way(runner)
    call take_way(0)
  end subroutine take_turn

  real(c_double) function timed(collective, n, runner, from_start)
    character(len=*), intent(in) :: collective
    integer, intent(in) :: n, runner
    logical, intent(in) :: from_start
    integer(c_int64_t) :: begin, end
    salt = salt + 1
    if (collective == 'bcast') then
      if (rank == 0) call write_to(receive)
      if (from_start) call wait_for_start()
      call time_bcast(n, in_fortran(runner), begin, end)
      right = right .and. holds(receive, 1, 0)
    else
      call write_to(send)
      if (from_start) call wait_for_start()
      call time_allreduce(n, in_fortran(runner), begin, end)
      right = right .and. holds(receive, ranks, ranks * (ranks - 1) / 2)
    end if
    timed = us_between(begin, end)
  end function timed

  ! Whole numbers, so that sums are exact in any order.
  subroutine write_to(buffer)
    real(c_double), intent(out) :: buffer(:)
    integer :: i
    do i = 1, size(buffer)
      buffer(i) = real(salt + i + rank, c_double)
    end do
  end subroutine write_to

  ! What was written by `times` ranks, whose numbers add up to `added`.
  logical function holds(buffer, times, added)
    real(c_double), intent(in) :: buffer(:)
    integer, intent(in) :: times, added
    integer :: i, wrong
    wrong = 0
    do i = 1, size(buffer)
      if (buffer(i) /= real(times * (salt + i) + added, c_double)) wrong = wrong + 1
    end do
    holds = wrong == 0
  end function holds

  subroutine time_bcast(n, fortran, begin, end)
    integer, intent(in) :: n
    logical, intent(in) :: fortran
    integer(c_int64_t), intent(out) :: begin, end
    if (fortran) then
      begin = ticks()
      call MPI_Bcast(receive, n, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD)
      end = ticks()
    else
      call bcast_in_c(receive, n, begin, end)
    end if
  end subroutine time_bcast

  subroutine time_allreduce(n, fortran, begin, end)
    integer, intent(in) :: n
    logical, intent(in) :: fortran
    integer(c_int64_t), intent(out) :: begin, end
    if (fortran) then
      begin = ticks()
      call MPI_Allreduce(send, receive, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
      end = ticks()
    else
      call allreduce_in_c(send, receive, n, begin, end)
    end if
  end subroutine time_allreduce

end program compare
