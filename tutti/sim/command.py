"""The options of `tutti sim`."""

import sys
from pathlib import Path
from typing import Optional

import typer

from tutti import files
from tutti.console import busy, for_output
from tutti.errors import UserError

EPILOG = """Examples:

    tutti sim --machines

    tutti sim bcast 64K --machine epyc-9654

    tutti sim allreduce 8,1K,64K,1M --machine xhc-epyc-2p --ranks 64

    tutti sim allreduce 64 --machine pip-mcoll --algorithms "multi-object-ordered;multi-object-exchange"

    tutti sim scatter 1M --machine knights-landing --mechanism cma

    tutti sim bcast 256K -t "package:2 numa:2 l3:4 core:4 pu:1" --probe probe.json

    tutti sim bcast 64K --machine epyc-9654 --algorithms xhc --trace xhc.json --plot xhc.png

Exit status: 0; 2 for a mistake; 130 after Ctrl-C.
"""


def sim(
    collective: str = typer.Argument("", help="As in TUTTI_ALGORITHM: bcast, allreduce, ..."),
    sizes: str = typer.Argument("64,4K,256K", help="Bytes of the message, or of a block: 8,64K,1M."),
    machine: str = typer.Option("", "--machine", "-m", help="One of --machines, or a file; default: by -t."),
    machines: bool = typer.Option(False, "--machines", help="List the machines that there are."),
    topology: str = typer.Option("", "--topology", "-t", help="hwloc synthetic description or XML file."),
    probe: str = typer.Option("", "--probe", help="File of tutti probe: what that machine costs."),
    ranks: int = typer.Option(0, "--ranks", "-n", help="Ranks of a node; 0: one for each core."),
    nodes: int = typer.Option(0, "--nodes", help="As many of that machine; 0: as its file says."),
    mapping: str = typer.Option("core", "--mapping", help="How ranks are laid out: core, numa, socket."),
    hierarchy: str = typer.Option(
        "", "--hierarchy", help="Levels, e.g. numa+socket, flat; default: as the library chooses."
    ),
    root: int = typer.Option(0, "--root", help="Rank of the root."),
    mechanism: str = typer.Option(
        "window", "--mechanism", help="How ranks reach each other's buffers: window, cma, staged."
    ),
    algorithms: str = typer.Option(
        "", "--algorithms", help='Only these, such as "xhc;throttled,k=4"; default: all that can.'
    ),
    meets: bool = typer.Option(
        False, "--meets", help="Ranks meet before each call: what benchmarks see that time a call alone."
    ),
    flat: bool = typer.Option(False, "--flat", help="Algorithms for few ranks (TUTTI_FLAT_MAX), too."),
    trace: Optional[Path] = typer.Option(
        None, "--trace", help="Write what each rank does in a call, for Perfetto (ui.perfetto.dev)."
    ),
    plot: Optional[Path] = typer.Option(None, "--plot", help="Write the same as a picture."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON instead of tables."),
) -> None:
    """Simulate collectives on a machine that is described: every algorithm, beside what the model says."""
    from tutti.sim import answer, timeline
    from tutti.sim import machine as known
    from tutti.sim.question import Question, ask

    if machines:
        answer.show_machines(for_output())
        return
    if not collective:
        raise UserError("which collective? tutti sim bcast 64K --machine epyc-9654")
    if machine and (topology or probe):
        raise UserError("--machine says what --topology and --probe say; give one or the other")
    for path in (trace, plot):
        if path is not None:
            files.check_output(path)
    question = Question(
        collective, sizes, ranks, nodes, mapping, root, mechanism, algorithms, flat, hierarchy, meets
    )
    given = known.find(machine) if machine else known.described(topology, probe)
    with busy(f"simulating {collective}"):
        told = ask(question, given, with_spans=trace is not None or plot is not None)
    spans = told.pop("trace", [])
    if as_json:
        answer.print_json(told, sys.stdout)
    else:
        answer.show(told, machine or topology, for_output())
    if trace is not None:
        files.write(trace, timeline.as_events(spans))
    if plot is not None:
        with busy("drawing"):
            files.draw(plot, lambda path: timeline.draw(spans, path))
