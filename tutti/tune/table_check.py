"""`tutti tune --check` and `--diff`: decision tables looked at without running anything."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from rich.console import Console

from tutti import places
from tutti.console import show_line
from tutti.errors import UserError
from tutti.launch.library import find_tool
from tutti.sizes import human_bytes
from tutti.tune.table import all_entries, run_of, shape_key

#: Choices are made for these sizes: all others count as the next of them.
CLASSES = (0, *(1 << power for power in range(62)))


def examine(path: Path, topology: str = "") -> Dict[str, Any]:
    """What the library makes of a table. Raises UserError if the file cannot be read."""
    tool = find_tool("tutti-table", "tools")
    if tool is None:
        raise UserError(f"tutti-table is not built; {places.remedy()}")
    words = [str(tool), str(path), *(["--topology", topology] if topology else [])]
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=300
    )
    if done.returncode != 0:
        raise UserError(
            done.stderr.strip().removeprefix("tutti-table: ") or f"tutti-table failed on '{path}'"
        )
    value: Dict[str, Any] = json.loads(done.stdout)
    return value


def valid_table(path: Path) -> Dict[str, Any]:
    """The table in a file that the library can read. Raises UserError otherwise."""
    error = examine(path)["error"]
    if error:
        raise UserError(f"{path}: {error}")
    value: Dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return value


def check(path: Path, topology: str, as_json: bool, console: Console) -> int:
    """`--check`: 0 if the library can use all of the table, 1 if not all, 2 if it is none."""
    found = examine(path, topology)
    status = 2 if found["error"] else 1 if found["left_out"] or found["problems"] else 0
    if as_json:
        told = {"schema": "tutti-table-check-1", "table": str(path), **found, "usable": status == 0}
        print(json.dumps(told, indent=1))
        return status
    if found["error"]:
        raise UserError(f"{path}: {found['error']}")
    host, machine = found["host"], found["machine"]
    lines = [
        f"{path}: {found['entries']} entries",
        f"measured on {machine['processor'] or 'a machine that is only described'} ({machine['topology']})",
        f"measured with {host['name']} {host['version']}",
        *_earlier_runs(json.loads(path.read_text(encoding="utf-8"))),
    ]
    if found["other_machine"]:
        lines.append(f"not for this machine: {found['other_machine']}")
    lines += [f"left out: {line}" for line in found["left_out"]]
    lines += [f"problem: {line}" for line in found["problems"]]
    lines += [f"gap: {line}" for line in found["gaps"]]
    where = ", on its own machine" if found["other_machine"] else ""
    lines.append(
        f"all of it can be used{where}" if status == 0 else "the model chooses where the table cannot be used"
    )
    for line in lines:
        show_line(console, line)
    return status


def _earlier_runs(table: Dict[str, Any]) -> List[str]:
    """A line for each run but the last that entries are from."""
    counts: Dict[str, int] = {}
    for entry in all_entries(table):
        if "earlier" in entry:
            run = run_of(table, entry)
            settings = run.get("settings")
            words = [f"tutti {run.get('tutti', '?')}", str(run.get("date", "at some time"))]
            words += (
                [f"{name}={value}" for name, value in settings.items()] if isinstance(settings, dict) else []
            )
            counts[", ".join(words)] = counts.get(", ".join(words), 0) + 1
    return [f"{count} of them from an earlier run: {words}" for words, count in counts.items()]


def _without_left_out(path: Path, table: Dict[str, Any]) -> List[str]:
    """Takes away the entries that the library does not use; why it does not."""
    lines: List[str] = examine(path)["left_out"]
    for part, name in (("entries", "entry"), ("between_nodes", "entry between nodes")):
        numbers = {int(found.group(1)) for found in map(re.compile(rf"{name} (\d+):").match, lines) if found}
        if part in table:
            table[part] = [entry for at, entry in enumerate(table[part], 1) if at not in numbers]
    return lines


Choices = Dict[Tuple[Any, ...], List[Dict[str, Any]]]


def _by_shape(table: Dict[str, Any]) -> Choices:
    found: Choices = {}
    for entry in all_entries(table):
        found.setdefault(shape_key(entry), []).append(entry)
    return found


def _choice(entries: List[Dict[str, Any]], size: int) -> Optional[str]:
    """What the first entry for a size says; None: nothing, the model chooses."""
    for entry in entries:
        if entry["bytes"][0] <= size <= entry["bytes"][1]:
            return (
                f"{entry['algorithm']}({entry['parameter']})"
                if entry.get("parameter")
                else str(entry["algorithm"])
            )
    return None


def changes(before: Dict[str, Any], after: Dict[str, Any]) -> List[Dict[str, Any]]:
    """Where two tables choose differently: shape, sizes from and to, before and after (None: by the model)."""
    old, new = _by_shape(before), _by_shape(after)
    found: List[Dict[str, Any]] = []
    for shape in sorted({*old, *new}):
        collective, ranks, levels, per_core, reach, commutative, nodes, places = shape
        between = {"nodes": list(nodes), "ranks_per_node": list(places)} if nodes != (1, 1) else {}
        last: Optional[Dict[str, Any]] = None
        for size in CLASSES:
            was, now = _choice(old.get(shape, []), size), _choice(new.get(shape, []), size)
            if was == now:
                last = None
            elif last and (last["before"], last["after"]) == (was, now):
                last["bytes"][1] = size
            else:
                last = {
                    "collective": collective, "ranks": list(ranks), "levels": levels, "ranks_per_core": per_core,
                    "reach": reach, "commutative": commutative, **between, "bytes": [size, size], "before": was,
                    "after": now,
                }  # fmt: skip
                found.append(last)
    return found


def _span(numbers: List[int]) -> str:
    first, last = numbers
    return str(first) if first == last else f"{first} to {last}"


def _words(change: Dict[str, Any]) -> str:
    low, high = change["bytes"]
    words = [change["collective"]]
    if "nodes" in change:
        words += [f"{_span(change['nodes'])} nodes of {_span(change['ranks_per_node'])}"]
    else:
        words += [f"{_span(change['ranks'])} ranks"]
    words.append(human_bytes(low) if low == high else f"{human_bytes(low)} to {human_bytes(high)}")
    words += [change["reach"]] if change["reach"] else []
    words += [f"{change['levels']} levels"] if change["levels"] > 1 else []
    words += [f"{change['ranks_per_core']:g} ranks a core"] if change["ranks_per_core"] > 1 else []
    words += [] if change["commutative"] else ["operators that do not commute"]
    return f"{', '.join(words)}: {change['before'] or 'by the model'} -> {change['after'] or 'by the model'}"


def diff(first: Path, second: Path, as_json: bool, console: Console) -> int:
    """`--diff`: 0 if the tables choose alike, 1 if not."""
    before, after = valid_table(first), valid_table(second)
    left_out = {
        str(path): _without_left_out(path, table) for path, table in ((first, before), (second, after))
    }
    origins = [
        {"part": part, "before": before.get(part), "after": after.get(part)}
        for part in ("machine", "host", "tutti", "settings")
        if before.get(part) != after.get(part)
    ]
    found = changes(before, after)
    if as_json:
        print(
            json.dumps(
                {
                    "schema": "tutti-table-changes-1",
                    "before": str(first),
                    "after": str(second),
                    "origin": origins,
                    "left_out": left_out,
                    "changes": found,
                },
                indent=1,
            )
        )
        return 1 if found else 0
    lines = [f"{one['part']}: {json.dumps(one['before'])} -> {json.dumps(one['after'])}" for one in origins]
    lines += [f"left out of {path}: {line}" for path, some in left_out.items() for line in some]
    lines += [_words(change) for change in found] or ["both tables choose alike"]
    for line in lines:
        show_line(console, line)
    return 1 if found else 0
