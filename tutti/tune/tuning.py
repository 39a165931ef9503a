"""`tutti tune`: measures the algorithms that the model does not rule out, the host's own among them, and decides.

A first pass measures everything briefly; what is close then is measured again, as long as there is time. The measuring
itself is the benchmark's (bench/), which times all candidates in turns in the same processes.
"""

import hashlib
import os
import re
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Callable, Dict, Generator, Iterator, List, Optional, Tuple

from tutti.bench.measuring_program import lines_of, parse_line, program_of
from tutti.bench.words import GRAIN, LARGEST, catalogue, library_names, parse_collectives, parse_size
from tutti.bench.words import catalogue_between_nodes as between_nodes
from tutti.errors import UserError
from tutti.files import check_output, read_json, user_folder
from tutti.launch.hosts import Host
from tutti.launch.plan import make_certain_plan
from tutti.tune.setups import DEFAULT, Setup
from tutti.tune.table import (
    HOST,
    MEASURED_AS,
    Cell,
    Decision,
    Kind,
    decide,
    document,
    entries_of,
    kind_of,
    promise,
    rivals_of,
    with_others,
    write_json,
)
from tutti.tune.table_check import valid_table

STATE_SCHEMA = "tutti-tune-state-2"
#: What is measured unless asked for: all that a table may choose for, by the benchmark's names.
TUNABLE = (
    "barrier", "bcast", "reduce", "allreduce", "scatter", "gather", "allgather", "alltoall", "reduce_scatter_block",
    "scan", "exscan", "scatterv", "gatherv", "allgatherv", "alltoallv",
)  # fmt: skip
#: Part of the time for the first pass; the rest is for what is close. Many short looks tell more than a few long ones:
#: how much one start of the benchmark differs from the next is more than what its intervals say.
FIRST_PART = 0.3
#: Seconds for one cell of the benchmark and two contenders.
LEAST_SECONDS, MOST_SECONDS = 0.01, 0.5
#: A start of the benchmark that takes so many times what was planned is ended.
PATIENCE = 4.0
#: Rounds over what is close. More would measure the same again.
ROUNDS = 4


@dataclass
class TuneOptions:
    """What to tune, and how long."""

    host: Host
    collectives: List[str]
    ranks: List[int]
    minimum_bytes: int = 4
    maximum_bytes: int = 4 << 20
    minutes: float = 10.0
    #: Candidates that the model takes for more than so many times slower than its best are not measured; 0: all are.
    within: float = 3.0
    variables: Dict[str, str] = field(default_factory=dict)
    #: Kind of buffers, as for tutti bench.
    buffers: str = "window"
    #: Everything is measured with each of them.
    setups: List[Setup] = field(default_factory=lambda: [DEFAULT])
    #: The user's words that start ranks on several nodes, for algorithms between nodes; empty: on this machine. `ranks`
    #: is [0] then, since the launcher knows.
    launcher: List[str] = field(default_factory=list)

    @property
    def one_machine(self) -> bool:
        """Whether the nodes are make-believe."""
        return "TUTTI_RANKS_PER_NODE" in self.variables

    def key(self) -> Dict[str, Any]:
        """What must be the same for a tuning to be resumed."""
        values = asdict(self)
        del values["minutes"]
        # As JSON gives them back.
        return {**values, "host": self.host.name, "setups": [list(setup) for setup in self.setups]}


def tunable(text: str) -> List[str]:
    """The collectives that are meant. Raises UserError for one that no table can choose for."""
    if text == "all":
        return list(TUNABLE)
    found = []
    for name in parse_collectives(text):
        if name.startswith("neighbor"):
            raise UserError(
                f"--collectives {name}: its ranks do not know each other's sizes, so no table can choose there"
            )
        name = MEASURED_AS.get(name, name)
        found.append("alltoallv" if name == "alltoallw" else name)
    return list(dict.fromkeys(found))


def parse_sizes(text: str) -> Tuple[int, int]:
    """ "4:4M" or one size, in bytes."""
    first, colon, last = text.partition(":")
    low = parse_size(first, "--sizes")
    high = parse_size(last, "--sizes") if colon else low
    if high < low or high > LARGEST:
        raise UserError(f"--sizes {text}: expected SMALLEST:LARGEST, e.g. 4:4M")
    return low, high


def default_ranks() -> List[int]:
    """Powers of two up to the cores, and the cores."""
    cores = max(2, len(os.sched_getaffinity(0)))
    counts = {cores}
    count = 2
    while count < cores:
        counts.add(count)
        count *= 2
    return sorted(counts)


def tables_folder() -> Path:
    """Where the library looks for the user's tables."""
    return user_folder() / "tables"


def default_path(origin: Dict[str, str]) -> Path:
    """The name says what the table is for, so that those of several hosts and machines lie side by side."""
    words = f"{origin['host']} {origin['host_version']} {origin['processor']}"
    slug = re.sub(r"[^a-z0-9.]+", "-", words.lower()).strip("-")
    machine = hashlib.sha256(f"{origin['processor']}\n{origin['topology']}".encode()).hexdigest()[:8]
    return tables_folder() / f"{slug[:80]}-{origin['cores']}-cores-{machine}.json"


@dataclass
class State:
    """What has been measured, kept in a file after each start of the benchmark."""

    path: Path
    key: Dict[str, Any]
    origin: Dict[str, str] = field(default_factory=dict)
    cells: List[Cell] = field(default_factory=list)
    #: Starts that are complete: pass, ranks, collective, and the members of Setup.
    done: List[List[Any]] = field(default_factory=list)
    #: How often the benchmark was started.
    starts: int = 0

    def save(self) -> None:
        """Whole or not at all."""
        write_json(self.path, {"schema": STATE_SCHEMA, **{name: value for name, value in vars(self).items()
                                                          if name != "path"}})  # fmt: skip

    @classmethod
    def load(cls, path: Path, key: Dict[str, Any]) -> "State":
        """Raises UserError if the file is not of a tuning with these options."""
        value = read_json(path)
        if not isinstance(value, dict) or value.get("schema") != STATE_SCHEMA:
            raise UserError(f"'{path}' is no state of tutti tune")
        if value.get("key") != key:
            raise UserError(
                f"'{path}' is of a tuning with other options; repeat them, or leave --resume out to begin anew"
            )
        try:
            return cls(path, key, value["origin"], value["cells"], value["done"], value["starts"])
        except KeyError as error:
            raise UserError(f"'{path}' has no {error}") from None


@dataclass(frozen=True)
class Start:
    """One start of the benchmark: a collective, its candidates as TUTTI_ALGORITHM has them, smallest and largest size,
    and the seconds for a cell and two candidates."""

    ranks: int
    name: str
    words: List[str]
    bounds: Tuple[int, int]
    seconds: float = LEAST_SECONDS
    within: float = 0.0
    setup: Setup = DEFAULT

    def sizes(self) -> int:
        """How many there are."""
        return 1 if self.name == "barrier" else sizes_between(*self.bounds)


def sizes_between(low: int, high: int) -> int:
    """low, 4 low, 16 low, ... up to high: how many."""
    count = 0
    while low <= high:
        count, low = count + 1, low * 4
    return count


class OutOfTime(Exception):
    """The start of the benchmark takes much longer than there is time."""


class Tuning:
    """One tuning: the starts of the benchmark, in the order in which they tell most."""

    def __init__(
        self,
        options: TuneOptions,
        state: State,
        progress: Callable[[str, float], None],
        failed: Callable[[str], None],
    ) -> None:
        self.options = options
        self.state = state
        self.progress = progress
        self.failed = failed
        self.budget = options.minutes * 60
        self.began = time.monotonic()
        self.names = library_names(program_of(options.host))
        #: Seconds of a run over what was planned for it, learnt from run to run.
        self.cost = 3.0
        self.start_up = 1.0

    def spent(self) -> float:
        return time.monotonic() - self.began

    def left(self) -> float:
        return self.budget - self.spent()

    def first_pass(self) -> None:
        """Everything, briefly."""
        bounds = (self.options.minimum_bytes, self.options.maximum_bytes)
        plan = [
            Start(ranks, name, self.candidates(ranks, name), bounds, within=self.options.within, setup=setup)
            for ranks in self.options.ranks
            for setup in self.options.setups
            for name in self.options.collectives
            if ["first", ranks, name, *setup] not in self.state.done
        ]
        for start in self.timed(plan, self.budget * FIRST_PART):
            if self.left() <= 0:
                return
            if self.measure(start):
                self.state.done.append(["first", start.ranks, start.name, *start.setup])
            self.state.save()

    def timed(self, plan: List[Start], until: float) -> Iterator[Start]:
        """One start after the other, each with as many seconds as let the last one end at `until`, by what has been
        learnt of them so far."""
        cells_left = sum(start.sizes() for start in plan)
        for at, start in enumerate(plan):
            time_left = until - self.spent() - self.start_up * (len(plan) - at)
            seconds = time_left / cells_left / self.cost
            yield replace(start, seconds=min(MOST_SECONDS, max(LEAST_SECONDS, seconds)))
            cells_left -= start.sizes()

    def candidates(self, ranks: int, name: str) -> List[str]:
        """All algorithms, with the numbers that are worth considering."""
        if self.options.launcher:
            return between_nodes().get(self.names.get(name, name), [])
        return [word for one in catalogue(ranks).get(self.names.get(name, name), []) for word in one.words()]

    def close_ones(self) -> Dict[Tuple[int, str, Setup], List[Decision]]:
        """What more measuring could change, by ranks, collective and setup; that which promises most first.

        Where several setups lead to one shape, as small messages are staged in all of them, the first does for all.
        """
        setups: Dict[Tuple[Kind, int], Setup] = {}
        for cell in self.state.cells:
            setups.setdefault((kind_of(cell), int(cell["class_bytes"])), Setup(*cell["setup"]))
        found: Dict[Tuple[int, str, Setup], List[Decision]] = {}
        for kind, decisions in decide(self.state.cells).items():
            for decision in decisions:
                if promise(decision) > 1:
                    setup = setups[kind, decision.class_bytes]
                    found.setdefault((kind.ranks, kind.collective, setup), []).append(decision)
        return dict(sorted(found.items(), key=lambda pair: -max(map(promise, pair[1]))))

    def later_passes(self) -> None:
        """What is close, again."""
        for number in range(ROUNDS):
            plan = [self.again(*which, decisions) for which, decisions in self.close_ones().items()]
            least = sum(self.start_up + start.sizes() * LEAST_SECONDS * self.cost for start in plan)
            # Rather one whole round than parts of several.
            until = self.spent() + max(self.left() / (ROUNDS - number), min(self.left(), least))
            for start in self.timed(plan, until):
                if self.left() < 2 * self.start_up:
                    return
                self.measure(start)
                self.state.save()

    def again(self, ranks: int, collective: str, setup: Setup, decisions: List[Decision]) -> Start:
        """The start that measures what is still worth it for these decisions."""
        words = list(dict.fromkeys(word for one in decisions for word in rivals_of(one)))
        classes = {one.class_bytes for one in decisions}
        sizes = [
            int(cell["bytes"])
            for cell in self.state.cells
            if cell["chosen_as"] == collective
            and cell["ranks"] == ranks
            and Setup(*cell["setup"]) == setup
            and cell["class_bytes"] in classes
        ]
        # A barrier has none; the benchmark wants some all the same.
        bounds = (max(min(sizes), GRAIN), max(*sizes, GRAIN))
        return Start(ranks, MEASURED_AS.get(collective, collective), words, bounds, setup=setup)

    def measure(self, start: Start) -> bool:
        """One start of the benchmark; what it says is kept. False if it did not come to its end."""
        kind = f", {self.options.buffers} buffers" if self.options.buffers != "window" else ""
        ranks = f"{start.ranks} ranks" if start.ranks else "several nodes"
        title = f"{self.options.host.title}, {ranks}, {start.name}{start.setup.words()}{kind}"
        planned = start.sizes() * start.seconds
        expected = planned * self.cost + self.start_up
        begin = time.monotonic()
        limit = begin + max(20.0, min(PATIENCE * expected, self.left() + 20.0))
        share = expected / max(self.budget, 1e-9)
        done_before = min(0.99, self.spent() / self.budget)
        self.progress(title, done_before)
        first_line = 0.0
        kept = []
        self.state.starts += 1
        lines = self.lines(start, title)
        try:
            for line in lines:
                if time.monotonic() > limit:
                    raise OutOfTime
                value = parse_line(line)
                if value is None:
                    continue
                if "origin" in value:
                    first_line = time.monotonic() - begin
                    self.note_origin(value["origin"])
                elif "progress" in value:
                    self.progress(title, min(0.99, done_before + share * float(value["progress"])))
                elif "asked" in value and "class_bytes" in value:
                    chosen_as = self.names.get(start.name, start.name)
                    where = {"chosen_as": chosen_as, "run": self.state.starts, "setup": list(start.setup)}
                    kept.append({**value, **where})
        except OutOfTime:
            self.failed(f"{title}: took too long and was ended; what it had measured is kept")
            return False
        except UserError as error:
            self.failed(str(error))
            return False
        finally:
            lines.close()
            self.state.cells += [cell for cell in kept if cell["host_us"]]
        if not kept:
            self.failed(f"{title}: nothing was measured (is Tutti inactive in this job?)")
            return False
        if self.options.launcher and any("nodes" not in cell for cell in kept):
            raise UserError(
                f"'{self.options.launcher[0]}' has started all ranks on one node; tune that without --network"
            )
        self.learn(time.monotonic() - begin, first_line, planned)
        return True

    def learn(self, took: float, start_up: float, planned: float) -> None:
        """From a run that is over: what the next will cost."""
        self.start_up = 0.5 * self.start_up + 0.5 * (start_up + 0.2)
        if planned > 0:
            self.cost = 0.5 * self.cost + 0.5 * max(1.0, (took - start_up) / planned)

    def note_origin(self, origin: Dict[str, str]) -> None:
        if self.state.origin and self.state.origin != origin:
            raise UserError("this is another machine, MPI or version than where the tuning began; begin anew")
        self.state.origin = origin

    def lines(self, start: Start, title: str) -> Generator[str, None, None]:
        """The output of one start of the benchmark."""
        host = self.options.host
        program = program_of(host)
        chosen_as = self.names.get(start.name, start.name)
        options = ["--collective", start.name, "--min", str(start.bounds[0]), "--max", str(start.bounds[1])]
        options += ["--factor", "4", "--seconds-per-cell", f"{start.seconds:.4g}", "--minimum-repeats", "6"]
        options += ["--within", f"{start.within:g}", "--buffers", self.options.buffers, "--json-lines", "-"]
        options += ["--algorithms", ";".join(f"{chosen_as}:{word}" for word in start.words)]
        # With a launcher the ranks are on several nodes, of which this machine need not be one.
        too_many = not self.options.launcher and start.ranks > len(os.sched_getaffinity(0))
        crowded = too_many or self.options.one_machine
        environment = {**os.environ, **host.environment(crowded)}
        # The model's own choice is measured among the others: a table must not change it.
        variables = {**self.options.variables, **start.setup.variables(), "TUTTI_TABLE": "off"}
        if self.options.launcher:
            variables["TUTTI_INTERNODE"] = "1"
        command = [*(self.options.launcher or host.launch_words(start.ranks)), str(program), *options]
        plan = make_certain_plan(command, host.library, variables, environment)
        return lines_of(plan.words, {**environment, **plan.variables}, title)


@dataclass
class Outcome:
    """What a tuning has come to."""

    table: Dict[str, Any]
    found: Dict[Kind, List[Decision]]
    path: Path
    complete: bool
    interrupted: bool
    wrong: List[str]


def run_tuning(
    options: TuneOptions,
    output: Optional[Path],
    state_path: Path,
    resume: bool,
    progress: Callable[[str, float], None],
    failed: Callable[[str], None],
) -> Outcome:
    """Measures, decides, writes. Raises UserError if nothing could be measured."""
    state = State(state_path, options.key())
    if resume:
        state = State.load(state_path, options.key())
    if output:
        check_output(output)
    state.save()  # where it cannot be written nothing is measured in vain
    tuning = Tuning(options, state, progress, failed)
    interrupted = False
    try:
        tuning.first_pass()
        tuning.later_passes()
    except KeyboardInterrupt:
        interrupted = True
    if not state.cells:
        state_path.unlink(missing_ok=True)
        raise UserError(
            "stopped before anything was measured" if interrupted else "nothing could be measured"
        )
    planned = len(options.ranks) * len(options.collectives) * len(options.setups)
    complete = not interrupted and len(state.done) == planned
    found = decide(state.cells)
    path = output or default_path(state.origin)
    table = document(state.origin, entries_of(found), _measured(options, state, complete), options.variables)
    table = with_others(table, _table_before(path, failed))
    write_json(path, table)
    if complete:
        state_path.unlink(missing_ok=True)
    else:
        state.save()
    progress("done", 1.0)
    return Outcome(table, found, path, complete, interrupted, _wrong(state.cells))


def _table_before(path: Path, failed: Callable[[str], None]) -> Optional[Dict[str, Any]]:
    """The table that is to be replaced, if there is one that the library can read."""
    if not path.exists():
        return None
    try:
        return valid_table(path)
    except UserError as error:
        failed(f"{error}; it is replaced")
        return None


def _wrong(cells: List[Cell]) -> List[str]:
    """Candidates that gave wrong results; none of them is in the table."""
    return sorted(
        {f"{cell['collective']} {cell['asked']} of {cell['bytes']} bytes on {cell['ranks']} ranks"
         f"{Setup(*cell['setup']).words()}"
         for cell in cells if not cell["checked"]}
    )  # fmt: skip


def _measured(options: TuneOptions, state: State, complete: bool) -> Dict[str, Any]:
    return {
        "minutes": options.minutes,
        "within": options.within,
        "collectives": options.collectives,
        "ranks": options.ranks,
        "bytes": [options.minimum_bytes, options.maximum_bytes],
        "cells": len(state.cells),
        "complete": complete,
        "buffers": options.buffers,
        **_asked_for(options.setups),
    }


def _asked_for(setups: List[Setup]) -> Dict[str, List[str]]:
    """The mechanisms and hierarchies, where such were named."""
    named = {
        "mechanisms": list(dict.fromkeys(setup.mechanism for setup in setups)),
        "hierarchies": list(dict.fromkeys(setup.hierarchy for setup in setups)),
    }
    return {name: values for name, values in named.items() if values != [""]}


def not_by_model(found: Dict[Kind, List[Decision]]) -> List[Tuple[Kind, Decision]]:
    """Where the table says something else than the model."""
    return [
        (kind, one) for kind, decisions in found.items() for one in decisions if one.chosen != one.by_model
    ]


def has_host(found: Dict[Kind, List[Decision]]) -> bool:
    """Whether the MPI's own collective wins somewhere."""
    return any(one.chosen == HOST for decisions in found.values() for one in decisions)
