"""What all ranks' calls come to, by call site: time, how much of it is waiting, who came last, and what the MPI
takes."""

from collections import Counter, defaultdict
from statistics import median
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple

from tutti.profile.recorded import Rank, Recorded, Sample
from tutti.profile.sites import Lines, Site, addresses_of, site_of

#: In these nobody but the root has to have come; in the others everybody (or more than one need not, as in Scan).
_FROM_ROOT = ("MPI_Bcast", "MPI_Scatter", "MPI_Scatterv")
#: In these only the root has to wait.
_TO_ROOT = ("MPI_Reduce", "MPI_Gather", "MPI_Gatherv")


class Kind(NamedTuple):
    """What calls are put together by. communicator: in words. size_class: of sizes above 2^(k-1) up to 2^k,
    "varying", or None. how: algorithm with its parameter, or what carried a message; way: how the bytes came."""

    site: Tuple[Any, ...]
    function: str
    communicator: str
    size_class: Any
    how: str
    way: str
    why: str
    for_comparison: bool


class Arrivals(NamedTuple):
    """Of calls of which all ranks' times are known. waiting: part of the time of all ranks. late: by how many
    seconds the
    last one came after the one before it, median. last: who, how often. moving: seconds from when all that have to
    be there were until the last rank had done its part, median. calls: so many."""

    waiting: float
    late: float
    last: List[Tuple[int, int]]
    moving: float
    calls: int


class Calls(NamedTuple):
    """Calls of one kind. seconds: of the slowest rank, least of the fastest; mean: over the ranks of the job. calls:
    of the
    rank that has most. waited: part of all ranks' time before what they received had come, where that is known.
    longest: seconds, rank, and when."""

    kind: Kind
    site: Site
    category: str
    calls: int
    bytes: int
    seconds: float
    least: float
    mean: float
    ranks: int
    waited: Optional[float]
    longest: Tuple[float, int, float]
    arrivals: Optional[Arrivals]
    by_mpi: Optional[Arrivals]


def communicator_words(about: Dict[str, Any]) -> str:
    """ "MPI_COMM_WORLD", or its ranks where it has no name."""
    ranks = f"{about['ranks']} rank{'s' if about['ranks'] != 1 else ''}"
    words = f"{about['name']}, {ranks}" if about["name"] else ranks
    return words + (", inter" if about["intercommunicator"] else "")


def _kinds(rank: Rank, sites: List[Site]) -> List[Kind]:
    """Of each row of the rank."""
    kinds = []
    for row in rank.about["rows"]:
        number = row.get("communicator")
        communicator = "" if number is None else communicator_words(rank.about["communicators"][number])
        how = row["algorithm"] + (
            f", {row['parameter']}" if "parameter" in row and row["algorithm"] != "host" else ""
        )
        why = row["reason"] + (f"; keeps the {row['kept']}" if "kept" in row else "")
        kinds.append(
            Kind(
                sites[row["site"]].key, row["function"], communicator, row["size_class"], how, row["way"], why,
                row.get("for_comparison", False),
            )
        )  # fmt: skip
    return kinds


class _Call(NamedTuple):
    rank: int
    sample: Sample
    kind: Kind


def _together(recorded: Recorded, kinds: Dict[int, List[Kind]]) -> Iterable[Tuple[int, List[_Call]]]:
    """Collectives of which the times of all ranks are known: the world rank of the root, or -1, and the calls."""
    found: Dict[Tuple[Any, ...], List[_Call]] = defaultdict(list)
    of: Dict[Tuple[Any, ...], Dict[str, Any]] = {}
    for rank in recorded.ranks:
        again: Counter[Tuple[Any, ...]] = Counter()
        for sample in rank.samples:
            communicator = rank.about["communicators"][rank.about["rows"][sample.row]["communicator"]]
            if communicator["identity"] == "0":
                continue
            # Another communicator may have the identity of one that was freed.
            place = (communicator["identity"], sample.sequence)
            again[place] += 1
            key = (*place, again[place])
            found[key].append(_Call(rank.rank, sample, kinds[rank.rank][sample.row]))
            of[key] = communicator
    for key, calls in found.items():
        about = of[key]
        if len(calls) == about["ranks"] and len(calls) > 1:
            root = calls[0].sample.root
            yield (about["in_world"][root] if 0 <= root < len(about["in_world"]) else -1), calls


def _waits(root: int, calls: List[_Call]) -> Tuple[Dict[int, float], float]:
    """Seconds that each rank waits for those that it needs, and when all that are needed were there."""
    function = calls[0].kind.function
    begins = {call.rank: call.sample.begin for call in calls}
    everybody = max(begins.values())
    needed = begins.get(root, everybody) if function in _FROM_ROOT else everybody
    waits = {}
    for call in calls:
        waits_for_any = not (function in _TO_ROOT and call.rank != root)
        until = min(call.sample.end, needed)
        waits[call.rank] = max(0.0, until - call.sample.begin) if waits_for_any else 0.0
    return waits, needed


def _arrivals(recorded: Recorded, kinds: Dict[int, List[Kind]]) -> Dict[Kind, Arrivals]:
    waiting: Dict[Kind, float] = defaultdict(float)
    passed: Dict[Kind, float] = defaultdict(float)
    late: Dict[Kind, List[float]] = defaultdict(list)
    moving: Dict[Kind, List[float]] = defaultdict(list)
    last: Dict[Kind, Counter[int]] = defaultdict(Counter)
    for root, calls in _together(recorded, kinds):
        waits, needed = _waits(root, calls)
        order = sorted(calls, key=lambda call: call.sample.begin)
        over = max(call.sample.end for call in calls)
        for call in calls:
            waiting[call.kind] += waits[call.rank]
            passed[call.kind] += call.sample.end - call.sample.begin
        for kind in {call.kind for call in calls}:
            late[kind].append(order[-1].sample.begin - order[-2].sample.begin)
            moving[kind].append(max(0.0, over - needed))
            last[kind][order[-1].rank] += 1
    return {
        kind: Arrivals(
            waiting[kind] / passed[kind] if passed[kind] > 0 else 0.0, median(late[kind]), last[kind].most_common(),
            median(moving[kind]), len(late[kind]),
        )
        for kind in late
    }  # fmt: skip


class _Sum:
    """Rows of several ranks."""

    def __init__(self) -> None:
        self.by_rank: Dict[int, List[float]] = defaultdict(lambda: [0.0, 0.0, 0.0, 0.0])
        self.longest = (0.0, 0, 0.0)
        self.category = ""

    def add(self, rank: Rank, row: Dict[str, Any]) -> None:
        of = self.by_rank[rank.rank]
        for at, value in enumerate(
            (row["calls"], row["bytes"], row["ticks"] * rank.tick, row["waited"] * rank.tick)
        ):
            of[at] += value
        most = row["most"] * rank.tick
        if most > self.longest[0]:
            when = rank.start + (row["most_at"] - rank.about["first_tick"]) * rank.tick
            self.longest = (most, rank.rank, when)
        self.category = row["category"]


def calls_of(recorded: Recorded) -> Tuple[List[Calls], Optional[str], Dict[int, List[Kind]]]:
    """All, the longest time first; the program that was asked for lines, None if there was none; kinds of each rank's
    rows."""
    lines = Lines(address for rank in recorded.ranks for address in addresses_of(rank.about["sites"]))
    sites = {rank.rank: [site_of(each, lines) for each in rank.about["sites"]] for rank in recorded.ranks}
    kinds = {rank.rank: _kinds(rank, sites[rank.rank]) for rank in recorded.ranks}
    by_key = {site.key: site for some in sites.values() for site in some}
    sums: Dict[Kind, _Sum] = defaultdict(_Sum)
    for rank in recorded.ranks:
        for row, kind in zip(rank.about["rows"], kinds[rank.rank]):
            sums[kind].add(rank, row)
    arrivals = _arrivals(recorded, kinds)
    compared = {kind[:4]: some for kind, some in arrivals.items() if kind.for_comparison}
    all_calls = []
    for kind, some in sums.items():
        seconds = [each[2] for each in some.by_rank.values()]
        waited = sum(each[3] for each in some.by_rank.values())
        all_calls.append(
            Calls(
                kind, by_key[kind.site], some.category,
                int(max(each[0] for each in some.by_rank.values())),
                int(sum(each[1] for each in some.by_rank.values())),
                max(seconds), min(seconds), sum(seconds) / len(recorded.ranks), len(seconds),
                waited / sum(seconds) if waited > 0 else None,
                some.longest, arrivals.get(kind),
                None if kind.for_comparison else compared.get(kind[:4]),
            )
        )  # fmt: skip
    return sorted(all_calls, key=lambda each: -each.mean), lines.program, kinds
