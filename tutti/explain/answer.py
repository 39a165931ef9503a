"""The answer of `tutti explain`, for people and for scripts: what is taken, and why the others are not."""

import json
import math
from itertools import groupby
from typing import Any, Dict, List, Optional, Tuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tutti.console import show_line
from tutti.sizes import human_bytes, rounded, words_of_seconds

#: Of the MPI's own collectives.
UNPREDICTED = "the model does not predict the MPI's own algorithms; tutti tune measures them"
#: Lines of one kind.
SHOWN_MOST = 3
#: Of the ranks that are farthest from each other; without a word where all share a cache.
_FARTHEST_WORDS = {"numa": "of one NUMA node", "socket": "of one socket", "machine": "of several sockets"}
_REACH_WORDS = {
    "mapped": "peers load and store the buffers",
    "kernel": "the kernel copies between ranks",
    "staged": "the data goes through shared memory, copied in and out",
}


#: How the bytes of what is taken are moved, where that is not the plain way.
MOVED = {
    "caches": "; stored through the caches",
    "lent": "; by copies through the caches",
    "lent-beyond": "; by copies past the caches",
}


def name_of(candidate: Dict[str, Any]) -> str:
    """throttled(4)."""
    parameter = candidate.get("parameter")
    return f"{candidate['name']}({parameter})" if parameter else str(candidate["name"])


def why_not(candidate: Dict[str, Any], choice: Dict[str, Any]) -> str:
    """Why a candidate was not taken; empty for the one that was."""
    if (candidate["name"], candidate.get("parameter")) == (choice["name"], choice["parameter"]):
        return ""
    if not candidate["eligible"]:
        return f"cannot here; needs: {candidate['requirements']}"
    if not candidate["allowed"] and choice["reason"] == "user":
        return "not asked for"
    if choice["reason"] == "table":
        return "not what the table says"
    if candidate["seconds"] is None:
        return str(candidate.get("why_unpredicted") or UNPREDICTED)
    if choice["name"] == "host":
        return "the MPI's own was asked for"
    ratio = candidate["seconds"] / choice["seconds"] if choice["seconds"] else 1.0
    small = ", and more hops where blocks are small" if ratio < 1 else ""
    return f"{ratio:.2f} times as long{small}"


def ordered_candidates(told: Dict[str, Any]) -> List[Tuple[Dict[str, Any], str]]:
    """Candidates with why they were not taken: the choice, then by time, then without one, those that cannot last."""
    choice = told["choice"]
    rows = [(candidate, why_not(candidate, choice)) for candidate in told["candidates"]]
    return sorted(
        rows,
        key=lambda row: (
            row[1] != "",
            not row[0]["eligible"],
            math.inf if row[0]["seconds"] is None else row[0]["seconds"],
            name_of(row[0]),
        ),
    )


def shape_words(told: Dict[str, Any]) -> str:
    """8 ranks, 2 levels, of several sockets, 4 a core."""
    shape = told["shape"]
    if "nodes" in shape:
        least, most = shape["ranks_per_node"]
        places = str(most) if least == most else f"{least} to {most}"
        return f"{shape['ranks']} ranks on {shape['nodes']} nodes of {places}"
    words = "1 rank" if shape["ranks"] == 1 else f"{shape['ranks']} ranks"
    if shape["levels"] > 1:
        words += f", {shape['levels']} levels"
    widest = shape["distances"]["widest"]
    if widest in _FARTHEST_WORDS:
        words += f", {_FARTHEST_WORDS[widest]}"
    if shape["ranks_per_core"] > 1:
        words += f", {shape['ranks_per_core']:g} a core"
    return words


def _not_used(source: Dict[str, Any]) -> str:
    return f"{source['path']} is not used: {source['why_not']}"


def _first_of(lines: List[str], others: str) -> List[str]:
    """Three of them, and how many others there are."""
    more = [f"and {len(lines) - SHOWN_MOST} more {others}"] if len(lines) > SHOWN_MOST else []
    return lines[:SHOWN_MOST] + more


def _sources(told: Dict[str, Any]) -> List[str]:
    """What the answer rests on: settings, parameters, table, with the files that they are from."""
    lines = []
    if told["environment"]:
        given = ", ".join(f"{setting['name']}={setting['value']}" for setting in told["environment"])
        lines.append(f"from the environment: {given}")
    source = told["model_source"]
    used = source.get("path") and source.get("fits")
    lines.append(f"model: {source['words']}" + (f" ({source['path']})" if used else ""))
    if "network_source" in told:
        network = told["network_source"]
        lines.append(
            f"between nodes: {network['words']}" + (f" ({network['path']})" if network["path"] else "")
        )
        lines.append(_parameter_words(told["parameters"]))
    if source.get("fits") is False:
        lines.append(_not_used(source))
    return lines + _table_sources(told)


def _parameter_words(parameters: Dict[str, float]) -> str:
    """Of the network: what a message takes to start, the link, the rate."""
    gigabits = 8e-9 / parameters["between_byte"]
    millions = 1e-6 * parameters["message_rate"]
    return (
        f"a message takes {words_of_seconds(parameters['between_start'])} to start, a node's link carries "
        f"{gigabits:.3g} Gb/s and {millions:.3g} M messages/s"
    )


def _table_sources(told: Dict[str, Any]) -> List[str]:
    table, others = told["table"], told["tables_passed_over"]
    if not table or not table["fits"]:
        return ["table: none", *_first_of([_not_used(one) for one in [table, *others] if one], "tables")]
    lines = [f"table: {table['words']} ({table['path']})"]
    lines += _first_of([f"left out of it: {words}" for words in table["left_out"]], "entries")
    if "candidates" in told:
        lines.append(_entry_words(told["table_entry"]))
    return lines + _first_of([_not_used(one) for one in others], "tables")


def _entry_words(entry: Optional[Dict[str, Any]]) -> str:
    if entry is None:
        return "the table has nothing for such calls"
    sizes = f"{human_bytes(entry['bytes_from'])} to {human_bytes(entry['bytes_to'])}"
    return f"the table says {name_of(entry)} for {sizes}"


def show(told: Dict[str, Any], console: Console) -> None:
    """Prints the answer for people."""
    if told.get("internode") is False:
        console.print(
            Text(
                "A run leaves such communicators to the MPI, unless the network was measured, or with "
                "TUTTI_INTERNODE=1. Then:",
                style="yellow",
            )
        )
    if not told["enabled"]:
        console.print(
            Text("TUTTI_ENABLE is off: a run leaves every call to the MPI. Otherwise:", style="yellow")
        )
    if "choices" in told:
        _show_overview(told, console)
    elif "nodes" in told["shape"]:
        _show_between_nodes(told, console)
    else:
        _show_candidates(told, console)
    for line in _sources(told):
        show_line(console, line, "dim")


def _outside_words(ways: Optional[Dict[str, Optional[float]]]) -> List[str]:
    """Of buffers that are not in the window: what either way takes, by the model."""
    if not ways:
        return []
    words = {"kernel": "by the kernel", "staged": "by a copy that is lent"}
    times = [
        f"{words[name]} {words_of_seconds(seconds)}" for name, seconds in ways.items() if seconds is not None
    ]
    if not times:
        return []
    return [
        f"static arrays, the stack and mapped pages: {', '.join(times)}; copies are lent where they fit two segments"
    ]


def _time_words(candidate: Dict[str, Any]) -> str:
    if candidate["seconds"] is None:
        return "no prediction" if candidate["eligible"] else "-"
    return words_of_seconds(candidate["seconds"])


def _is_simulated(told: Dict[str, Any]) -> bool:
    return any("simulated" in candidate for candidate in told["candidates"])


def _add_simulated(told: Dict[str, Any], table: Table) -> None:
    if _is_simulated(told):
        table.add_column("simulated", justify="right")


def _simulated_words(candidate: Dict[str, Any]) -> List[str]:
    """The cell of that column, if there is one."""
    if "simulated" not in candidate:
        return []
    return ["-" if candidate["simulated"] is None else words_of_seconds(candidate["simulated"])]


def _headline(told: Dict[str, Any]) -> str:
    shape, choice = told["shape"], told["choice"]
    name = told["collective"]
    if name == "barrier":
        size = ""
    elif not shape["regular"]:
        size = " of varying sizes"
    else:
        size = f" of up to {human_bytes(shape['bytes'])}"
    return f"{name}{size} on {shape_words(told)}: {name_of(choice)}, {choice['words']}"


def _show_candidates(told: Dict[str, Any], console: Console) -> None:
    shape, choice = told["shape"], told["choice"]
    name = told["collective"]
    console.print(Text(_headline(told), style="bold"))
    if name != "barrier" and choice["name"] != "host":
        console.print(Text(_REACH_WORDS[shape["reach"]], style="dim"))
    for line in _outside_words(told.get("outside_the_window")):
        console.print(Text(line, style="dim"))
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("algorithm")
    table.add_column("by the model", justify="right")
    _add_simulated(told, table)
    table.add_column("", overflow="fold")
    for candidate, why in ordered_candidates(told):
        time = _time_words(candidate)
        style = "green" if not why else "" if candidate["eligible"] else "dim"
        table.add_row(
            Text(name_of(candidate)),
            time,
            *_simulated_words(candidate),
            Text(why or f"taken{MOVED.get(candidate.get('moving'), '')}"),
            style=style,
        )
    console.print(table)


def _show_between_nodes(told: Dict[str, Any], console: Console) -> None:
    """Of a communicator that spans nodes: what each candidate takes on both levels, and what the literature's
    algorithms, which know nothing of nodes or have a leader on each, would take."""
    console.print(Text(_headline(told), style="bold"))
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("algorithm")
    for column in ("by the model", "between nodes", "rounds", "sent", "inside", "meanwhile"):
        table.add_column(column, justify="right")
    _add_simulated(told, table)
    table.add_column("", overflow="fold")
    for candidate, why in ordered_candidates(told):
        style = "green" if not why else "" if candidate["eligible"] else "dim"
        cells = [*_level_cells(candidate), *_simulated_words(candidate)]
        table.add_row(Text(name_of(candidate)), *cells, Text(why or "taken"), style=style)
    none = [""] if _is_simulated(told) else []
    for other in sorted(told["textbook"], key=lambda one: float(one["seconds"])):
        ratio = other["seconds"] / told["choice"]["seconds"] if told["choice"]["seconds"] else None
        words = "one leader a node" if other["leaders"] else "each rank for itself"
        words = f"for comparison: {words}" + (f", {ratio:.2f} times as long" if ratio else "")
        table.add_row(Text(other["name"]), *_level_cells(other), *none, Text(words), style="dim")
    console.print(table)


def _level_cells(candidate: Dict[str, Any]) -> List[str]:
    """Time in all, between nodes, rounds and bytes there, time inside the node and while messages are under way."""
    if candidate["seconds"] is None:
        return [_time_words(candidate), "", "", "", "", ""]
    return [
        words_of_seconds(candidate["seconds"]),
        words_of_seconds(candidate["between_seconds"]),
        f"{candidate['rounds']:g}",
        rounded(round(candidate["bytes"])),
        words_of_seconds(candidate["inside_seconds"]),
        words_of_seconds(candidate["meanwhile_seconds"]),
    ]


def overview_ranges(told: Dict[str, Any]) -> List[Dict[str, Any]]:
    """Neighbouring size classes with the same choice as one row; None for bytes_from and bytes_to without a size."""
    rows = []
    for collective, choices in groupby(told["choices"], key=lambda row: row["collective"]):
        before = -1
        for _, same in groupby(choices, key=lambda row: (row["name"], row["parameter"], row["reason"])):
            classes = list(same)
            last = classes[-1]
            rows.append(
                {
                    "collective": collective,
                    "bytes_from": None if last["bytes_to"] is None else before + 1,
                    "bytes_to": last["bytes_to"],
                    **{key: last[key] for key in ("name", "parameter", "reason", "words")},
                    "seconds": [classes[0]["seconds"], last["seconds"]],
                }
            )
            before = last["bytes_to"] or 0
    return rows


def _range_words(row: Dict[str, Any], last: bool) -> str:
    if row["bytes_to"] is None:
        return "any" if row["collective"] != "barrier" else "-"
    if row["bytes_from"] == 0:
        return "all" if last else f"to {human_bytes(row['bytes_to'])}"
    below = human_bytes(row["bytes_from"] - 1)
    return f"above {below}" if last else f"above {below} to {human_bytes(row['bytes_to'])}"


def _show_overview(told: Dict[str, Any], console: Console) -> None:
    console.print(Text(f"On {shape_words(told)}:", style="bold"))
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("collective", "size", "algorithm", "why"):
        table.add_column(column)
    table.add_column("by the model", justify="right")
    rows = overview_ranges(told)
    for number, row in enumerate(rows):
        first = number == 0 or rows[number - 1]["collective"] != row["collective"]
        last = number + 1 == len(rows) or rows[number + 1]["collective"] != row["collective"]
        begin, end = ("-" if seconds is None else words_of_seconds(seconds) for seconds in row["seconds"])
        time = begin if begin == end else f"{begin} to {end}"
        table.add_row(
            row["collective"] if first else "",
            _range_words(row, last),
            Text(name_of(row)),
            row["words"],
            time,
        )
    console.print(table)


def as_json_text(told: Dict[str, Any]) -> str:
    """The same for scripts (docs/explain.md)."""
    if "choices" in told:
        told = {**told, "ranges": overview_ranges(told)}
        del told["choices"]
    else:
        told = {
            **told,
            "candidates": [{**candidate, "why_not": why} for candidate, why in ordered_candidates(told)],
        }
    return json.dumps({"schema": "tutti-choice-1", **told}, indent=1)
