! What is taken from C (in_c.cpp).
module tutti_from_c
  use, intrinsic :: iso_c_binding, only: c_double, c_int, c_int64_t
  implicit none

  interface
    integer(c_int) function begin_comparing() bind(c, name='tutti_begin')
      import c_int
    end function begin_comparing
    subroutine end_comparing() bind(c, name='tutti_end')
    end subroutine end_comparing
    subroutine take_way(way) bind(c, name='tutti_take_way')
      import c_int
      integer(c_int), value :: way
    end subroutine take_way
    subroutine wait_for_start() bind(c, name='tutti_wait_for_start')
    end subroutine wait_for_start
    integer(c_int64_t) function ticks() bind(c, name='tutti_ticks')
      import c_int64_t
    end function ticks
    real(c_double) function us_between(begin, end) bind(c, name='tutti_us_between')
      import c_double, c_int64_t
      integer(c_int64_t), value :: begin, end
    end function us_between
    subroutine bcast_in_c(buffer, count, begin, end) bind(c, name='tutti_bcast_in_c')
      import c_double, c_int, c_int64_t
      real(c_double), intent(inout) :: buffer(*)
      integer(c_int), value :: count
      integer(c_int64_t), intent(out) :: begin, end
    end subroutine bcast_in_c
    subroutine allreduce_in_c(send, receive, count, begin, end) bind(c, name='tutti_allreduce_in_c')
      import c_double, c_int, c_int64_t
      real(c_double), intent(in) :: send(*)
      real(c_double), intent(inout) :: receive(*)
      integer(c_int), value :: count
      integer(c_int64_t), intent(out) :: begin, end
    end subroutine allreduce_in_c
    ! Mean of the middle half, the ends of its interval, median.
    subroutine middle_of(samples, count, middle) bind(c, name='tutti_middle_of')
      import c_double, c_int
      real(c_double), intent(in) :: samples(*)
      integer(c_int), value :: count
      real(c_double), intent(out) :: middle(4)
    end subroutine middle_of
  end interface

end module tutti_from_c
