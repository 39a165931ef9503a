"""The answer of `tutti sim`, for people and for scripts."""

import json
from typing import Any, Dict, List, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tutti.sim import machine
from tutti.sizes import human_bytes, words_of_seconds

_REACH_WORDS = {
    "mapped": "peers load and store the buffers",
    "kernel": "the kernel copies between ranks",
    "staged": "the data goes through shared memory",
}


def show_machines(console: Console) -> None:
    """Those that come with Tutti."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("machine")
    table.add_column("")
    for name in machine.names():
        table.add_row(name, Text(machine.title(name)))
    console.print(table)


def show(told: Dict[str, Any], where: str, console: Console) -> None:
    """A table: algorithms by sizes, the quickest first."""
    nodes = f"{told['nodes']} nodes, " if told["nodes"] > 1 else ""
    name = f"{told['collective']} on {where}: {nodes}{told['ranks']} ranks"
    console.print(Text(name, style="bold"))
    what = "the time in a call of ranks that met" if told["meets"] else "what a call costs the program"
    console.print(Text(f"{_REACH_WORDS[told['reach']]}; {what}, simulated", style="dim"))
    for size in told["sizes"]:
        _show_size(told, size, console)
    console.print(Text(f"{told['events'] / 1e6:.3g} million accesses, {told['seconds']:.3g} s", style="dim"))


def _show_size(told: Dict[str, Any], size: Dict[str, Any], console: Console) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("" if told["collective"] == "barrier" else human_bytes(size["bytes"]))
    for column in ("simulated", "inside the call", "by the model"):
        table.add_column(column, justify="right")
    table.add_column("")
    candidates: List[Dict[str, Any]] = sorted(size["candidates"], key=lambda each: float(each["cost"]))
    for candidate in candidates:
        notes = [] if candidate["name"] != size["winner"] else ["the quickest"]
        if candidate["name"] == size["model"]:
            notes.append("the model's choice")
        ratio = candidate["cost"] / candidates[0]["cost"]
        if candidate["name"] != size["winner"]:
            notes.insert(0, f"{ratio:.2f} times as long")
        table.add_row(
            Text(candidate["name"]),
            words_of_seconds(candidate["cost"]),
            words_of_seconds(candidate["inside"]),
            "-" if candidate["model"] is None else words_of_seconds(candidate["model"]),
            ", ".join(notes),
            style="green" if candidate["name"] == size["winner"] else "",
        )
    console.print(table)


def print_json(told: Dict[str, Any], to: TextIO) -> None:
    """The same for scripts (docs/sim.md); seconds."""
    json.dump({"schema": "tutti-simulation-1", **told}, to, indent=1)
    to.write("\n")
