! Threads of OpenMP as ranks, from Fortran.
program teams
  use, intrinsic :: iso_c_binding, only: c_loc, c_ptr
#if defined(TUTTI_F08)
  use mpi_f08
#elif defined(TUTTI_MPI)
  use mpi
#endif
  use tutti
  implicit none
#if defined(TUTTI_MPIF)
  include "mpif.h"
#endif
  integer, parameter :: n = 1000, threads = 2
  integer :: world, real_type, sum_of, provided, rank, ranks, thread, wrong, all_wrong, ierror
  type(tutti_team) :: team

  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierror)
#if defined(TUTTI_F08)
  world = MPI_COMM_WORLD%MPI_VAL
  real_type = MPI_DOUBLE_PRECISION%MPI_VAL
  sum_of = MPI_SUM%MPI_VAL
#else
  world = MPI_COMM_WORLD
  real_type = MPI_DOUBLE_PRECISION
  sum_of = MPI_SUM
#endif
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  wrong = 0
  call tutti_team_create(world, threads, team, ierror)
  if (ierror /= MPI_SUCCESS) wrong = wrong + 1
  !$omp parallel do num_threads(threads) schedule(static, 1) reduction(+:wrong)
  do thread = 0, threads - 1
    wrong = wrong + wrong_of(thread)
  end do
  call tutti_team_free(team)
  call MPI_Reduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierror)
  if (rank == 0) print "(i0, a)", ranks, " ranks: " // merge("all is right ", "some is wrong", all_wrong == 0)
  call MPI_Finalize(ierror)

contains

  integer function wrong_of(thread)
    integer, intent(in) :: thread
    double precision, target :: mine(n), theirs(n), gathered(n * threads * 64)
    integer, target :: counts(threads * 64), places(threads * 64)
    type(tutti_request) :: request
    integer :: me, all, i, root
    wrong_of = 0
    call tutti_team_attach(team, thread)
    call tutti_team_rank(team, me)
    call tutti_team_size(team, all)
    if (all /= threads * ranks .or. me /= rank * threads + thread) wrong_of = wrong_of + 1
    do root = 0, all - 1
      mine = [(dble(me * n + i), i = 1, n)]
      call tutti_team_allreduce(c_loc(mine), c_loc(theirs), int(n, tutti_count_kind), real_type, sum_of, team)
      if (theirs(n) /= dble(all * (all - 1) / 2) * n + dble(all) * n) wrong_of = wrong_of + 1
      call tutti_team_iallreduce(tutti_in_place(), c_loc(theirs), 1_tutti_count_kind, real_type, sum_of, team, request)
      call tutti_team_bcast(c_loc(mine), int(n, tutti_count_kind), real_type, root, team)
      if (mine(1) /= dble(root * n + 1)) wrong_of = wrong_of + 1
      call tutti_wait(request)
      if (theirs(1) /= dble(all) * (dble(all * (all - 1) / 2) * n + dble(all))) wrong_of = wrong_of + 1
      counts(1:all) = [(mod(i, 3) * 7, i = 1, all)]
      places(1:all) = [((i - 1) * n, i = 1, all)]
      mine = dble(me)
      gathered = -1
      call tutti_team_gatherv(c_loc(mine), int(counts(me + 1), tutti_count_kind), real_type, c_loc(gathered), counts, places, &
                              real_type, root, team)
      if (me == root) then
        do i = 1, all
          if (counts(i) == 0) cycle
          if (gathered(places(i) + counts(i)) /= dble(i - 1) .or. gathered(places(i) + counts(i) + 1) /= -1) &
            wrong_of = wrong_of + 1
        end do
      end if
      call tutti_team_barrier(team)
    end do
    call tutti_team_detach(team)
  end function wrong_of

end program teams
