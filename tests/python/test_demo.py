"""`./dev demo`: it says in one line how far it is, builds what it runs and no tests, and ends with what to see."""

import os
import pty
import shutil
import subprocess
from pathlib import Path

import pytest

from tutti import console

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"

#: In place of the programs that the script calls.
STUBS = {
    "path/dpkg": "echo 'Status: install ok installed'",
    "path/cmake": 'case "$*" in *--build*) echo "$*" >>asked; cat build-says; exit $(cat build-status);; esac',
    "tools/fetch-mimalloc": "echo noise",
    "tools/link-checkout": "",
    ".venv/bin/python": "echo pip says something; echo and warns >&2",
    ".venv/bin/tutti": 'echo "$*" >>asked; echo the table',
}


@pytest.fixture
def demo(tmp_path):
    """Runs a copy of the script whose build says `says` and ends with `status`; standard output and error, status."""
    shutil.copy(ROOT / "dev", tmp_path / "dev")
    for name, text in STUBS.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    for name in ("requirements.txt", "pyproject.toml"):
        (tmp_path / name).write_text("")
    (tmp_path / "requirements-mpi.txt").write_text("mpich mpich==5\n")

    def run(says, status=0, stderr=subprocess.PIPE):
        (tmp_path / "build-says").write_text(says)
        (tmp_path / "build-status").write_text(str(status))
        environment = {**os.environ, "PATH": f"{tmp_path / 'path'}:{os.environ['PATH']}"}
        words = [str(tmp_path / "dev"), "demo"]
        return subprocess.run(
            words, env=environment, stdout=subprocess.PIPE, stderr=stderr, text=True, timeout=60, check=False
        )

    return run


BUILT = "[1/4] Building CXX object a.o\n[2/4] Building CXX object b.o\n[4/4] Linking CXX executable c\n"


def test_without_a_terminal_there_is_a_line_for_each_step(demo, tmp_path):
    done = demo(BUILT)
    assert done.returncode == 0
    assert [line.split(": ")[1] for line in done.stderr.splitlines()] == [
        "1/3 setting up",
        "2/3 building",
        "3/3 measuring",
    ]
    printed = done.stdout.splitlines()
    assert printed[0] == "the table"
    assert "demo/results.png" in printed[-2]
    assert f"{tmp_path}/.venv/bin/tutti run mpirun -n " in printed[-1]


def test_on_a_terminal_one_line_is_rewritten(demo):
    terminal, end = pty.openpty()
    done = demo(BUILT, stderr=end)
    os.close(end)
    shown = os.read(terminal, 65536).decode()
    os.close(terminal)
    assert done.returncode == 0
    assert "dev: 2/3 building: 2 of 4, 50%" in shown
    assert "\n" not in shown
    assert shown.endswith("\r\x1b[K")  # and nothing of it is left


def test_what_the_compiler_says_of_a_mistake_is_shown(demo):
    done = demo("[1/2] Building CXX object a.o\nFAILED: a.o\na.cpp:1: error: no such thing\n", status=1)
    assert done.returncode == 1
    assert "dev: 2/3 building failed; all of it: build/demo.log" in done.stderr
    assert "a.cpp:1: error: no such thing" in done.stderr
    assert "Building CXX" not in done.stderr
    assert "noise" not in done.stderr
    assert done.stdout == ""


def test_nothing_is_built_for_it_but_what_it_runs(demo, tmp_path):
    demo(BUILT)
    build = (tmp_path / "asked").read_text().splitlines()[0]
    targets = build.partition("--target ")[2].split()
    if not (BUILD / "build.ninja").exists():
        pytest.skip("not built")
    commands = subprocess.run(
        ["ninja", "-C", str(BUILD), "-t", "commands", *targets], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    assert " tests/" not in commands
    for other in ("tutti-predict", "bench-engine", "tutti-partitioned-", "tutti-network-probe-"):
        assert f"/{other}" not in commands
    for made in ("src/mpi/libtutti.so", "tools/tutti-run", "bench/tutti-bench-"):
        assert f" -o {made}" in commands


def test_progress_where_there_is_no_terminal(capsys):
    with console.progress_bar(lines=True) as progress:
        progress("mpich, bcast", 0.25)
        progress("mpich, bcast", 0.26)
    assert capsys.readouterr().err == "tutti: 25%: mpich, bcast\n"
    with console.progress_bar() as progress:
        progress("mpich, bcast", 0.25)
    assert capsys.readouterr().err == ""
