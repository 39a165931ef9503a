"""What `tutti tune` makes of measured cells: which algorithm is chosen, what is measured again, entries."""

import pytest
from made_tables import ORIGIN, cell, entry, table

from tutti.tune.table import HOST, RUN, decide, entries_of, promise, rivals_of, run_of, with_others


def auto(algorithm, us, **more):
    return {**cell("auto", us, **more), "algorithm": algorithm}


def twice(cells):
    """As two starts of the benchmark give it."""
    return [{**cell, "run": run} for run in (1, 2) for cell in cells]


def four_times(cells):
    """As many starts as what is close needs."""
    return [{**cell, "run": run} for run in (1, 2, 3, 4) for cell in cells]


def only(found):
    (decisions,) = found.values()
    return decisions


def test_the_fastest_is_chosen_if_it_beats_the_models_choice():
    cells = [auto("xhc", 5.0), cell("xhc", 5.0, predicted=1), cell("eager", 4.0, predicted=2)]
    (one,) = only(decide(four_times(cells)))
    assert (one.chosen, one.by_model) == ("eager", "xhc")
    assert one.gain == pytest.approx(1.25)
    assert only(decide(twice(cells)))[0].chosen == "xhc", "twice by so little may be chance"


def test_what_is_far_faster_needs_fewer_starts():
    cells = [auto("xhc", 5.0), cell("xhc", 5.0, predicted=1), cell("eager", 3.0, predicted=2)]
    assert only(decide(twice(cells)))[0].chosen == "eager"


def test_what_is_faster_within_the_spread_does_not_replace_the_models_choice():
    cells = [
        auto("xhc", 5.0),
        cell("xhc", 5.0, predicted=1, spread=0.1),
        cell("eager", 4.6, predicted=2, spread=0.1),
    ]
    assert only(decide(four_times(cells)))[0].chosen == "xhc"
    cells = [
        auto("xhc", 5.0),
        cell("xhc", 5.0, predicted=1, spread=0),
        cell("eager", 4.9, predicted=2, spread=0),
    ]
    assert only(decide(four_times(cells)))[0].chosen == "xhc", (
        "two per cent are noise, however narrow the intervals"
    )


def test_the_host_is_a_candidate():
    assert only(decide(twice([auto("xhc", 15.0), cell("xhc", 15.0, predicted=1)])))[0].chosen == HOST


def test_one_run_alone_replaces_nothing_but_asks_for_another():
    cells = [auto("xhc", 5.0), cell("xhc", 5.0, predicted=1), cell("eager", 4.0, predicted=2)]
    (one,) = only(decide(cells))
    assert one.chosen == "xhc"
    assert promise(one) == pytest.approx(1.25)
    assert rivals_of(one) == ["xhc", "eager"]


def test_runs_that_contradict_each_other_replace_nothing():
    cells = [cell("xhc", 5.0, predicted=1), cell("eager", 2.0, predicted=2)]
    again = [cell("xhc", 5.0, predicted=1, run=2), cell("eager", 6.0, predicted=2, run=2)]
    assert only(decide(cells + again))[0].chosen == "xhc"


def states(*times):
    """Starts of the benchmark in which the model's xhc, eager and tree take these times."""
    return [
        cell(name, us, run=run, predicted=order)
        for run, some in enumerate(times)
        for order, (name, us) in enumerate(zip(("xhc", "eager", "tree"), some))
    ]


def test_where_each_is_faster_at_times_the_one_that_is_never_slow_is_chosen():
    cells = states((5.4, 4.0, 4.4), (9.0, 12.0, 9.4), (5.4, 4.0, 4.4), (5.4, 4.0, 4.4))
    assert only(decide(cells))[0].chosen == "tree"
    cells = states((4.0, 5.0, 9.0), (9.0, 9.4, 6.0), (4.0, 5.0, 9.0), (4.0, 5.0, 9.0))
    assert only(decide(cells))[0].chosen == "xhc", "on the whole the model's choice is the fastest"


def test_what_wins_little_and_loses_much_does_not_replace_the_models_choice():
    cells = states((5.0, 4.0, 9.0), (5.0, 4.0, 9.0), (5.0, 4.0, 9.0), (5.0, 7.0, 9.0))
    assert only(decide(cells))[0].chosen == "xhc"


def test_a_machine_that_is_slower_in_one_run_hides_no_winner():
    cells = [cell("xhc", 5.0, predicted=1), cell("eager", 3.0, predicted=2)]
    again = [cell("xhc", 15.0, predicted=1, run=2), cell("eager", 9.0, predicted=2, run=2)]
    assert only(decide(cells + again))[0].chosen == "eager"


def test_a_wrong_result_is_no_candidate():
    cells = [auto("xhc", 5.0), cell("xhc", 5.0, predicted=1), cell("eager", 1.0, predicted=2, checked=False)]
    assert only(decide(twice(cells)))[0].chosen == "xhc"


def test_the_models_choice_has_its_number():
    cells = [
        auto("throttled", 5.0),
        cell("throttled,k=2", 6.0, predicted=2),
        cell("throttled,k=4", 5.0, predicted=1),
    ]
    assert only(decide(cells))[0].by_model == "throttled,k=4"


def test_sizes_for_which_there_is_one_choice_are_decided_together():
    cells = []
    for count, slow in ((4, 1.0), (64, 2.0), (1024, 4.0)):
        where = {"count": count, "class_bytes": 65536, "chosen_as": "gatherv"}
        cells += [
            cell("parallel", slow, predicted=1, **where),
            cell("throttled,k=2", 2.0, predicted=2, **where),
        ]
    (one,) = only(decide(twice(cells)))
    assert one.class_bytes == 65536
    assert one.chosen == "parallel"


def test_only_what_is_close_is_measured_again():
    clear = only(decide(twice([cell("xhc", 5.0, predicted=1), cell("eager", 2.0, predicted=2)])))[0]
    assert promise(clear) == 1
    often = only(decide(states(*[(5.0, 5.1, 9.0)] * 5)))[0]
    assert promise(often) == 1, "it has been seen often enough"
    once_close = only(decide(states((5.0, 5.1, 9.0), (5.0, 9.0, 19.0))))[0]
    assert promise(once_close) > 1
    assert rivals_of(once_close) == ["xhc", "eager"]
    close = only(
        decide(
            twice(
                [cell("xhc", 5.0, predicted=1, spread=0.1), cell("eager", 4.9, spread=0.1), cell("tree", 9.0)]
            )
        )
    )[0]
    assert promise(close) > 1
    assert rivals_of(close) == ["xhc", "eager"]


def cells_of(choices, **more):
    return [
        one
        for count, name in choices
        for one in (cell(name, 1.0, count=count, **more), cell("other", 3.0, count=count, **more))
    ]


def test_neighbouring_sizes_with_one_choice_are_one_entry_and_leave_no_gap():
    entries = entries_of(decide(twice(cells_of([(4, "eager"), (16, "eager"), (64, "xhc")]))))
    assert [(entry["algorithm"], entry["bytes"]) for entry in entries] == [
        ("eager", [0, 16]),
        ("xhc", [17, 64]),
    ]


def test_an_entry_ends_where_memory_is_reached_otherwise():
    cells = cells_of([(4, "xhc"), (16, "xhc")], reach="staged") + cells_of([(64, "xhc")])
    entries = entries_of(decide(twice(cells)))
    assert sorted((entry["reach"], entry["bytes"]) for entry in entries) == [
        ("mapped", [17, 64]),
        ("staged", [0, 16]),
    ]


def test_parameters_stand_apart_from_names():
    (entry,) = entries_of(decide(twice(cells_of([(4, "throttled,k=8")]))))
    assert (entry["algorithm"], entry["parameter"]) == ("throttled", 8)


def test_a_table_keeps_what_was_tuned_for_other_shapes_before():
    before = table(entry("xhc", 0, 64), entry("xhc", 0, 64, ranks=[4, 4]))
    after = with_others(table(entry("eager", 0, 64)), before)
    assert [(one["ranks"], one["algorithm"]) for one in after["entries"]] == [
        ([2, 2], "eager"),
        ([4, 4], "xhc"),
    ]
    assert "earlier" not in after["entries"][0]
    assert run_of(after, after["entries"][1]) == {part: before[part] for part in RUN}
    other = table(entry("xhc", 0, 64, ranks=[4, 4]), origin={**ORIGIN, "host": "Open MPI"})
    assert len(with_others(table(entry("eager", 0, 64)), other)["entries"]) == 1


@pytest.mark.parametrize("number", [-1, 1, "0", True, None])
def test_of_a_run_that_a_table_does_not_have_nothing_is_known(number):
    edited = {**table(), "earlier": [{"tutti": "0.0.9"}]}
    assert run_of(edited, entry("xhc", 0, 64, earlier=0)) == {"tutti": "0.0.9"}
    assert run_of(edited, entry("xhc", 0, 64, earlier=number)) == {}
    assert run_of({**edited, "earlier": 5}, entry("xhc", 0, 64, earlier=0)) == {}
    after = with_others(table(), {**edited, "entries": [entry("xhc", 0, 64, earlier=number)]})
    assert after["earlier"] == [{}]
