"""From measured cells to a decision table: which algorithm wins where, by how much, and the file that says it."""

import datetime
import json
import math
import statistics
from pathlib import Path
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple

from tutti import __version__
from tutti.files import write

SCHEMA = "tutti-table-1"
HOST = "host"
#: What is faster by less than this is not: below, two runs of the same differ.
LEAST_GAIN = 0.03
#: Starts of the benchmark that must have measured what replaces the model's choice.
RUNS = 2
#: The library chooses by these names; they are measured under others.
MEASURED_AS = {"reduce_scatter": "reduce_scatter_block"}

Cell = Dict[str, Any]


class Kind(NamedTuple):
    """What an entry is for, but for the sizes."""

    collective: str
    ranks: int
    levels: int
    ranks_per_core: float
    reach: str


class Score(NamedTuple):
    """Time of a candidate over that of the host in the same runs; spread: half its 95 % interval, relative; runs: how
    many starts of the benchmark measured it."""

    ratio: float
    spread: float
    us: float
    runs: int


class Decision(NamedTuple):
    """What was found for one kind and one class of sizes."""

    class_bytes: int
    #: "throttled,k=4", "host"
    chosen: str
    by_model: str
    scores: Dict[str, Score]

    @property
    def gain(self) -> float:
        """How many times faster than what the model chooses."""
        return self.scores[self.by_model].ratio / self.scores[self.chosen].ratio


def kind_of(cell: Cell) -> Kind:
    """The kind that a cell was measured for."""
    per_core = float(cell["ranks_per_core"])
    return Kind(str(cell["chosen_as"]), int(cell["ranks"]), int(cell["levels"]), per_core, str(cell["reach"]))


def _half_width(low: float, high: float, middle: float) -> float:
    return (high - low) / 2 / middle if middle > 0 else 0.0


def _score(cells: List[Cell]) -> Score:
    """Of one candidate at one size, over all runs."""
    ratios = [float(cell["tutti_us"]) / float(cell["host_us"]) for cell in cells]
    spreads = [
        _half_width(float(cell["tutti_low_us"]), float(cell["tutti_high_us"]), float(cell["tutti_us"]))
        for cell in cells
    ]
    between = (max(ratios) - min(ratios)) / 2 / statistics.median(ratios)
    within = statistics.median(spreads) / math.sqrt(len(spreads))
    us = statistics.median(float(cell["tutti_us"]) for cell in cells)
    return Score(statistics.median(ratios), max(within, between), us, len(cells))


def _host_score(cells: List[Cell]) -> Score:
    spreads = [
        _half_width(float(cell["host_low_us"]), float(cell["host_high_us"]), float(cell["host_us"]))
        for cell in cells
    ]
    us = statistics.median(float(cell["host_us"]) for cell in cells)
    return Score(1.0, statistics.median(spreads), us, len({cell["run"] for cell in cells}))


def _together(scores: List[Score]) -> Score:
    """Several sizes for which there is one choice."""
    return Score(
        statistics.geometric_mean(score.ratio for score in scores),
        max(score.spread for score in scores),
        statistics.geometric_mean(score.us for score in scores),
        min(score.runs for score in scores),
    )


def _by_model(cells: List[Cell], scores: Dict[str, Score]) -> str:
    """The candidate that the library would take without a table."""
    own = next((cell for cell in cells if cell["asked"] == "auto"), None)
    same = [
        cell for cell in cells
        if cell.get("predicted_us") is not None and cell["asked"] in scores
        and (own is None or cell["algorithm"] == own["algorithm"])
    ]  # fmt: skip
    if same:
        return str(min(same, key=lambda cell: float(cell["predicted_us"]))["asked"])
    return HOST


def _scores_of(cells: List[Cell]) -> Dict[str, Score]:
    """By candidate; what gave a wrong result, or was not measured at each size, is none."""
    sizes = {int(cell["bytes"]) for cell in cells}
    wrong = {str(cell["asked"]) for cell in cells if not cell["checked"]}
    by_name: Dict[str, Dict[int, List[Cell]]] = {}
    for cell in cells:
        if cell["asked"] != "auto" and cell["asked"] not in wrong and float(cell["host_us"]) > 0:
            by_name.setdefault(str(cell["asked"]), {}).setdefault(int(cell["bytes"]), []).append(cell)
    scores = {
        name: _together([_score(some) for some in of.values()])
        for name, of in by_name.items()
        if set(of) == sizes
    }
    by_size: Dict[int, List[Cell]] = {}
    for cell in cells:
        by_size.setdefault(int(cell["bytes"]), []).append(cell)
    scores[HOST] = _together([_host_score(some) for some in by_size.values()])
    return scores


def beats(winner: Score, other: Score) -> bool:
    """Whether a candidate is faster than another beyond what two runs of the same would differ."""
    noise = max(LEAST_GAIN, math.hypot(winner.spread, other.spread))
    return winner.ratio * (1 + noise) < other.ratio


def _times(cells: List[Cell], name: str) -> Dict[Tuple[int, int], Tuple[float, float]]:
    """Of a candidate, by start of the benchmark and size: us, and half its 95 % interval, relative."""
    side = "host" if name == HOST else "tutti"
    found = {}
    for cell in cells:
        if name in (HOST, cell["asked"]):
            us = float(cell[f"{side}_us"])
            half = _half_width(float(cell[f"{side}_low_us"]), float(cell[f"{side}_high_us"]), us)
            found[int(cell["run"]), int(cell["bytes"])] = (us, half)
    return found


def advantage(cells: List[Cell], winner: str, other: str) -> Tuple[float, float]:
    """How many times faster one candidate is than another in the same starts of the benchmark, and by what that
    scatters: the machine may be faster in one start than in the next, for both."""
    fast, slow = _times(cells, winner), _times(cells, other)
    by_run: Dict[int, List[Tuple[float, float]]] = {}
    for run, size in fast.keys() & slow.keys():
        (us, half), (other_us, other_half) = fast[run, size], slow[run, size]
        if us > 0:
            by_run.setdefault(run, []).append((other_us / us, math.hypot(half, other_half)))
    if not by_run:
        return 1.0, 0.0
    gains = [statistics.geometric_mean(gain for gain, _ in some) for some in by_run.values()]
    gain = statistics.median(gains)
    within = statistics.median(half for some in by_run.values() for _, half in some) / math.sqrt(len(gains))
    return gain, max(within, (max(gains) - min(gains)) / 2 / gain)


def _chosen(cells: List[Cell], scores: Dict[str, Score], model: str) -> str:
    """What two starts at least have found faster than the model's choice, beyond chance; of several the fastest."""
    gains = {model: 1.0}
    for name, score in scores.items():
        gain, spread = advantage(cells, name, model)
        if min(score.runs, scores[model].runs) >= RUNS and gain * (1 - max(LEAST_GAIN, spread)) > 1:
            gains[name] = gain
    return max(gains, key=lambda name: gains[name])


def decide(cells: Iterable[Cell]) -> Dict[Kind, List[Decision]]:
    """What to choose where, sizes ascending. What the model chooses stays, unless another beats it, and not by what one
    start of the benchmark says alone."""
    groups: Dict[Tuple[Kind, int], List[Cell]] = {}
    for cell in cells:
        groups.setdefault((kind_of(cell), int(cell["class_bytes"])), []).append(cell)
    found: Dict[Kind, List[Decision]] = {}
    for (kind, class_bytes), some in sorted(groups.items()):
        scores = _scores_of(some)
        model = _by_model(some, scores)
        found.setdefault(kind, []).append(Decision(class_bytes, _chosen(some, scores, model), model, scores))
    return found


def promise(decision: Decision) -> float:
    """How many times faster than the model's choice the best may be; 1 if more measuring could not change the choice.

    It could where the best has not been confirmed yet, or others lie within its spread.
    """
    best = min(decision.scores.values(), key=lambda score: score.ratio)
    model = decision.scores[decision.by_model]
    if beats(best, model) and min(best.runs, model.runs) < RUNS:
        return model.ratio / best.ratio
    rivals = [score for score in decision.scores.values() if score is not best and not beats(best, score)]
    widest = max((math.hypot(best.spread, score.spread) for score in rivals), default=0.0)
    return 1 + widest if widest > LEAST_GAIN else 1.0


def rivals_of(decision: Decision) -> List[str]:
    """The candidates that are still worth measuring: the best, those within its spread, and the model's choice."""
    best = min(decision.scores.values(), key=lambda score: score.ratio)
    return [
        name
        for name, score in decision.scores.items()
        if name != HOST and (name == decision.by_model or not beats(best, score))
    ]


def _entry(kind: Kind, first: int, last: int, decisions: List[Decision]) -> Dict[str, Any]:
    name, _, number = decisions[0].chosen.partition(",")
    entry: Dict[str, Any] = {
        "collective": kind.collective,
        "ranks": [kind.ranks, kind.ranks],
        "levels": kind.levels,
        "ranks_per_core": kind.ranks_per_core,
        "reach": kind.reach,
        "bytes": [first, last],
        "algorithm": name,
    }
    if number:
        entry["parameter"] = int(number.partition("=")[2])
    entry["gain"] = round(statistics.geometric_mean(decision.gain for decision in decisions), 3)
    return entry


def entries_of(found: Dict[Kind, List[Decision]]) -> List[Dict[str, Any]]:
    """The entries of the table: each size stands for all from the one before, and neighbours that agree are one.

    Where the reach changes between two sizes, the smaller ones end at the last that was measured.
    """
    entries = []
    bounds: Dict[Tuple[str, int], List[int]] = {}
    for kind, decisions in found.items():
        bounds.setdefault((kind.collective, kind.ranks), []).extend(one.class_bytes for one in decisions)
    for kind, decisions in found.items():
        below = sorted(set(bounds[(kind.collective, kind.ranks)]))
        run: List[Decision] = []
        first = 0
        for one in decisions:
            at = below.index(one.class_bytes)
            start = below[at - 1] + 1 if at else 0
            if run and (one.chosen != run[0].chosen or run[-1].class_bytes + 1 != start):
                entries.append(_entry(kind, first, run[-1].class_bytes, run))
                run = []
            if not run:
                first = start
            run.append(one)
        if run:
            entries.append(_entry(kind, first, run[-1].class_bytes, run))
    return entries


def document(
    origin: Dict[str, str], entries: List[Dict[str, Any]], measured: Dict[str, Any], settings: Dict[str, str]
) -> Dict[str, Any]:
    """A table. origin: as the library says it. measured: what was done for it, for people."""
    return {
        "schema": SCHEMA,
        "tutti": origin.get("tutti", __version__),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": {
            "processor": origin["processor"],
            "cores": int(origin["cores"]),
            "topology": origin["topology"],
        },
        "host": {"name": origin["host"], "version": origin["host_version"]},
        "settings": settings,
        "measured": measured,
        "entries": entries,
    }


def shape_key(entry: Dict[str, Any]) -> Tuple[Any, ...]:
    """What an entry is for, but for its sizes."""
    return (
        entry["collective"], tuple(entry["ranks"]), entry["levels"], float(entry["ranks_per_core"]), entry["reach"],
        entry.get("commutative", True),
    )  # fmt: skip


def with_others(table: Dict[str, Any], before: Optional[Dict[str, Any]]) -> Dict[str, Any]:
    """The table with those entries of an older one, of the same origin, for shapes that it says nothing of."""
    kept: List[Dict[str, Any]] = []
    if before and all(before.get(part) == table[part] for part in ("schema", "machine", "host")):
        known = {shape_key(entry) for entry in table["entries"]}
        kept = [entry for entry in before["entries"] if shape_key(entry) not in known]
    return {**table, "entries": sorted([*table["entries"], *kept], key=_order)}


def _order(entry: Dict[str, Any]) -> Tuple[Any, ...]:
    """For readers: sizes ascending, however they are reached."""
    return (entry["collective"], entry["ranks"], entry["levels"], entry["ranks_per_core"], entry["bytes"])


def _text(value: Dict[str, Any]) -> str:
    """JSON; of a long list each member is a line, so that a table can be read and edited."""
    lists = {name: part for name, part in value.items() if isinstance(part, list)}
    lines = [
        f" {json.dumps(name)}: " + json.dumps(part, indent=1).replace("\n", "\n ")
        for name, part in value.items()
        if name not in lists
    ]
    for name, part in lists.items():
        members = ",\n".join(f"  {json.dumps(member)}" for member in part)
        lines.append(f" {json.dumps(name)}: [\n{members}\n ]" if part else f" {json.dumps(name)}: []")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def write_json(path: Path, value: Dict[str, Any]) -> None:
    """Writes the file whole or not at all."""
    write(path, _text(value))
