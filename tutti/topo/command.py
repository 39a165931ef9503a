"""`tutti topo` as it is typed: its options, and what is written."""

import json
from pathlib import Path
from typing import Any, Dict, Optional

import typer

from tutti import files, places
from tutti.console import busy, for_output
from tutti.errors import UserError

EPILOG = """Examples:

    tutti topo

    tutti topo -n 64 --hierarchy numa+socket --root 10

    tutti topo -t "package:2 numa:4 core:8 pu:1" --mapping numa --png machine.png

    tutti topo -t "package:2 numa:4 core:8 pu:1" --mapping shuffle:1

    tutti topo --json - | jq .machine

Exit status: 0; 2 for a mistake; 130 after Ctrl-C.
"""


def topo(
    topology: str = typer.Option(
        "",
        "--topology",
        "-t",
        help="hwloc synthetic description or XML file; default: TUTTI_TOPOLOGY, or here.",
    ),
    hierarchy: str = typer.Option(
        "",
        "--hierarchy",
        help="Levels, e.g. numa+socket; default: TUTTI_HIERARCHY, or as the library chooses.",
    ),
    ranks: int = typer.Option(0, "--ranks", "-n", help="Number of ranks; 0: one for each core."),
    root: int = typer.Option(0, "--root", help="Root of the collective whose tree is drawn."),
    mapping: str = typer.Option(
        "",
        "--mapping",
        help="How ranks are laid out: core, numa, socket, unbound, shuffle:SEED (in any order).",
    ),
    messages: str = typer.Option(
        "",
        "--messages",
        help="Count what each collective sends with messages (or blocks) of these sizes, as in 64,16K; "
        "default with shuffle: 64,16K.",
    ),
    svg: Optional[Path] = typer.Option(None, "--svg", help="Write a drawing."),
    png: Optional[Path] = typer.Option(None, "--png", help="Write a picture."),
    json_file: Optional[Path] = typer.Option(
        None, "--json", help="Write what is shown as JSON; -: only that, on standard output."
    ),
) -> None:
    """Show the machine as the collectives see it: groups, leaders, levels."""
    from tutti.launch.library import find_tool

    tool = find_tool("tutti-topo", "tools")
    if tool is None:
        raise UserError(f"tutti-topo is not built; {places.remedy()}")
    raise typer.Exit(
        carry_out(topology, hierarchy, ranks, root, mapping, svg, png, json_file, tool, messages)
    )


def carry_out(
    topology: str,
    hierarchy: str,
    ranks: int,
    root: int,
    mapping: str,
    svg: Optional[Path],
    png: Optional[Path],
    json_file: Optional[Path],
    tool: Path,
    messages: str = "",
) -> int:
    """Prints the machine, and writes the files asked for. Returns the exit status. Raises UserError.

    messages: sizes with commas, of `--messages`. A json_file of "-" prints the JSON instead of the text, for scripts.
    """
    from tutti.topo.model import describe, message_sizes, settings_here
    from tutti.topo.text import show, show_taken

    to_output = json_file == Path("-")
    for path in (svg, png, None if to_output else json_file):
        if path is not None:
            files.check_output(path)
    with busy("asking the library"):
        topology, hierarchy, taken = settings_here(tool, topology, hierarchy)
        description = describe(
            tool, topology, hierarchy, ranks, root, mapping, message_sizes(messages, mapping)
        )
    text = json.dumps({"schema": "tutti-topology-1", **description}, indent=1)
    if to_output:
        print(text)
    else:
        show(description, for_output())
        show_taken(taken, for_output())
    if json_file is not None and not to_output:
        files.write(json_file, text + "\n")
    for path, kind in ((svg, "svg"), (png, "png")):
        if path is not None:
            _draw(description, path, kind)
    return 0


def _draw(description: Dict[str, Any], path: Path, kind: str) -> None:
    def picture(path: Path) -> None:
        from tutti.topo.picture import draw

        draw(description, path, kind)

    with busy("drawing"):
        files.draw(path, picture)
