"""The tables of docs/several-nodes-predicted.md: what the model says of the cases of PiP-MColl's figures.

The page says where a figure's table belongs:

    <!-- figure 9 -->
    <!-- end -->

What stands between the two lines is replaced. The rest of the page is written by hand.
"""

import re
from types import MappingProxyType
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence

#: The paper's machine (section IV.A).
NODES, RANKS = 128, 18
_FIGURE = re.compile(r"(<!-- figure (\d+) -->\n).*?(<!-- end -->\n)", re.DOTALL)

#: An answer of tutti-predict for nodes, ranks a node, collective, bytes.
Ask = Callable[[int, int, str, int], Dict[str, Any]]


class Figure(NamedTuple):
    """Of the paper: sizes in bytes at 128 nodes; or with `nodes`, two sizes over numbers of nodes."""

    collective: str
    sizes: List[int]
    nodes: Sequence[int] = ()
    #: Ours for small messages and for large ones, where the paper compares them.
    small: str = ""
    large: str = ""
    #: What the paper's text says, by size or number of nodes.
    paper: Mapping[int, str] = MappingProxyType({})


def _doubling(first: int, last: int) -> List[int]:
    sizes = [first]
    while sizes[-1] < last:
        sizes.append(sizes[-1] * 2)
    return sizes


_SMALL = _doubling(16, 512)
_NODES = _doubling(2, 128)
_KIB, _MIB = 1 << 10, 1 << 20
_BRUCK, _RING = "multi-object-bruck", "multi-object-ring"
_EXCHANGE, _SCATTERED = "multi-object-exchange", "multi-object-reduce-scatter-ring"

FIGURES = {
    6: Figure("scatter", [16, _KIB], _NODES),
    7: Figure("allgather", [16, _KIB], _NODES, paper={128: "16 B: more than 6 (PiP-MPICH)"}),
    8: Figure("allreduce", [128, 8 * _KIB], _NODES),
    9: Figure("scatter", _SMALL, paper={256: "1.65, its best"}),
    10: Figure("allgather", _SMALL, paper={64: "over 4.6"}),
    11: Figure("allreduce", _SMALL, paper={256: "up to 1.31"}),
    12: Figure("scatter", _doubling(_KIB, 512 * _KIB), paper={_KIB: "1.32, its best", 512 * _KIB: "1.17"}),
    13: Figure(
        "allgather",
        _doubling(_KIB, 512 * _KIB),
        small=_BRUCK,
        large=_RING,
        paper={
            4 * _KIB: "up to 1.32",
            64 * _KIB: "switches to large",
            256 * _KIB: "over 1.1; small / large 2.46",
            512 * _KIB: "over 1.1",
        },
    ),
    14: Figure(
        "allreduce",
        _doubling(8 * _KIB, 4 * _MIB),
        small=_EXCHANGE,
        large=_SCATTERED,
        paper={
            8 * _KIB: "below 1",
            16 * _KIB: "below 1",
            32 * _KIB: "below 1",
            64 * _KIB: "below 1; switches to large",
            128 * _KIB: "below 1; small / large 1.91",
            4 * _MIB: "1.25",
        },
    ),
}


def with_tables(page: str, ask: Ask) -> str:
    """The page with its tables written anew. Raises ValueError for a figure that it leaves out, or that is none."""
    shown: List[int] = []

    def table(found: "re.Match[str]") -> str:
        number = int(found.group(2))
        if number not in FIGURES:
            raise ValueError(f"there is no figure {number}")
        shown.append(number)
        figure = FIGURES[number]
        rows = _over_nodes(figure, ask) if figure.nodes else _over_sizes(figure, ask)
        return found.group(1) + "".join(f"| {' | '.join(row)} |\n" for row in rows) + found.group(3)

    text = _FIGURE.sub(table, page)
    missing = sorted(set(FIGURES) - set(shown))
    if missing:
        raise ValueError(f"no table for figure {', '.join(map(str, missing))}")
    return text


def _size(count: int) -> str:
    for unit, scale in (("MiB", _MIB), ("KiB", _KIB)):
        if count >= scale:
            return f"{count // scale} {unit}"
    return f"{count} B"


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:.3g}" if seconds < 1e-3 else f"{seconds * 1e6:.0f}"


def _best(told: Dict[str, Any], leaders: bool) -> Dict[str, Any]:
    return min(
        (one for one in told["textbook"] if one["leaders"] == leaders), key=lambda one: float(one["seconds"])
    )


def _times(told: Dict[str, Any], leaders: bool) -> str:
    """How many times as long the best of the literature takes."""
    return f"{_best(told, leaders)['seconds'] / told['choice']['seconds']:.2f}"


def _over_nodes(figure: Figure, ask: Ask) -> List[List[str]]:
    head = ["nodes"]
    for size in figure.sizes:
        head += [f"{_size(size)}: ours, us", "each for itself", "leaders"]
    rows = [[*head, "paper"], ["---"] * (len(head) + 1)]
    for nodes in figure.nodes:
        row = [str(nodes)]
        for size in figure.sizes:
            told = ask(nodes, RANKS, figure.collective, size)
            row += [_us(told["choice"]["seconds"]), _times(told, False), _times(told, True)]
        rows.append([*row, figure.paper.get(nodes, "")])
    return rows


def _over_sizes(figure: Figure, ask: Ask) -> List[List[str]]:
    head = ["bytes", "ours", "us", "each for itself", "", "leaders", "", "paper"]
    if figure.small:
        head.insert(7, "small / large")
    rows = [head, ["---"] * len(head)]
    for size in figure.sizes:
        told = ask(NODES, RANKS, figure.collective, size)
        row = [_size(size), told["choice"]["name"], _us(told["choice"]["seconds"])]
        for leaders in (False, True):
            row += [_best(told, leaders)["name"], _times(told, leaders)]
        if figure.small:
            row.append(f"{_seconds(told, figure.small) / _seconds(told, figure.large):.2f}")
        rows.append([*row, figure.paper.get(size, "")])
    return rows


def _seconds(told: Dict[str, Any], name: str) -> float:
    found: Optional[float] = next(one["seconds"] for one in told["candidates"] if one["name"] == name)
    assert found is not None, name
    return found
