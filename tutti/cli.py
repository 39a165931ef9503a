"""The command line: `tutti run | topo | bench | probe | tune | explain | doctor | info`."""

import json
import math
import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any, List, Optional, Tuple

import click
import typer
import typer.core
from rich.console import Console

from tutti import __version__, files
from tutti.console import for_output, progress_bar
from tutti.errors import UserError
from tutti.main import main as main
from tutti.nearest import hint
from tutti.tune.command import EPILOG as TUNE_EPILOG
from tutti.tune.command import tune

#: A benchmark of more ranks measures the scheduler, if the machine survives it.
RANKS_PER_CORE_MAX = 64


class _Commands(typer.core.TyperGroup):
    """The commands; a wrong name is told the nearest right one."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> Optional[click.Command]:
        command = super().get_command(ctx, cmd_name)
        for parameter in command.params if command else []:
            if parameter.default is None:  # what is not there needs no words
                parameter.show_default = False  # type: ignore[attr-defined]
        return command

    def resolve_command(self, ctx: click.Context, args: List[str]) -> Any:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            like = hint(args[0], self.commands)
            raise click.UsageError(f"no such command '{args[0]}'{like}", ctx)
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_Commands,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Tutti: faster MPI collectives inside a node, for programs as they are.",
    epilog="Exit status of all commands but run, which has that of the program: 0 fine; 1 something that was looked "
    "at or measured is not as it should be; 2 a mistake, in one line; 130 stopped by Ctrl-C or SIGTERM, with nothing "
    "left running.",
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"tutti {__version__}")
        raise typer.Exit()


@app.callback()
def _common(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    pass


_RUN_EPILOG = """Examples:

    tutti run mpirun -n 8 ./app input.txt

    tutti run -v -s ALGORITHM=bcast:xhc mpirun -n 8 ./app

    tutti run --explain mpirun -n 8 ./app

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


@app.command(epilog=_RUN_EPILOG, context_settings={"allow_interspersed_args": False})
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
    explain_run: bool = typer.Option(
        False, "--explain", help="Print at the end what ran and why (-s EXPLAIN=FILE: as JSON to a file)."
    ),
) -> None:
    """Run an MPI program with its collectives replaced: put this in front of your mpirun."""
    from tutti.launch.plain_command import Options, carry_out

    options = Options()
    options.words, options.verbose, options.dry_run, options.as_json = words, verbose, dry_run, as_json
    options.explain, options.settings = explain_run, settings or []
    options.library = str(library) if library is not None else None
    carry_out(options)


_TOPO_EPILOG = """Examples:

    tutti topo

    tutti topo -n 64 --hierarchy numa+socket --root 10

    tutti topo -t "package:2 numa:4 core:8 pu:1" --mapping numa --png machine.png

    tutti topo --json - | jq .machine

Exit status: 0; 2 for a mistake; 130 after Ctrl-C.
"""


@app.command(epilog=_TOPO_EPILOG)
def topo(
    topology: str = typer.Option(
        "", "--topology", "-t", help="hwloc synthetic description or XML file; default: here."
    ),
    hierarchy: str = typer.Option(
        "", "--hierarchy", help="Levels, e.g. numa+socket; default: as the library chooses."
    ),
    ranks: int = typer.Option(0, "--ranks", "-n", help="Number of ranks; 0: one for each core."),
    root: int = typer.Option(0, "--root", help="Root of the collective whose tree is drawn."),
    mapping: str = typer.Option("", "--mapping", help="How ranks are laid out: core, numa, socket, unbound."),
    svg: Optional[Path] = typer.Option(None, "--svg", help="Write a drawing."),
    png: Optional[Path] = typer.Option(None, "--png", help="Write a picture."),
    json_file: Optional[Path] = typer.Option(
        None, "--json", help="Write what is shown as JSON; -: only that, on standard output."
    ),
) -> None:
    """Show the machine as the collectives see it: groups, leaders, levels."""
    from tutti.launch.library import find_tool
    from tutti.topo.text import command

    tool = find_tool("tutti-topo", "tools")
    if tool is None:
        raise UserError("tutti-topo is not built; run ./dev setup && ./dev build")
    raise typer.Exit(command(topology, hierarchy, ranks, root, mapping, svg, png, json_file, tool))


_EXPLAIN_EPILOG = """Examples:

    tutti explain

    tutti explain bcast 64K 8

    tutti explain bcast 1M --mechanism cma

    tutti explain alltoall 4K -t "package:2 numa:8 core:10" --hierarchy numa+socket

    tutti explain scatter 1M 8 --algorithm "scatter:throttled,k=4"

    tutti explain bcast 64K 8 --probe off --table off

    tutti explain bcast 64K --json | jq -r '.choice.name'

What no option says is as in a run here: TUTTI_ settings of the environment, files of tutti probe and tutti tune.

Exit status: 0; 2 for a mistake; 130 after Ctrl-C.
"""


@app.command(epilog=_EXPLAIN_EPILOG)
def explain(
    collective: str = typer.Argument("", help="bcast, allreduce, ...; without it: all of them."),
    size: str = typer.Argument("", metavar="[BYTES]", help="Of the message, or of one block: 4, 64K, 1M."),
    ranks: int = typer.Argument(0, min=0, help="Of the communicator; 0: one for each core."),
    ranks_per_core: float = typer.Option(
        0.0, "--ranks-per-core", min=0.0, help="Default: as the ranks are laid out."
    ),
    topology: str = typer.Option(
        "", "--topology", "-t", help="hwloc synthetic description or XML file; default: here."
    ),
    hierarchy: str = typer.Option("", "--hierarchy", help="Levels, e.g. numa+socket, or flat."),
    mapping: str = typer.Option("", "--mapping", help="How ranks are laid out: core, numa, socket, unbound."),
    mechanism: str = typer.Option(
        "",
        "--mechanism",
        help="What there is: window, xpmem, cma, staged, with commas; default: what works when it is tried here.",
    ),
    algorithm: str = typer.Option("", "--algorithm", help="As TUTTI_ALGORITHM, e.g. bcast:xhc."),
    ordered: bool = typer.Option(False, "--ordered", help="With an operator that does not commute."),
    probe_file: Optional[Path] = typer.Option(
        None, "--probe", help="A file of tutti probe to predict from; off: the shipped parameters."
    ),
    table_file: Optional[Path] = typer.Option(
        None, "--table", help="A table of tutti tune to choose by; off: none."
    ),
    host: str = typer.Option(
        "",
        "--host",
        help="MPI that the table has to be for: mpich, openmpi, intel; default: any, the first that fits.",
    ),
    as_json: bool = typer.Option(False, "--json", help="As JSON."),
) -> None:
    """Say which algorithm a collective takes, what the others would cost, and why they are not taken."""
    from tutti.explain.question import Question, as_json_text, ask, show
    from tutti.launch.library import find_tool

    tool = find_tool("tutti-predict", "tools")
    if tool is None:
        raise UserError("tutti-predict is not built; run ./dev setup && ./dev build")
    question = Question(
        collective=collective,
        size=size,
        ranks=ranks,
        ranks_per_core=ranks_per_core,
        topology=topology,
        hierarchy=hierarchy,
        mapping=mapping,
        mechanisms=mechanism,
        algorithm=algorithm,
        probe=probe_file,
        table=table_file,
        host=host,
        ordered=ordered,
    )
    told = ask(tool, question)
    for line in told["warnings"]:
        print(f"tutti: {line}", file=sys.stderr)
    if as_json:
        print(as_json_text(told))
    else:
        show(told, for_output())


def _numbers(text: str, what: str) -> List[int]:
    try:
        values = [int(part) for part in text.split(",") if part]
    except ValueError:
        values = []
    if not values or min(values) < 1:
        raise UserError(f"--{what} {text}: expected numbers with commas between, e.g. 2,4")
    return values


def _sizes(minimum: str, maximum: str) -> Tuple[int, Optional[int]]:
    """--min and --max in bytes; None: there is no --max. Raises UserError."""
    from tutti.bench.words import parse_size

    least, most = parse_size(minimum, "--min"), parse_size(maximum, "--max") if maximum else None
    if most is not None and most < least:
        raise UserError(f"--max {maximum}: less than --min {minimum}")
    return least, most


_BENCH_EPILOG = """Examples:

    tutti bench

    tutti bench --ranks 2,4 --json all.json --plot speed.png

    tutti bench --host openmpi -c scatter --algorithms all --mechanisms window,cma,staged

    tutti bench -c bcast --max 64K --quiet --json - | jq '.cells[] | [.bytes, .ratio]'

Exit status: 0; 1 if something could not be measured or gave a wrong result; 2 for a mistake; 130 after Ctrl-C, with
nothing written.
"""


@app.command(epilog=_BENCH_EPILOG)
def bench(
    host: Optional[List[str]] = typer.Option(
        None, "--host", help="mpich, openmpi, intel, abi, openmpi-debian; repeatable."
    ),
    mpirun: Optional[str] = typer.Option(None, "--mpirun", help="Measure the MPI of this launcher."),
    ranks: str = typer.Option(
        "", "--ranks", "-n", help="Numbers of ranks, e.g. 2,4; default: one for each core."
    ),
    collective: str = typer.Option(
        "basic",
        "--collectives",
        "--collective",
        "-c",
        help="Names or groups (all, basic, blocks, reductions, neighbors), with commas.",
    ),
    minimum: str = typer.Option("4", "--min", help="Smallest message or block in bytes (4, 64K, ...)."),
    maximum: str = typer.Option(
        "", "--max", help="Largest; sizes go up by 4. Default: 16M for a message, 4M for a block."
    ),
    root: str = typer.Option("0", "--root", help="A rank, or rotate: another root in each call."),
    in_place: bool = typer.Option(False, "--in-place", help="With MPI_IN_PLACE."),
    fresh: bool = typer.Option(False, "--fresh", help="A newly allocated buffer for each call."),
    unchanged: bool = typer.Option(
        False, "--unchanged", help="Leave the data as it was: this measures the caches."
    ),
    skew: float = typer.Option(
        0.0, "--skew", metavar="US", help="Let ranks arrive up to this many microseconds apart."
    ),
    timing: str = typer.Option(
        "calls",
        "--timing",
        help="calls, or between-barriers: calls alone also where ranks share a core.",
    ),
    algorithm: str = typer.Option("", "--algorithm", help="As TUTTI_ALGORITHM, e.g. bcast:xhc."),
    algorithms: str = typer.Option(
        "",
        "--algorithms",
        metavar="all|NAMES",
        help="Compare these algorithms with each other in one run, e.g. direct,throttled,k=2,k=4.",
    ),
    mechanisms: str = typer.Option(
        "",
        "--mechanisms",
        help="Compare these ways to reach memory: window, xpmem, cma, staged, with commas.",
    ),
    settings: Optional[List[str]] = typer.Option(
        None, "--set", "-s", metavar="NAME=VALUE", help="A setting; repeatable."
    ),
    floor: bool = typer.Option(False, "--floor", help="Measure also what flags and copies alone cost."),
    seconds: float = typer.Option(0.5, "--seconds", help="Time for each cell of the table."),
    repeats: int = typer.Option(1, "--repeats", help="Start everything this often; the median counts."),
    host_wait: str = typer.Option(
        "default", "--host-wait", help="How the MPI waits: default, yield, or best of both."
    ),
    host_best: bool = typer.Option(
        False, "--host-best", help="Try what an expert would set for each MPI; its best counts in each cell."
    ),
    json_file: Optional[Path] = typer.Option(
        None, "--json", help="Write all results; -: print them, and nothing else."
    ),
    plot: Optional[Path] = typer.Option(None, "--plot", help="Draw time against size (PNG, SVG or PDF)."),
    table: Optional[Path] = typer.Option(None, "--table", help="Write the tables as text."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Print the summary only."),
) -> None:
    """Time collectives: the MPI's own against Tutti's, call by call in the same processes."""
    from tutti.bench.report import Reports
    from tutti.bench.runs import BenchOptions, check_algorithms, document, measure
    from tutti.bench.words import AlgorithmWords, parse_collectives, parse_mechanisms
    from tutti.launch.hosts import host_of_mpirun, installed_hosts
    from tutti.launch.plan import parse_settings
    from tutti.settings import all_settings

    collectives = parse_collectives(collective)
    minimum_bytes, maximum_bytes = _sizes(minimum, maximum)
    compared = parse_mechanisms(mechanisms)
    words = AlgorithmWords(algorithms) if algorithms else None
    if algorithm and words:
        raise UserError("--algorithm and --algorithms exclude each other: one is for the whole run")
    if not 0 < seconds < math.inf:
        raise UserError(f"--seconds {seconds:g}: expected more than 0")
    if repeats < 1:
        raise UserError(f"--repeats {repeats}: expected at least 1")
    if not 0 <= skew < math.inf:
        raise UserError(f"--skew {skew:g}: expected microseconds, 0 or more")
    if timing not in ("calls", "between-barriers"):
        raise UserError(f"--timing {timing}: expected calls or between-barriers")
    if timing != "calls" and skew > 0:
        raise UserError("--timing between-barriers and --skew exclude each other")
    if host_wait not in ("default", "yield", "best"):
        raise UserError(f"--host-wait {host_wait}: expected default, yield or best")
    if fresh and unchanged:
        raise UserError("--fresh and --unchanged exclude each other")
    if root != "rotate" and not root.isdigit():
        raise UserError(f"--root {root}: expected a rank or rotate")
    rank_counts = _numbers(ranks, "ranks") if ranks else [max(2, len(os.sched_getaffinity(0)))]
    most = RANKS_PER_CORE_MAX * len(os.sched_getaffinity(0))
    if max(rank_counts) > most:
        raise UserError(f"--ranks {max(rank_counts)}: more than {RANKS_PER_CORE_MAX} a core, {most} here")
    if root != "rotate" and int(root) >= min(rank_counts):
        raise UserError(f"--root {root}: of {min(rank_counts)} ranks the last is {min(rank_counts) - 1}")
    for path in (json_file, table):
        if path and path != Path("-"):
            files.check_output(path)
    if plot:
        files.check_picture(plot)
    hosts = [host_of_mpirun(mpirun)] if mpirun else installed_hosts()
    if host and not mpirun:
        names = [found.name for found in hosts]
        missing = [name for name in host if name not in names]
        if missing:
            raise UserError(
                f"--host {missing[0]}: not installed or not built (there are: {', '.join(names) or 'none'})"
            )
        hosts = [found for found in hosts if found.name in host]
    if not hosts:
        raise UserError("no MPI to measure: none is installed and built; run ./dev setup && ./dev build")
    pairs = [*(settings or []), *([f"ALGORITHM={algorithm}"] if algorithm else [])]
    variables, warnings = parse_settings(pairs, all_settings())
    for line in warnings:
        print(f"tutti: warning: {line}", file=sys.stderr)
    if words:
        check_algorithms(words, hosts[0], collectives, rank_counts[0])
    options = BenchOptions(
        ranks=rank_counts,
        collectives=collectives,
        minimum_bytes=minimum_bytes,
        maximum_bytes=maximum_bytes,
        root=root,
        in_place=in_place,
        buffers="fresh" if fresh else "unchanged" if unchanged else "changed",
        skew_us=skew,
        timing=timing,
        seconds=seconds,
        repeats=repeats,
        floor=floor,
        host_wait=host_wait,
        host_best=host_best,
        variables=variables,
        algorithms=words,
        mechanisms=compared,
    )
    failures: List[str] = []
    with progress_bar() as progress:
        cells = measure(hosts, options, progress, failures.append)
    titles = {found.name: found.title for found in hosts}
    if cells:
        reports = Reports(cells, titles, options.compares)
        results = json.dumps({**document(cells, hosts, options), **reports.document}, indent=1) + "\n"
        if json_file == Path("-"):
            print(results, end="")
        else:
            console = for_output()
            for one in reports.summary if quiet else reports.tables:
                console.print(one)
            if json_file:
                files.write(json_file, results)
        if table:
            files.write(table, reports.text)
        if plot:
            files.draw(plot, reports.draw)
    for failure in failures:
        print(f"tutti: {failure}", file=sys.stderr)
    raise typer.Exit(1 if failures or any(not cell.get("checked") for cell in cells) else 0)


#: The options of `tutti probe` that go with --validate, by what they are unless given.
_VALIDATED = {
    "host": "", "mpirun": "", "ranks": "2", "collectives": "bcast,scatter,gather,allgather", "min": "16K", "max": "4M",
    "mechanisms": "window,cma",
}  # fmt: skip

_PROBE_EPILOG = """Examples:

    tutti probe

    tutti probe --seconds 20 --plot probe.png

    tutti probe --validate --plot probe.png

    tutti probe --validate -n 2,8 -c scan,alltoall --max 1M --mechanisms staged

    tutti probe --from ~/.config/tutti/probe.json --json

Exit status: 0; 1 if nothing of use could be measured, with the old file as it was, or if the predictions of --validate
are worse than what is aimed at; 2 for a mistake; 130 after Ctrl-C, with the old file as it was.
"""


@app.command(epilog=_PROBE_EPILOG)
def probe(
    output: Optional[Path] = typer.Option(
        None, "--output", "-o", help="Where to write; default: the user's folder, where the library looks."
    ),
    seconds: float = typer.Option(45.0, "--seconds", help="Time for all measurements, at most 120."),
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
        "", "--host", help="For --validate: mpich, openmpi, intel, abi, openmpi-debian."
    ),
    mpirun: str = typer.Option("", "--mpirun", help="For --validate: the MPI of this launcher."),
) -> None:
    """Measure this machine, once: what flags, copies and the kernel cost. The library's model reads the file."""
    from tutti.bench.words import parse_collectives, parse_mechanisms
    from tutti.probe.measurement import SECONDS_MAX
    from tutti.probe.steps import ProbeOptions, run
    from tutti.probe.validate import Wanted

    if not 1 <= seconds <= SECONDS_MAX:
        raise UserError(f"--seconds {seconds:g}: expected 1 to {SECONDS_MAX:g}")
    given = {
        "host": host, "mpirun": mpirun, "ranks": ranks, "collectives": collectives, "min": minimum, "max": maximum,
        "mechanisms": mechanisms,
    }  # fmt: skip
    for name, value in given.items():
        if value != _VALIDATED[name] and not validate:
            raise UserError(f"--{name} goes with --validate: nothing else runs an MPI")
    ways = parse_mechanisms(mechanisms)
    if not ways:
        raise UserError("--mechanisms: expected some of window, xpmem, cma, staged")
    least, most = _sizes(minimum, maximum or _VALIDATED["max"])
    assert most is not None
    wanted = Wanted(_numbers(ranks, "ranks"), parse_collectives(collectives), ways, least, most)
    options = ProbeOptions(output, seconds, as_json, plot, source, validate, wanted, host, mpirun)
    raise typer.Exit(run(options))


_INFO_EPILOG = """Examples:

    tutti info

    tutti info --json | jq '.settings[] | select(.source != "default")'

    tutti info --json | jq -r '.algorithms[] | select(.collective == "bcast") | .algorithm'

Exit status: 0; 2 for a mistake; 130 after Ctrl-C.
"""


@app.command(epilog=_INFO_EPILOG)
def info(as_json: bool = typer.Option(False, "--json", help="As JSON.")) -> None:
    """What is built and found here, every algorithm, every setting and where its value comes from."""
    from tutti.info.facts import collect, show

    facts = collect()
    if as_json:
        print(json.dumps(facts, indent=1))
    else:
        show(facts, for_output())


_DOCTOR_EPILOG = """Examples:

    tutti doctor

    tutti doctor --host openmpi --host path

    tutti doctor --ranks 64

    tutti doctor --json | jq -r '.checks[] | select(.status == "warn") | .remedy'

    tutti doctor > doctor.txt || echo "something does not work here"

Exit status: 0 if all is well or only slower than it could be (ok, warn, unknown), 1 if a check fails,
2 for a mistake in the command, 130 after Ctrl-C.
"""


@app.command(epilog=_DOCTOR_EPILOG)
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
    errors = Console(stderr=True)
    with errors.status("looking") if errors.is_terminal else nullcontext() as status:
        for check in examine(machine, tuple(host or ())):
            checks.append(check)
            if status:
                status.update(f"{check.title}: {check.status}")
    if as_json:
        print(json.dumps(document(machine, checks), indent=1))
    else:
        show(machine, checks, for_output())
    raise typer.Exit(exit_status(checks))


app.command(name="tune", epilog=TUNE_EPILOG)(tune)
