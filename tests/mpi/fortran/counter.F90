! A profiler for Fortran: it counts calls and hands them to the second names of the subroutines.
subroutine MPI_Allreduce(sendbuf, recvbuf, count, datatype, op, comm, ierror)
  implicit none
  integer :: sendbuf(*), recvbuf(*), count, datatype, op, comm, ierror
  integer :: counted
  common /tutti_counter/ counted
  external :: PMPI_Allreduce
  call PMPI_Allreduce(sendbuf, recvbuf, count, datatype, op, comm, ierror)
  ! Errors are not counted.
  if (ierror == 0) counted = counted + 1
end subroutine MPI_Allreduce

subroutine MPI_Finalize(ierror)
  implicit none
  integer :: ierror, counted
  common /tutti_counter/ counted
  external :: PMPI_Finalize
  print '(a, i0)', 'COUNTED allreduce ', counted
  call PMPI_Finalize(ierror)
end subroutine MPI_Finalize
