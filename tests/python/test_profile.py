"""`tutti profile` on records that are made here, and the exit status of `tutti run --profile`."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from made_profiles import record, row

from tutti.errors import UserError
from tutti.profile import page, recorded
from tutti.profile.calls import calls_of
from tutti.profile.command import convert
from tutti.profile.sites import Lines, site_of

ROOT = Path(__file__).resolve().parents[2]


def only(path):
    """The calls of a record that has one kind."""
    calls, _, _ = calls_of(recorded.read(path))
    assert len(calls) == 1
    return calls[0]


def test_who_comes_last_is_waited_for_by_clocks_that_differ(tmp_path):
    path = record(tmp_path / "r", [[(0, 10, 30, 0, -1)], [(0, 26, 31, 0, -1)]], [row("MPI_Barrier")])
    call = only(path)
    assert call.arrivals.last == [(1, 1)]
    assert call.arrivals.late == pytest.approx(0.016)
    assert call.arrivals.moving == pytest.approx(0.005)
    assert call.arrivals.waiting == pytest.approx(16 / 25)
    assert call.longest == (pytest.approx(0.020), 0, pytest.approx(0.010))


@pytest.mark.parametrize(
    ("function", "root", "waiting", "moving"),
    [
        # Rank 1 comes last: who gets data from rank 0 does not wait for it.
        ("MPI_Bcast", 0, 0, 0.021),
        # And rank 0 waits for rank 1, whose data it is.
        ("MPI_Bcast", 1, 16 / 25, 0.005),
        # Whoever only gives does not wait.
        ("MPI_Reduce", 1, 0, 0.005),
        ("MPI_Reduce", 0, 16 / 25, 0.005),
    ],
)
def test_ranks_wait_for_those_that_they_need(tmp_path, function, root, waiting, moving):
    path = record(tmp_path / "r", [[(0, 10, 30, 0, root)], [(0, 26, 31, 0, root)]], [row(function)])
    arrivals = only(path).arrivals
    assert arrivals.waiting == pytest.approx(waiting)
    assert arrivals.moving == pytest.approx(moving)


def test_calls_of_which_a_rank_is_missing_say_nothing_of_waiting(tmp_path):
    path = record(tmp_path / "r", [[(0, 10, 30, 0, -1)], [(0, 26, 31, 1, -1)]], [row("MPI_Barrier")])
    assert only(path).arrivals is None
    path = record(
        tmp_path / "r", [[(0, 1, 2, 0, -1)], [(0, 1, 2, 0, -1)]], [row("MPI_Barrier")], identity="0"
    )
    assert only(path).arrivals is None


def test_the_mpi_is_compared_with_by_what_is_left_when_all_are_there(tmp_path):
    rows = [row("MPI_Bcast"), row("MPI_Bcast", algorithm="host", way="", for_comparison=True)]
    calls = [
        [(0, 10, 12, 0, 0), (1, 20, 25, 1, 0)],
        [(0, 5, 12, 0, 0), (1, 20, 26, 1, 0)],
    ]
    found, _, _ = calls_of(recorded.read(record(tmp_path / "r", calls, rows)))
    ours = next(each for each in found if not each.kind.for_comparison)
    assert ours.arrivals.moving == pytest.approx(0.002)
    assert ours.by_mpi.moving == pytest.approx(0.006)
    cells = dict(zip(page.COLUMNS, page.call_rows([ours], 1.0)[0]))
    assert cells["the MPI alone"] == ("6 ms, 3 times", pytest.approx(3))


def test_page_and_trace(tmp_path):
    rows = [row("MPI_Allreduce")]
    path = record(tmp_path / "r", [[(0, 10, 30, 0, -1)], [(0, 26, 31, 0, -1)]], rows)
    convert(path, tmp_path / "p.html", tmp_path / "t.json", False)
    text = (tmp_path / "p.html").read_text()
    assert "a.py:3 main" in text
    assert "./app &lt;&amp;&gt;" in text
    assert "rank 1 comes last in 100 %" in text
    trace = json.loads((tmp_path / "t.json").read_text())
    spans = [(each["pid"], each["ts"], each["dur"]) for each in trace["traceEvents"] if each["ph"] == "X"]
    assert spans == [(0, 10000, 20000), (1, 26000, 5000)]


def test_what_is_no_record_is_said(tmp_path):
    with pytest.raises(UserError, match="cannot read"):
        recorded.read(tmp_path / "nothing")
    (tmp_path / "other").write_text("{}")
    with pytest.raises(UserError, match="no profile"):
        recorded.read(tmp_path / "other")
    whole = record(
        tmp_path / "r", [[(0, 1, 2, 0, -1)], [(0, 1, 2, 0, -1)]], [row("MPI_Barrier")]
    ).read_bytes()
    (tmp_path / "cut").write_bytes(whole[:-10])
    with pytest.raises(UserError, match="too early"):
        recorded.read(tmp_path / "cut")


def test_places_without_lines_have_names(tmp_path):
    site = {"python": [], "frames": [["/nowhere/libx.so", 64, "solve(int)"], ["/nowhere/app", 32, ""]]}
    found = site_of(site, Lines([]))
    assert found.place.words() == "libx.so solve(int)"
    assert [place.words() for place in found.outer] == ["app +0x20"]


def run(tmp_path, *words):
    """tutti run --profile, of programs that call no MPI."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tutti", "run", "--profile", str(tmp_path / "p.html"), *words]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def test_the_exit_status_is_that_of_the_command(tmp_path):
    process = run(tmp_path, "sh", "-c", "exit 7")
    _, told = process.communicate(timeout=60)
    assert process.returncode == 7
    assert "no profile" in told
    for number in (signal.SIGUSR1, signal.SIGKILL):
        process = run(tmp_path, "sh", "-c", f"kill -{int(number)} $$")
        process.communicate(timeout=60)
        assert process.returncode == -number


def test_signals_are_handed_on(tmp_path):
    ready = tmp_path / "ready"
    process = run(tmp_path, "sh", "-c", f"trap 'exit 5' TERM; touch {ready}; while :; do sleep 0.05; done")
    while not ready.exists():
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 5


def test_a_record_is_not_taken_for_the_page(tmp_path):
    process = run(tmp_path, "true")
    process.communicate(timeout=60)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tutti", "run", "--profile", "a.profile", "true"]
    outcome = subprocess.run(
        command, env=environment, capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert outcome.returncode == 2
    assert "names the page" in outcome.stderr
