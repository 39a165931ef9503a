"""How good the library's own choice was, where `tutti bench --algorithms` measured what else there is."""

import math
from typing import Any, Dict, List, NamedTuple, Tuple

from tutti.bench.runs import Cell
from tutti.sizes import human_bytes

#: A choice that is slower than the fastest candidate by less is right.
TOLERANCE = 0.10
#: The worst ones that are named.
NAMED = 10
HOST = "host"


class Choice(NamedTuple):
    """One cell: what the library took, and the fastest of all candidates, the MPI's own collective among them."""

    host: str
    collective: str
    ranks: int
    bytes: int
    algorithm: str
    best: str
    #: How many times longer the choice takes than the best; 1 if it is the best.
    slowdown: float
    #: What both scatter by, relative: half their 95 % intervals, or what repeated runs differ by.
    spread: float

    @property
    def right(self) -> bool:
        """Within the tolerance."""
        return self.slowdown <= 1 + TOLERANCE

    @property
    def wrong(self) -> bool:
        """Slower by more than the tolerance, and by more than the spread."""
        return self.slowdown > 1 + max(TOLERANCE, self.spread)

    @property
    def words(self) -> str:
        """For people."""
        return (
            f"{self.collective} of {human_bytes(self.bytes)}, {self.ranks} ranks, {self.host}: {self.algorithm} takes "
            f"{self.slowdown:.2f} times as long as {self.best} (spread {100 * self.spread:.0f} %)"
        )


def _half_width(cell: Cell, side: str) -> float:
    """Half the 95 % interval of the time of "host" or "tutti", relative to it."""
    middle = float(cell[f"{side}_us"] or 0)
    low, high = cell.get(f"{side}_low_us"), cell.get(f"{side}_high_us")
    if low is None or high is None or middle <= 0:
        return 0.0
    return (float(high) - float(low)) / 2 / middle


def _spread(cell: Cell) -> float:
    """Of one candidate, over its calls and over repeated runs."""
    ratios = [float(ratio) for ratio in cell.get("ratios", [])]
    between = (max(ratios) - min(ratios)) / 2 / float(cell["ratio"]) if len(ratios) > 1 else 0.0
    return max(_half_width(cell, "tutti"), between)


def _compared(cells: List[Cell]) -> List[Cell]:
    """The candidates beside the library's own choice: right ones, in the memory that the choice was made for."""
    return [
        cell for cell in cells
        if str(cell.get("asked") or "auto") != "auto" and cell.get("checked") and float(cell["ratio"] or 0) > 0
        and str(cell.get("asked_mechanism") or "") in ("", "window")
    ]  # fmt: skip


def _choice(own: Cell, rivals: List[Cell], titles: Dict[str, str]) -> Choice:
    """Speeds are compared relative to the host's in the same run, so that runs repeated at different times mix."""
    chosen = str(own["algorithm"])
    best, speed, spread = chosen, float(own["ratio"]), 0.0
    same = [rival for rival in rivals if str(rival["asked"]).partition(",")[0] == chosen]
    for rival in rivals:
        # What was chosen, under its own name, is no better: the difference is chance.
        if [rival] != same and float(rival["ratio"]) > speed:
            best, speed, spread = str(rival["asked"]), float(rival["ratio"]), _spread(rival)
    if chosen != HOST and speed < 1:
        best, speed, spread = HOST, 1.0, _half_width(own, HOST)
    where = titles.get(str(own["host"]), str(own["host"]))
    return Choice(
        where, str(own["collective"]), int(own["ranks"]), int(own["bytes"]), chosen, best, speed / float(own["ratio"]),
        math.hypot(spread, _spread(own)),
    )  # fmt: skip


def choices_of(cells: List[Cell], titles: Dict[str, str]) -> List[Choice]:
    """One for each host, number of ranks, collective and size at which something else was measured too."""
    groups: Dict[Tuple[str, int, str, int], List[Cell]] = {}
    for cell in cells:
        key = (str(cell["host"]), int(cell["ranks"]), str(cell["collective"]), int(cell["bytes"]))
        groups.setdefault(key, []).append(cell)
    found = []
    for some in groups.values():
        own = [cell for cell in some if str(cell.get("asked") or "auto") == "auto"]
        rivals = _compared(some)
        if own and rivals and float(own[0]["ratio"] or 0) > 0:
            found.append(_choice(own[0], rivals, titles))
    return found


def worst_of(choices: List[Choice]) -> float:
    """How many times longer than the best the worst choice takes; 1 if none is wrong."""
    return max((choice.slowdown for choice in choices if choice.wrong), default=1.0)


def report(choices: List[Choice]) -> List[str]:
    """In words: how many choices are right, and which are not."""
    if not choices:
        return []
    right = sum(choice.right for choice in choices)
    wrong = sorted((choice for choice in choices if choice.wrong), key=lambda choice: -choice.slowdown)
    unclear = len(choices) - right - len(wrong)
    share = 100 * (len(choices) - len(wrong)) / len(choices)
    said = [
        f"Tutti's choice is within {100 * TOLERANCE:.0f} % or the spread of the best in {share:.0f} % of "
        f"{len(choices)} cells ({right} and {unclear}), worst {worst_of(choices):.2f}"
    ]
    return [*said, *(f"  {choice.words}" for choice in wrong[:NAMED])]


def summary(choices: List[Choice]) -> Dict[str, Any]:
    """For --json."""
    return {
        "cells": len(choices),
        "right": sum(choice.right for choice in choices),
        "within_spread": sum(not choice.right and not choice.wrong for choice in choices),
        "worst": round(worst_of(choices), 3),
        "wrong": [
            {**choice._asdict(), "slowdown": round(choice.slowdown, 3), "spread": round(choice.spread, 3)}
            for choice in choices if choice.wrong
        ],
    }  # fmt: skip
