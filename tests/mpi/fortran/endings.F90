! Errors that end the job, as they do unless the program asks for them to be returned.
#include "bindings.h"
module tutti_endings
  use tutti_support
  implicit none
  private
  public :: end_by_an_error

contains

  ! who: 'all' ranks make a call that the host refuses, or 'one' does while the others wait for it in a collective.
  subroutine end_by_an_error(who)
    character(len=*), intent(in) :: who
    integer :: value
    value = me
    call MPI_Bcast(value, 1, MPI_INTEGER, 0, MPI_COMM_WORLD IERR)
    if (who == 'all' .or. me == ranks - 1) call MPI_Bcast(value, 1, MPI_INTEGER, ranks + 3, MPI_COMM_WORLD IERR)
    call MPI_Barrier(MPI_COMM_WORLD IERR)
    print '(a)', 'WENT ON'
  end subroutine end_by_an_error

end module tutti_endings
