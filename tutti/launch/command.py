"""The options of `tutti run`; those that are plain are read by plain_command.py, which is quicker."""

from pathlib import Path
from typing import List, Optional

import typer

EPILOG = """Examples:

    tutti run mpirun -n 8 ./app input.txt

    tutti run -v -s ALGORITHM=bcast:xhc mpirun -n 8 ./app

    tutti run --summary mpirun -n 8 ./app

    tutti run --explain mpirun -n 8 ./app

    tutti run --profile app.html mpirun -n 8 ./app    # what each call costs, and who is waited for

    tutti run ./job.sh                                # a script that calls mpirun

    tutti run bash -c "mpirun -n 8 ./app | tee log"

    tutti run numactl -N 0 mpirun -n 8 ./app

    tutti run mpirun -n 8 python3 app.py

    tutti run python3 app.py                          # a single rank

    tutti run mpirun -n 2 ./app-built-with-fsanitize  # its sanitizer comes first

    tutti run mpirun -n 2 valgrind ./app

    tutti run --dry-run srun -n 64 ./app >> job.sh

    tutti run --dry-run --json mpirun -n 8 ./app | jq -r '.command | @sh'

What Tutti cannot reach runs without it, and a line says so. What starts other programs hands Tutti down to them by the
environment.

Exit status: that of the program; 2 if it cannot be started, or for a mistake in the options.
"""


def run(
    words: List[str] = typer.Argument(
        ..., metavar="[mpirun ...] PROGRAM [ARGUMENTS]", help="What you would type anyway."
    ),
    verbose: bool = typer.Option(False, "--verbose", "-v", help="Say what was found and what is executed."),
    library: Optional[Path] = typer.Option(
        None, "--library", help="Preload this library instead of Tutti's own."
    ),
    dry_run: bool = typer.Option(False, "--dry-run", help="Print the command instead of executing it."),
    as_json: bool = typer.Option(
        False, "--json", help="With --dry-run: the command, its variables and what was found, as JSON."
    ),
    settings: Optional[List[str]] = typer.Option(
        None,
        "--set",
        "-s",
        metavar="NAME=VALUE",
        help="A setting for this run (tutti info lists them); repeatable.",
    ),
    summary: bool = typer.Option(
        False,
        "--summary",
        help="Print one line at the end: how many collectives there were, in what time, how much of it by Tutti.",
    ),
    explain: bool = typer.Option(
        False, "--explain", help="Print at the end what ran and why (-s EXPLAIN=FILE: as JSON to a file)."
    ),
    profile: Optional[str] = typer.Option(
        None,
        "--profile",
        metavar="FILE",
        help="Make a page of what each call of MPI cost, by where the program makes it (tutti profile --help).",
    ),
) -> None:
    """Run an MPI program with its collectives replaced: put this in front of your mpirun."""
    from tutti.launch.plain_command import Options, carry_out

    options = Options()
    options.words, options.verbose, options.dry_run, options.as_json = words, verbose, dry_run, as_json
    options.explain, options.summary, options.settings = explain, summary, settings or []
    options.profile = profile
    options.library = str(library) if library is not None else None
    carry_out(options)
