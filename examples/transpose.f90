! The transpose of a matrix whose columns are spread over the ranks, again and again, as Fourier transforms of several
! dimensions need it: one Alltoall each time. The third word says where the arrays are: heap, common (a COMMON block) or
! stack, for which gfortran needs an option.
!
!     mpifort -O2 -fstack-arrays -o transpose examples/transpose.f90 && tutti run mpirun -n 2 ./transpose 512 2000 common
program transpose_by_blocks
  use mpi_f08
  implicit none
  ! Of the COMMON block, for matrices of up to 1024.
  integer, parameter :: most = 1024 * 1024
  double precision :: static_matrix(most), static_packed(most), static_got(most)
  common /matrices/ static_matrix, static_packed, static_got
  integer :: rank, ranks, n, times, width
  character(len=20) :: arrays

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  n = number_given(1, 512)
  times = number_given(2, 2000)
  call get_command_argument(3, arrays)
  if (mod(n, ranks) /= 0) error stop 'the size must be a multiple of the number of ranks'

  width = n / ranks
  select case (arrays)
  case ('', 'heap')
    call transpose_on_heap()
  case ('common')
    if (n * width > most) error stop 'too large for the COMMON block'
    call transpose_often(static_matrix, static_packed, static_got)
  case ('stack')
    call transpose_on_stack()
  case default
    error stop 'arrays may be heap, common or stack'
  end select
  call MPI_Finalize()

contains

  integer function number_given(argument, otherwise)
    integer, intent(in) :: argument, otherwise
    character(len=20) :: word
    call get_command_argument(argument, word)
    number_given = otherwise
    if (word /= '') read (word, *) number_given
  end function number_given

  subroutine transpose_on_heap()
    double precision, allocatable :: matrix(:, :), packed(:, :, :), got(:, :, :)
    allocate(matrix(n, width), packed(width, width, ranks), got(width, width, ranks))
    call transpose_often(matrix, packed, got)
  end subroutine transpose_on_heap

  subroutine transpose_on_stack()
    double precision :: matrix(n, width), packed(width, width, ranks), got(width, width, ranks)
    call transpose_often(matrix, packed, got)
  end subroutine transpose_on_stack

  subroutine transpose_often(matrix, packed, got)
    double precision, intent(inout) :: matrix(n, width), packed(width, width, ranks), got(width, width, ranks)
    double precision :: started, seconds
    integer :: time, block, i, j
    logical :: right
    do j = 1, width
      do i = 1, n
        matrix(i, j) = i + 10000 * (rank * width + j)
      end do
    end do

    call MPI_Barrier(MPI_COMM_WORLD)
    started = MPI_Wtime()
    do time = 1, times
      do block = 1, ranks
        packed(:, :, block) = transpose(matrix((block - 1) * width + 1:block * width, :))
      end do
      call MPI_Alltoall(packed, width * width, MPI_DOUBLE_PRECISION, got, width * width, MPI_DOUBLE_PRECISION, &
        MPI_COMM_WORLD)
      do block = 1, ranks
        matrix((block - 1) * width + 1:block * width, :) = got(:, :, block)
      end do
    end do
    seconds = MPI_Wtime() - started

    right = .true.
    do j = 1, width
      do i = 1, n
        if (mod(times, 2) == 0) right = right .and. nint(matrix(i, j)) == i + 10000 * (rank * width + j)
        if (mod(times, 2) == 1) right = right .and. nint(matrix(i, j)) == rank * width + j + 10000 * i
      end do
    end do
    call MPI_Allreduce(MPI_IN_PLACE, right, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD)
    if (rank == 0) print '(a, f8.3, 2a)', 'seconds: ', seconds, ', ', merge('right', 'wrong', right)
  end subroutine transpose_often
end program transpose_by_blocks
