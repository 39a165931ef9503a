"""Fortran programs: each binding of MPI is carried out, with the results that it must have."""

import json
import re
import tempfile
from collections import Counter
from pathlib import Path

from runner import FOLDER

BINDINGS = ["mpif", "mpi", "f08"]
#: Under which name calls are counted that the library carries out, where it is not their own.
COUNTED_AS = {"reduce_scatter_block": "reduce_scatter", "alltoallw": "alltoallv"}
#: Other algorithms than the model takes, and memory that is reached in another way.
OTHERS = {
    "TUTTI_ALGORITHM": "bcast:knomial-read;reduce:xhc;allreduce:exchange;reduce_scatter:hierarchical;scan:share;"
    "scatter:hierarchical;gather:hierarchical;allgather:bruck;alltoall:pairwise;neighbor:direct",
    "TUTTI_MECHANISM": "staged",
}


def check(runner):
    """The bindings that the build has found for this host."""
    built = [binding for binding in BINDINGS if Path(program(runner, binding)).exists()]
    if not built:
        print(
            f"SKIP {runner.arguments.host}: no Fortran for this MPI; ./dev setup says what is missing",
            flush=True,
        )
    for binding in built:
        check_binding(runner, binding, 2)
    if built:
        check_binding(runner, built[-1], 3)
        check_binding(runner, built[-1], 2, ", other algorithms", OTHERS)
        check_binding(runner, built[0], 2, ", TUTTI_ENABLE=0", {"TUTTI_ENABLE": "0"})
        check_binding(runner, "counted", 2)


def program(runner, binding):
    """The path of a program that may not be there."""
    return runner.launcher.program(FOLDER, f"tutti-test-fortran-{binding}")


def check_binding(runner, binding, ranks, label="", variables=None):
    """Every test passes, and exactly the calls that ought to be were carried out."""
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
    wanted = Counter()
    for name, done, left in re.findall(r"CALLS (\w+) (\d+) (\d+)", outcome.text):
        wanted[counted_as(name), enabled] += int(done)
        wanted[counted_as(name), False] += int(left)
    found = Counter()
    for row in rows:
        found[counted_as(row["collective"]), row["algorithm"] != "host"] += row["calls"]
    differ = {each: (found[each], wanted[each]) for each in found | wanted if found[each] != wanted[each]}
    good = outcome.status == 0 and wanted and not differ
    runner.verdict(
        good, f"{prefix} calls are carried out", f"{outcome.why()}, not as wanted: {differ}", outcome.text
    )
    if binding == "counted":
        counted = re.findall(r"COUNTED allreduce (\d+)", outcome.text)
        good = counted == [str(wanted["allreduce", True] + wanted["allreduce", False])] * ranks
        runner.verdict(good, f"{prefix} calls are counted once", f"{counted}", outcome.text)


def counted_as(name):
    """What calls of a collective are counted under; all those of neighbours are one."""
    return "neighbor" if name.startswith("neighbor") else COUNTED_AS.get(name, name)
