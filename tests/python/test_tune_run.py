"""Whole tunings, with a benchmark that is made up: shapes, resumption, time, and tables made in parts."""

import json

import pytest
from stub_bench import StubBench, options, tuned

from tutti.errors import UserError
from tutti.launch.library import find_tool
from tutti.tune import command
from tutti.tune.setups import parse_setups
from tutti.tune.table import run_of, write_json

needs_tool = pytest.mark.skipif(find_tool("tutti-table", "tools") is None, reason="tutti-table is not built")
SETUPS = parse_setups("window,cma,staged", "auto,flat", {})


@pytest.fixture
def bench(monkeypatch):
    for name in ("TUTTI_MECHANISM", "TUTTI_HIERARCHY"):
        monkeypatch.delenv(name, raising=False)
    return StubBench(monkeypatch)


def shapes(table):
    """levels and reach -> sizes and what they use."""
    found = {}
    for entry in table["entries"]:
        key = (entry["levels"], entry["reach"])
        found.setdefault(key, []).append((entry["bytes"], entry["algorithm"]))
    return found


def test_without_setups_what_is_set_anyway_is_measured(bench, tmp_path):
    outcome = tuned(tmp_path, options(variables={"TUTTI_HIERARCHY": "flat"}))
    assert {(one.mechanism, one.hierarchy, one.table) for one in bench.starts} == {("", "flat", "off")}
    assert outcome.complete
    assert shapes(outcome.table) == {
        (1, "staged"): [([0, 256], "eager")],
        (1, "mapped"): [([257, 4096], "flat-one")],
    }
    assert outcome.table["settings"] == {"TUTTI_HIERARCHY": "flat"}
    assert "mechanisms" not in outcome.table["measured"]


def test_a_table_is_for_one_kind_of_buffers(bench, tmp_path):
    assert tuned(tmp_path, options()).table["measured"]["buffers"] == "window"
    outcome = tuned(tmp_path, options(buffers="static"))
    assert outcome.table["measured"]["buffers"] == "static"
    assert [one.buffers for one in bench.starts].count("window") > 0
    assert bench.starts[-1].buffers == "static"


def test_each_setup_is_measured_and_its_shapes_have_entries_of_their_own(bench, tmp_path):
    outcome = tuned(tmp_path, options(setups=SETUPS))
    assert outcome.complete
    assert bench.first_pass() == [(*setup, "bcast") for setup in SETUPS]
    assert shapes(outcome.table) == {
        (2, "mapped"): [([257, 4096], "xhc")],
        (2, "kernel"): [([257, 4096], "tree")],
        (2, "staged"): [([0, 4096], "eager")],
        (1, "mapped"): [([257, 4096], "flat-one")],
        (1, "kernel"): [([257, 4096], "eager")],
        (1, "staged"): [([0, 4096], "eager")],
    }
    measured = outcome.table["measured"]
    assert measured["mechanisms"] == ["window", "cma", "staged"]
    assert measured["hierarchies"] == ["auto", "flat"]
    assert bench.now <= 600, "all of it in the time for one"


def test_a_shape_that_several_setups_have_is_measured_again_in_one(bench, tmp_path):
    tuned(tmp_path, options(setups=SETUPS, maximum_bytes=256))
    again = [(one.mechanism, one.hierarchy) for one in bench.starts if one.within == 0]
    assert set(again) <= {("window", "auto"), ("window", "flat")}
    assert len(bench.first_pass()) == 6


def test_the_command_takes_setups_and_shows_the_shapes(bench, tmp_path, tutti_here, monkeypatch):
    monkeypatch.setattr(command, "_host", lambda name, mpirun: options().host)
    words = [
        "tune",
        "--collectives",
        "bcast",
        "--ranks",
        "2",
        "--sizes",
        "64:4K",
        "--output",
        tmp_path / "table.json",
    ]
    done = tutti_here(*words, "--mechanisms", "window,cma", "--hierarchies", "auto,flat")
    assert done.returncode == 0, done.stderr
    rows = [
        line.split()
        for line in done.stdout.splitlines()
        if line.startswith(" bcast") or line.startswith("bcast")
    ]
    assert [(row[2], row[-2], row[-1]) for row in rows if "kernel" in row] == [
        ("1", "eager", "3.00"), ("2", "tree", "3.00"),
    ]  # fmt: skip
    assert len(rows) == 6
    assert set(bench.first_pass()) == {(*setup, "bcast") for setup in SETUPS[:4]}


@needs_tool
def test_a_tuning_of_several_shapes_goes_on_where_it_was_stopped(bench, tmp_path):
    bench.stop_at = 4
    chosen = options(setups=SETUPS)
    first = tuned(tmp_path, chosen)
    assert (first.interrupted, first.complete) == (True, False)
    assert len(shapes(first.table)) == 5
    with pytest.raises(UserError, match="other options"):
        tuned(tmp_path, options(setups=SETUPS[:2]), resume=True)
    begun = len(bench.starts)
    second = tuned(tmp_path, chosen, resume=True)
    assert second.complete
    assert len(shapes(second.table)) == 6
    resumed = [(one.mechanism, one.hierarchy) for one in bench.starts[begun:] if one.within > 0]
    assert resumed == SETUPS[3:], "what was measured is not measured again"


@pytest.mark.parametrize("minutes", [0.1, 1, 10])
@pytest.mark.parametrize("costs", [0.5, 3, 6])
def test_minutes_bound_the_time_whatever_a_start_takes(bench, tmp_path, minutes, costs):
    bench.costs = costs
    tuned(
        tmp_path,
        options(minutes=minutes, collectives=["bcast", "reduce"], ranks=[2, 4, 8], setups=SETUPS[:4]),
    )
    last = bench.starts[-1].seconds
    assert bench.now - last <= 60 * minutes, "no start begins after the time is over"
    assert bench.now <= 1.02 * 60 * minutes + 1, "nor a long one just before"


def test_a_start_that_does_not_end_is_ended(bench, tmp_path):
    failures = []
    bench.endless = True
    with pytest.raises(UserError, match="nothing could be measured"):
        tuned(tmp_path, options(minutes=1), failures=failures)
    assert bench.now <= 60 + 21
    assert "took too long" in failures[0]


# --- tables made in parts ---------------------------------------------------------------------------------------------


@needs_tool
def test_entries_of_older_tables_keep_where_they_are_from(bench, tmp_path, tutti_here):
    tuned(tmp_path, options(variables={"TUTTI_HIERARCHY": "flat"}, within=2.0))
    tuned(tmp_path, options(ranks=[4]))
    third = tuned(tmp_path, options(ranks=[8], minutes=5.0)).table
    assert json.loads((tmp_path / "table.json").read_text()) == third
    runs = {entry["ranks"][0]: run_of(third, entry) for entry in third["entries"]}
    assert (runs[2]["settings"], runs[2]["measured"]["within"]) == ({"TUTTI_HIERARCHY": "flat"}, 2.0)
    assert (runs[4]["settings"], runs[4]["measured"]["ranks"]) == ({}, [4])
    assert (runs[8]["measured"]["minutes"], runs[8]["date"]) == (5.0, third["date"])
    assert len(third["earlier"]) == 2
    done = tutti_here("tune", "--check", tmp_path / "table.json")
    lines = [line for line in done.stdout.splitlines() if "earlier" in line]
    assert len(lines) == 2
    assert lines[0].startswith("2 of them from an earlier run: tutti 0.1.0, ")
    assert lines[0].endswith(", TUTTI_HIERARCHY=flat")
    again = tuned(tmp_path, options(ranks=[2, 4])).table
    assert sorted(one["measured"]["ranks"] for one in again["earlier"]) == [[2], [8]], (
        "flat ones are another shape"
    )


@needs_tool
def test_tables_with_and_without_earlier_runs_are_compared_by_what_they_choose(bench, tmp_path, tutti_here):
    table = tuned(tmp_path, options()).table
    (tmp_path / "one").mkdir()
    write_json(tmp_path / "one" / "before.json", table)
    merged = tuned(tmp_path, options(ranks=[4])).table
    without = {name: part for name, part in merged.items() if name != "earlier"}
    without["entries"] = [
        {name: part for name, part in entry.items() if name != "earlier"} for entry in merged["entries"]
    ]
    plain = tmp_path / "one" / "plain.json"
    write_json(plain, without)
    same = tutti_here("tune", "--diff", plain, tmp_path / "table.json")
    assert (same.returncode, same.stdout) == (0, "both tables choose alike\n")
    other = tutti_here("tune", "--diff", tmp_path / "one" / "before.json", tmp_path / "table.json")
    assert other.returncode == 1
    assert all("4 ranks" in line for line in other.stdout.splitlines())
    checks = [json.loads(tutti_here("tune", "--check", path, "--json").stdout)
              for path in (plain, tmp_path / "table.json")]  # fmt: skip
    assert {**checks[0], "table": ""} == {**checks[1], "table": ""}, "the library does not look at it"
