"""How the test driver counts."""

import importlib.util
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


def test_a_missing_script_is_a_failure():
    passed, failed, output = run_steps.run_step(run_steps.Step("x", ["tests/nothing/run"], 1))
    assert (passed, failed) == (0, 1)
    assert "does not exist" in output


@pytest.fixture
def slow_builds(tmp_path, monkeypatch):
    """Builds that say when they begin and end; that of "first" never ends."""
    monkeypatch.setattr(run_steps, "LOGS", tmp_path)

    def compile_all(preset):
        return "sleep 600" if preset == "first" else f"touch {tmp_path}/{preset}-done"

    monkeypatch.setattr(run_steps, "configure", lambda preset: f"touch {tmp_path}/{preset}-begun")
    monkeypatch.setattr(run_steps, "compile_all", compile_all)
    return tmp_path


def wait_for(path):
    for _ in range(1000):
        if path.exists():
            return True
        time.sleep(0.01)
    return False


def test_who_takes_over_a_build_ends_its_head_start_and_the_next_begins(slow_builds):
    head_start = run_steps.HeadStart(["first", "second"])
    assert wait_for(slow_builds / "first-begun")
    assert not (slow_builds / "second-begun").exists()
    head_start.leave("first")
    assert wait_for(slow_builds / "second-done")
    assert not (slow_builds / "first-done").exists()
    head_start.end()


def test_no_head_start_for_who_comes_first_or_after_the_end(slow_builds):
    head_start = run_steps.HeadStart(["first", "second", "third"])
    head_start.leave("second")
    assert wait_for(slow_builds / "first-begun")
    head_start.end()
    time.sleep(0.2)
    assert sorted(path.name for path in slow_builds.glob("*-begun")) == ["first-begun"]
