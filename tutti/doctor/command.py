"""The options of `tutti doctor`."""

import json
from typing import List, Optional

import typer

from tutti.console import busy, for_output

EPILOG = """Examples:

    tutti doctor

    tutti doctor --host openmpi --host path

    tutti doctor --ranks 64

    tutti doctor --json | jq -r '.checks[] | select(.status == "warn") | .remedy'

    tutti doctor > doctor.txt || echo "something does not work here"

Exit status: 0 if all is well or only slower than it could be (ok, warn, unknown), 1 if a check fails,
2 for a mistake in the command, 130 after Ctrl-C.
"""


def doctor(
    as_json: bool = typer.Option(False, "--json", help="As JSON (schema tutti-doctor-1)."),
    host: Optional[List[str]] = typer.Option(
        None, "--host", help="Only this MPI: mpich, openmpi, intel, abi, openmpi-debian, path; repeatable."
    ),
    ranks: int = typer.Option(
        0, "--ranks", "-n", min=0, help="How many ranks are to run here; 0: that is not known."
    ),
) -> None:
    """What this machine and container allow, and the remedy for what they do not."""
    from tutti.doctor.check import Check
    from tutti.doctor.machine import Machine
    from tutti.doctor.report import document, examine, exit_status, show

    machine = Machine(asked_ranks=ranks)
    checks: List[Check] = []
    with busy("looking") as doing:
        for check in examine(machine, tuple(host or ())):
            checks.append(check)
            doing(f"{check.title}: {check.status}")
    if as_json:
        print(json.dumps(document(machine, checks), indent=1))
    else:
        show(machine, checks, for_output())
    raise typer.Exit(exit_status(checks))
