"""The tables of docs/several-nodes-predicted.md: what the model says of the cases of PiP-MColl's figures.

The page says where the table of some figures belongs:

    <!-- figures 9, 12 -->
    <!-- end -->

What stands between the two lines is replaced. The rest of the page is written by hand.
"""

import re
from types import MappingProxyType
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional

#: The paper's machine (section IV.A).
NODES, RANKS = 128, 18
_FIGURES = re.compile(r"(<!-- figures ([\d, ]+) -->\n).*?(<!-- end -->\n)", re.DOTALL)

#: An answer of tutti-predict for nodes, ranks a node, collective, bytes.
Ask = Callable[[int, int, str, int], Dict[str, Any]]


class Case(NamedTuple):
    """A collective of the paper's figures: sizes in bytes, at 128 nodes or over numbers of nodes."""

    collective: str
    sizes: List[int]
    #: Ours for small messages and for large ones, where the paper compares them.
    small: str = ""
    large: str = ""
    #: What the paper's text says, by size.
    paper: Mapping[int, str] = MappingProxyType({})


_KIB, _MIB = 1 << 10, 1 << 20
_NODES = (2, 4, 8, 16, 32, 64, 128)

#: Figures 6 to 8, over numbers of nodes: two sizes each.
OVER_NODES = "6, 7, 8"
CASES_OVER_NODES = [
    Case("scatter", [16, _KIB]),
    Case("allgather", [16, _KIB], paper={16: "more than 6 at 128 (PiP-MPICH)"}),
    Case("allreduce", [128, 8 * _KIB]),
]
#: At 128 nodes, small and larger messages: some of the paper's sizes, and all of which its text speaks.
OVER_SIZES = {
    "9, 12": Case(
        "scatter",
        [16, 64, 256, _KIB, 16 * _KIB, 512 * _KIB],
        paper={256: "1.65, its best", _KIB: "1.32, its best", 512 * _KIB: "1.17"},
    ),
    "10, 13": Case(
        "allgather",
        [16, 64, 256, _KIB, 4 * _KIB, 64 * _KIB, 256 * _KIB, 512 * _KIB],
        small="multi-object-bruck",
        large="multi-object-ring",
        paper={
            64: "over 4.6",
            4 * _KIB: "up to 1.32",
            64 * _KIB: "switches to large",
            256 * _KIB: "over 1.1; small / large 2.46",
            512 * _KIB: "over 1.1",
        },
    ),
    "11, 14": Case(
        "allreduce",
        [16, 256, *(size * _KIB for size in (8, 16, 32, 64, 128, 512)), 4 * _MIB],
        small="multi-object-exchange",
        large="multi-object-reduce-scatter-ring",
        paper={
            256: "up to 1.31",
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
    """The page with its tables written anew. Raises ValueError for figures that it leaves out, or that are none."""
    expected = {OVER_NODES, *OVER_SIZES}
    shown: List[str] = []

    def table(found: "re.Match[str]") -> str:
        figures = found.group(2)
        if figures not in expected:
            raise ValueError(f"there is no table of figures {figures}")
        shown.append(figures)
        rows = _over_nodes(ask) if figures == OVER_NODES else _over_sizes(OVER_SIZES[figures], ask)
        return found.group(1) + "".join(f"| {' | '.join(row)} |\n" for row in rows) + found.group(3)

    text = _FIGURES.sub(table, page)
    missing = sorted(expected - set(shown))
    if missing:
        raise ValueError(f"no table of figures {'; '.join(missing)}")
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


def _over_nodes(ask: Ask) -> List[List[str]]:
    head = ["", *(f"{nodes} nodes" for nodes in _NODES), "paper"]
    rows = [head, ["---"] * len(head)]
    for case in CASES_OVER_NODES:
        for size in case.sizes:
            row = [f"{case.collective.capitalize()}, {_size(size)}"]
            for nodes in _NODES:
                told = ask(nodes, RANKS, case.collective, size)
                row.append(f"{_us(told['choice']['seconds'])}; {_times(told, False)}, {_times(told, True)}")
            rows.append([*row, case.paper.get(size, "")])
    return rows


def _over_sizes(case: Case, ask: Ask) -> List[List[str]]:
    head = ["bytes", "ours", "us", "each for itself", "", "leaders", "", "paper"]
    if case.small:
        head.insert(7, "small / large")
    rows = [head, ["---"] * len(head)]
    for size in case.sizes:
        told = ask(NODES, RANKS, case.collective, size)
        row = [_size(size), told["choice"]["name"], _us(told["choice"]["seconds"])]
        for leaders in (False, True):
            row += [_best(told, leaders)["name"], _times(told, leaders)]
        if case.small:
            row.append(f"{_seconds(told, case.small) / _seconds(told, case.large):.2f}")
        rows.append([*row, case.paper.get(size, "")])
    return rows


def _seconds(told: Dict[str, Any], name: str) -> float:
    found: Optional[float] = next(one["seconds"] for one in told["candidates"] if one["name"] == name)
    assert found is not None, name
    return found
