"""The file that TUTTI_PROFILE names, with the clocks of all ranks in one: seconds after the first MPI_Init."""

import json
import struct
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple

from tutti.errors import UserError

_MAGIC = b"tutti-profile-1\n"
_SAMPLE = struct.Struct("=QQQIi")
_EVENT = struct.Struct("=QQII")


class Sample(NamedTuple):
    """A collective of which the times were kept. begin, end: seconds. sequence: its place in its communicator. row: of
    its rank. root: -1 if it has none."""

    begin: float
    end: float
    sequence: int
    row: int
    root: int


class Event(NamedTuple):
    """A call of the timeline, in seconds."""

    begin: float
    end: float
    row: int
    thread: int


class Rank(NamedTuple):
    """What one rank has recorded. about: as its JSON has it; times in it are ticks, of which one takes `tick` seconds.
    filled: seconds in collectives, messages, waits and other calls in each stretch of the run, which are `stretch`
    long."""

    about: Dict[str, Any]
    samples: List[Sample]
    events: List[Event]
    tick: float
    start: float
    stretch: float
    filled: List[List[float]]

    @property
    def rank(self) -> int:
        return int(self.about["rank"])


class Recorded(NamedTuple):
    """A run. about: program, MPI, date and so on, as TUTTI_EXPLAIN tells them. seconds: of the longest rank."""

    about: Dict[str, Any]
    ranks: List[Rank]
    seconds: float


def _clock(about: Dict[str, Any], zero: Dict[str, Any]) -> Callable[[int], float]:
    """From ticks of a rank to seconds. zero: of rank 0, whose clock counts; the two have met at the beginning and at
    the end."""
    (own, zeros), (own_end, zeros_end) = about["meetings"]
    rate = (zeros_end - zeros) / (own_end - own) if own_end > own else 1.0
    tick = zero["seconds"] / max(1, zero["last_tick"] - zero["first_tick"])
    first = zero["first_tick"]

    def seconds(ticks: int) -> float:
        return ((ticks - own) * rate + (zeros - first)) * tick

    return seconds


def _rank(about: Dict[str, Any], zero: Dict[str, Any], samples: bytes, events: bytes) -> Rank:
    clock = _clock(about, zero)
    tick = about["seconds"] / max(1, about["last_tick"] - about["first_tick"])
    return Rank(
        about,
        [
            Sample(clock(begin), clock(end), sequence, row, root)
            for begin, end, sequence, row, root in _SAMPLE.iter_unpack(samples)
        ],
        [
            Event(clock(begin), clock(end), row, thread)
            for begin, end, row, thread in _EVENT.iter_unpack(events)
        ],
        tick,
        clock(about["first_tick"]),
        about["stretch"] * tick,
        [[ticks * tick for ticks in each] for each in about["filled"]],
    )


def read(path: Path) -> Recorded:
    """Raises UserError."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read '{path}': {error.strerror}") from None
    if not content.startswith(_MAGIC):
        raise UserError(f"'{path}' is no profile; tutti run --profile makes one")
    at = len(_MAGIC)

    def take(length: int) -> bytes:
        nonlocal at
        at += length
        if at > len(content):
            raise UserError(f"'{path}' ends too early: was the disk full?")
        return content[at - length : at]

    length, ranks = struct.unpack("=QQ", take(16))
    about = json.loads(take(length).decode("utf-8", "replace"))
    parts = []
    for _ in range(ranks):
        length, samples, events = struct.unpack("=QQQ", take(24))
        told = json.loads(take(length).decode("utf-8", "replace"))
        parts.append((told, take(samples * _SAMPLE.size), take(events * _EVENT.size)))
    zero = parts[0][0]
    of_ranks = [_rank(told, zero, *rest) for told, *rest in parts]
    return Recorded(about, of_ranks, max(rank.about["seconds"] for rank in of_ranks))
