"""How good Tutti's own choice was: what counts as right, as wrong, and as chance."""

import pytest

from tutti.bench.choice import choices_of, report, summary, worst_of


def cell(asked, us, half_width=0.01, **more):
    of = {"collective": "scatter", "ranks": 2, "host": "mpich", "bytes": 65536, "host_us": 20.0}
    times = {"tutti_us": us, "tutti_low_us": us * (1 - half_width), "tutti_high_us": us * (1 + half_width)}
    of.update(times, ratio=of["host_us"] / us, host_low_us=19.8, host_high_us=20.2)
    ran = {"asked": asked, "asked_mechanism": "", "algorithm": asked.partition(",")[0], "checked": True}
    return {**of, **ran, **more}


def own(us, algorithm="eager", **more):
    return cell("auto", us, algorithm=algorithm, **more)


def one(*cells):
    (choice,) = choices_of(list(cells), {"mpich": "MPICH"})
    return choice


@pytest.mark.parametrize(
    ("own_us", "half_width", "right", "wrong"),
    [
        (10.0, 0.01, True, False),
        (10.9, 0.01, True, False),
        (11.5, 0.01, False, True),
        (11.5, 0.2, False, False),
    ],
)
def test_slower_by_more_than_a_tenth_and_by_more_than_the_spread_is_wrong(own_us, half_width, right, wrong):
    choice = one(own(own_us), cell("parallel", 10.0, half_width))
    assert (choice.right, choice.wrong) == (right, wrong)


def test_what_was_chosen_is_no_better_under_its_own_name():
    choice = one(own(12.0, "parallel"), cell("parallel", 10.0), cell("eager", 11.9))
    assert choice.best == "eager"
    assert choice.right


def test_other_numbers_of_the_same_algorithm_are_candidates():
    choice = one(own(12.0, "throttled"), cell("throttled,k=1", 10.0), cell("throttled,k=2", 12.0))
    assert choice.best == "throttled,k=1"
    assert choice.wrong


def test_the_mpi_is_a_candidate():
    choice = one(own(25.0), cell("parallel", 26.0))
    assert choice.best == "host"
    assert choice.slowdown == pytest.approx(1.25)


def test_wrong_results_and_other_memory_are_none():
    rivals = [cell("a", 1.0, checked=False), cell("b", 1.0, asked_mechanism="cma"), cell("c", 10.0)]
    assert one(own(10.0), *rivals).slowdown == 1
    assert choices_of([own(10.0)], {}) == []


def test_repeated_runs_say_by_how_much_they_differ():
    rival = cell("parallel", 10.0, ratios=[1.5, 2.0, 2.5])
    choice = one(own(12.0), rival)
    assert choice.spread == pytest.approx(0.25, rel=0.01)
    assert not choice.wrong


def test_in_words_and_in_json():
    cells = [own(10.0), cell("parallel", 10.0)]
    cells += [{**each, "bytes": 4} for each in (own(15.0), cell("parallel", 10.0))]
    cells += [{**each, "bytes": 8} for each in (own(15.0), cell("parallel", 10.0, 0.8))]
    choices = choices_of(cells, {"mpich": "MPICH"})
    assert report(choices) == [
        "Tutti's choice is within 10 % or the spread of the best in 67 % of 3 cells (1 and 1), worst 1.50",
        "  scatter of 4 B, 2 ranks, MPICH: eager takes 1.50 times as long as parallel (spread 1 %)",
    ]
    found = summary(choices)
    assert {name: found[name] for name in ("cells", "right", "within_spread", "worst")} == {
        "cells": 3, "right": 1, "within_spread": 1, "worst": 1.5,
    }  # fmt: skip
    assert [wrong["bytes"] for wrong in found["wrong"]] == [4]
    assert worst_of([]) == 1
    assert report([]) == []
