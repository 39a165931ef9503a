"""TUTTI_PROFILE: what `tutti profile` tells is what the program did, at its lines, in C++, Fortran and Python. The
numbers are those of profile.cpp."""

import json
import os
import re
import subprocess
import tempfile
from functools import partial
from pathlib import Path

from jobs import PATIENCE, Job
from pointers import BINDINGS, LIBRARIES, MPI4PY, PYTHON, ROOT
from runner import FOLDER
from schemas import complaints


def profiled(runner, start):
    """What the program has printed, by name the last line number, and what tutti profile says. start: with the
    variables."""
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "record"
        outcome = start({"TUTTI_PROFILE": str(record)})
        lines = {name: int(line) for name, line in re.findall(r"^(\w+) (\d+)$", outcome.text, re.MULTILINE)}
        if outcome.status != 0 or not record.exists():
            return outcome, lines, None, ""
        page, trace = Path(folder) / "page.html", Path(folder) / "trace.json"
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        words = [str(PYTHON), "-m", "tutti", "profile", str(record)]
        words += ["--json", "--trace", str(trace), "-o", str(page)]
        told = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
        outcome.text += told.stderr
        wrong = [] if told.returncode else complaints("profiled", json.loads(told.stdout))
        outcome.text += "".join(f"{line}\n" for line in wrong)
        if told.returncode != 0 or wrong:
            return outcome, lines, None, ""
        return (
            outcome,
            lines,
            {**json.loads(told.stdout), "trace": json.loads(trace.read_text())},
            page.read_text(),
        )


def at(told, where, function, for_comparison=False):
    """The calls that were made there."""
    return [
        each
        for each in told["calls"]
        if re.split("[ ]", each["where"])[0] == where
        and each["function"] == function
        and each["for_comparison"] == for_comparison
    ]


def wrong_in(told, page, lines, ranks):
    """What is not as profile.cpp has it."""
    here = {name: f"profile.cpp:{line}" for name, line in lines.items()}
    wrong = []

    def expect(good, what):
        if not good:
            wrong.append(what)

    late = at(told, here["late"], "MPI_Barrier")
    expect(len(late) == 1 and late[0]["calls"] == 40, f"40 barriers: {late}")
    if late and late[0]["late_seconds"] is not None:
        often = {each["rank"]: each["calls"] for each in late[0]["last_ranks"]}
        expect(often.get(ranks - 1, 0) > 0.6 * sum(often.values()), f"the last rank comes last: {often}")
        expect(late[0]["late_seconds"] > 2e-3, f"4 ms later: {late[0]['late_seconds']}")
        expect(0.5 < late[0]["waiting"] <= 1, f"which is waited for: {late[0]['waiting']}")
        stack = [late[0]["where"], *late[0]["called_by"]]
        expect("main" in stack[-1], f"from main: {stack}")
    else:
        wrong.append("who came last")
    often, compared = at(told, here["often"], "MPI_Bcast"), at(told, here["often"], "MPI_Bcast", True)
    expect(sum(each["calls"] for each in often) == 996, f"996 broadcasts: {often}")
    expect(sum(each["calls"] for each in compared) == 4, f"4 by the MPI: {compared}")
    expect(all(each["how"] == "host" for each in compared), "by the MPI")
    expect(any(each["moving_seconds_by_mpi"] for each in often), "how long the MPI takes")
    expect(all(each["size_class"] == 12 for each in often + compared), "4 KiB")
    sums = at(told, here["sums"], "MPI_Allreduce", True)
    expect(bool(sums) == (ranks == 2), f"sums of more ranks have other bits by the MPI: {sums}")
    received = at(told, here["received"], "MPI_Recv")
    expect(sum(each["calls"] for each in received) == 20, f"20 messages: {received}")
    expect(all(each["waiting"] and each["waiting"] > 0.3 for each in received), "that are waited for")
    expect(sum(each["bytes"] for each in received) == 20 << 20, "of 1 MiB")
    apart = at(told, here["apart"], "MPI_Bcast")
    names = sorted(each["communicator"] for each in apart)
    expect(any(name.startswith("turned round") for name in names), f"names of communicators: {names}")
    expect(all(each["mean_seconds"] <= told["seconds"] for each in told["calls"]), "no longer than the run")
    spans = [event for event in told["trace"]["traceEvents"] if event["ph"] == "X"]
    expect({event["pid"] for event in spans} == set(range(ranks)), "a trace of each rank")
    expect(all(-1e3 <= event["ts"] <= 1e6 * told["seconds"] + 1e3 for event in spans), "within the run")
    expect(here["often"] in page and "Who sends to whom" in page, "the page")
    return wrong


def check(runner):
    """All languages."""
    is_c = Path(runner.launcher.program(FOLDER, "tutti-test-profile")).exists()
    for count in (2, 3) if is_c else ():
        check_calls(runner, count)
    for binding in BINDINGS:
        if Path(runner.launcher.program(FOLDER, f"tutti-test-profile-{binding}")).exists():
            start = partial(start_fortran, runner, f"profile-{binding}")
            check_lines(runner, f"in Fortran, {binding}", "profile.F90", start)
    check_python(runner)
    if is_c:
        check_example(runner)
        check_file(runner)


def check_example(runner):
    """The first call that is told of examples/uneven.c is the one at which rank 0 is waited for."""
    text = (ROOT / "examples" / "uneven.c").read_text(encoding="utf-8").splitlines()
    line = next(number for number, words in enumerate(text, 1) if "MPI_Allreduce(" in words)
    # Who takes a processor from rank 1 meanwhile makes that one late.
    for _ in range(3):
        outcome, _, told, page = profiled(
            runner, lambda variables: runner.start(2, "example-uneven", variables=variables).wait(60)
        )
        first = told["calls"][0] if told else None
        good = first and first["where"] == f"uneven.c:{line} main" and f"uneven.c:{line}" in page
        good = good and first["waiting"] > 0.3 and first["last_ranks"][0]["rank"] == 0
        if good:
            break
    runner.verdict(
        bool(good), f"{runner.arguments.host} 2 a profile of an example", f"first: {first}", outcome.text
    )


def start_fortran(runner, name, variables):
    """A program, to its end."""
    return runner.start(2, name, variables=variables).wait(60)


def check_calls(runner, count):
    """profile.cpp."""
    outcome, lines, told, page = profiled(
        runner, lambda more: runner.start(count, "profile", [str(int(PATIENCE))], more).wait(120)
    )
    wrong = wrong_in(told, page, lines, count) if told else ["no profile"]
    name = f"{runner.arguments.host} {count} a profile"
    runner.verdict(not wrong, name, "; ".join(wrong) or outcome.why(), outcome.text)


def check_lines(runner, what, file, start):
    """Two calls, of which one is made by a function."""
    outcome, lines, told, _ = profiled(runner, start)
    wrong = [] if told else ["no profile"]
    for name, function in (("sums", "MPI_Allreduce"), ("barrier", "MPI_Barrier")) if told else ():
        found = at(told, f"{file}:{lines.get(name)}", function)
        if sum(each["calls"] for each in found) != 30:
            wrong.append(
                f"{name} at line {lines.get(name)}: {[(each['where'], each['calls']) for each in told['calls']]}"
            )
    name = f"{runner.arguments.host} 2 a profile {what}"
    runner.verdict(not wrong, name, "; ".join(wrong) or outcome.why(), outcome.text)


def check_python(runner):
    """With mpi4py."""
    host = runner.arguments.host
    library = ROOT / ".venv" / "mpi" / host / "lib" / LIBRARIES.get(host, "-")
    if not MPI4PY.is_dir() or not library.exists():
        return

    def start(more):
        variables = {"PYTHONPATH": str(MPI4PY), "MPI4PY_LIBMPI": str(library), **more}
        script = str(ROOT / FOLDER / "profile_python.py")
        return Job(
            runner.launcher.command(2, [str(PYTHON), script], variables), runner.launcher.environment
        ).wait(120)

    check_lines(runner, "in Python", "profile_python.py", start)


def check_file(runner):
    """A file that cannot be written is a warning, and the program ends well."""
    more = {"TUTTI_PROFILE": "/proc/nobody/record"}
    outcome = runner.start(2, "profile", variables=more).wait(120)
    good = outcome.status == 0 and "there is no profile" in outcome.text
    runner.verdict(
        good, f"{runner.arguments.host} 2 a profile that cannot be written", outcome.why(), outcome.text
    )
