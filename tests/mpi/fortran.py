"""Fortran programs: each binding of MPI is carried out, with the results that it has without the library."""

import json
import re
import signal
import tempfile
from collections import Counter
from pathlib import Path

from jobs import Job
from runner import FOLDER

BINDINGS = ["mpif", "mpi", "f08"]
#: Under which name calls are counted that the library carries out, where it is not their own.
COUNTED_AS = {"reduce_scatter_block": "reduce_scatter", "alltoallw": "alltoallv", "ibcast": "bcast"}
#: Other algorithms than the model takes: of each line the first that it does not take on this machine.
OTHERS = {
    "barrier": ["tree", "flat"],
    "bcast": ["knomial-read", "smhc-flat"],
    "reduce": ["smhc-flat", "binomial"],
    "allreduce": ["exchange", "smhc-flat"],
    "reduce_scatter": ["hierarchical", "direct"],
    "scan": ["recursive-doubling", "share"],
    "scatter": ["hierarchical", "throttled"],
    "scatterv": ["sequential-write", "parallel-read"],
    "gather": ["hierarchical", "throttled"],
    "gatherv": ["parallel-write", "sequential-read"],
    "allgather": ["bruck", "ring-source-read"],
    "allgatherv": ["bruck", "ring-source-read"],
    "alltoall": ["pairwise", "bruck"],
    "alltoallv": ["pairwise", "direct"],
    "neighbor": ["direct-write", "direct"],
    "neighborv": ["direct-write", "direct"],
}
#: Why calls with types that C does not have are the host's.
UNKNOWN_TYPE = "datatype not ours"
#: A job that ends by an error is started so often, and up to so often if something is seen with Tutti that was not seen
#: without: launchers do not always say the same of one.
ENDINGS, MOST_ENDINGS = 3, 10
#: Of the launcher of Intel MPI that has ended by SIGPIPE itself, as it does now and then where ranks end a job at once:
#: that says nothing of the job.
LAUNCHER_BROKE = 128 + signal.SIGPIPE
#: Of what compares Fortran with C: seconds a size, and the largest; four sizes of two collectives.
LANGUAGES = ["0.02", "4096"]
#: Where the arrays of the examples are.
ARRAYS = ["heap", "common", "stack"]


def check(runner):
    """The bindings that the build has found for this host."""
    built = [binding for binding in BINDINGS if Path(program(runner, binding)).exists()]
    if not built:
        print(
            f"SKIP {runner.arguments.host}: no Fortran for this MPI; ./dev setup says what is missing",
            flush=True,
        )
    cases = [(check_binding, runner, binding, 2) for binding in built]
    if built:
        cases.append((check_binding, runner, built[-1], 3))
        cases.append((check_run, runner, built[0], 2, ", TUTTI_ENABLE=0", {"TUTTI_ENABLE": "0"}))
        cases.append((check_run, runner, "counted", 2))
        cases += [(check_ending, runner, built[-1], who) for who in ("all", "one")]
        cases.append((check_example, runner, "stencil", (32, 200), r"last change: +(\S+)"))
    if "f08" in built:
        cases.append((check_example, runner, "transpose", (64, 5), r"(right)"))
    runner.together(cases)
    if "f08" in built:
        check_languages(runner)


def program(runner, binding):
    """The path of a program that may not be there."""
    return runner.launcher.program(FOLDER, f"tutti-test-fortran-{binding}")


def check_binding(runner, binding, ranks):
    """What the host gives, the library gives too, by the algorithms that it chooses and by others."""
    prefix = f"{runner.arguments.host} {ranks} fortran {binding}"
    plain = runner.start_plain(ranks, f"fortran-{binding}").wait(120)
    if plain.status != 0:
        print(f"SKIP {prefix}: without Tutti it fails as well: {plain.why()}", flush=True)
        return
    alone = results_of(plain.text)
    chosen, by_chosen = check_run(runner, binding, ranks)
    free = {name: [each for each in some if (name, each) not in by_chosen] for name, some in OTHERS.items()}
    wanted = {(name, some[0]) for name, some in free.items() if some}
    variables = {
        "TUTTI_ALGORITHM": ";".join(":".join(each) for each in sorted(wanted)),
        "TUTTI_MECHANISM": "staged",  # memory that is reached in another way
    }
    others, by_others = check_run(runner, binding, ranks, ", other algorithms", variables)
    for label, results in (("", chosen), (", other algorithms", others)):
        differ = [name for name in alone | results if alone.get(name) != results.get(name)]
        runner.verdict(
            alone and not differ, f"{prefix}{label} results are the host's", f"not those of {differ}"
        )
    none = [name for name, some in free.items() if not some]
    why = f"these did not run: {wanted - by_others}, and of these there are no others: {none}"
    runner.verdict(wanted <= by_others and not none, f"{prefix} other algorithms are others", why)


def results_of(text):
    """What stands for the results of each test."""
    return dict(re.findall(r"^RESULT (\w+) (\w+)$", text, re.MULTILINE))


def check_run(runner, binding, ranks, label="", variables=None):
    """Every test passes, and exactly the calls that ought to be were carried out; why the others were not is told.

    Returns what stands for the results, and which algorithms ran for which collectives."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "told.json"
        enabled = (variables or {}).get("TUTTI_ENABLE") != "0"
        outcome = runner.start(
            ranks, f"fortran-{binding}", variables={"TUTTI_EXPLAIN": str(told), **(variables or {})}
        ).wait(120)
        rows = json.loads(told.read_text())["rows"] if told.exists() else []
    prefix = f"{runner.arguments.host} {ranks} fortran {binding}{label}"
    for word, test in re.findall(r"^(PASS|FAIL) +(.*)", outcome.text, re.MULTILINE):
        runner.verdict(word == "PASS", f"{prefix} {test}", "", outcome.text)
    wanted = wanted_calls(outcome.text, "" if enabled else "the library is inactive")
    found = Counter()
    for row in rows:
        why = row["reason"] if row["algorithm"] == "host" else ""
        found[counted_as(row["collective"]), why] += row["calls"]
    differ = {each: (found[each], wanted[each]) for each in found | wanted if found[each] != wanted[each]}
    good = outcome.status == 0 and wanted and not differ
    runner.verdict(
        good, f"{prefix} calls are carried out", f"{outcome.why()}, not as wanted: {differ}", outcome.text
    )
    if enabled:
        told_of = found["allreduce", UNKNOWN_TYPE] > 0
        runner.verdict(told_of, f"{prefix} types that C does not have are told of", "", outcome.text)
    if binding == "counted":
        counted = re.findall(r"COUNTED allreduce (\d+)", outcome.text)
        calls = sum(number for (name, _), number in wanted.items() if name == "allreduce")
        runner.verdict(
            counted == [str(calls)] * ranks, f"{prefix} calls are counted once", f"{counted}", outcome.text
        )
    return results_of(outcome.text), {(row["collective"], row["algorithm"]) for row in rows}


def wanted_calls(text, why_none):
    """By what the program says of itself: calls by the name and by why they are the host's, "" for those that are not.

    why_none: of all calls."""
    wanted = Counter()
    for name, calls in re.findall(r"^CALLS (\w+) (\d+)$", text, re.MULTILINE):
        wanted[counted_as(name), why_none] += int(calls)
    for name, calls, why in re.findall(r"^LEFT (\w+) (\d+) (.*?) *$", text, re.MULTILINE):
        wanted[counted_as(name), why_none or why] += int(calls)
    return wanted


def counted_as(name):
    """What calls of a collective are counted under; all those of neighbours are one."""
    return "neighbor" if name.startswith("neighbor") else COUNTED_AS.get(name, name)


def check_ending(runner, binding, who):
    """An error that nobody wants to have returned ends the job as it does without the library.

    who: makes the call that the host refuses, "all" ranks or "one" for which the others wait. What is printed is not
    looked for: launchers lose it now and then. The error's class is the status."""
    name = f"{runner.arguments.host} 2 fortran {binding} an error of {who} ends the job as without Tutti"
    starts = {"alone": runner.start_plain, "with Tutti": runner.start}
    seen = {kind: set() for kind in starts}
    went_on = False
    for number in range(MOST_ENDINGS):
        if number >= ENDINGS and seen["with Tutti"] <= seen["alone"]:
            break
        for kind, start in starts.items():
            outcome = start(2, f"fortran-{binding}", [who]).wait(30)
            if outcome.status != LAUNCHER_BROKE:
                seen[kind].add(outcome.status)
            went_on = went_on or "WENT ON" in outcome.text
    good = (
        all(seen.values()) and seen["with Tutti"] <= seen["alone"] and min(seen["alone"]) > 0 and not went_on
    )
    runner.verdict(good, name, f"statuses {seen}{', it went on' if went_on else ''}", outcome.text)


def check_example(runner, example, words, result):
    """The result is that without the library, wherever the arrays are."""
    alone = re.findall(result, runner.start_plain(2, example, words).wait(60).text)
    for arrays in ARRAYS:
        outcome = runner.start(2, example, [*words, arrays]).wait(60)
        found = re.findall(result, outcome.text)
        good = outcome.status == 0 and alone and found == alone
        name = f"{runner.arguments.host} 2 fortran example {example}, arrays: {arrays}"
        runner.verdict(good, name, f"{outcome.why()}, {found} and not {alone}", outcome.text)


def check_languages(runner):
    """What compares Fortran with C does what it says: half of its calls are Tutti's, and the others do not reach it."""
    launcher = runner.launcher
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "told.json"
        command = [launcher.program("bench", "tutti-languages"), *LANGUAGES]
        line = launcher.command(2, command, {"TUTTI_EXPLAIN": str(told)})
        outcome = Job(line, launcher.environment).wait(60)
        rows = json.loads(told.read_text())["rows"] if told.exists() else []
    cells = [line.split() for line in outcome.text.splitlines() if line.startswith("CELL ")]
    made = re.findall(r"^CALLS (\d+)$", outcome.text, re.MULTILINE)
    found = sum(row["calls"] for row in rows if row["collective"] in ("bcast", "allreduce"))
    name = f"{runner.arguments.host} 2 Fortran against C"
    good = outcome.status == 0 and len(cells) == 8 and all(right == "T" for _, _, _, _, right, *_ in cells)
    runner.verdict(
        good and made == [str(found)], name, f"{outcome.why()}, {found} calls and not {made}", outcome.text
    )
    for _, collective, size, _, _, *numbers in cells:
        host, tutti, c_host, c_tutti = (float(number) for number in numbers[::4])
        print(
            f"    {collective} {size}: speed-up {host / tutti:.2f} in Fortran, {c_host / c_tutti:.2f} in C",
            flush=True,
        )
