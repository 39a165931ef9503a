"""The options of `tutti probe`."""

from pathlib import Path
from typing import Any, Dict, List, Optional

import typer

from tutti.errors import UserError

EPILOG = """Examples:

    tutti probe

    tutti probe --seconds 20 --plot probe.png

    tutti probe --validate --plot probe.png

    tutti probe --validate -n 2,8 -c scan,alltoall --max 1M --mechanisms staged

    tutti probe --from ~/.config/tutti/probe.json --json

    tutti probe --network mpirun -n 36 --hostfile hosts

Exit status: 0; 1 if nothing of use could be measured, with the old file as it was, or if the predictions of --validate
are worse than what is aimed at; 2 for a mistake; 130 after Ctrl-C, with the old file as it was.
"""

#: The options of `tutti probe` that go with --validate, by what they are unless given.
_VALIDATED = {
    "host": "", "mpirun": "", "ranks": "2", "collectives": "bcast,scatter,gather,allgather", "min": "16K", "max": "4M",
    "mechanisms": "window,cma",
}  # fmt: skip


def probe(
    launcher: Optional[List[str]] = typer.Argument(
        None, metavar="[mpirun ...]", help="With --network: how ranks are started on several nodes."
    ),
    network: bool = typer.Option(
        False, "--network", help="Measure what messages between nodes cost, by this launcher's MPI."
    ),
    output: Optional[Path] = typer.Option(
        None, "--output", "-o", help="Where to write; default: the user's folder, where the library looks."
    ),
    seconds: Optional[float] = typer.Option(
        None, "--seconds", help="Time for all measurements, at most 120. Default: 45; with --network 10."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the file's content instead of a summary."),
    plot: Optional[Path] = typer.Option(None, "--plot", help="Draw maps and curves (PNG, SVG or PDF)."),
    source: Optional[Path] = typer.Option(
        None, "--from", metavar="FILE", help="Show, draw or validate this file instead of measuring."
    ),
    validate: bool = typer.Option(
        False, "--validate", help="Force every algorithm and compare its time with the prediction."
    ),
    ranks: str = typer.Option("2", "--ranks", "-n", help="For --validate: numbers of ranks, e.g. 2,8."),
    collectives: str = typer.Option(
        _VALIDATED["collectives"],
        "--collectives",
        "--collective",
        "-c",
        help="For --validate: names or groups, with commas, as for tutti bench.",
    ),
    minimum: str = typer.Option(
        _VALIDATED["min"], "--min", help="For --validate: smallest message or block."
    ),
    maximum: str = typer.Option(_VALIDATED["max"], "--max", help="For --validate: largest; up by 4."),
    mechanisms: str = typer.Option(
        _VALIDATED["mechanisms"], "--mechanisms", help="For --validate: some of window, xpmem, cma, staged."
    ),
    host: str = typer.Option(
        "",
        "--host",
        help="For --validate, and for --network where the launcher does not say: mpich, openmpi, intel, abi, "
        "openmpi-debian.",
    ),
    mpirun: str = typer.Option("", "--mpirun", help="For --validate: the MPI of this launcher."),
) -> None:
    """Measure this machine, once: what flags, copies and the kernel cost. The library's model reads the file."""
    from tutti.bench.words import parse_bounds, parse_collectives, parse_mechanisms, parse_ranks
    from tutti.probe.measurement import SECONDS_MAX
    from tutti.probe.predictions import Wanted
    from tutti.probe.steps import ProbeOptions, run

    if seconds is None:
        seconds = 10.0 if network else 45.0
    if not 1 <= seconds <= SECONDS_MAX:
        raise UserError(f"--seconds {seconds:g}: expected 1 to {SECONDS_MAX:g}")
    given = {
        "host": host, "mpirun": mpirun, "ranks": ranks, "collectives": collectives, "min": minimum, "max": maximum,
        "mechanisms": mechanisms,
    }  # fmt: skip
    for name, value in given.items():
        if value != _VALIDATED[name] and not validate and not (network and name == "host"):
            raise UserError(f"--{name} goes with --validate: nothing else runs an MPI")
    if network:
        _no_others({"--from": source, "--plot": plot, "--validate": validate})
        from tutti.probe import network_steps

        raise typer.Exit(network_steps.run(launcher or [], host, output, seconds, as_json))
    if launcher:
        raise UserError(f"{launcher[0]}: nothing is started but with --network")
    ways = parse_mechanisms(mechanisms)
    if not ways:
        raise UserError("--mechanisms: expected some of window, xpmem, cma, staged")
    least, most = parse_bounds(minimum, maximum or _VALIDATED["max"])
    assert most is not None
    wanted = Wanted(parse_ranks(ranks), parse_collectives(collectives), ways, least, most)
    options = ProbeOptions(output, seconds, as_json, plot, source, validate, wanted, host, mpirun)
    raise typer.Exit(run(options))


def _no_others(options: Dict[str, Any]) -> None:
    """Raises UserError for an option that says nothing about messages between nodes."""
    for name, value in options.items():
        if value:
            raise UserError(f"{name} and --network exclude each other")
