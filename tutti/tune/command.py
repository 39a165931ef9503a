"""The options of `tutti tune`, and what it prints."""

import json
import math
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from tutti.console import for_output, progress_bar, show_line
from tutti.errors import INTERRUPTED, UserError
from tutti.launch.hosts import Host
from tutti.lines import say
from tutti.sizes import human_bytes

EPILOG = """Examples:

    tutti tune --host mpich --minutes 10

    tutti tune --host openmpi --ranks 2,8 --collectives bcast,allreduce --output table.json

    tutti tune --host mpich --minutes 30 --mechanisms window,cma,staged --hierarchies auto,flat

    tutti tune --host mpich --minutes 10 --buffers static

    tutti tune --host mpich --minutes 10 --resume

    tutti tune --host mpich --minutes 10 --network mpirun -n 36 --hostfile hosts

    tutti tune --check table.json

    tutti tune --diff before.json after.json

Exit status: 0 fine; 1 something could not be measured or gave a wrong result, a table cannot be used as a whole, or two
tables differ; 2 a mistake in what was asked for; 130 stopped by Ctrl-C, with what was measured kept.
"""


def tune(
    launcher: Optional[List[str]] = typer.Argument(
        None, metavar="[mpirun ...]", help="With --network: how ranks are started on several nodes."
    ),
    network: bool = typer.Option(
        False,
        "--network",
        help="Tune communicators that span nodes: what goes between them, by this launcher.",
    ),
    minutes: float = typer.Option(10.0, "--minutes", help="Time to measure, for each host."),
    collectives: str = typer.Option(
        "all", "--collectives", "--collective", "-c", help="Names or groups, with commas, as for tutti bench."
    ),
    ranks: str = typer.Option(
        "", "--ranks", "-n", help="Numbers of ranks. Default: powers of two up to the cores."
    ),
    sizes: str = typer.Option(
        "4:4M", "--sizes", metavar="MIN:MAX", help="Messages or blocks, going up by 4."
    ),
    mechanisms: str = typer.Option(
        "",
        "--mechanisms",
        help="Tune with each of these: auto, window, xpmem, cma, staged. Default: as it is.",
    ),
    hierarchies: str = typer.Option(
        "",
        "--hierarchies",
        help="Tune with each of these, as in TUTTI_HIERARCHY, e.g. auto,flat. Default: as it is.",
    ),
    buffers: str = typer.Option(
        "window",
        "--buffers",
        help="Kind of buffers to tune for, as for tutti bench: window, static, stack, mmap, fresh.",
    ),
    host: Optional[str] = typer.Option(None, "--host", help="mpich, openmpi, intel, abi, openmpi-debian."),
    mpirun: Optional[str] = typer.Option(None, "--mpirun", help="Tune for the MPI of this launcher."),
    within: float = typer.Option(
        3.0,
        "--within",
        help="Leave out what the model takes for so many times slower than its best; 0: nothing.",
    ),
    settings: Optional[List[str]] = typer.Option(
        None,
        "--set",
        "-s",
        metavar="NAME=VALUE",
        help="A setting to tune under, e.g. MECHANISM=cma; repeatable.",
    ),
    output: Optional[Path] = typer.Option(
        None, "--output", "-o", help="The table. Default: in the user's folder, where the library finds it."
    ),
    resume: bool = typer.Option(False, "--resume", help="Go on with a tuning that was interrupted."),
    check: Optional[Path] = typer.Option(
        None, "--check", metavar="TABLE", help="Validate a table; nothing is run."
    ),
    topology: str = typer.Option("", "--topology", "-t", help="With --check: a machine instead of this one."),
    diff: Optional[Tuple[Path, Path]] = typer.Option(
        None, "--diff", metavar="BEFORE AFTER", help="What two tables choose differently."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
) -> None:
    """Measure which algorithm is fastest where, and write the decision table that the library then chooses by."""
    from tutti.bench.words import parse_buffers
    from tutti.tune import table_check
    from tutti.tune.setups import parse_setups

    console = for_output()
    if check and diff:
        raise UserError("--check and --diff exclude each other")
    if topology and not check:
        raise UserError("--topology goes with --check: what is measured is this machine")
    if check:
        raise typer.Exit(table_check.check(check, topology, as_json, console))
    if diff:
        raise typer.Exit(table_check.diff(*diff, as_json, console))
    if launcher and not network:
        raise UserError(f"{launcher[0]}: nothing is started by a launcher of yours but with --network")
    if network and not launcher:
        raise UserError(
            "--network starts ranks on several nodes: say how, as in tutti tune --network mpirun -n 8 --hostfile hosts"
        )
    for name, value in (("--ranks", ranks), ("--mechanisms", mechanisms), ("--hierarchies", hierarchies)):
        if network and value:
            raise UserError(
                f"{name} and --network exclude each other: the launcher says how many ranks there are where"
            )
    by = mpirun or (launcher[0] if launcher and not host else None)
    options = _options(minutes, collectives, ranks, sizes, _host(host, by), within, settings)
    if launcher:
        _across_nodes(options, launcher, output)
    kinds = parse_buffers(buffers)
    if len(kinds) > 1:
        raise UserError(f"--buffers {buffers}: one kind at a time; calls do not say of which kind they are")
    options.buffers = kinds[0]
    options.setups = parse_setups(mechanisms, hierarchies, options.variables)
    raise typer.Exit(_measure(options, output, resume, as_json, console))


def _across_nodes(options: "Any", launcher: List[str], output: Optional[Path]) -> None:
    """Has the launcher of the user start the ranks. Raises UserError for make-believe nodes without --output."""
    import os

    options.launcher, options.ranks = launcher, [0]
    name = "TUTTI_RANKS_PER_NODE"
    if name in os.environ:
        options.variables.setdefault(name, os.environ[name])
    if options.one_machine and output is None:
        raise UserError(
            f"{name} is set, so the nodes are one machine, which says nothing of a network: name the table by --output"
        )


def _host(name: Optional[str], mpirun: Optional[str]) -> Host:
    from tutti.launch.hosts import host_of_mpirun, installed_hosts

    if mpirun:
        return host_of_mpirun(mpirun)
    hosts = installed_hosts()
    names = ", ".join(found.name for found in hosts) or "none"
    if name is None and len(hosts) == 1:
        return hosts[0]
    if name is None:
        raise UserError(f"a table is for one MPI: name it by --host (there are: {names}) or --mpirun")
    for found in hosts:
        if found.name == name:
            return found
    raise UserError(f"--host {name}: not installed or not built (there are: {names})")


def _options(
    minutes: float,
    collectives: str,
    ranks: str,
    sizes: str,
    host: Host,
    within: float,
    settings: Optional[List[str]],
) -> "Any":
    from tutti.settings import setting_names
    from tutti.tune.tuning import TuneOptions, default_ranks, parse_sizes, tunable
    from tutti.variables import parse_settings

    if not 0 < minutes < math.inf:
        raise UserError(f"--minutes {minutes:g}: expected more than 0")
    if within != 0 and not 1 <= within < math.inf:
        raise UserError(f"--within {within:g}: expected 1 or more, or 0 to leave nothing out")
    counts = _numbers(ranks) if ranks else default_ranks()
    low, high = parse_sizes(sizes)
    variables, warnings = parse_settings(settings or [], setting_names())
    for line in warnings:
        say(f"warning: {line}")
    return TuneOptions(host, tunable(collectives), counts, low, high, minutes, within, variables)


def _numbers(text: str) -> List[int]:
    try:
        values = sorted({int(part) for part in text.split(",") if part})
    except ValueError:
        values = []
    if not values or values[0] < 2:
        raise UserError(f"--ranks {text}: expected numbers from 2 on with commas between, e.g. 2,4")
    return values


def _state_path(output: Optional[Path], host: Host) -> Path:
    """Beside the table; by the host's name where the table's is not known before the first run."""
    from tutti.tune.tuning import tables_folder

    # Not *.json: the library reads those.
    return output.with_name(output.name + ".state") if output else tables_folder() / f"{host.name}.state"


def _measure(options: "Any", output: Optional[Path], resume: bool, as_json: bool, console: Console) -> int:
    from tutti.tune.tuning import run_tuning

    failures: List[str] = []
    state = _state_path(output, options.host)
    if resume and not state.exists():
        raise UserError(f"--resume: there is nothing to go on with ('{state}' is not there)")
    if state.exists() and not resume:
        say(f"what an earlier tuning left in '{state}' is replaced; --resume would go on")
    with progress_bar() as progress:
        outcome = run_tuning(options, output, state, resume, progress, failures.append)
    for failure in failures:
        say(failure)
    for wrong in outcome.wrong:
        say(f"wrong result: {wrong}; it is left out")
    if as_json:
        print(json.dumps(_json(outcome, failures), indent=1))
    else:
        show(outcome, output, console)
    if not outcome.complete:
        why = "stopped" if outcome.interrupted else "not everything could be measured"
        say(f"{why}; what was measured is in the table; --resume goes on")
    return (
        INTERRUPTED if outcome.interrupted else 1 if failures or outcome.wrong or not outcome.complete else 0
    )


def _json(outcome: "Any", failures: List[str]) -> Dict[str, Any]:
    from tutti.tune.table import all_entries

    decisions = [
        {**kind._asdict(), "class_bytes": one.class_bytes, "algorithm": one.chosen, "by_model": one.by_model,
         "gain": round(one.gain, 3), "us": {name: round(score.us, 3) for name, score in one.scores.items()}}
        for kind, found in outcome.found.items() for one in found
    ]  # fmt: skip
    return {
        "schema": "tutti-tuning-1", "table": str(outcome.path), "complete": outcome.complete,
        "entries": len(all_entries(outcome.table)),
        "decisions": decisions, "wrong": outcome.wrong, "failures": failures,
    }  # fmt: skip


def show(outcome: "Any", output: Optional[Path], console: Console) -> None:
    from tutti.tune.table import all_entries
    from tutti.tune.tuning import not_by_model

    table = Table(box=box.SIMPLE, padding=(0, 1), pad_edge=False)
    entries = [entry for entry in all_entries(outcome.table) if "earlier" not in entry]
    levels = ["levels"] if any(entry.get("levels", 1) > 1 for entry in entries) else []
    for name in ("collective", "ranks", *levels, "sizes", "reach", "table", "gain"):
        table.add_column(name, justify="right" if name in ("ranks", "levels", "gain") else "left")
    for entry in entries:
        low, high = entry["bytes"]
        parameter = f"({entry['parameter']})" if "parameter" in entry else ""
        sizes = human_bytes(high) if low == high else f"{human_bytes(low)} to {human_bytes(high)}"
        gain = f"{entry['gain']:.2f}" if entry["gain"] > 1 else ""
        table.add_row(
            entry["collective"],
            str(entry["ranks"][0])
            if "ranks" in entry
            else f"{entry['nodes'][0]}x{entry['ranks_per_node'][0]}",
            *(str(entry.get(name, "")) for name in levels),
            sizes,
            entry.get("reach", ""),
            entry["algorithm"] + parameter,
            gain,
        )
    console.print(table)
    others = len(not_by_model(outcome.found))
    total = sum(len(found) for found in outcome.found.values())
    console.print(
        f"In {others} of {total} cells something else than the model's choice is faster (gain: by how much).",
        highlight=False,
    )
    use = f"; TUTTI_TABLE={outcome.path} has the library use it" if output else "; the library finds it there"
    show_line(console, f"Written: {outcome.path}{use}")
