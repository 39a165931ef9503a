"""`tutti bench`: what each collective, or message, of an MPI and of Tutti costs a program, in the same processes.

The measuring is done by the C++ program of each host MPI (bench/); here it is started, and its output collected.
"""

import datetime
import os
import platform
import shlex
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

from tutti import __version__
from tutti.bench.host_knobs import AS_IT_COMES, Knob, knobs_of
from tutti.bench.measuring_program import lines_of, parse_line, program_of
from tutti.bench.words import AlgorithmWords, catalogue, library_names
from tutti.errors import UserError
from tutti.launch.hosts import Host
from tutti.launch.plan import make_certain_plan
from tutti.lines import say

#: Version of the JSON file's layout.
SCHEMA = 2

Cell = Dict[str, Any]

#: By so much longer a flag takes where the ranks have come to sit on cores that are further apart, as bench/ has it.
_OTHER_STATE = 1.5


@dataclass
class BenchOptions:
    """What to measure. Sizes in bytes, times in the unit their name says."""

    ranks: List[int]
    collectives: List[str]
    minimum_bytes: int = 4
    #: None: as the C++ program has it for each collective.
    maximum_bytes: Optional[int] = None
    root: str = "0"
    in_place: bool = False
    #: Kinds of buffers, each measured by itself.
    buffers: List[str] = field(default_factory=lambda: ["window"])
    seconds: float = 0.5
    repeats: int = 1
    floor: bool = False
    #: default, yield or best: how the host MPI waits.
    host_wait: str = "default"
    #: Try the knobs of each host MPI, and take the best of them in each cell.
    host_best: bool = False
    #: TUTTI_* variables.
    variables: Dict[str, str] = field(default_factory=dict)
    #: What is compared with each other in one run, beside Tutti's own choice; None or empty: nothing.
    algorithms: Optional[AlgorithmWords] = None
    mechanisms: List[str] = field(default_factory=list)
    #: blocking, nonblocking, tested or persistent: the latter are started, and waited for or asked for at once; or
    #: messages in the place of collectives.
    form: str = "blocking"
    #: Measure also how much of a nonblocking call goes on while its rank computes.
    overlap: bool = False
    #: Count only what is measured while a flag takes about so long; 0: everything.
    state_flag_us: float = 0.0

    @property
    def compares(self) -> bool:
        return self.algorithms is not None or bool(self.mechanisms)

    def program_words(self, collective: str, buffers: str = "window") -> List[str]:
        """The options of the C++ program, but for the algorithms that are compared."""
        words = ["--collective", collective, "--min", str(self.minimum_bytes)]
        words += [] if self.maximum_bytes is None else ["--max", str(self.maximum_bytes)]
        words += ["--factor", "4", "--root", self.root, "--buffers", buffers]
        words += ["--seconds-per-cell", f"{self.seconds:g}"]
        words += ["--form", self.form] if self.form != "blocking" else []
        words += ["--overlap"] if self.overlap else []
        words += ["--state-flag-us", f"{self.state_flag_us:g}"] if self.state_flag_us > 0 else []
        words += ["--in-place"] if self.in_place else []
        words += ["--floor"] if self.floor else []
        words += ["--mechanisms", ",".join(self.mechanisms)] if self.mechanisms else []
        return [*words, "--json-lines", "-"]


@dataclass(frozen=True)
class Run:
    """One start of the C++ program."""

    host: Host
    ranks: int
    collective: str
    yielding: bool
    repeat: int
    knob: Knob = AS_IT_COMES
    buffers: str = "window"

    @property
    def title(self) -> str:
        words = f"{self.host.title}, {self.ranks} ranks, {self.collective}"
        words += f", {self.buffers}" if self.buffers != "window" else ""
        return f"{words}, {self.knob.name}" if self.knob.variables else words

    @property
    def weight(self) -> float:
        """Its part of the time: a barrier has no sizes."""
        return 0.1 if self.collective == "barrier" else 1.0

    def algorithm_words(self, algorithms: Optional[AlgorithmWords], program: Path) -> List[str]:
        """The option of the C++ program that says which algorithms are compared."""
        if algorithms is None:
            return []
        name = library_names(program).get(self.collective, self.collective)
        words = algorithms.of(catalogue(self.ranks).get(name, []))
        return ["--algorithms", ";".join(f"{name}:{word}" for word in words)] if words else []


def runs_of(hosts: List[Host], options: BenchOptions) -> List[Run]:
    """Every start that the options ask for."""
    modes = {"default": (False,), "yield": (True,), "best": (False, True)}[options.host_wait]
    return [
        Run(host, ranks, collective, yielding, repeat, knob, kind)
        for host in hosts
        for ranks in options.ranks
        for collective in options.collectives
        for kind in (options.buffers if collective != "barrier" else options.buffers[:1])
        for yielding in modes
        for repeat in range(options.repeats)
        for knob in (knobs_of(host, collective) if options.host_best else [AS_IT_COMES])
    ]


def check_algorithms(words: AlgorithmWords, host: Host, collectives: List[str], ranks: int) -> None:
    """Raises UserError if `--algorithms` names one that none of the collectives has."""
    names = library_names(program_of(host))
    known = catalogue(ranks)
    words.check(algorithm for name in collectives for algorithm in known.get(names.get(name, name), []))


def _measure(run: Run, options: BenchOptions, progress: Callable[[float], None]) -> List[Cell]:
    """The cells of one run. progress: called with the fraction done."""
    program = program_of(run.host)
    environment = {**os.environ, **run.host.environment(run.yielding), **run.knob.environment()}
    words = [
        *run.host.launch_words(run.ranks),
        str(program),
        *options.program_words(run.collective, run.buffers),
    ]
    words += run.algorithm_words(options.algorithms, program)
    plan = make_certain_plan(words, run.host.library, options.variables, environment)
    cells = []
    for line in lines_of(plan.words, {**environment, **plan.variables}, run.title):
        value = parse_line(line)
        if value is None:
            continue
        if "progress" in value:
            progress(float(value["progress"]))
        elif "ratio" in value:
            mode = {"host_wait": "yield" if run.yielding else "default", "buffers": run.buffers}
            mode.update({"host_knob": run.knob.name} if options.host_best else {})
            cells.append({**value, "host": run.host.name, **mode})
    # The machine may never have been in the state that was asked for.
    if not cells and options.state_flag_us <= 0:
        raise UserError(f"{run.title}: the benchmark printed no result")
    return _in_one_state(cells) if options.compares else cells


def _in_one_state(cells: List[Cell]) -> List[Cell]:
    """Of each size what was measured in the state that the machine was most in: algorithms are compared in one."""
    most: Dict[int, Tuple[int, float]] = {}
    for cell in cells:
        of = (int(cell["repeats"]), float(cell["flag_us"] or 0))
        most[int(cell["bytes"])] = max(most.get(int(cell["bytes"]), of), of)
    return [cell for cell in cells if most[int(cell["bytes"])][1] == float(cell["flag_us"] or 0)]


def name_states(cells: List[Cell]) -> None:
    """Says of each cell of a job of which ranks came to sit on other cores how far apart these were (`cores`: near or
    far). Virtual machines move their processors about."""
    flags: Dict[Tuple[str, int], List[float]] = {}
    for cell in cells:
        if cell.get("flag_us"):
            flags.setdefault((str(cell["host"]), int(cell["ranks"])), []).append(float(cell["flag_us"]))
    for cell in cells:
        seen = flags.get((str(cell["host"]), int(cell["ranks"])), [])
        if cell.get("flag_us") and max(seen) >= _OTHER_STATE * min(seen):
            cell["cores"] = "far" if float(cell["flag_us"]) ** 2 > max(seen) * min(seen) else "near"


def cores_of(cell: Cell) -> str:
    """near or far; empty where there was but one state."""
    return str(cell.get("cores", ""))


def buffers_of(cell: Cell) -> str:
    """What kind of buffers it was measured with."""
    return str(cell.get("buffers", "window"))


def key_of(cell: Cell) -> Tuple[str, int, str, int, str, str, str, str]:
    """What was measured: host, ranks, collective, bytes, buffers, how far apart the cores were, what was asked for."""
    asked = (
        buffers_of(cell),
        cores_of(cell),
        str(cell.get("asked", "")),
        str(cell.get("asked_mechanism", "")),
    )
    return (str(cell["host"]), int(cell["ranks"]), str(cell["collective"]), int(cell["bytes"]), *asked)


def _median_cell(cells: List[Cell]) -> Cell:
    """Of several measurements of one cell, the one with the median ratio; all ratios are kept beside it."""
    ordered = sorted(cells, key=lambda cell: float(cell["ratio"]))
    middle = ordered[(len(ordered) - 1) // 2]
    return {**middle, "ratios": [cell["ratio"] for cell in ordered]} if len(cells) > 1 else middle


def _with_best_knobs(cells: List[Cell]) -> List[Cell]:
    """Of cells measured under several knobs those of the host's best, with the times of all beside them."""
    groups: Dict[Tuple[Any, ...], Dict[str, List[Cell]]] = {}
    for cell in cells:
        knobs = groups.setdefault((*key_of(cell), str(cell["host_wait"])), {})
        knobs.setdefault(str(cell.get("host_knob", "")), []).append(cell)
    kept = []
    for knobs in groups.values():
        times = {
            knob: statistics.median(float(cell["host_us"]) for cell in some) for knob, some in knobs.items()
        }
        best = min(times, key=lambda knob: times[knob])
        beside = {"host_knobs_us": times} if len(times) > 1 else {}
        kept += [{**cell, **beside} for cell in knobs[best]]
    return kept


def combine(cells: List[Cell]) -> List[Cell]:
    """One cell for each host, ranks, collective, size and algorithm asked for: the median of repeats, against the
    better way of waiting.

    A ratio is never put together from two runs: of two ways for the host to wait, the lower speed-up stays; of its
    knobs that with which the host was fastest, with the ratio of that run.
    """
    name_states(cells)
    cells = _with_best_knobs(cells)
    groups: Dict[Tuple[str, int, str, int, str, str, str, str], Dict[str, List[Cell]]] = {}
    for cell in cells:
        groups.setdefault(key_of(cell), {}).setdefault(str(cell["host_wait"]), []).append(cell)
    return [
        min((_median_cell(repeats) for repeats in modes.values()), key=lambda cell: float(cell["ratio"]))
        for modes in groups.values()
    ]


#: Host, ranks, kind of buffers, how far apart the cores were.
Place = Tuple[str, int, str, str]


def place_of(cell: Cell) -> Place:
    """Which panel a cell belongs to. A barrier, which has no buffers, is in that of the usual ones."""
    return (str(cell["host"]), int(cell["ranks"]), buffers_of(cell), cores_of(cell))


def geometric_means(cells: List[Cell]) -> Dict[Place, Dict[str, float]]:
    """Place -> collective -> geometric mean of the speed-ups over the sizes."""
    ratios: Dict[Place, Dict[str, List[float]]] = {}
    for cell in cells:
        if float(cell["ratio"]) > 0:
            where = ratios.setdefault(place_of(cell), {})
            where.setdefault(str(cell["collective"]), []).append(float(cell["ratio"]))
    return {
        key: {collective: statistics.geometric_mean(values) for collective, values in row.items()}
        for key, row in ratios.items()
    }


def measure(
    hosts: List[Host],
    options: BenchOptions,
    progress: Callable[[str, float], None],
    failed: Callable[[str], None],
) -> List[Cell]:
    """Measures everything. progress: title and fraction of the whole. failed: told of each run that did not work."""
    runs = runs_of(hosts, options)
    total = sum(run.weight for run in runs)
    cells: List[Cell] = []
    done = 0.0
    for run in runs:
        progress(run.title, done / total)

        def advance(fraction: float, done: float = done, run: Run = run) -> None:
            progress(run.title, (done + run.weight * min(max(fraction, 0.0), 1.0)) / total)

        try:
            cells += _measure(run, options, advance)
        except UserError as error:
            if run.knob.variables:  # not every MPI can do all that it lists
                say(f"left out: {error}")
            else:
                failed(str(error))
        done += run.weight
    progress("done", 1.0)
    return combine(cells)


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def origin() -> Dict[str, Any]:
    """When, where and by which command something is measured."""
    return {
        "tutti": __version__,
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": {
            "processor": _processor(),
            "cores": len(os.sched_getaffinity(0)),
            "system": f"{platform.system()} {platform.release()}",
        },
        "command": shlex.join(sys.argv),
    }


def document(cells: List[Cell], hosts: List[Host], options: BenchOptions) -> Dict[str, Any]:
    """What `--json` writes."""
    return {
        "schema": SCHEMA,
        **origin(),
        "hosts": [{"name": host.name, "title": host.title, "abi": host.abi} for host in hosts],
        "options": {
            "root": options.root,
            "in_place": options.in_place,
            "buffers": options.buffers,
            "form": options.form,
            "overlap": options.overlap,
            "seconds_per_cell": options.seconds,
            "repeats": options.repeats,
            "host_wait": options.host_wait,
            "host_best": options.host_best,
            "variables": options.variables,
            "algorithms": options.algorithms.wanted if options.algorithms else None,
            "mechanisms": options.mechanisms,
        },
        "cells": cells,
    }
