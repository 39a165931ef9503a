"""The data of a figure: a row for each x of each line, whatever command has answered it."""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional

from tutti import files, places
from tutti.errors import UserError
from tutti.sim import machine as known
from tutti.study.catalogue import Figure, Line, Panel
from tutti.study.simulated import Answers, answer_of, point_of, points_of, simulate, transfers, xs_of

#: Of each size and line of tutti bench, and of a whole tutti probe.
BENCH_SECONDS, PROBE_SECONDS = 0.1, 20

#: What y is counted in.
UNITS = {"time": "us", "bandwidth": "GB/s"}


@dataclass
class Row:
    """A point of a figure. seconds: of a call or a copy; 0 where something else is counted."""

    panel: str
    line: str
    ours: str
    x: Any
    value: float
    unit: str
    seconds: float


class Source:
    """Answers of the commands: each is asked once."""

    def __init__(self, probe: Optional[Path], told: Callable[[str, float], None]) -> None:
        self.answers: Answers = {}
        self.told = told
        self._probe_file = probe
        self._probe: Optional[Dict[str, Any]] = None
        self._said: Dict[Any, Any] = {}

    def probe(self) -> Dict[str, Any]:
        """What tutti probe measures here, or has measured. Raises UserError."""
        if self._probe is None:
            if self._probe_file is not None:
                self._probe = files.read_json(self._probe_file)
            else:
                self.told("tutti probe", 0)
                with tempfile.TemporaryDirectory() as folder:
                    file = os.path.join(folder, "probe.json")
                    self._probe = self.tutti(
                        "probe", "--seconds", str(PROBE_SECONDS), "--output", file, "--json"
                    )
        if not isinstance(self._probe, dict) or "measurements" not in self._probe:
            raise UserError(f"{self._probe_file} is no file of tutti probe")
        return self._probe

    def tutti(self, *words: str) -> Any:
        """The JSON that a command of ours prints. Raises UserError with its last line."""
        if words not in self._said:
            environment = {**os.environ, "PYTHONPATH": places.ROOT}
            done = subprocess.run(
                [sys.executable, "-m", "tutti", *words],
                stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False, env=environment,
            )  # fmt: skip
            try:
                self._said[words] = json.loads(done.stdout)
            except ValueError:
                lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
                raise UserError(lines[-1].replace("tutti: ", f"tutti {words[0]}: ", 1)) from None
        return self._said[words]


def rows_of(figure: Figure, source: Source) -> List[Row]:
    """All points of a figure. Raises UserError."""
    points = [
        point
        for panel in figure.panels
        if panel.by == "sim"
        for line in panel.lines
        for x in xs_of(panel)
        for point in points_of(panel, line, x)
    ]
    simulate(points, source.answers, source.told)
    rows: List[Row] = []
    for panel in figure.panels:
        source.told(panel.title, 0)
        rows += as_shown(
            panel, [row for line in panel.lines for row in _ANSWERS[panel.by](panel, line, source)]
        )
    return rows


def _simulated(panel: Panel, line: Line, source: Source) -> Iterator[Row]:
    for x in xs_of(panel):
        point, told = point_of(panel, line, x), answer_of(panel, line, x, source.answers)
        if told is not None:
            moved = transfers(panel, x, told["ranks"]) * point.bytes
            yield _row(panel, line.paper, told["algorithm"], x, told[line.column], moved, point.bytes)


def _benched(panel: Panel, line: Line, source: Source) -> Iterator[Row]:
    sizes = panel.sizes.split(",")
    ranks = ",".join(map(str, panel.at)) if panel.x == "ranks" else str(panel.ranks)
    words = ["--collectives", panel.collective, "--min", sizes[0], "--max", sizes[-1], "--ranks", ranks]
    said = source.tutti("bench", *words, "--seconds", str(BENCH_SECONDS), *line.words, "--json", "-")
    for cell in said["cells"]:
        x = cell[panel.x]
        moved = transfers(panel, x, cell["ranks"]) * cell["bytes"]
        yield _row(
            panel, f"{line.paper}, {cell['host']}", str(cell.get("algorithm", "")), x, 1e-6 * cell[line.ours], moved,
            cell["bytes"],
        )  # fmt: skip


def _probed(panel: Panel, line: Line, source: Source) -> Iterator[Row]:
    told = source.probe()
    if panel.y == "parameters":
        for name in line.where["model"]:
            yield Row(panel.title, line.paper, "", name, float(told["model"][name]), "", 0)
        return
    for each in told["measurements"]:
        if all(each.get(name) == value for name, value in line.where.items()) and each.get("seconds"):
            name = f"{line.paper} {each[line.split]}" if line.split else line.paper
            size = int(each.get("bytes", 0))
            moved = transfers(panel, each[panel.x], 0) * size
            yield _row(panel, name, "", each[panel.x], float(each["seconds"]), moved, size)


def _counted(panel: Panel, line: Line, source: Source) -> Iterator[Row]:
    topology = files.read_json(known.find(panel.machine))["machine"]["description"]
    words = ["--mapping", line.mapping, "--root", str(line.root), "--hierarchy", line.hierarchy]
    for distance, count in source.tutti("topo", "-t", topology, *words, "--json", "-")[
        "message_counts"
    ].items():
        yield Row(panel.title, line.paper, "xhc", distance, count, "messages", 0)


_ANSWERS: Dict[str, Callable[[Panel, Line, Source], Iterator[Row]]] = {
    "sim": _simulated,
    "bench": _benched,
    "probe": _probed,
    "topo": _counted,
}


def _row(panel: Panel, line: str, ours: str, x: Any, seconds: float, moved: int, size: int) -> Row:
    if panel.y.endswith("bandwidth"):
        return Row(panel.title, line, ours, x, 1e-9 * moved / seconds, UNITS["bandwidth"], seconds)
    if panel.y == "messages a second":
        return Row(panel.title, line, ours, x, moved / max(size, 1) / seconds, "1/s", seconds)
    return Row(panel.title, line, ours, x, 1e6 * seconds, UNITS["time"], seconds)


def as_shown(panel: Panel, rows: List[Row]) -> List[Row]:
    """Where a panel shows parts of its first x, or how many times as long its last line takes: these."""
    if panel.y.startswith("relative"):
        first: Dict[str, float] = {}
        for row in rows:
            row.value /= first.setdefault(row.line, row.value)
            row.unit = "relative"
    elif panel.y == "ratio":
        last = {row.x: row.seconds for row in rows if row.line == panel.lines[-1].paper}
        rows = [row for row in rows if row.line != panel.lines[-1].paper and row.x in last]
        for row in rows:
            row.value, row.unit = last[row.x] / row.seconds, "times"
    return rows
