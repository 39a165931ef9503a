! Fortran programs as they are: every blocking collective, by one of the bindings. Prints PASS or FAIL for each test, and
! how many calls of each collective the library is to have carried out. With a word, it ends by an error (endings.F90).
#include "bindings.h"
program tutti_fortran
  use tutti_support
  use tutti_reductions
  use tutti_blocks
  use tutti_wide_types
  use tutti_layouts
  use tutti_communicators
  use tutti_endings
  implicit none
  character(len=8) :: word
#ifdef TUTTI_F08
  call MPI_Init()
#else
  integer :: provided
  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierror)
#endif
  call MPI_Comm_rank(MPI_COMM_WORLD, me IERR)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks IERR)
  call get_command_argument(1, word)
  if (word /= '') call end_by_an_error(trim(word))
  call operators_on_numbers()
  call ends('operators_on_numbers')
  call operators_on_logicals()
  call ends('operators_on_logicals')
  call places_of_extremes()
  call ends('places_of_extremes')
  call operators_of_the_program()
  call ends('operators_of_the_program')
  call forms_of_reductions()
  call ends('forms_of_reductions')
  call sums_that_round()
  call ends('sums_that_round')
  call types_of_fortran_alone()
  call ends('types_of_fortran_alone')
  call integers_of_16_bytes()
  call ends('integers_of_16_bytes')
  call blocks_of_equal_sizes()
  call ends('blocks_of_equal_sizes')
  call blocks_of_different_sizes()
  call ends('blocks_of_different_sizes')
  call blocks_in_place()
  call ends('blocks_in_place')
  call blocks_of_different_types()
  call ends('blocks_of_different_types')
  call large_blocks()
  call ends('large_blocks')
  call slices_of_arrays()
  call ends('slices_of_arrays')
  call derived_types()
  call ends('derived_types')
  call absolute_addresses()
  call ends('absolute_addresses')
  call texts()
  call ends('texts')
  call memory_of_the_mpi()
  call ends('memory_of_the_mpi')
  call communicators_of_every_origin()
  call ends('communicators_of_every_origin')
  call neighbors()
  call ends('neighbors')
  call errors_are_told()
  call ends('errors_are_told')
  call statuses_are_ignored()
  call ends('statuses_are_ignored')
  call tell_calls()
#ifdef TUTTI_F08
  call MPI_Finalize()
#else
  call MPI_Finalize(ierror)
#endif
end program tutti_fortran
