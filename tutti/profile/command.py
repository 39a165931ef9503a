"""The options of `tutti profile`."""

import json
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import typer

EPILOG = """Examples:

    tutti run --profile app.html mpirun -n 8 ./app    # both at once; the record is kept as app.profile

    tutti profile app.profile -o app.html

    tutti profile app.profile --trace app.json        # for ui.perfetto.dev

    tutti profile app.profile --json | jq '.calls[0]'
"""


def _json(recorded: Any, calls: Sequence[Any]) -> Dict[str, Any]:
    from tutti.profile.page import waiting_of

    rows: List[Dict[str, Any]] = []
    for each in calls:
        arrivals, by_mpi = each.arrivals, each.by_mpi
        rows.append(
            {
                "where": each.site.place.words(),
                "called_by": [place.words() for place in each.site.outer],
                "function": each.kind.function,
                "category": each.category,
                "size_class": each.kind.size_class,
                "communicator": each.kind.communicator,
                "how": each.kind.how,
                "way": each.kind.way,
                "why": each.kind.why,
                "for_comparison": each.kind.for_comparison,
                "calls": each.calls,
                "bytes": each.bytes,
                "ranks": each.ranks,
                "seconds": each.seconds,
                "least_seconds": each.least,
                "mean_seconds": each.mean,
                "waiting": waiting_of(each),
                "last_ranks": [{"rank": rank, "calls": often} for rank, often in arrivals.last]
                if arrivals
                else None,
                "late_seconds": arrivals.late if arrivals else None,
                "moving_seconds": arrivals.moving if arrivals else None,
                "moving_seconds_by_mpi": by_mpi.moving if by_mpi else None,
                "longest": dict(zip(("seconds", "rank", "at"), each.longest)),
            }
        )
    return {**recorded.about, "schema": "tutti-profiled-1", "seconds": recorded.seconds, "calls": rows}


def convert(file: Path, output: Optional[Path], trace: Optional[Path], as_json: bool) -> None:
    """Writes what is asked for. Raises UserError."""
    from tutti.profile import page, recorded
    from tutti.profile import trace as perfetto
    from tutti.profile.calls import calls_of

    run = recorded.read(file)
    calls, program_for_lines, kinds = calls_of(run)
    if output:
        page.make_page(run, calls, kinds, program_for_lines is not None).write(output)
    if trace:
        perfetto.write(trace, perfetto.trace_of(run, calls, kinds))
    if as_json:
        print(json.dumps(_json(run, calls), indent=1))


def profile(
    file: Path = typer.Argument(
        ..., metavar="FILE", help="What TUTTI_PROFILE, or tutti run --profile, has written."
    ),
    output: Optional[Path] = typer.Option(
        None, "--output", "-o", metavar="FILE", help="The page; FILE with .html without it."
    ),
    trace: Optional[Path] = typer.Option(
        None, "--trace", metavar="FILE", help="The timeline for Perfetto, in place of the page."
    ),
    as_json: bool = typer.Option(False, "--json", help="The calls as JSON, in place of the page."),
) -> None:
    """Show what each call of MPI cost a program, by the place that makes it."""
    if not output and not trace and not as_json:
        output = file.with_suffix(".html")
    convert(file, output, trace, as_json)
    for path in (output, trace):
        if path and not as_json:
            print(f"wrote {path}")
