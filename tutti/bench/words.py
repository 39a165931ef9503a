"""What the options of `tutti bench` may say: collectives and their groups, messages, sizes, algorithms, mechanisms."""

import json
import subprocess
from pathlib import Path
from typing import Dict, Iterable, List, NamedTuple, Optional, Tuple

from tutti import places
from tutti.errors import UserError
from tutti.launch.library import find_tool
from tutti.nearest import hint

#: Words for several collectives. Their union is all there are: the rows of bench/collectives/table.cpp.
GROUPS = {
    "basic": ("barrier", "bcast", "reduce", "allreduce"),
    "blocks": (
        "scatter", "scatterv", "gather", "gatherv", "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw",
    ),
    "reductions": ("reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan"),
    "neighbors": (
        "neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv", "neighbor_alltoallw",
    ),
}  # fmt: skip
COLLECTIVES = tuple(dict.fromkeys(name for names in GROUPS.values() for name in names))
#: What `--form messages` measures in the place of collectives, and messages that pass while one in one direction does,
#: where it is of interest how many bytes pass in a second.
MESSAGES = ("latency", "bandwidth", "bidirectional", "sendrecv", "halo_2", "halo_4")
AT_ONCE = {"bandwidth": 1, "bidirectional": 2}
FORMS = ("blocking", "nonblocking", "tested", "persistent", "messages")
MECHANISMS = ("window", "xpmem", "cma", "staged")
#: Kinds of buffers: of malloc, arrays of the program, its stack, pages of the system, of malloc anew for each call.
BUFFERS = ("window", "static", "stack", "mmap", "fresh")
#: By what a collective is chosen and explained, where that is not its own name.
CHOSEN_AS = {
    "alltoallw": "alltoallv", "reduce_scatter_block": "reduce_scatter", "neighbor_allgather": "neighbor",
    "neighbor_alltoall": "neighbor", "neighbor_allgatherv": "neighborv", "neighbor_alltoallv": "neighborv",
    "neighbor_alltoallw": "neighborv",
}  # fmt: skip
#: The C++ program counts in elements of this size.
GRAIN = 4
LARGEST = 1 << 30


def split(text: str) -> List[str]:
    """The words between commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def parse_collectives(text: str, form: str = "blocking") -> List[str]:
    """Names and groups (or "all") as names, each once; with the form "messages" those of messages. Raises UserError for
    anything else."""
    of_messages = form == "messages"
    names, groups = (MESSAGES, {}) if of_messages else (COLLECTIVES, GROUPS)
    found: List[str] = []
    for word in split(text):
        if word == "all":
            found += names
        elif word in groups:
            found += groups[word]
        elif word in names:
            found.append(word)
        elif of_messages:
            like = hint(word, [*names, "all"])
            raise UserError(f"--collectives {word}: --form messages has {', '.join(names)}{like}")
        elif word in MESSAGES:
            raise UserError(f"--collectives {word}: those are messages; say --form messages")
        else:
            like = hint(word, [*names, *groups, "all"])
            raise UserError(f"--collectives {word}: no such collective or group{like}")
    if not found:
        raise UserError(f"--collectives: expected names or groups (all, {', '.join(groups or names)})")
    return list(dict.fromkeys(found))


def parse_buffers(text: str) -> List[str]:
    """Kinds of buffers, each once. Raises UserError for anything else."""
    found = split(text)
    for word in found:
        if word not in BUFFERS:
            raise UserError(f"--buffers {word}: expected {', '.join(BUFFERS)}{hint(word, [*BUFFERS])}")
    if not found:
        raise UserError(f"--buffers: expected {', '.join(BUFFERS)}, with commas")
    return list(dict.fromkeys(found))


def parse_bytes(text: str) -> int:
    """4, 64K, 16M, 1G as bytes."""
    units = {"K": 10, "M": 20, "G": 30}
    number, shift = (text[:-1], units[text[-1].upper()]) if text[-1:].upper() in units else (text, 0)
    if not (number.isascii() and number.isdigit()):
        raise UserError(f"'{text}' is not a size; expected e.g. 4, 64K or 16M")
    return int(number) << shift


def parse_size(text: str, option: str) -> int:
    """The value of --min or --max in bytes. Raises UserError for a size that cannot be measured."""
    try:
        count = parse_bytes(text)
    except UserError as error:
        raise UserError(f"{option}: {error}") from None
    if count < GRAIN or count % GRAIN:
        near = max(GRAIN, count // GRAIN * GRAIN)
        raise UserError(
            f"{option} {text}: sizes are multiples of {GRAIN} bytes, one float; the nearest is {near}"
        )
    if count > LARGEST:
        raise UserError(f"{option} {text}: more than 1G, the largest size")
    return count


def parse_bounds(minimum: str, maximum: str) -> Tuple[int, Optional[int]]:
    """--min and --max in bytes; None: there is no --max. Raises UserError."""
    least, most = parse_size(minimum, "--min"), parse_size(maximum, "--max") if maximum else None
    if most is not None and most < least:
        raise UserError(f"--max {maximum}: less than --min {minimum}")
    return least, most


def parse_ranks(text: str) -> List[int]:
    """The value of --ranks. Raises UserError."""
    try:
        values = [int(part) for part in text.split(",") if part]
    except ValueError:
        values = []
    if not values or min(values) < 1:
        raise UserError(f"--ranks {text}: expected numbers with commas between, e.g. 2,4")
    return values


def parse_mechanisms(text: str) -> List[str]:
    """Names of mechanisms. Raises UserError for an unknown one."""
    words = list(dict.fromkeys(split(text)))
    for word in words:
        if word not in MECHANISMS:
            like = hint(word, MECHANISMS)
            raise UserError(f"--mechanisms {word}: expected some of {', '.join(MECHANISMS)}{like}")
    return words


class Algorithm(NamedTuple):
    """One algorithm as the library lists it."""

    name: str
    #: Name of the number it takes, e.g. "k"; empty if it takes none.
    parameter: str
    #: Values of that number worth a measurement.
    candidates: List[int]

    def words(self) -> List[str]:
        """As TUTTI_ALGORITHM has it: "xhc", or "throttled,k=2" and "throttled,k=4"."""
        return (
            [f"{self.name},{self.parameter}={value}" for value in self.candidates]
            if self.parameter
            else [self.name]
        )


def catalogue(ranks: int) -> Dict[str, List[Algorithm]]:
    """The library's algorithms by its names of collectives. Raises UserError if it is not built."""
    tool = find_tool("tutti-algorithms", "tools")
    if tool is None:
        raise UserError(f"tutti-algorithms is not built; {places.remedy()}")
    done = subprocess.run(
        [str(tool), str(ranks)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=30
    )  # fmt: skip
    found: Dict[str, List[Algorithm]] = {}
    for row in json.loads(done.stdout):
        algorithm = Algorithm(row["algorithm"], row["parameter"], row["candidates"])
        found.setdefault(row["collective"], []).append(algorithm)
    return found


def catalogue_between_nodes() -> Dict[str, List[str]]:
    """The library's algorithms for communicators that span nodes, by its names of collectives. Raises UserError if it
    is not built."""
    tool = find_tool("tutti-algorithms", "tools")
    if tool is None:
        raise UserError(f"tutti-algorithms is not built; {places.remedy()}")
    done = subprocess.run(
        [str(tool), "--between-nodes"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=30
    )  # fmt: skip
    return {row["collective"]: list(row["algorithms"]) for row in json.loads(done.stdout)}


def library_names(program: Path) -> Dict[str, str]:
    """Collective -> its name in TUTTI_ALGORITHM, as the C++ benchmark knows them."""
    done = subprocess.run(
        [str(program), "--list"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=30
    )  # fmt: skip
    pairs = (line.split() for line in done.stdout.splitlines())
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


class AlgorithmWords:
    """What `--algorithms` says: "all", or names, each with the numbers it shall take: "parallel,throttled,k=2,k=4"."""

    def __init__(self, text: str) -> None:
        self.wanted: Dict[str, List[str]] = {}
        last: Optional[str] = None
        for word in split(text):
            if "=" not in word:
                last = word
                self.wanted.setdefault(word, [])
            elif last is None or last == "all":
                raise UserError(f"--algorithms {word}: follows no algorithm")
            else:
                self.wanted[last].append(word)

    def check(self, known: Iterable[Algorithm]) -> None:
        """Raises UserError if a word is none of `known`, or a number not one that the algorithm takes."""
        by_name = {algorithm.name: algorithm for algorithm in known}
        for name, numbers in self.wanted.items():
            if name in ("all", "host"):
                continue
            if name not in by_name:
                like = hint(name, [*by_name, "all"])
                raise UserError(f"--algorithms {name}: the collectives have no such algorithm{like}")
            parameter = by_name[name].parameter
            for number in numbers:
                key, _, value = number.partition("=")
                if key != parameter or not (value.isdigit() and int(value) > 0):
                    takes = f"takes {parameter}= and a number from 1 on" if parameter else "takes no number"
                    raise UserError(f"--algorithms {name},{number}: {name} {takes}")

    def of(self, known: List[Algorithm]) -> List[str]:
        """The words for one collective. The MPI's own ("host") is always measured."""
        words: List[str] = []
        for algorithm in known:
            if "all" in self.wanted:
                words += algorithm.words()
            if algorithm.name in self.wanted:
                numbers = self.wanted[algorithm.name]
                words += [f"{algorithm.name},{number}" for number in numbers] or algorithm.words()
        return list(dict.fromkeys(words))
