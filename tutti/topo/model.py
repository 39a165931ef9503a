"""What `tutti topo` shows, and what its text and its picture read from that: boxes in boxes, and who leads.

Everything comes from the program `tutti-topo`, which runs the library's own code. So the text and the picture are what
a run with the same settings would do.
"""

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Sequence, Tuple

from tutti.errors import UserError
from tutti.lines import say


@dataclass
class Box:
    """A part of the machine: one domain, or several that hold the same cores ("Socket 0 / NUMA node 0")."""

    domains: List[Tuple[str, int]]
    cores: List[int]
    children: List["Box"] = field(default_factory=list)


#: Of the calls whose messages are counted where ranks are shuffled: a short one, and a long one.
USUAL_MESSAGES = "64,16K"
LARGEST_MESSAGE = 1 << 20


def message_sizes(messages: str, mapping: str) -> List[int]:
    """Bytes of the calls whose messages are counted: those of `--messages`, or what goes with the mapping. Raises
    UserError."""
    from tutti.bench.words import parse_size

    if not messages:
        messages = USUAL_MESSAGES if mapping.startswith("shuffle") else ""
    sizes = [parse_size(size, "--messages") for size in messages.split(",")] if messages else []
    if sizes and max(sizes) > LARGEST_MESSAGE:
        raise UserError(
            f"--messages {messages}: every rank holds them; at most {LARGEST_MESSAGE >> 20}M are counted"
        )
    return sizes


def describe(
    tool: Path,
    topology: str = "",
    hierarchy: str = "",
    ranks: int = 0,
    root: int = 0,
    mapping: str = "",
    messages: Sequence[int] = (),
) -> Dict[str, Any]:
    """What `tutti-topo` says, as a dictionary.

    messages: sizes of the calls of each collective whose messages are counted. Empty texts and 0 ranks stand for the
    tool's defaults: this machine, "auto", "core", one rank a core. Raises UserError with the tool's own words.
    """
    arguments = [str(tool), f"--ranks={ranks}", f"--root={root}"]
    for option, value in (("topology", topology), ("hierarchy", hierarchy), ("map", mapping)):
        if value:
            arguments.append(f"--{option}={value}")
    arguments += [f"--messages={size}" for size in messages]
    try:
        done = subprocess.run(arguments, capture_output=True, text=True, errors="replace", check=False)
    except OSError as problem:
        raise UserError(f"{tool} cannot be started: {problem.strerror}") from problem
    if done.returncode != 0:
        words = done.stderr.strip() or f"ended with status {done.returncode}"
        raise UserError(words.replace("tutti-topo: ", "", 1))
    return json.loads(done.stdout)


def settings_here(tool: Path, topology: str, hierarchy: str) -> Tuple[str, str, List[str]]:
    """Topology and hierarchy, where the options name none those of the environment as in a run; and in words what was
    taken from there. What cannot be used is a warning, and the default holds."""
    taken = []
    if not topology:
        topology = _usable(tool, "TUTTI_TOPOLOGY", "topology", "this machine is used")
        taken += [f"TUTTI_TOPOLOGY={topology}"] if topology else []
    if not hierarchy:
        hierarchy = _usable(tool, "TUTTI_HIERARCHY", "hierarchy", "auto is used")
        taken += [f"TUTTI_HIERARCHY={hierarchy}"] if hierarchy else []
    return topology, hierarchy, taken


def _usable(tool: Path, variable: str, option: str, otherwise: str) -> str:
    """A setting of the environment; empty, with a warning, if it is of no use."""
    value = os.environ.get(variable, "")
    if value:
        try:
            describe(tool, **{option: value}, ranks=1)
        except UserError as problem:
            say(f"{variable}={value}: {problem}; {otherwise}")
            return ""
    return value


def level_names(description: Dict[str, Any]) -> List[str]:
    """Names of the levels, innermost first."""
    return [level["name"] for level in description["levels"]]


def highest_led(description: Dict[str, Any]) -> Dict[int, int]:
    """For each rank that leads a group: the index of the outermost level where it does."""
    led: Dict[int, int] = {}
    for index, level in enumerate(description["levels"]):
        for group in level["groups"]:
            led[group["leader"]] = index
    return led


def ranks_by_core(description: Dict[str, Any]) -> Dict[int, List[int]]:
    """The ranks on each core, in rising order."""
    ranks: Dict[int, List[int]] = {}
    for rank in description["ranks"]:
        if rank["core"] is not None:
            ranks.setdefault(rank["core"], []).append(rank["rank"])
    return ranks


def unbound_ranks(description: Dict[str, Any]) -> List[int]:
    """Ranks that may run on several cores."""
    return [rank["rank"] for rank in description["ranks"] if rank["core"] is None]


def machine_boxes(description: Dict[str, Any]) -> List[Box]:
    """The machine as nested boxes: sockets, NUMA nodes and caches that hold several cores, outermost first."""
    machine = description["machine"]
    first_unit: Dict[int, Dict[str, Any]] = {}
    for unit in machine["units"]:
        first_unit.setdefault(unit["core"], unit)
    counts = machine["domain_counts"]
    usually_outer = ["socket", "numa", "l3", "l2"]
    kinds = [
        kind for kind in usually_outer if 0 < counts[kind] < len(first_unit) or kind in ("socket", "numa")
    ]
    kinds = [kind for kind in kinds if counts[kind]]
    kinds.sort(key=lambda kind: counts[kind])  # stable: of equals, the usually outer one stays first
    boxes = _split(list(first_unit.values()), kinds)
    return boxes or [Box([], list(first_unit))]


def _split(units: List[Dict[str, Any]], kinds: List[str]) -> List[Box]:
    if not kinds:
        return []
    kind, inner = kinds[0], kinds[1:]
    parts: Dict[int, List[Dict[str, Any]]] = {}
    for unit in units:
        if unit[kind] is not None:
            parts.setdefault(unit[kind], []).append(unit)
    if sum(len(part) for part in parts.values()) != len(units):
        return _split(units, inner)  # some cores have no such domain: leave the level out here
    return [_box(kind, number, part, inner) for number, part in parts.items()]


def _box(kind: str, number: int, units: List[Dict[str, Any]], inner: List[str]) -> Box:
    children = _split(units, inner)
    cores = [unit["core"] for unit in units]
    if len(children) == 1:
        only = children[0]
        return Box([(kind, number)] + only.domains, cores, only.children)
    return Box([(kind, number)], cores, children)


def _bytes(size: int) -> str:
    for unit, scale in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << scale:
            return f"{size / (1 << scale):g} {unit}"
    return f"{size} B"


def machine_line(description: Dict[str, Any]) -> str:
    """The machine in one line: "2 sockets, 8 NUMA nodes, 64 cores"."""
    machine = description["machine"]
    parts = []
    for kind, singular in (("socket", "socket"), ("numa", "NUMA node"), ("l3", "L3"), ("l2", "L2")):
        count = machine["domain_counts"][kind]
        size = machine.get(f"{kind}_bytes", 0)
        if count:
            plural = "s" if count > 1 and not kind.startswith("l") else ""
            parts.append(f"{count} {singular}{plural}" + (f" of {_bytes(size)}" if size else ""))
    cores, units = machine["core_count"], machine["unit_count"]
    parts.append(f"{cores} core" + ("s" if cores > 1 else ""))
    if units != cores:
        parts.append(f"{units} hardware threads")
    return ", ".join(parts)
