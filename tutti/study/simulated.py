"""The points of simulated figures: each is a call that `tutti sim` simulates."""

from dataclasses import asdict, dataclass, replace
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

from tutti import files
from tutti.bench.words import parse_bytes
from tutti.sim import machine as known
from tutti.sim.question import Question, ask
from tutti.study.catalogue import Line, Panel

#: Of the machine whose lines have steps.
_RANKS_OF_A_NODE = 18


@dataclass(frozen=True)
class Point:
    """A call: what `tutti sim` is asked for."""

    machine: str
    topology: str
    collective: str
    ranks: int
    nodes: int
    mapping: str
    hierarchy: str
    chunk: str
    root: int
    mechanism: str
    algorithms: str
    bytes: int

    @property
    def key(self) -> str:
        """All that is not as usual, for files and people."""
        usual = {"mapping": "core", "mechanism": "window"}
        words = [
            f"{name}={value}"
            for name, value in list(asdict(self).items())[3:-1]
            if value and value != usual.get(name)
        ]
        where = f"{self.machine} ({self.topology})" if self.topology else self.machine
        return " ".join([where, self.collective, str(self.bytes), *words])

    def question(self, sizes: str) -> Question:
        return Question(
            self.collective, sizes, self.ranks, self.nodes, self.mapping, self.root, self.mechanism, self.algorithms,
            flat=True, hierarchy=self.hierarchy, meets=True, chunk=self.chunk,
        )  # fmt: skip


def points_of(panel: Panel, line: Line, x: int) -> List[Point]:
    """All calls of one x: that of point_of, and its steps inside a node."""
    first = point_of(panel, line, x)
    inside = [
        replace(
            first, collective=step.collective, algorithms="", ranks=_RANKS_OF_A_NODE, nodes=1,
            bytes=(first.bytes * first.nodes if step.all_blocks else first.bytes // line.blocks),
        )
        for step in line.steps
    ]  # fmt: skip
    return [first, *inside]


def answer_of(panel: Panel, line: Line, x: int, answers: "Answers") -> Optional["Answer"]:
    """Of all calls of one x together; None if one has none."""
    found = [answers.get(point.key) for point in points_of(panel, line, x)]
    known_of = [each for each in found if each is not None and each[line.column] is not None]
    if len(known_of) < len(found):
        return None
    return {**known_of[0], line.column: sum(float(each[line.column]) for each in known_of)}


#: Of a point: seconds inside the call, seconds by the model, the algorithm, ranks altogether.
Answer = Dict[str, Any]
Answers = Dict[str, Answer]


def xs_of(panel: Panel) -> List[int]:
    return [parse_bytes(size) for size in panel.sizes.split(",")] if panel.x == "bytes" else list(panel.at)


def point_of(panel: Panel, line: Line, x: int) -> Point:
    """The call behind one x of a line."""
    size = x if panel.x == "bytes" else parse_bytes(line.size)
    return Point(
        panel.machine,
        line.topology,
        panel.collective,
        x if panel.x == "ranks" else line.ranks or panel.ranks,
        x if panel.x == "nodes" else panel.nodes,
        line.mapping,
        line.hierarchy,
        line.chunk,
        line.root,
        line.mechanism,
        line.ours,
        size * line.blocks,
    )


def transfers(panel: Panel, x: int, ranks: int) -> int:
    """How many blocks a call of so many ranks moves."""
    a_node = ranks // max(panel.nodes, 1)
    return {
        "one": 1,
        "both": 2,
        "x": x,
        "others": ranks - 1,
        "pairs": ranks * (ranks - 1),
        "squares": a_node * a_node,
    }[panel.transfers]


def simulate(
    points: Iterable[Point],
    answers: Answers,
    told: Callable[[str, float], None],
    keep: Optional[Callable[[Answers], None]] = None,
) -> None:
    """Adds the answers of those points that are missing. What no algorithm of the point can carry out has none. told:
    of each call's title and the fraction that is done; keep: called with all after each.

    The sizes of one call of tutti-sim follow each other in the same caches, so that a point may differ by some per cent
    from one that is simulated alone."""
    groups: Dict[Tuple[Any, ...], List[Point]] = {}
    for point in dict.fromkeys(points):
        if point.key not in answers:
            groups.setdefault(tuple(asdict(point).values())[:-1], []).append(point)
    for done, group in enumerate(groups.values()):
        told(group[0].key, done / len(groups))
        first = group[0]
        found = known.find(first.machine)
        where: Any = found
        if first.topology:
            where = files.read_json(found)
            where["machine"]["description"] = first.topology
        said = ask(first.question(",".join(str(point.bytes) for point in group)), where)
        for point, size in zip(group, said["sizes"]):
            best = min(size["candidates"], key=lambda each: float(each["inside"]), default=None)
            if best is not None:
                answers[point.key] = {
                    "inside": best["inside"], "model": best["model"], "algorithm": best["name"],
                    "ranks": said["ranks"],
                }  # fmt: skip
        if keep is not None:
            keep(answers)
