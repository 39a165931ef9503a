"""The text of `tutti topo`: a machine, where ranks sit on it, and the hierarchy that its collectives follow."""

from typing import Any, Dict, List, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from tutti.console import show_line
from tutti.topo.model import (
    Box,
    highest_led,
    level_names,
    machine_boxes,
    machine_line,
    ranks_by_core,
    unbound_ranks,
)

_KIND_TITLES = {"socket": "Socket", "numa": "NUMA node", "l3": "L3", "l2": "L2"}
#: By the level that a rank leads: innermost first, so that a colour means the same with fewer levels.
_LEVEL_STYLES = ["green", "cyan", "magenta", "blue"]
_ROOT_STYLE = "bold red"
_LONGEST_LEVEL_TABLE = 24


def compact(numbers: Sequence[int]) -> str:
    """Rising numbers with runs joined: [0, 1, 2, 8] is "0-2 8"."""
    runs: List[List[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return " ".join(
        str(first) if first == last else f"{first} {last}" if last == first + 1 else f"{first}-{last}"
        for first, last in runs
    )


def show(description: Dict[str, Any], console: Console) -> None:
    """Draws the machine, the levels and the message counts as text."""
    console.print(_machine_tree(description))
    console.print()
    console.print(_legend(description))
    console.print()
    if description["levels"]:
        console.print(_levels_table(description))
        console.print(_message_table(description))
    else:
        console.print("A single rank has no hierarchy.")
    if description.get("collectives"):
        console.print(_collectives_table(description))
    for note in _notes(description):
        console.print(Text(f"Note: {note}.", style="yellow"))


def show_taken(taken: Sequence[str], console: Console) -> None:
    """The settings of the environment that count."""
    if taken:
        show_line(console, f"from the environment: {', '.join(taken)}", "dim")


def _style_of(rank: int, led: Dict[int, int], root: int) -> str:
    if rank == root:
        return _ROOT_STYLE
    return f"bold {_LEVEL_STYLES[led[rank] % len(_LEVEL_STYLES)]}" if rank in led else "default"


def _ranks_text(ranks: Sequence[int], led: Dict[int, int], root: int) -> Text:
    """The ranks with leaders and the root coloured and marked; members between them are joined to runs."""
    text = Text()
    members: List[int] = []

    def flush() -> None:
        if members:
            text.append((" " if text else "") + compact(members))
            members.clear()

    for rank in ranks:
        if rank == root or rank in led:
            flush()
            mark = "*" if rank == root else "'" * (led[rank] + 1)
            text.append((" " if text else "") + f"{rank}{mark}", style=_style_of(rank, led, root))
        else:
            members.append(rank)
    flush()
    return text


def _machine_tree(description: Dict[str, Any]) -> Tree:
    machine = description["machine"]
    name = "This machine" if machine["is_this_machine"] else machine["description"] or "Machine"
    tree = Tree(Text.assemble((name, "bold"), f": {machine_line(description)}"), guide_style="dim")
    led = highest_led(description)
    by_core = ranks_by_core(description)

    def add(node: Tree, box: Box) -> None:
        label = Text(" / ".join(f"{_KIND_TITLES[kind]} {number}" for kind, number in box.domains))
        if not box.children:
            ranks = sorted(rank for core in box.cores for rank in by_core.get(core, []))
            many = "cores" if len(box.cores) > 1 else "core"
            label.append(f" ({len(box.cores)} {many})", style="dim")
            label.append(": ranks " if ranks else ": no ranks")
            label.append_text(_ranks_text(ranks, led, description["root"]))
        child_node = node.add(label)
        for child in box.children:
            add(child_node, child)

    for box in machine_boxes(description):
        add(tree, box)
    unbound = unbound_ranks(description)
    if unbound:
        label = Text("Not bound to one core: ranks ")
        tree.add(label.append_text(_ranks_text(unbound, led, description["root"])))
    return tree


def _legend(description: Dict[str, Any]) -> Text:
    text = Text(f"{description['root']}*", style=_ROOT_STYLE)
    text.append(" root", style="default not bold")
    names = level_names(description)
    for level in sorted(set(highest_led(description).values())):
        if level == len(names) - 1:
            continue  # the root alone leads there
        style = f"bold {_LEVEL_STYLES[level % len(_LEVEL_STYLES)]}"
        text.append("   ")
        text.append(f"n{chr(39) * (level + 1)}", style=style)
        text.append(f" leads at level {names[level]}", style="default not bold")
    return text


def _levels_table(description: Dict[str, Any]) -> Table:
    asked = description["requested_hierarchy"]
    used = description["hierarchy"]
    title = f"Hierarchy {used}" + (f" (asked for {asked})" if asked != used else "")
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
    table.add_column("level")
    table.add_column("group", justify="right")
    table.add_column("leader", justify="right")
    table.add_column("members")
    led = highest_led(description)
    for level in description["levels"]:
        for number, group in enumerate(level["groups"]):
            if number == _LONGEST_LEVEL_TABLE:
                table.add_row("", "...", "", f"{len(level['groups']) - number} more groups")
                break
            leader = group["leader"]
            table.add_row(
                level["name"] if number == 0 else "",
                str(number),
                Text(str(leader), style=_style_of(leader, led, description["root"])),
                compact(group["members"]),
            )
        table.add_section()
    return table


def _message_table(description: Dict[str, Any]) -> Table:
    title = f"Messages of a broadcast from rank {description['root']}"
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
    counts = description["message_counts"]
    for column in ("inter-socket", "inter-NUMA", "intra-NUMA"):
        table.add_column(column, justify="right")
    table.add_row(str(counts["inter_socket"]), str(counts["inter_numa"]), str(counts["intra_numa"]))
    return table


def _collectives_table(description: Dict[str, Any]) -> Table:
    """As XHC's Table II, for every collective: what crosses with ranks in the machine's order, and as they are."""
    shuffled = description["mapping"] != "core"
    title = "Messages of one call" + (": ordered / " + description["mapping"] if shuffled else "")
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
    table.add_column("collective")
    table.add_column("bytes", justify="right")
    table.add_column("algorithm")
    for column in ("inter-socket", "inter-NUMA", "intra-NUMA", "KiB inter-socket"):
        table.add_column(column, justify="right")
    last = None
    for entry in description["collectives"]:
        ways = [entry["ordered"], entry["mapped"]] if shuffled else [entry["mapped"]]
        if last not in (None, entry["bytes"]) and entry["collective"] == "bcast":
            table.add_section()
        last = entry["bytes"]
        counts = [
            " / ".join(str(way["messages"][boundary]) for way in ways)
            for boundary in ("inter_socket", "inter_numa", "intra_numa")
        ]
        kib = " / ".join(f"{way['bytes']['inter_socket'] / 1024:.4g}" for way in ways)
        table.add_row(
            entry["collective"] + ("" if entry["commutative"] else " in rank order"),
            str(entry["bytes"]),
            " / ".join(dict.fromkeys(way["algorithm"] for way in ways)),
            *counts,
            kib,
        )
    return table


def _notes(description: Dict[str, Any]) -> List[str]:
    notes = list(description["notes"])
    if description["oversubscribed"]:
        notes.append(
            f"{description['rank_count']} ranks share {description['cores_available']} processing units: "
            "waiting ranks should sleep rather than spin"
        )
    return notes
