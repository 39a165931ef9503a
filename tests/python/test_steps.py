"""How the test driver counts."""

import importlib.util
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
