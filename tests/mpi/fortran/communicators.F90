! Communicators that the program makes, neighbours, errors, and what is none of the library's business.
#include "bindings.h"
module tutti_communicators
  use tutti_support
  implicit none
  private
  public :: communicators_of_every_origin, neighbors, errors_are_told, statuses_are_ignored

contains

  ! Adds up the ranks, and counts the call as one of ours unless the communicator cannot be.
  subroutine use_it(communicator, name)
    COMM_T, intent(in) :: communicator
    character(len=*), intent(in) :: name
    integer :: own, n, total
    call MPI_Comm_rank(communicator, own IERR)
    call MPI_Comm_size(communicator, n IERR)
    if (n > 1) then
      call note('allreduce')
    else
      call note('allreduce', alone)
    end if
    call MPI_Allreduce(own, total, 1, MPI_INTEGER, MPI_SUM, communicator IERR)
    call expect(total == n * (n - 1) / 2, name)
    call record([total])
  end subroutine use_it

  subroutine communicators_of_every_origin()
    COMM_T :: made, other
    GROUP_T :: world
    REQUEST_T :: request
    call MPI_Comm_dup(MPI_COMM_WORLD, made IERR)
    call use_it(made, 'Comm_dup')
    call MPI_Comm_split(made, 0, -me, other IERR)
    call use_it(other, 'Comm_split')
    call MPI_Comm_free(other IERR)
    call expect(other == MPI_COMM_NULL, 'handle after Comm_free')
    call MPI_Comm_split(made, me, 0, other IERR)
    call use_it(other, 'Comm_split into ranks alone')
    call MPI_Comm_free(other IERR)
    call MPI_Comm_disconnect(made IERR)
    call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, made IERR)
    call use_it(made, 'Comm_split_type')
    call MPI_Comm_free(made IERR)
    call MPI_Comm_group(MPI_COMM_WORLD, world IERR)
    call MPI_Comm_create(MPI_COMM_WORLD, world, made IERR)
    call use_it(made, 'Comm_create')
    call MPI_Comm_free(made IERR)
    call MPI_Comm_create_group(MPI_COMM_WORLD, world, 3, made IERR)
    call use_it(made, 'Comm_create_group')
    call MPI_Comm_free(made IERR)
    call MPI_Group_free(world IERR)
    call MPI_Comm_idup(MPI_COMM_WORLD, made, request IERR)
    call MPI_Wait(request, MPI_STATUS_IGNORE IERR)
    call use_it(made, 'Comm_idup')
    call MPI_Comm_free(made IERR)
  end subroutine communicators_of_every_origin

  ! In a ring; with 2 ranks the neighbours on both sides are the same.
  subroutine neighbors()
    integer, parameter :: n = 12
    integer :: sent(n, 2), got(n, 2), left_one, right_one, counts(2), displs(2)
    integer(MPI_ADDRESS_KIND) :: places(2)
    TYPE_T :: types(2)
    COMM_T :: ring
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., ring IERR)
    call MPI_Cart_shift(ring, 0, 1, left_one, right_one IERR)
    counts = n
    displs = [0, n]
    places = 4 * displs
    types = MPI_INTEGER
    sent = me
    call note('neighbor_allgather')
    call MPI_Neighbor_allgather(sent, n, MPI_INTEGER, got, n, MPI_INTEGER, ring IERR)
    call expect(all(got(:, 1) == left_one) .and. all(got(:, 2) == right_one), 'Neighbor_allgather')
    call record(transfer(got, [0]))
    got = -1
    call note('neighbor_allgatherv')
    call MPI_Neighbor_allgatherv(sent, n, MPI_INTEGER, got, counts, displs, MPI_INTEGER, ring IERR)
    call expect(all(got(:, 1) == left_one) .and. all(got(:, 2) == right_one), 'Neighbor_allgatherv')
    call record(transfer(got, [0]))
    got = -1
    call note('neighbor_alltoall')
    call MPI_Neighbor_alltoall(sent, n, MPI_INTEGER, got, n, MPI_INTEGER, ring IERR)
    call expect(all(got(:, 1) == left_one) .and. all(got(:, 2) == right_one), 'Neighbor_alltoall')
    call record(transfer(got, [0]))
    got = -1
    call note('neighbor_alltoallv')
    call MPI_Neighbor_alltoallv(sent, counts, displs, MPI_INTEGER, got, counts, displs, MPI_INTEGER, ring IERR)
    call expect(all(got(:, 1) == left_one) .and. all(got(:, 2) == right_one), 'Neighbor_alltoallv')
    call record(transfer(got, [0]))
    call MPI_Comm_free(ring IERR)
    ! The same ring as a graph: the one that MPICH 4.0 has for typed arguments looks for its neighbours there only.
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, [left_one, right_one], [1, 1], 2, [left_one, right_one], [1, 1], &
      MPI_INFO_NULL, .false., ring IERR)
    got = -1
    call note('neighbor_alltoallw')
    call MPI_Neighbor_alltoallw(sent, counts, places, types, got, counts, places, types, ring IERR)
    call expect(all(got(:, 1) == left_one) .and. all(got(:, 2) == right_one), 'Neighbor_alltoallw')
    call record(transfer(got, [0]))
    call MPI_Comm_free(ring IERR)
  end subroutine neighbors

  ! Arguments that are none: the host says so, through ierror, and afterwards everything goes on.
  subroutine errors_are_told()
    COMM_T :: own
    integer :: code, class, value, total
    call MPI_Comm_dup(MPI_COMM_WORLD, own IERR)
    call MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN IERR)
    call MPI_Bcast(value, 1, MPI_INTEGER, ranks + 3, own, code)
    call expect(code /= MPI_SUCCESS, 'ierror of a Bcast without a root')
    call MPI_Error_class(code, class IERR)
    call expect(class == MPI_ERR_ROOT, 'class of the error')
    call MPI_Bcast(value, -1, MPI_INTEGER, 0, own, code)
    call expect(code /= MPI_SUCCESS, 'ierror of a Bcast of -1 elements')
    call record_error(code)
    call MPI_Allreduce(value, total, 1, MPI_INTEGER, MPI_OP_NULL, own, code)
    call expect(code /= MPI_SUCCESS, 'ierror of an Allreduce without an operator')
    call record_error(code)
    ! The same where ierror may be left out: nobody learns of it, and the program goes on.
    call MPI_Bcast(value, 1, MPI_INTEGER, ranks + 3, own IERR)
    call MPI_Bcast(value, -1, MPI_INTEGER, 0, own IERR)
    call MPI_Allreduce(value, total, 1, MPI_INTEGER, MPI_OP_NULL, own IERR)
    call MPI_Gather(value, 1, MPI_INTEGER, total, 1, MPI_INTEGER, -1, own IERR)
    value = me
    call note('bcast')
    call MPI_Bcast(value, 1, MPI_INTEGER, ranks - 1, own IERR)
    call expect(value == ranks - 1, 'Bcast after errors that nobody learned of')
    call record([value])
    value = me
    call note('bcast')
    call MPI_Bcast(value, 1, MPI_INTEGER, 0, own, code)
    call expect(code == MPI_SUCCESS .and. value == 0, 'Bcast after errors')
    call record([value])
    call MPI_Comm_free(own IERR)
  end subroutine errors_are_told

  subroutine statuses_are_ignored()
    integer :: sent, got, flag
    logical :: complete
    REQUEST_T :: requests(2)
    sent = me
    call MPI_Sendrecv(sent, 1, MPI_INTEGER, mod(me + 1, ranks), 1, got, 1, MPI_INTEGER, mod(me + ranks - 1, ranks), 1, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE IERR)
    call expect(got == mod(me + ranks - 1, ranks), 'Sendrecv')
    call MPI_Irecv(got, 1, MPI_INTEGER, mod(me + 1, ranks), 2, MPI_COMM_WORLD, requests(1) IERR)
    call MPI_Isend(sent, 1, MPI_INTEGER, mod(me + ranks - 1, ranks), 2, MPI_COMM_WORLD, requests(2) IERR)
    ! While messages are under way.
    call note('barrier')
    call MPI_Barrier(MPI_COMM_WORLD IERR)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE IERR)
    call expect(got == mod(me + 1, ranks), 'Irecv')
    flag = me
    call note('bcast')
    call MPI_Ibcast(flag, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, requests(1) IERR)
    complete = .false.
    do while (.not. complete)
      call MPI_Test(requests(1), complete, MPI_STATUS_IGNORE IERR)
    end do
    call expect(flag == 0, 'Ibcast')
  end subroutine statuses_are_ignored

end module tutti_communicators
