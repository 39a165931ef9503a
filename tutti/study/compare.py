"""What the papers' texts say of their figures, held against what came out."""

import statistics
from dataclasses import dataclass
from typing import Callable, Dict, Iterator, List, Optional, Tuple

from tutti.bench.words import parse_bytes
from tutti.study import simulated
from tutti.study.catalogue import FIGURES, Figure, Line, Panel
from tutti.study.simulated import Answers, Point, transfers
from tutti.study.statements import STATEMENTS, Statement

#: What takes about as long differs by less.
ALIKE = 1.25

#: Seconds of panel, line and x, or of each block that is moved then; None if there is no such point.
Seconds = Callable[[Panel, Line, int, bool], Optional[float]]


@dataclass(frozen=True)
class Outcome:
    """How many times as long the slower one takes: geometric mean, least and greatest over the values of x."""

    ratio: float
    least: float
    greatest: float
    same: bool


def statements_of(figure: Figure) -> List[Statement]:
    return [statement for statement in STATEMENTS if statement.figure == figure.name]


def _references(statement: Statement) -> Iterator[List[Tuple[Panel, Line, int, int]]]:
    """For each x: panel, line, its own x, and 1 for what is slower or -1. Raises KeyError for a line that is none."""
    figure = next(each for each in FIGURES if each.name == statement.figure)
    lines: Dict[str, Tuple[Panel, Line]] = {
        f"{panel.title}|{line.paper}": (panel, line) for panel in figure.panels for line in panel.lines
    }
    for size in statement.at.split(","):
        found = []
        for names, sign in ((statement.slower, 1), (statement.quicker, -1)):
            for name in names:
                panel_name, line_name, *other = name.split("|")
                panel, line = lines[f"{panel_name}|{line_name}"]
                found.append((panel, line, parse_bytes(other[0] if other else size), sign))
        yield found


def points_of(statement: Statement) -> List[Point]:
    """What has to be simulated for it."""
    return [
        point
        for found in _references(statement)
        for panel, line, x, _ in found
        if panel.by == "sim"
        for point in simulated.points_of(panel, line, x)
    ]


def is_against_library(statement: Statement) -> bool:
    """Whether one of its lines stands for a library that is not here."""
    return any(line.stands_in for found in _references(statement) for _, line, _, _ in found)


def outcome(statement: Statement, seconds: Seconds) -> Optional[Outcome]:
    """None if a point is missing."""
    ratios = []
    for found in _references(statement):
        ratio = 1.0
        for panel, line, x, sign in found:
            value = seconds(panel, line, x, statement.each)
            if value is None:
                return None
            ratio *= value**sign
        ratios.append(ratio)
    mean = statistics.geometric_mean(ratios)
    same = 1 / ALIKE <= mean <= ALIKE if statement.about else mean > 1
    return Outcome(mean, min(ratios), max(ratios), same)


def seconds_in(answers: Answers) -> Seconds:
    """As they were simulated."""

    def of(panel: Panel, line: Line, x: int, each: bool) -> Optional[float]:
        told = simulated.answer_of(panel, line, x, answers)
        if told is None:
            return None
        return float(told[line.column]) / (transfers(panel, x, told["ranks"]) if each else 1)

    return of


def sentence(statement: Statement, found: Optional[Outcome]) -> str:
    """A statement and what came out, in a line."""
    paper = f" ({statement.paper} times)" if statement.paper else ""
    if found is None:
        here = "not all of it was answered"
    elif statement.about:
        here = f"{found.ratio:.2f} times as long: {'about alike' if found.same else 'NOT alike'}"
    else:
        here = f"{found.ratio:.2f} times as long: the {'same side' if found.same else 'OTHER side'}"
    return f"{statement.section}: {statement.says}{paper}. Here {here}."
