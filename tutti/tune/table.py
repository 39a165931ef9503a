"""From measured cells to a decision table: which algorithm wins where, by how much, and the file that says it."""

import datetime
import json
import math
import statistics
from pathlib import Path
from typing import Any, Container, Dict, Iterable, List, NamedTuple, Optional, Tuple

from tutti import __version__
from tutti.files import write

SCHEMA = "tutti-table-1"
HOST = "host"
#: What is faster by less than this does not replace the model's choice: that may be one that follows the machine, which
#: is worth more than a few per cent in the states of it that the tuning met.
LEAST_GAIN = 0.10
#: Candidates that were so near to the fastest one in some start may be the fastest in another.
CLOSE = 1.3
#: Starts of the benchmark that must have measured what replaces the model's choice: what is always faster and never
#: close, and what is close or slower at times. A machine may be the same twice by chance.
RUNS, RUNS_IF_CLOSE = 2, 4
#: Starts that measure what is close, if there is time.
VISITS = 5
#: What a table says of the run that it is from.
RUN = ("tutti", "date", "settings", "measured")
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
    #: Of a communicator that spans nodes, and how many ranks the node has that has most of them; else 1 and 0.
    nodes: int = 1
    ranks_per_node: int = 0


class Score(NamedTuple):
    """How a candidate did, `us` its time, the geometric mean of all. `runs`: how many starts of the benchmark measured
    it. `least` and `worst`: its time over that of the fastest candidate of the same start, where it did best and where
    it did worst."""

    us: float
    runs: int
    least: float
    worst: float


class Decision(NamedTuple):
    """What was found for one kind and one class of sizes."""

    class_bytes: int
    #: "throttled,k=4", "host"
    chosen: str
    by_model: str
    #: How many times faster than what the model chooses, in the same starts.
    gain: float
    scores: Dict[str, Score]


class Lag(NamedTuple):
    """Time of a candidate over that of the fastest, in one start of the benchmark; `half`: half its 95 % interval,
    relative."""

    ratio: float
    half: float


#: By candidate and start.
Lags = Dict[str, Dict[int, Lag]]


def kind_of(cell: Cell) -> Kind:
    """The kind that a cell was measured for."""
    per_core = float(cell["ranks_per_core"])
    between = (int(cell["nodes"]), int(cell["ranks_per_node"])) if "nodes" in cell else (1, 0)
    return Kind(
        str(cell["chosen_as"]),
        int(cell["ranks"]),
        int(cell["levels"]),
        per_core,
        str(cell["reach"]),
        *between,
    )


def _half_width(low: float, high: float, middle: float) -> float:
    return (high - low) / 2 / middle if middle > 0 else 0.0


def _by_model(cells: List[Cell], names: Container[str]) -> str:
    """The candidate that the library would take without a table."""
    own = next((cell for cell in cells if cell["asked"] == "auto"), None)
    same = [
        cell for cell in cells
        if cell.get("predicted_us") is not None and cell["asked"] in names
        and (own is None or cell["algorithm"] == own["algorithm"])
    ]  # fmt: skip
    if same:
        return str(min(same, key=lambda cell: float(cell["predicted_us"]))["asked"])
    return HOST


class _Time(NamedTuple):
    us: float
    half: float


def _times_of(cells: List[Cell]) -> Dict[str, Dict[Tuple[int, int], _Time]]:
    """By candidate, and by start of the benchmark and size; what gave a wrong result, or was not measured at each size,
    is none."""
    sizes = {int(cell["bytes"]) for cell in cells}
    wrong = {str(cell["asked"]) for cell in cells if not cell["checked"]}
    found: Dict[str, Dict[Tuple[int, int], _Time]] = {}
    for cell in cells:
        if float(cell["host_us"]) <= 0:
            continue
        for name, side in ((str(cell["asked"]), "tutti"), (HOST, "host")):
            if name == "auto" or name in wrong:
                continue
            us = float(cell[f"{side}_us"])
            half = _half_width(float(cell[f"{side}_low_us"]), float(cell[f"{side}_high_us"]), us)
            # Not 0, which no time can be compared to.
            found.setdefault(name, {})[int(cell["run"]), int(cell["bytes"])] = _Time(max(us, 1e-4), half)
    return {name: times for name, times in found.items() if {size for _, size in times} == sizes}


def _lags_of(times: Dict[str, Dict[Tuple[int, int], _Time]]) -> Lags:
    """Candidates are compared within each start: the machine may be faster in one than in the next, for all. Several
    sizes for which there is one choice count alike."""
    fastest: Dict[Tuple[int, int], float] = {}
    for by_place in times.values():
        for place, time in by_place.items():
            fastest[place] = min(time.us, fastest.get(place, math.inf))
    lags: Lags = {}
    for name, by_place in times.items():
        by_run: Dict[int, List[Lag]] = {}
        for place, time in by_place.items():
            by_run.setdefault(place[0], []).append(Lag(time.us / fastest[place], time.half))
        lags[name] = {
            run: Lag(statistics.geometric_mean(lag.ratio for lag in some),
                     statistics.median(lag.half for lag in some) / math.sqrt(len(some)))
            for run, some in by_run.items()
        }  # fmt: skip
    return lags


def _gain(lags: Lags, name: str, model: str) -> float:
    """How many times faster one candidate is than another, where both were measured."""
    runs = lags[name].keys() & lags[model].keys()
    return (
        statistics.geometric_mean(lags[model][run].ratio / lags[name][run].ratio for run in runs)
        if runs
        else 1.0
    )


def _replaces(lags: Lags, name: str, model: str) -> bool:
    """Whether a candidate is better than the model's choice beyond chance: always faster, or, where the machine changes
    and each is faster at times, faster on the whole and less slow where it is slower."""
    pairs = [(lags[name][run], lags[model][run]) for run in lags[name].keys() & lags[model].keys()]
    always_far = all(mine.ratio * CLOSE < its.ratio for mine, its in pairs)
    if len(pairs) < (RUNS if always_far else RUNS_IF_CLOSE):
        return False
    if all(
        mine.ratio * (1 + max(LEAST_GAIN, math.hypot(mine.half, its.half))) < its.ratio for mine, its in pairs
    ):
        return True
    worst = max(mine.ratio * (1 + mine.half) for mine, _ in pairs)
    worst_of_model = max(its.ratio * (1 - its.half) for _, its in pairs)
    return _gain(lags, name, model) > 1 + LEAST_GAIN and worst * (1 + LEAST_GAIN) < worst_of_model


def _chosen(lags: Lags, model: str) -> str:
    """Of what is better than the model's choice that which is the least slow where it is slowest."""
    better = [name for name in lags if name != model and _replaces(lags, name, model)]
    return min(
        better,
        key=lambda name: (max(lag.ratio for lag in lags[name].values()), -_gain(lags, name, model)),
        default=model,
    )


def _decision(class_bytes: int, cells: List[Cell]) -> Decision:
    times = _times_of(cells)
    lags = _lags_of(times)
    model = _by_model(cells, lags)
    chosen = _chosen(lags, model)
    scores = {
        name: Score(
            statistics.geometric_mean(time.us for time in times[name].values()),
            len(by_run),
            min(lag.ratio for lag in by_run.values()),
            max(lag.ratio for lag in by_run.values()),
        )
        for name, by_run in lags.items()
    }
    return Decision(class_bytes, chosen, model, _gain(lags, chosen, model), scores)


def decide(cells: Iterable[Cell]) -> Dict[Kind, List[Decision]]:
    """What to choose where, sizes ascending. What the model chooses stays, unless another beats it, and not by what one
    start of the benchmark says alone."""
    groups: Dict[Tuple[Kind, int], List[Cell]] = {}
    for cell in cells:
        groups.setdefault((kind_of(cell), int(cell["class_bytes"])), []).append(cell)
    found: Dict[Kind, List[Decision]] = {}
    for (kind, class_bytes), some in sorted(groups.items()):
        found.setdefault(kind, []).append(_decision(class_bytes, some))
    return found


def rivals_of(decision: Decision) -> List[str]:
    """The candidates that are still worth measuring: those that were close in some start, and the model's choice."""
    return [
        name
        for name, score in decision.scores.items()
        if name != HOST and (name == decision.by_model or score.least <= CLOSE)
    ]


def promise(decision: Decision) -> float:
    """How many times faster than the model's choice the best may be; 1 if more measuring could not change the choice.

    It could where others are close that have not been seen often enough, or the best has not been confirmed yet.
    """
    model = decision.scores[decision.by_model]
    close = [
        score for name, score in decision.scores.items() if score.least <= CLOSE and name != decision.by_model
    ]
    if not close:
        return 1.0
    alone = len(close) == 1 and model.least > CLOSE
    if min(score.runs for score in [*close, model]) >= (RUNS if alone else VISITS):
        return 1.0
    return max(model.worst, 1 + LEAST_GAIN)


def _entry(kind: Kind, first: int, last: int, decisions: List[Decision]) -> Dict[str, Any]:
    name, _, number = decisions[0].chosen.partition(",")
    entry: Dict[str, Any] = {"collective": kind.collective}
    if kind.nodes > 1:
        entry["nodes"] = [kind.nodes, kind.nodes]
        entry["ranks_per_node"] = [kind.ranks_per_node, kind.ranks_per_node]
    else:
        entry["ranks"] = [kind.ranks, kind.ranks]
        entry["levels"] = kind.levels
        entry["ranks_per_core"] = kind.ranks_per_core
        entry["reach"] = kind.reach
    entry.update({"bytes": [first, last], "algorithm": name})
    if number:
        entry["parameter"] = int(number.partition("=")[2])
    entry["gain"] = round(statistics.geometric_mean(decision.gain for decision in decisions), 3)
    return entry


def entries_of(found: Dict[Kind, List[Decision]]) -> List[Dict[str, Any]]:
    """The entries of the table: each size stands for all from the one before, and neighbours that agree are one.

    Where the reach changes between two sizes, the smaller ones end at the last that was measured.
    """
    entries = []
    bounds: Dict[Tuple[str, int, int], List[int]] = {}
    for kind, decisions in found.items():
        place = (kind.collective, kind.ranks, kind.nodes)
        bounds.setdefault(place, []).extend(one.class_bytes for one in decisions)
    for kind, decisions in found.items():
        below = sorted(set(bounds[kind.collective, kind.ranks, kind.nodes]))
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
        **_by_kind(entries),
    }


def _by_kind(entries: List[Dict[str, Any]]) -> Dict[str, Any]:
    """The lists of a table: of one node, and of communicators that span nodes, where there are such."""
    between = [entry for entry in entries if "nodes" in entry]
    of_one = [entry for entry in entries if "nodes" not in entry]
    return {"entries": of_one, **({"between_nodes": between} if between else {})}


def all_entries(table: Dict[str, Any]) -> List[Dict[str, Any]]:
    """Of both lists."""
    return [*table["entries"], *table.get("between_nodes", [])]


def shape_key(entry: Dict[str, Any]) -> Tuple[Any, ...]:
    """What an entry is for, but for its sizes: what it does not have is 0."""
    return (
        entry["collective"], tuple(entry.get("ranks", (0, 0))), entry.get("levels", 0),
        float(entry.get("ranks_per_core", 0)), entry.get("reach", ""), entry.get("commutative", True),
        tuple(entry.get("nodes", (1, 1))), tuple(entry.get("ranks_per_node", (0, 0))),
    )  # fmt: skip


def with_others(table: Dict[str, Any], before: Optional[Dict[str, Any]]) -> Dict[str, Any]:
    """The table with those entries of an older one, of the same origin, for shapes that it says nothing of.

    Each of them has the number of the run that it is from, in `earlier`.
    """
    kept: List[Dict[str, Any]] = []
    earlier: List[Dict[str, Any]] = []
    if before and all(before.get(part) == table[part] for part in ("schema", "machine", "host")):
        known = {shape_key(entry) for entry in all_entries(table)}
        for entry in all_entries(before):
            if shape_key(entry) in known:
                continue
            run = run_of(before, entry)
            if run not in earlier:
                earlier.append(run)
            kept.append({**entry, "earlier": earlier.index(run)})
    entries = sorted([*all_entries(table), *kept], key=_order)
    parts = {name: part for name, part in table.items() if name not in ("entries", "between_nodes")}
    return {**parts, **({"earlier": earlier} if earlier else {}), **_by_kind(entries)}


def run_of(table: Dict[str, Any], entry: Dict[str, Any]) -> Dict[str, Any]:
    """What is known of the run that an entry is from: tutti, date, settings, measured. Tables may have been edited."""
    if "earlier" not in entry:
        return {part: table[part] for part in RUN if part in table}
    runs, number = table.get("earlier"), entry["earlier"]
    known = isinstance(runs, list) and type(number) is int and 0 <= number < len(runs)
    return dict(runs[number]) if known and isinstance(runs[number], dict) else {}


def _order(entry: Dict[str, Any]) -> Tuple[Any, ...]:
    """For readers: sizes ascending, however they are reached."""
    shape = shape_key(entry)
    return (shape[0], shape[6:], shape[1:4], entry["bytes"])


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
