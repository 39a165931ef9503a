// The tests of the program `semantics`; each is what its name says. All are collective over MPI_COMM_WORLD.
#pragma once

#include "support.h"

namespace tutti::tests {

// semantics_reductions.cpp
void predefined_operations_match_the_host(Context& context);
void operations_in_place_and_of_nothing(Context& context);
void static_arrays_are_reduced_in_place(Context& context);
void user_operations_combine_in_rank_order(Context& context);
void user_operations_on_derived_types(Context& context);
void everybody_gets_the_same_bits(Context& context);

// semantics_data.cpp
void broadcast_of_every_predefined_type(Context& context);
void broadcast_with_another_layout_on_each_rank(Context& context);
void buffers_may_be_anywhere(Context& context);
void large_messages_arrive(Context& context);
void elements_may_be_larger_than_an_int_counts(Context& context);
void large_count_functions_work(Context& context);

// semantics_blocks.cpp
void scatter_and_gather_match_the_host(Context& context);
void allgather_gives_everybody_all_blocks(Context& context);
void alltoall_matches_the_host(Context& context);
void blocks_of_nothing_are_left_alone(Context& context);
void blocks_at_absolute_addresses(Context& context);
void large_count_functions_of_blocks_work(Context& context);
void errors_in_calls_with_blocks_are_those_of_the_host(Context& context);
void too_little_room_is_an_error_and_nobody_waits(Context& context);

// semantics_neighbors.cpp
void neighbors_get_what_is_theirs(Context& context);
void large_count_functions_of_neighbors_work(Context& context);
void a_duplicate_has_the_same_neighbors(Context& context);
void buffers_without_neighbors_may_be_null(Context& context);

// semantics_communicators.cpp
void communicators_of_every_origin(Context& context);
void many_communicators_leave_nothing_behind(Context& context);
void disconnected_communicators_leave_nothing_behind(Context& context);
void communicators_are_freed_in_any_order(Context& context);
void intercommunicators_work(Context& context);
void groups_work_side_by_side(Context& context);
void communicators_of_sessions_work(Context& context);
void revoked_communicators_give_the_error_of_the_host(Context& context);

// semantics_progress.cpp
void barrier_holds_everybody(Context& context);
void waiting_in_a_collective_serves_others(Context& context);
void outstanding_nonblocking_collectives_go_on(Context& context);
void a_root_may_run_ahead(Context& context);
void accesses_that_a_barrier_follows_are_seen_to_be_complete(Context& context);

// semantics_nonblocking.cpp
void requests_are_completed_in_every_way(Context& context);
void a_thousand_calls_are_under_way(Context& context);
void ranks_that_wait_elsewhere_let_others_go_on(Context& context);
void operators_of_the_program_go_on_while_ranks_wait(Context& context);
void what_calls_use_may_be_freed_before_their_end(Context& context);
void ranks_may_compute_between_start_and_wait(Context& context);
void calls_end_while_ranks_do_without_mpi(Context& context);
void statuses_of_nonblocking_calls(Context& context);
void too_little_room_is_told_at_the_end(Context& context);
void calls_whose_requests_are_freed_come_to_their_end(Context& context);

// semantics_requests.cpp
void errors_stand_in_statuses_where_the_host_writes_them(Context& context);
void wrong_use_of_requests_is_answered_as_by_the_host(Context& context);
void the_error_handler_outlives_its_communicator(Context& context);
void what_operators_throw_arrives_at_the_program(Context& context);

// semantics_extensions.cpp
void extensions_of_the_host_see_what_is_under_way(Context& context);

// semantics_persistent.cpp
void persistent_calls_are_started_again_and_again(Context& context);
void one_request_is_started_ten_thousand_times(Context& context);
void ranks_start_persistent_calls_in_orders_of_their_own(Context& context);
void persistent_calls_are_completed_in_every_way(Context& context);
void inactive_requests_are_complete(Context& context);
void what_persistent_calls_use_may_be_freed_before_them(Context& context);
void persistent_calls_go_beside_others(Context& context);
void persistent_calls_go_on_while_ranks_wait_elsewhere(Context& context);
void too_little_room_is_told_at_each_start(Context& context);
void persistent_calls_cannot_be_cancelled(Context& context);
void persistent_requests_are_freed_at_any_time(Context& context);
void a_thousand_persistent_requests_leave_nothing_behind(Context& context);

// semantics_made_anew.cpp
void persistent_calls_are_made_anew_again_and_again(Context& context);
void most_calls_that_are_made_anew_wait_for_nobody(Context& context);

// semantics_scans.cpp
void scans_match_the_host(Context& context);
void scans_in_place_and_of_nothing(Context& context);
void scans_with_user_operations_keep_rank_order(Context& context);
void scans_give_the_same_bits_in_every_call(Context& context);
void scans_of_derived_types(Context& context);
void scans_of_large_counts_and_between_groups(Context& context);

// semantics_gaps.cpp
void what_is_between_members_stays_in_reductions(Context& context);
void what_is_between_members_stays_where_blocks_arrive(Context& context);
void the_padding_of_long_doubles_stays_where_hosts_leave_it(Context& context);

// semantics_nested.cpp
void operators_that_run_while_others_wait_may_reduce(Context& context);

// semantics_attributes.cpp
void attributes_communicate_when_they_are_copied_and_deleted(Context& context);
void attributes_of_communicators_without_a_collective_communicate(Context& context);
void attributes_free_communicators(Context& context);
void communicators_may_be_freed_behind_everybodys_back(Context& context);
void attributes_communicate_in_finalize(Context& context);

// semantics_errors.cpp
void errors_are_those_of_the_host(Context& context);
void ranks_in_different_calls_are_told(Context& context);

// semantics_refused.cpp
void refused_calls_of_some_ranks_count_nothing(Context& context);
void a_refused_call_is_made_up_for_by_the_next(Context& context);
void error_handlers_may_call_collectives(Context& context);
void ranks_out_of_step_are_told_at_once(Context& context);

}  // namespace tutti::tests
