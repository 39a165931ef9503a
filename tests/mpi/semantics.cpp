// Deterministic tests of what MPI promises about the blocking collectives. Names of tests on the command
// line run those only. --threads before them: threads may call MPI at the same time, for who makes calls go on then.
#include "semantics.h"

#include <cstdlib>
#include <cstring>
#include <vector>

using namespace tutti::tests;

#define TEST(name) \
  { #name, &name }

int main(int argc, char** argv) {
  // Before MPI_Init, as C++ programs do in constructors of static objects.
  const std::size_t early_bytes = 2 * Memory::kLentBytes;
  void* early = std::malloc(early_bytes);
  char stack[2 * Memory::kLentBytes];
  std::memset(stack, 0, sizeof stack);
  lend_stack(stack, sizeof stack);
  const int words = argc > 1 && std::strcmp(argv[1], "--threads") == 0 ? 1 : 0;
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, words ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  int status = 0;
  {
    Context context(early, early_bytes);
    const std::vector<Test> tests{
        TEST(predefined_operations_match_the_host),
        TEST(operations_in_place_and_of_nothing),
        TEST(static_arrays_are_reduced_in_place),
        TEST(user_operations_combine_in_rank_order),
        TEST(user_operations_on_derived_types),
        TEST(everybody_gets_the_same_bits),
        TEST(broadcast_of_every_predefined_type),
        TEST(broadcast_with_another_layout_on_each_rank),
        TEST(buffers_may_be_anywhere),
        TEST(large_messages_arrive),
        TEST(elements_may_be_larger_than_an_int_counts),
        TEST(large_count_functions_work),
        TEST(scatter_and_gather_match_the_host),
        TEST(allgather_gives_everybody_all_blocks),
        TEST(alltoall_matches_the_host),
        TEST(blocks_of_nothing_are_left_alone),
        TEST(blocks_at_absolute_addresses),
        TEST(large_count_functions_of_blocks_work),
        TEST(errors_in_calls_with_blocks_are_those_of_the_host),
        TEST(too_little_room_is_an_error_and_nobody_waits),
        TEST(neighbors_get_what_is_theirs),
        TEST(large_count_functions_of_neighbors_work),
        TEST(a_duplicate_has_the_same_neighbors),
        TEST(buffers_without_neighbors_may_be_null),
        TEST(communicators_of_every_origin),
        TEST(many_communicators_leave_nothing_behind),
        TEST(disconnected_communicators_leave_nothing_behind),
        TEST(communicators_are_freed_in_any_order),
        TEST(intercommunicators_work),
        TEST(groups_work_side_by_side),
        TEST(communicators_of_sessions_work),
        TEST(revoked_communicators_give_the_error_of_the_host),
        TEST(barrier_holds_everybody),
        TEST(waiting_in_a_collective_serves_others),
        TEST(outstanding_nonblocking_collectives_go_on),
        TEST(a_root_may_run_ahead),
        TEST(accesses_that_a_barrier_follows_are_seen_to_be_complete),
        TEST(requests_are_completed_in_every_way),
        TEST(a_thousand_calls_are_under_way),
        TEST(ranks_that_wait_elsewhere_let_others_go_on),
        TEST(operators_of_the_program_go_on_while_ranks_wait),
        TEST(what_calls_use_may_be_freed_before_their_end),
        TEST(ranks_may_compute_between_start_and_wait),
        TEST(calls_end_while_ranks_do_without_mpi),
        TEST(statuses_of_nonblocking_calls),
        TEST(errors_stand_in_statuses_where_the_host_writes_them),
        TEST(wrong_use_of_requests_is_answered_as_by_the_host),
        TEST(the_error_handler_outlives_its_communicator),
        TEST(extensions_of_the_host_see_what_is_under_way),
        TEST(what_operators_throw_arrives_at_the_program),
        TEST(too_little_room_is_told_at_the_end),
        TEST(calls_whose_requests_are_freed_come_to_their_end),
        TEST(persistent_calls_are_started_again_and_again),
        TEST(one_request_is_started_ten_thousand_times),
        TEST(ranks_start_persistent_calls_in_orders_of_their_own),
        TEST(persistent_calls_are_completed_in_every_way),
        TEST(inactive_requests_are_complete),
        TEST(what_persistent_calls_use_may_be_freed_before_them),
        TEST(persistent_calls_go_beside_others),
        TEST(persistent_calls_go_on_while_ranks_wait_elsewhere),
        TEST(too_little_room_is_told_at_each_start),
        TEST(persistent_calls_cannot_be_cancelled),
        TEST(persistent_requests_are_freed_at_any_time),
        TEST(a_thousand_persistent_requests_leave_nothing_behind),
        TEST(persistent_calls_are_made_anew_again_and_again),
        TEST(most_calls_that_are_made_anew_wait_for_nobody),
        TEST(scans_match_the_host),
        TEST(scans_in_place_and_of_nothing),
        TEST(scans_with_user_operations_keep_rank_order),
        TEST(scans_give_the_same_bits_in_every_call),
        TEST(scans_of_derived_types),
        TEST(scans_of_large_counts_and_between_groups),
        TEST(what_is_between_members_stays_in_reductions),
        TEST(what_is_between_members_stays_where_blocks_arrive),
        TEST(the_padding_of_long_doubles_stays_where_hosts_leave_it),
        TEST(operators_that_run_while_others_wait_may_reduce),
        TEST(attributes_communicate_when_they_are_copied_and_deleted),
        TEST(attributes_of_communicators_without_a_collective_communicate),
        TEST(attributes_free_communicators),
        TEST(communicators_may_be_freed_behind_everybodys_back),
        TEST(attributes_communicate_in_finalize),
        TEST(errors_are_those_of_the_host),
        TEST(ranks_in_different_calls_are_told),
        TEST(refused_calls_of_some_ranks_count_nothing),
        TEST(a_refused_call_is_made_up_for_by_the_next),
        TEST(error_handlers_may_call_collectives),
        TEST(ranks_out_of_step_are_told_at_once),
    };
    status = run_tests(context, tests, argc - words, argv + words);
  }
  MPI_Finalize();
  std::free(early);
  return status;
}
