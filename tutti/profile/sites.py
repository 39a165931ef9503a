"""Where calls are made, in words: by the lines that compilers have left in programs (addr2line), and those of
Python."""

import shutil
import subprocess
from collections import defaultdict
from pathlib import PurePath
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Set, Tuple

#: Seconds for all addresses of one file: large programs have gigabytes of lines.
_PATIENCE = 120.0

#: Of machine code: file and address.
Address = Tuple[str, int]


class Place(NamedTuple):
    """function and line, "file:12"; either may be empty."""

    function: str
    line: str

    def words(self) -> str:
        return f"{self.line} {self.function}".strip() or "?"


class Site(NamedTuple):
    """Where a call is made. key: the same on all ranks. outer: who has called, from the inside out."""

    key: Tuple[Any, ...]
    place: Place
    outer: List[Place]


def _place(function: str, line: str) -> Place:
    path, _, number = line.split(" (discriminator")[0].rpartition(":")
    known = "" if path in ("", "??") or number in ("0", "?") else f"{PurePath(path).name}:{number}"
    return Place("" if function == "??" else function, known)


def _ask(program: str, file: str, addresses: List[int]) -> Dict[int, List[Place]]:
    # One less than where a call returns to: the next line may begin there.
    words = [program, "-aCfi", "-e", file, *(hex(address - 1) for address in addresses)]
    try:
        answer = subprocess.run(words, capture_output=True, text=True, timeout=_PATIENCE, errors="replace")
    except (OSError, subprocess.TimeoutExpired):
        return {}
    places: Dict[int, List[Place]] = {}
    now: List[Place] = []
    lines = iter(answer.stdout.splitlines())
    for line in lines:
        if line.startswith("0x"):
            now = places.setdefault(int(line, 16) + 1, [])
        else:
            now.append(_place(line, next(lines, "")))
    return places


class Lines:
    """Finds lines for addresses, each file asked once."""

    def __init__(self, addresses: Iterable[Address]) -> None:
        self._places: Dict[Address, List[Place]] = {}
        self.program: Optional[str] = shutil.which("addr2line")
        by_file: Dict[str, Set[int]] = defaultdict(set)
        for file, address in addresses:
            by_file[file].add(address)
        for file, some in by_file.items():
            if self.program and file:
                found = _ask(self.program, file, sorted(some))
                self._places.update({(file, address): places for address, places in found.items()})

    def places(self, file: str, address: int, symbol: str) -> List[Place]:
        """Of one address: functions that the compiler has put into others come first. symbol: what the loader has
        said, for what has no lines."""
        found = [place for place in self._places.get((file, address), []) if place.line]
        if found:
            return found
        named = self._places.get((file, address), [])
        function = (named[0].function if named else "") or symbol
        return [Place(function or f"+{address:#x}", PurePath(file).name if file else hex(address))]


def addresses_of(sites: Iterable[Dict[str, Any]]) -> List[Address]:
    """Of all frames of sites, as a rank has recorded them."""
    return [(module, offset) for site in sites for module, offset, _ in site["frames"]]


def _python(text: str) -> Place:
    line, _, function = text.rpartition(" ")
    return Place(function, PurePath(line).name if ":" in line else line)


def site_of(recorded: Dict[str, Any], lines: Lines) -> Site:
    """A site in words."""
    frames = [place for frame in recorded["frames"] for place in lines.places(*frame)]
    if recorded["python"]:
        places = [_python(text) for text in recorded["python"]]
        return Site(("python", recorded["python"][0]), places[0], places[1:])
    first = recorded["frames"][0] if recorded["frames"] else ["", 0, ""]
    # Below main there is only the C library.
    outer = frames[1:]
    for at, place in enumerate(frames):
        if place.function in ("main", "MAIN__"):
            outer = frames[1 : at + 1]
            break
    return Site((first[0], first[1]), frames[0] if frames else Place("", "?"), outer)
