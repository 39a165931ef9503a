"""The options of `tutti bench`, and what is written."""

import json
import math
import os
from pathlib import Path
from typing import List, Optional

import typer

from tutti import files, places
from tutti.console import for_output, progress_bar
from tutti.errors import UserError
from tutti.launch.hosts import Host, host_of_mpirun, how_to_get_one, installed_hosts
from tutti.lines import say

#: A benchmark of more ranks measures the scheduler, if the machine survives it.
RANKS_PER_CORE_MAX = 64

EPILOG = """Examples:

    tutti bench

    tutti bench --ranks 2,4 --json all.json --plot speed.png

    tutti bench --host openmpi -c scatter --algorithms all --mechanisms window,cma,staged

    tutti bench -c bcast --max 64K --quiet --json - | jq '.cells[] | [.bytes, .ratio]'

Exit status: 0; 1 if something could not be measured or gave a wrong result; 2 for a mistake; 130 after Ctrl-C, with
no file written.
"""


def bench(
    host: Optional[List[str]] = typer.Option(
        None,
        "--host",
        help="mpich, openmpi, intel, abi, openmpi-debian; repeatable. Default: in a checkout all that ./dev setup has "
        "installed, else the one whose mpirun is first in PATH.",
    ),
    mpirun: Optional[str] = typer.Option(None, "--mpirun", help="Measure the MPI of this launcher."),
    ranks: str = typer.Option(
        "", "--ranks", "-n", help="Numbers of ranks, e.g. 2,4; default: one for each core."
    ),
    collective: str = typer.Option(
        "",
        "--collectives",
        "--collective",
        "-c",
        help="Names or groups (all, basic, blocks, reductions, neighbors), with commas; default: basic. With --form "
        "messages: latency, bandwidth, bidirectional, sendrecv, halo_2, halo_4; default: all.",
    ),
    minimum: str = typer.Option("4", "--min", help="Smallest message or block in bytes (4, 64K, ...)."),
    maximum: str = typer.Option(
        "",
        "--max",
        help="Largest; sizes go up by 4. Default: 16M, and 4M for a block or with --form messages.",
    ),
    root: str = typer.Option("0", "--root", help="A rank, or rotate: another root in each call."),
    in_place: bool = typer.Option(False, "--in-place", help="With MPI_IN_PLACE."),
    buffers: str = typer.Option(
        "window",
        "--buffers",
        help="Whose they are: window (of malloc), static, stack, mmap, fresh (of malloc, another for each call); with "
        "commas.",
    ),
    form: str = typer.Option(
        "blocking",
        "--form",
        help="blocking; nonblocking: started and waited for at once; tested: asked for by a loop of MPI_Test; "
        "persistent: made ready before; or messages, between two ranks.",
    ),
    overlap: bool = typer.Option(
        False,
        "--overlap",
        help="Measure also how much of a nonblocking call goes on while its rank computes.",
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
    seconds: Optional[float] = typer.Option(
        None,
        "--seconds",
        help="Time for each cell of the table; default: 0.5, and 0.25 for the default collectives and ranks, whose "
        "table is to take a third of a minute.",
    ),
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
    progress_lines: bool = typer.Option(
        False,
        "--progress",
        help="Where standard error is no terminal: print a line now and then, how far it is.",
    ),
) -> None:
    """What collectives and messages cost a program: the MPI's own against Tutti's, in turns in the same processes."""
    from tutti.bench.report import Reports
    from tutti.bench.runs import BenchOptions, Cell, check_algorithms, document, measure
    from tutti.bench.words import (
        FORMS,
        AlgorithmWords,
        parse_bounds,
        parse_buffers,
        parse_collectives,
        parse_mechanisms,
        parse_ranks,
    )
    from tutti.settings import setting_names
    from tutti.variables import parse_settings

    of_messages = form == "messages"
    collectives = parse_collectives(collective or ("all" if of_messages else "basic"), form)
    minimum_bytes, maximum_bytes = parse_bounds(minimum, maximum)
    compared = parse_mechanisms(mechanisms)
    kinds = parse_buffers(buffers)
    words = AlgorithmWords(algorithms) if algorithms else None
    if algorithm and words:
        raise UserError("--algorithm and --algorithms exclude each other: one is for the whole run")
    if len(kinds) > 1 and (words or compared):
        raise UserError("--buffers: one kind at a time where algorithms or mechanisms are compared")
    if seconds is None:
        seconds = 0.25 if collective in ("", "basic") and not ranks else 0.5
    if not 0 < seconds < math.inf:
        raise UserError(f"--seconds {seconds:g}: expected more than 0")
    if repeats < 1:
        raise UserError(f"--repeats {repeats}: expected at least 1")
    if form not in FORMS:
        raise UserError(f"--form {form}: expected {', '.join(FORMS[:-1])} or {FORMS[-1]}")
    if of_messages and (algorithm or words or compared or overlap or floor or in_place or root != "0"):
        raise UserError(
            "--form messages: without --algorithm, --algorithms, --mechanisms, --overlap, --floor, --in-place, --root"
        )
    if overlap and (form == "blocking" or words or compared):
        raise UserError(
            "--overlap needs another --form than blocking, and compares no algorithms or mechanisms"
        )
    if host_wait not in ("default", "yield", "best"):
        raise UserError(f"--host-wait {host_wait}: expected default, yield or best")
    if root != "rotate" and not root.isdigit():
        raise UserError(f"--root {root}: expected a rank or rotate")
    rank_counts = parse_ranks(ranks) if ranks else [max(2, len(os.sched_getaffinity(0)))]
    most = RANKS_PER_CORE_MAX * len(os.sched_getaffinity(0))
    if of_messages and min(rank_counts) < 2:
        raise UserError("--form messages: a rank alone sends none; expected --ranks 2 or more")
    if max(rank_counts) > most:
        raise UserError(f"--ranks {max(rank_counts)}: more than {RANKS_PER_CORE_MAX} a core, {most} here")
    if root != "rotate" and int(root) >= min(rank_counts):
        raise UserError(f"--root {root}: of {min(rank_counts)} ranks the last is {min(rank_counts) - 1}")
    for path in (json_file, table):
        if path and path != Path("-"):
            files.check_output(path)
    if plot:
        files.check_picture(plot)
    hosts = _hosts(host or [], mpirun)
    pairs = [*(settings or []), *([f"ALGORITHM={algorithm}"] if algorithm else [])]
    variables, warnings = parse_settings(pairs, setting_names())
    for line in warnings:
        say(f"warning: {line}")
    if words:
        check_algorithms(words, hosts[0], collectives, rank_counts[0])
    options = BenchOptions(
        ranks=rank_counts,
        collectives=collectives,
        minimum_bytes=minimum_bytes,
        maximum_bytes=maximum_bytes,
        root=root,
        in_place=in_place,
        buffers=kinds,
        form=form,
        overlap=overlap,
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
    cells: List[Cell] = []
    titles = {found.name: found.title for found in hosts}
    # Of several MPIs each table as soon as it is there.
    early = len(hosts) > 1 and not (quiet or options.compares or json_file == Path("-"))
    for part in [[one] for one in hosts] if early else [hosts]:
        with progress_bar(lines=progress_lines) as progress:
            some = measure(part, options, progress, failures.append)
        cells += some
        if early and some:
            for one in Reports(some, titles, options.compares).results:
                for_output().print(one)
    if cells:
        reports = Reports(cells, titles, options.compares)
        results = json.dumps({**document(cells, hosts, options), **reports.document}, indent=1) + "\n"
        if json_file == Path("-"):
            print(results, end="")
        else:
            console = for_output()
            for one in reports.summary if quiet or early else reports.tables:
                console.print(one)
            if json_file:
                files.write(json_file, results)
        if table:
            files.write(table, reports.text)
        if plot:
            files.draw(plot, reports.draw)
    for failure in failures:
        say(failure)
    raise typer.Exit(1 if failures or any(not cell.get("checked") for cell in cells) else 0)


def _hosts(names: List[str], mpirun: Optional[str]) -> List[Host]:
    """The MPIs to measure: that of a launcher, those of these names, or all. Raises UserError if there are none."""
    hosts = [host_of_mpirun(mpirun)] if mpirun else installed_hosts()
    if names and not mpirun:
        there = [found.name for found in hosts]
        missing = [name for name in names if name not in there]
        if missing:
            raise UserError(
                f"--host {missing[0]}: not installed or not built (there are: {', '.join(there) or 'none'})"
            )
        hosts = [found for found in hosts if found.name in names]
    elif not mpirun and not places.is_checkout():
        hosts = hosts[:1]  # the one that `mpirun` starts; those of a checkout are there to be measured
    if not hosts:
        raise UserError(f"no MPI to measure; {how_to_get_one()}")
    return hosts
