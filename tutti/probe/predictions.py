"""`tutti probe --validate`: every algorithm forced by name, what the model predicts against what is observed
(CMA-aware, section VI, Fig. 12)."""

import json
import math
import os
import statistics
import subprocess
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from tutti import places
from tutti.bench.runs import BenchOptions, Cell
from tutti.bench.runs import measure as run_bench
from tutti.bench.words import CHOSEN_AS, AlgorithmWords
from tutti.errors import UserError
from tutti.launch.hosts import Host
from tutti.launch.library import find_tool
from tutti.pictures import write_picture
from tutti.probe.sentences import time_text
from tutti.sizes import human_bytes

#: What is aimed at, in per cent: the median error, and the 90th percentile.
AIM = (25.0, 60.0)


class Wanted(NamedTuple):
    """What is forced and predicted; collectives and mechanisms are named as for `tutti bench`."""

    ranks: Sequence[int] = (2,)
    collectives: Sequence[str] = ("bcast", "scatter", "gather", "allgather")
    mechanisms: Sequence[str] = ("window", "cma")
    minimum_bytes: int = 16 * 1024
    maximum_bytes: int = 4 << 20
    #: Time for each cell.
    seconds: float = 0.05

    def sizes(self, collective: str) -> List[int]:
        """Those that the benchmark measures of a collective."""
        if collective == "barrier":
            return [0]
        sizes = [self.minimum_bytes << shift for shift in range(0, 64, 2)]
        return [size for size in sizes if size <= self.maximum_bytes]


class Point(NamedTuple):
    """One algorithm at one size: seconds."""

    collective: str
    algorithm: str
    mechanism: str
    ranks: int
    bytes: int
    predicted: float
    observed: float

    @property
    def error(self) -> float:
        """Of the prediction, in per cent of what was observed; above 0: too slow."""
        return 100 * (self.predicted / self.observed - 1)


class Observed(NamedTuple):
    """The cells that were measured, and what is to be said of them."""

    cells: List[Cell]
    notes: List[str]


def observe(
    host: Host,
    wanted: Wanted,
    hop: float,
    progress: Callable[[str, float], None],
    variables: Optional[Dict[str, str]] = None,
) -> Observed:
    """The cells of `tutti bench --algorithms all --mechanisms ...`.

    Virtual machines move their processors about, which changes what a flag and a copy cost by factors. So only that
    counts which is measured while a flag takes about as long as for the parameters (hop, in seconds; 0: everything).
    variables: TUTTI_* of the benchmark. Raises UserError if it failed, or if nothing remains.
    """
    failures: List[str] = []
    options = BenchOptions(
        ranks=list(wanted.ranks), collectives=list(wanted.collectives), minimum_bytes=wanted.minimum_bytes,
        maximum_bytes=wanted.maximum_bytes, seconds=wanted.seconds, algorithms=AlgorithmWords("all"),
        mechanisms=list(wanted.mechanisms), state_flag_us=1e6 * hop, variables=variables or {},
    )  # fmt: skip
    cells = run_bench([host], options, progress, failures.append)
    if failures:
        raise UserError("; ".join(failures))
    missing = _missing(cells, wanted)
    if not cells:
        raise UserError(
            f"nothing was measured: the machine was never in the state in which a flag takes {time_text(hop)}, as for "
            "the parameters; measure them again with tutti probe"
        )
    notes = [f"left out, since the machine was in another state: {', '.join(missing)}"] if missing else []
    return Observed(cells, notes)


def _missing(cells: List[Cell], wanted: Wanted) -> List[str]:
    """What should have been measured and was not: the state of the parameters did not come back."""
    found = {(str(cell["collective"]), int(cell["ranks"]), int(cell["bytes"])) for cell in cells}
    return [
        f"{collective} of {human_bytes(size)} with {count} ranks"
        for collective in wanted.collectives
        for count in wanted.ranks
        for size in wanted.sizes(collective)
        if (collective, count, size) not in found
    ]


class Predictor:
    """The library's own predictions, by `tutti-predict`."""

    def __init__(self, probe: Optional[Path]) -> None:
        tool = find_tool("tutti-predict", "tools")
        if tool is None:
            raise UserError(f"tutti-predict is not built; {places.remedy()}")
        self._words = [str(tool), *(["--probe", str(probe)] if probe else [])]
        self._known: Dict[Tuple[Any, ...], Dict[str, float]] = {}

    def of(self, cell: Cell) -> Dict[str, float]:
        """Seconds by algorithm, as TUTTI_ALGORITHM writes it ("throttled,k=2"), for the shape that a cell was measured
        in, with its own size instead of one for all of its class."""
        key = tuple(shape_words(cell))
        if key not in self._known:
            done = subprocess.run(
                [*self._words, *key],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=30,
            )
            if done.returncode != 0:
                raise UserError(done.stderr.strip())
            found = {}
            for row in json.loads(done.stdout)["candidates"]:
                name = row["name"]
                if row["parameter"] is not None:
                    name += f",{row['parameter_name']}={row['parameter']}"
                if row["seconds"] is not None:
                    found[name] = float(row["seconds"])
            self._known[key] = found
        return self._known[key]


def reach_of(cell: Cell) -> str:
    """How the buffers of a cell were reached, as the model has it."""
    return {"window": "mapped", "xpmem": "mapped", "cma": "kernel"}.get(str(cell["mechanism"]), "staged")


def shape_words(cell: Cell) -> List[str]:
    """The shape of a cell as `tutti-predict` takes it."""
    collective = str(cell["collective"])
    return [
        "--collective", CHOSEN_AS.get(collective, collective), "--bytes", str(cell["chosen_bytes"]),
        "--ranks", str(cell["ranks"]), "--levels", str(cell["levels"]),
        "--ranks-per-core", f"{float(cell['ranks_per_core']):g}", "--reach", reach_of(cell),
        # Without a window, the kernel copies what does not fit a slot.
        *(["--cma"] if cell["asked_mechanism"] == "cma" else []),
    ]  # fmt: skip


def points_of(cells: List[Cell], predictor: Predictor) -> List[Point]:
    """Observed and predicted side by side, for what was forced by name."""
    points = []
    for cell in cells:
        if str(cell.get("asked") or "auto") == "auto" or not cell.get("checked"):
            continue
        seconds = predictor.of(cell).get(str(cell["asked"]))
        if seconds is None or float(cell["tutti_us"]) <= 0:
            continue
        points.append(
            Point(
                str(cell["collective"]), str(cell["asked"]), str(cell["asked_mechanism"]), int(cell["ranks"]),
                int(cell["bytes"]), seconds, 1e-6 * float(cell["tutti_us"]),
            )
        )  # fmt: skip
    return points


def without_points(points: List[Point], wanted: Wanted) -> List[str]:
    """What is to be said of mechanisms that nothing was measured by."""
    missing = [name for name in wanted.mechanisms if not any(point.mechanism == name for point in points)]
    if not missing:
        return []
    return [
        f"nothing was measured by {', '.join(missing)}: it cannot be used here (tutti doctor says why), or messages of "
        "these sizes travel in slots"
    ]


def percentile(values: List[float], part: float) -> float:
    """The smallest value that at least this part of them does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)]


def errors_of(points: List[Point]) -> Tuple[float, float]:
    """Median and 90th percentile of the errors without their sign, in per cent."""
    sizes = [abs(point.error) for point in points]
    return statistics.median(sizes), percentile(sizes, 0.9)


def report(points: List[Point]) -> List[str]:
    """The errors in words: all, by collective, by mechanism and ranks, and the worst ones."""
    median, most = errors_of(points)
    reached = "reached" if median <= AIM[0] and most <= AIM[1] else "not reached"
    said = [
        f"{len(points)} predictions: median error {median:.0f} %, 90th percentile {most:.0f} % "
        f"(aim: {AIM[0]:.0f} % and {AIM[1]:.0f} %, {reached})"
    ]
    groups: Dict[str, List[Point]] = {}
    for point in points:
        groups.setdefault(f"{point.collective}, {point.mechanism}, {point.ranks} ranks", []).append(point)
    for name, some in sorted(groups.items()):
        median, most = errors_of(some)
        said.append(f"{name}: median {median:.0f} %, 90th percentile {most:.0f} % of {len(some)}")
    for point in sorted(points, key=lambda each: -abs(math.log(each.predicted / each.observed)))[:5]:
        said.append(
            f"worst: {point.collective} by {point.algorithm}, {point.mechanism}, {point.ranks} ranks, "
            f"{human_bytes(point.bytes)}: predicted {1e6 * point.predicted:.2f} us, "
            f"observed {1e6 * point.observed:.2f} us"
        )
    return said


def draw(points: List[Point], path: Path) -> None:
    """Predicted against observed: a panel a collective and number of ranks, a line an algorithm; observed as dots,
    predicted as lines."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    ranks = sorted({point.ranks for point in points})
    mechanisms = list(dict.fromkeys(point.mechanism for point in points))
    columns = [(mechanism, count) for count in ranks for mechanism in mechanisms]
    collectives = list(dict.fromkeys(point.collective for point in points))
    figure, grid = pyplot.subplots(
        len(collectives), len(columns), figsize=(4.6 * len(columns) + 1.5, 3.2 * len(collectives)), squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for y, collective in enumerate(collectives):
        for x, (mechanism, count) in enumerate(columns):
            axes = grid[y][x]
            some = [
                p for p in points if (p.collective, p.mechanism, p.ranks) == (collective, mechanism, count)
            ]
            names = list(dict.fromkeys(p.algorithm for p in some))
            for number, name in enumerate(names):
                rows = sorted((p for p in some if p.algorithm == name), key=lambda p: p.bytes)
                colour = pyplot.get_cmap("tab20")(number % 20)
                xs = [max(1, p.bytes) for p in rows]  # a barrier has no size
                axes.plot(xs, [1e6 * p.predicted for p in rows], "-", color=colour, linewidth=1.1, label=name)
                axes.plot(xs, [1e6 * p.observed for p in rows], "o", color=colour, markersize=3.5)
            axes.set_xscale("log", base=2)
            axes.set_yscale("log", base=10)
            sizes = sorted({p.bytes for p in some})
            axes.set_xticks(
                [max(1, size) for size in sizes], [human_bytes(size) for size in sizes], fontsize=7
            )
            axes.grid(True, which="major", alpha=0.3)
            axes.set_title(f"{collective}, {mechanism}, {count} ranks", fontsize=9)
            axes.set_ylabel("us: line predicted, dot observed", fontsize=7)
            if names:
                axes.legend(fontsize=5.5, ncols=2)
    write_picture(figure, path, 130)
    pyplot.close(figure)


def usable_cores() -> int:
    """Processors that ranks may run on."""
    return len(os.sched_getaffinity(0))
