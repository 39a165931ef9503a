"""The options of `tutti report`."""

from pathlib import Path
from typing import List, Optional

import typer

from tutti import files

EPILOG = """Examples:

    tutti report

    tutti report bench.json -o report.html

    tutti report measured/ ~/.config/tutti/probe.json -o report.html

    tutti report new/ --against old/ -o changes.html

    tutti report bench.json --against report.html -o changes.html

Exit status: 0; 2 for a mistake; 130 after Ctrl-C, with no file written.
"""


def report(
    sources: Optional[List[Path]] = typer.Argument(
        None,
        metavar="[FILES]...",
        help="What tutti probe, tune, bench --json, explain --json, sim --json, topo --json and doctor --json wrote, "
        "TUTTI_EXPLAIN=FILE, earlier reports; of a folder its *.json. Default: this machine, with the user's probe and "
        "tables.",
    ),
    output: Path = typer.Option(Path("report.html"), "--output", "-o", help="The page."),
    against: Optional[List[Path]] = typer.Option(
        None, "--against", metavar="FILE", help="Compare with this file, folder or report; repeatable."
    ),
) -> None:
    """One page of a machine and an MPI, out of what other commands wrote; regressions first."""
    from tutti.report import sources as given
    from tutti.report.whole import whole_page

    files.check_output(output)
    now = given.read(sources) if sources else given.here()
    before = given.read(against or [])
    whole_page(now, before).write(output)
    print(f"Written: {output}")
