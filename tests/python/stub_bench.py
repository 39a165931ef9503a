"""In the place of the benchmark under `tutti tune`: cells that are made up, and a clock that only it moves."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from made_tables import ORIGIN, cell

from tutti.bench.words import Algorithm
from tutti.launch.hosts import Host
from tutti.tune import tuning
from tutti.tune.tuning import TuneOptions

#: Small messages are staged, whatever else there is.
STAGED_MAX = 256
REACH = {"cma": "kernel", "staged": "staged"}
#: What is fastest by reach and levels; the model takes the first algorithm.
ALGORITHMS = ("xhc", "eager", "tree", "flat-one")
FASTEST = {("mapped", 2): "xhc", ("mapped", 1): "flat-one", ("kernel", 2): "tree"}


class StubBench:
    """monkeypatch: takes what `tutti tune` would start out of its way. costs: what a start takes over what was planned.
    start_up: its seconds until the first line."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, costs: float = 3.0, start_up: float = 0.5) -> None:
        self.now = 0.0
        self.costs = costs
        self.start_up = start_up
        #: Of each start: its options by name, its TUTTI_ variables, its seconds.
        self.starts = []
        #: The start, counted from 1, at which Ctrl-C is pressed.
        self.stop_at = 0
        #: Says one line a second and never ends.
        self.endless = False
        monkeypatch.setattr(tuning, "time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(tuning, "program_of", lambda host: Path("bench"))
        monkeypatch.setattr(tuning, "library_names", lambda program: {"bcast": "bcast", "reduce": "reduce"})
        known = [Algorithm(name, "", []) for name in ALGORITHMS]
        monkeypatch.setattr(tuning, "catalogue", lambda ranks: {"bcast": known, "reduce": known})
        monkeypatch.setattr(tuning, "make_certain_plan", lambda words, library, variables, environment: SimpleNamespace(
            words=words, variables=variables))  # fmt: skip
        monkeypatch.setattr(tuning, "lines_of", self.lines)

    def first_pass(self):
        """What was measured there, as (variables, collective)."""
        return [(one.mechanism, one.hierarchy, one.collective) for one in self.starts if one.within > 0]

    def lines(self, words, environment, title):
        at = words.index("bench")
        options = dict(zip(words[at + 1 :: 2], words[at + 2 :: 2]))
        start = SimpleNamespace(
            collective=options["--collective"], within=float(options["--within"]), seconds=0.0,
            ranks=int(words[at - 1]), mechanism=environment.get("TUTTI_MECHANISM", ""),
            hierarchy=environment.get("TUTTI_HIERARCHY", ""), table=environment["TUTTI_TABLE"],
            buffers=options["--buffers"],
        )  # fmt: skip
        self.starts.append(start)
        began = self.now
        try:
            self.now += self.start_up
            if len(self.starts) == self.stop_at:
                raise KeyboardInterrupt
            yield json.dumps({"origin": ORIGIN})
            while self.endless:
                self.now += 1
                yield '{"progress": 0.5}'
            yield from self.cells(start, options)
        finally:
            start.seconds = self.now - began

    def cells(self, start, options):
        asked = [word.partition(":")[2] for word in options["--algorithms"].split(";")]
        count = int(options["--min"])
        while count <= int(options["--max"]):
            self.now += float(options["--seconds-per-cell"]) * self.costs
            reach = "staged" if count <= STAGED_MAX else REACH.get(start.mechanism, "mapped")
            levels = 1 if start.hierarchy == "flat" else 2
            for name in asked:
                us = 1.0 if name == FASTEST.get((reach, levels), "eager") else 3.0
                yield json.dumps(
                    cell(name, us, count=count, collective=start.collective, ranks=start.ranks, levels=levels,
                         reach=reach, predicted=1 + ALGORITHMS.index(name))
                )  # fmt: skip
            count *= 4


def options(**more) -> TuneOptions:
    """Of a tuning with MPICH."""
    host = Host("mpich", "mpich", Path("/nowhere/mpirun"), "MPICH")
    given = {
        "collectives": ["bcast"],
        "ranks": [2],
        "minimum_bytes": 64,
        "maximum_bytes": 4096,
        "minutes": 10.0,
    }
    return TuneOptions(host, **{**given, **more})


def tuned(folder, chosen, resume=False, failures=None):
    """What comes of a tuning: its outcome. failures: takes what could not be measured."""
    path = folder / "table.json"
    failed = failures.append if failures is not None else pytest.fail
    return tuning.run_tuning(
        chosen, path, folder / "table.json.state", resume, lambda title, done: None, failed
    )
