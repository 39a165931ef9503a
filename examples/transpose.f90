! The transpose of a matrix whose columns are spread over the ranks, again and again, as Fourier transforms of several
! dimensions need it: one Alltoall each time.
!
!     mpifort -O2 -o transpose examples/transpose.f90 && tutti run mpirun -n 2 ./transpose 512 2000
program transpose_by_blocks
  use mpi_f08
  implicit none
  integer :: rank, ranks, n, times, width, time, block, i, j
  double precision, allocatable :: matrix(:, :), packed(:, :, :), got(:, :, :)
  double precision :: started, seconds
  logical :: right
  character(len=20) :: word

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  n = 512
  times = 2000
  call get_command_argument(1, word)
  if (word /= '') read (word, *) n
  call get_command_argument(2, word)
  if (word /= '') read (word, *) times
  if (mod(n, ranks) /= 0) error stop 'the size must be a multiple of the number of ranks'

  width = n / ranks
  allocate(matrix(n, width), packed(width, width, ranks), got(width, width, ranks))
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
    call MPI_Alltoall(packed, width * width, MPI_DOUBLE_PRECISION, got, width * width, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD)
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
  call MPI_Finalize()
end program transpose_by_blocks
