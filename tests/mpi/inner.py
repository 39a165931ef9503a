"""Collectives that hosts call inside other functions are theirs: the library neither does nor counts them."""

import json
import tempfile
from pathlib import Path

from runner import SPAWN

#: Open MPI has two implementations of files, of which the second one calls MPI's functions.
ROMIO = {"openmpi": "romio341", "openmpi-debian": "romio321"}


def check(runner):
    """With every implementation of files that the host has, and with processes that are started."""
    host = runner.arguments.host
    check_run(runner, "", {})
    if host in ROMIO:
        check_run(runner, f", files by {ROMIO[host]}", {"OMPI_MCA_io": ROMIO[host]})
    if host != "mpich-debian":  # which cannot start any
        check_run(runner, ", processes", SPAWN.get(host, {}), "spawn")


def check_run(runner, label, variables, word=None):
    """The program's own calls are all that is counted."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "told.json"
        variables = {**variables, "TUTTI_EXPLAIN": str(told)}
        outcome = runner.start(2, "inner", [word or Path(folder) / "file"], variables).wait(60)
        rows = json.loads(told.read_text())["rows"] if told.exists() else []
        calls = [(row["collective"], row["calls"], row["algorithm"] != "host") for row in rows]
    good = outcome.status == 0 and calls == [("barrier", 2, True)]
    name = f"{runner.arguments.host} 2 what the host calls inside its functions is its own{label}"
    runner.verdict(good, name, f"{outcome.why()}, {calls}", outcome.text)
