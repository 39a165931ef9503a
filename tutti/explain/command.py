"""The options of `tutti explain`."""

from pathlib import Path
from typing import Optional

import typer

from tutti import places
from tutti.console import busy, for_output
from tutti.errors import UserError
from tutti.lines import say

EPILOG = """Examples:

    tutti explain

    tutti explain bcast 64K 8

    tutti explain bcast 1M --mechanism cma

    tutti explain alltoall 4K -t "package:2 numa:8 core:10" --hierarchy numa+socket

    tutti explain scatter 1M 8 --algorithm "scatter:throttled,k=4"

    tutti explain bcast 64K 8 --probe off --table off

    tutti explain allgather 64 --nodes 128x18

    tutti explain bcast 64K --machine epyc-2p --simulate

    tutti explain bcast 64K --json | jq -r '.choice.name'

What no option says is as in a run here: TUTTI_ settings of the environment, files of tutti probe and tutti tune.

Exit status: 0; 2 for a mistake; 130 after Ctrl-C.
"""


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
    mapping: str = typer.Option(
        "", "--mapping", help="How ranks are laid out: core, numa, socket, unbound, shuffle:SEED."
    ),
    mechanism: str = typer.Option(
        "",
        "--mechanism",
        help="What there is: window, xpmem, cma, staged, with commas; default: what works when it is tried here.",
    ),
    nodes: str = typer.Option(
        "",
        "--nodes",
        help="On several nodes: nodes and ranks on each, 128x18, or the ranks of each node, 2,3,1.",
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
    machine: str = typer.Option(
        "",
        "--machine",
        "-m",
        help="One of tutti sim --machines, or a file: instead of --topology and --probe.",
    ),
    simulate: bool = typer.Option(
        False, "--simulate", help="Also what each algorithm costs a program by tutti sim."
    ),
    as_json: bool = typer.Option(False, "--json", help="As JSON."),
) -> None:
    """Say which algorithm a collective takes, what the others would cost, and why they are not taken."""
    from tutti.explain.answer import as_json_text, show
    from tutti.explain.question import Question, ask
    from tutti.explain.simulated import add_times, on_machine
    from tutti.launch.library import find_tool

    tool = find_tool("tutti-predict", "tools")
    if tool is None:
        raise UserError(f"tutti-predict is not built; {places.remedy()}")
    question = on_machine(
        Question(
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
            nodes=nodes,
            machine=machine,
        )
    )
    with busy("asking the library"):
        told = ask(tool, question)
    if simulate:
        with busy("simulating"):
            add_times(told, question)
    for line in told["warnings"]:
        say(line)
    if as_json:
        print(as_json_text(told))
    else:
        show(told, for_output())
