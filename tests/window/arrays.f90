! Arrays of Fortran that are static data: COMMON blocks, module variables, saved ones.
module of_module
  implicit none
  integer, parameter :: n = 200000
  double precision :: of_the_module(n)
end module of_module

program arrays
  use, intrinsic :: iso_c_binding
  use of_module
  implicit none
  interface
    subroutine take_static_data() bind(c)
    end subroutine take_static_data
    integer(c_int) function is_in_window(address) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: address
    end function is_in_window
  end interface
  double precision, target :: first(n), second(n), with_values(n) = 3
  double precision, target, save :: saved(n)
  common /block/ first, second
  first(7) = 70
  saved = 5
  of_the_module(n) = 9
  call take_static_data()
  if (first(7) /= 70 .or. second(1) /= 0 .or. any(with_values /= 3) .or. any(saved /= 5)) error stop 1
  if (of_the_module(n) /= 9 .or. any(of_the_module(1:n - 1) /= 0)) error stop 2
  if (is_in_window(c_loc(first)) == 0 .or. is_in_window(c_loc(second(n))) == 0) error stop 3
  if (is_in_window(c_loc(with_values)) == 0 .or. is_in_window(c_loc(saved(n / 2))) == 0) error stop 4
  second = first + saved + with_values
  if (second(7) /= 78 .or. second(n) /= 8) error stop 5
end program arrays
