"""How the test driver counts."""

import importlib.util
import os
import sys
import time
from pathlib import Path

import pytest

SPEC = importlib.util.spec_from_file_location(
    "run_steps", Path(__file__).resolve().parent.parent / "run_steps.py"
)
assert SPEC is not None
run_steps = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(run_steps)


@pytest.mark.parametrize(
    ("output", "status", "expected"),
    [
        ("1: [  PASSED  ] 12 tests.\n2: [  PASSED  ] 1 test.\n100% tests passed", 0, (13, 0)),
        (
            "1: [  PASSED  ] 12 tests.\n1: [  FAILED  ] 2 tests, listed below:\n1:  2 FAILED TESTS\n",
            8,
            (12, 2),
        ),
        ("1: [  PASSED  ] 12 tests.\n2: Segmentation fault\n", 8, (12, 1)),
        ("=== 1 failed, 9 passed in 3 s ===\n", 1, (9, 1)),
        ("7 passed, 0 failed\n", 0, (7, 0)),
        ("7 passed, 2 failed\n", 0, (7, 2)),
        ("7 passed\n", 1, (7, 1)),
        ("silent\n", 0, (1, 0)),
        ("silent\n", 2, (0, 1)),
    ],
)
def test_counts(output, status, expected):
    assert run_steps.count(output, status) == expected


@pytest.fixture
def lane(tmp_path, monkeypatch):
    """lane(step...) is one that has begun; lane.told gets (name, passed, failed) of each step."""
    monkeypatch.setattr(run_steps, "LOGS", tmp_path)
    told = []

    def begin(*steps):
        return run_steps.Lane(
            steps, lambda step, outcome: told.append((step.name, outcome.passed, outcome.failed))
        )

    begin.told = told
    return begin


def shell(name, command, limit=60.0, lane=run_steps.FRONT):
    return run_steps.Step(name, ["bash", "-c", command], limit, lane=lane)


def test_a_missing_script_is_a_failure(lane):
    lane(run_steps.Step("x", ["tests/nothing/run"], 1)).join()
    assert lane.told == [("x", 0, 1)]
    lane(run_steps.Step("y", ["no-such-program"], 1)).join()
    assert lane.told == [("x", 0, 1), ("y", 0, 1)]


def test_steps_of_a_lane_run_in_their_order_and_a_failure_ends_nothing(lane, tmp_path):
    mark = tmp_path / "mark"
    lane(
        shell("first", f"touch {mark}; echo 3 passed, 1 failed; exit 1"), shell("second", f"test -e {mark}")
    ).join()
    assert lane.told == [("first", 3, 1), ("second", 1, 0)]


def test_a_step_that_hangs_fails_and_the_next_begins(lane):
    lane(shell("first", "echo 3 passed, 0 failed; sleep 600", limit=0.5), shell("second", "true")).join()
    assert lane.told == [("first", 3, 1), ("second", 1, 0)]


def test_lanes_run_beside_each_other_and_take_what_those_before_them_leave(lane, tmp_path):
    lanes = [run_steps.FRONT, run_steps.BESIDE, run_steps.BEHIND]
    others = "".join(f"while ! test -e {tmp_path / name}; do sleep 0.02; done; " for name in lanes)
    nice = [os.nice(0), *(min(19, os.nice(0) + how) for how in (10, 19))]
    running = [
        lane(shell(name, f"touch {tmp_path / name}; {others} test $(nice) = {how}", lane=name))
        for name, how in zip(lanes, nice)
    ]
    for each in running:
        each.join()
    assert sorted(lane.told) == sorted((name, 1, 0) for name in lanes)


def test_processor_seconds_of_a_step_are_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(run_steps, "LOGS", tmp_path)
    used = {}

    def report(step, outcome):
        used[step.name] = outcome.processor_seconds

    steps = [
        shell("computes", "end=$((SECONDS + 2)); while ((SECONDS < end)); do :; done"),
        shell("waits", "sleep 1"),
    ]
    for each in [run_steps.Lane([step], report) for step in steps]:
        each.join()
    assert used["waits"] < 0.5 * used["computes"]


def test_a_lane_that_is_ended_leaves_nothing_running(lane, tmp_path):
    began = tmp_path / "began"
    running = lane(
        shell("first", f"echo $$ >{began}.new; mv {began}.new {began}; sleep 600"), shell("second", "true")
    )
    while not began.exists():
        time.sleep(0.01)
    running.end()
    running.join()
    assert not Path(f"/proc/{began.read_text().strip()}").exists()
    assert [name for name, *_ in lane.told] == ["first"]


def test_of_a_failed_step_the_failures_are_told():
    lines = ["FAIL mpich 2 semantics x: exit status 1", "     | what it printed"]
    output = "\n".join(
        ["PASS a", *lines, *(f"PASS {number}" for number in range(100)), "100 passed, 1 failed"]
    )
    assert run_steps.what_failed(output) == lines
    # What CTest puts in front of each line is left out.
    for lines, good in (
        (["x_test.cpp:12: Failure", "Expected: 1", "[  FAILED  ] A.B (3 ms)"], "[ RUN      ] A."),
        (["FAILED  nothing is left", "        what it printed"], "ok      case "),
    ):
        output = "\n".join(["7: " + line for line in [*lines, *(f"{good}{number}" for number in range(100))]])
        assert run_steps.what_failed(output) == lines
    assert run_steps.what_failed("a\nb") == ["a", "b"]


def test_what_is_missing_is_told_where_nothing_ran(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(run_steps, "LOGS", tmp_path)
    monkeypatch.setattr(run_steps, "ROOT", tmp_path)
    runner = tmp_path / "tests" / "architectures" / "run"
    runner.parent.mkdir(parents=True)
    runner.write_text("#!/bin/sh\necho not emulated: no Debian for $1\necho 0 passed, 0 failed\n")
    runner.chmod(0o755)
    found = run_steps.for_processor("aarch64")
    assert [step.name for step in found] == ["aarch64, emulated"]
    monkeypatch.setattr(run_steps, "steps", lambda full: found)
    assert run_steps.main([]) == 0
    assert "    | not emulated: no Debian for aarch64\n" in capsys.readouterr().out
    stamp = tmp_path / ".deps" / "architectures" / "aarch64" / "stamp"
    stamp.parent.mkdir(parents=True)
    stamp.touch()
    assert run_steps.for_processor("aarch64")[0].name == "aarch64 build"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_lane_that_breaks_off_is_no_success(lane, monkeypatch):
    monkeypatch.setattr(run_steps, "steps", lambda full: [shell("first", "true"), shell("second", "true")])
    assert run_steps.main([]) == 0
    monkeypatch.setattr(run_steps.Lane, "_run", lambda *_: sys.exit())
    assert run_steps.main([]) == 1


def test_what_the_short_run_leaves_out_is_in_the_full_one(monkeypatch):
    hosts = ["mpich", "openmpi", "intel"]
    monkeypatch.setattr(run_steps, "host_names", lambda: hosts)
    short, full = ({step.name: step for step in run_steps.steps(every)} for every in (False, True))
    for step in full.values():
        if step.name in [f"mpi {host}" for host in hosts]:
            assert "--all" in step.command
            assert not {"--only", "--ranks"} & set(step.command)
        assert "--exclude-regex" not in " ".join(step.command)
        assert step.variables.get("TUTTI_TEST_SWEEP", "full") == "full"
    assert "--only" not in short["mpi mpich"].command
    assert "--only" in short["mpi openmpi"].command
    assert set(short) <= set(full)
