"""What differs by more than it scatters: Tutti from the MPI, and one report from another."""

import statistics
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Sequence, Tuple

from tutti.bench.runs import Cell, key_of
from tutti.report.sources import Source, blamed, of_kind
from tutti.tune.table import all_entries, shape_key


class Key(NamedTuple):
    """What was measured. asked, mechanism: what was asked for, where algorithms were compared."""

    form: str
    host: str
    ranks: int
    collective: str
    bytes: int
    buffers: str
    #: near or far, where the machine was in both states (tutti bench).
    cores: str
    asked: str
    mechanism: str

    @property
    def unusual(self) -> List[str]:
        """What is worth a word."""
        words = [] if self.form in ("blocking", "messages") else [self.form]
        words += [] if self.buffers == "window" else [f"{self.buffers} buffers"]
        return words + ([f"{self.cores} cores"] if self.cores else [])

    @property
    def wherever(self) -> "Key":
        """Without a word on the cores."""
        return self._replace(cores="")


class Speed(NamedTuple):
    """How many times as fast as the MPI Tutti was, between what bounds, and a cell that says the rest."""

    ratio: float
    low: float
    high: float
    cell: Cell

    @property
    def ran(self) -> str:
        """Algorithm and mechanism."""
        return " ".join(str(self.cell.get(name) or "") for name in ("algorithm", "mechanism")).strip()

    @property
    def verdict(self) -> str:
        """Who was faster beyond the spread."""
        return "Tutti" if self.low > 1 else "MPI" if self.high < 1 else "even"


def _bounds(cell: Cell) -> Tuple[float, float]:
    """Of the 95 % interval, and of all repeats."""
    ratio, half = float(cell["ratio"]), float(cell.get("spread_pct") or 0) / 100
    ratios = [ratio * (1 - half), ratio * (1 + half), *map(float, cell.get("ratios") or [])]
    return min(ratios), max(ratios)


def titles_of(sources: Sequence[Source]) -> Dict[str, str]:
    """How MPIs are called."""
    hosts = [host for source in of_kind(sources, "bench") for host in source.value["hosts"]]
    return {str(host["name"]): str(host["title"]) for host in hosts}


def _together(speeds: Iterable[Tuple[Key, Speed]]) -> Dict[Key, Speed]:
    """Of several for one key the median, between the bounds of all."""
    groups: Dict[Key, List[Speed]] = {}
    for key, speed in speeds:
        groups.setdefault(key, []).append(speed)
    found = {}
    for key, some in groups.items():
        some.sort(key=lambda speed: speed.ratio)
        low, high = min(speed.low for speed in some), max(speed.high for speed in some)
        middle = statistics.median(speed.ratio for speed in some)
        found[key] = Speed(middle, low, high, some[(len(some) - 1) // 2].cell)
    return found


def speeds_of(sources: Sequence[Source]) -> Dict[Key, Speed]:
    """Each cell of the benchmarks."""
    speeds = []
    for source in of_kind(sources, "bench"):
        form = str(source.value["options"].get("form", "blocking"))
        for cell in source.value["cells"]:
            if cell["ratio"] > 0:
                with blamed(source):
                    speeds.append(
                        (Key(form, *key_of(cell)), Speed(float(cell["ratio"]), *_bounds(cell), cell))
                    )
    return _together(speeds)


def own_choices(speeds: Dict[Key, Speed]) -> Dict[Key, Speed]:
    """Those in which Tutti chose, as in a program."""
    return {key: speed for key, speed in speeds.items() if key.asked in ("", "auto") and not key.mechanism}


def in_both(now: Dict[Key, Speed], before: Dict[Key, Speed]) -> List[Tuple[Key, Speed, Speed]]:
    """What was measured now and before. Where one has cores that were near and far, and the other has not, what it has
    of both is taken together."""
    pairs = [(key, now[key], before[key]) for key in now if key in before]
    alike = {key.wherever for key, _, _ in pairs}
    new, old = (_together((key.wherever, speed) for key, speed in some.items()) for some in (now, before))
    return pairs + [(key, new[key], old[key]) for key in new if key in old and key not in alike]


def changes(
    pairs: Sequence[Tuple[Key, Speed, Speed]],
) -> List[Tuple[float, Key, Speed, Speed]]:
    """(how many times as fast as before, key, now, before) of what has changed beyond the spread of both, the worst
    first. Both are speeds over the MPI in the same run, so that another state of the machine counts less."""
    found = [
        (new.ratio / old.ratio, key, new, old)
        for key, new, old in pairs
        if new.high < old.low or new.low > old.high
    ]
    return sorted(found, key=lambda change: change[:2])


class Parameter(NamedTuple):
    """Of the model: what it was and is, and half its 95 % interval, relative."""

    name: str
    now: float
    before: float
    half: float


def parameter_changes(now: Dict[str, Any], before: Dict[str, Any]) -> List[Parameter]:
    """What was measured in both probes and lies further apart than both scatter, the largest change first."""
    found = []
    for name, value in now["model"].items():
        if name in [*now["shipped"], *before["shipped"]] or name not in before["model"]:
            continue
        old = float(before["model"][name])
        half = float(now.get("spread", {}).get(name, 0)) + float(before.get("spread", {}).get(name, 0))
        if old > 0 and value > 0 and abs(value - old) > half * min(value, old):
            found.append(Parameter(name, float(value), old, half))
    return sorted(found, key=lambda one: -max(one.now / one.before, one.before / one.now))


def table_changes(
    now: Dict[str, Any], before: Dict[str, Any]
) -> Iterator[Tuple[Dict[str, Any], Dict[str, Any], int, int]]:
    """(entry now, entry before, from, to) for sizes at which two tables choose differently."""
    for entry in all_entries(now):
        for old in all_entries(before):
            first, last = max(entry["bytes"][0], old["bytes"][0]), min(entry["bytes"][1], old["bytes"][1])
            differ = (entry["algorithm"], entry.get("parameter")) != (old["algorithm"], old.get("parameter"))
            if first <= last and differ and shape_key(entry) == shape_key(old):
                yield entry, old, first, last
