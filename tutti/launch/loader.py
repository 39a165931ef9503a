"""What the dynamic loader finds: programs in PATH, and the libraries that a file needs, in its order (see ld.so(8))."""

from __future__ import annotations

import os
import struct

from tutti.launch.elf import Elf, NotElf, read_elf

TYPE_CHECKING = False
if TYPE_CHECKING:  # `tutti run` waits for every import
    from typing import Callable, Dict, Iterator, List, Mapping, Optional, Tuple

_CACHE = "/etc/ld.so.cache"
_CACHE_MAGIC = b"glibc-ld.so.cache1.1"
_CACHE_HEADER = 48
_CACHE_ENTRY = struct.Struct("=iIIIQ")  # flags, name, path, version of the system, capabilities


def is_executable(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def find_program(name: str, environment: Mapping[str, str], folder: Optional[str] = None) -> Optional[str]:
    """The file that would be executed for `name`, or None. folder: where the launcher changes to first, if it does."""
    if "/" not in name:
        for place in environment.get("PATH", os.defpath).split(":"):
            path = os.path.join(place, name)
            if is_executable(path):
                return path
    # Launchers look in the working folder too when PATH has nothing.
    for place in [folder, os.getcwd()] if folder else [os.getcwd()]:
        path = os.path.normpath(os.path.join(place, name))
        if name and is_executable(path):
            return path
    return None


_known: List[Dict[bytes, List[str]]] = []


def _loader_cache() -> Dict[bytes, List[str]]:
    """The dynamic loader's cache: name of a library -> paths. Read once; empty if it cannot be."""
    if not _known:
        _known.append(_read_loader_cache())
    return _known[0]


def _read_loader_cache() -> Dict[bytes, List[str]]:
    found: Dict[bytes, List[str]] = {}
    try:
        with open(_CACHE, "rb") as file:
            data = file.read()
        # Older systems have a table of another form before this one. Offsets count from the magic word.
        data = data[data.index(_CACHE_MAGIC) :]
        count = struct.unpack_from("=I", data, len(_CACHE_MAGIC))[0]
        table = data[_CACHE_HEADER : _CACHE_HEADER + count * _CACHE_ENTRY.size]
        for _, name, path, _, _ in _CACHE_ENTRY.iter_unpack(table):
            key = data[name : data.index(b"\0", name)]
            found.setdefault(key, []).append(os.fsdecode(data[path : data.index(b"\0", path)]))
    except (OSError, ValueError, struct.error):
        return {}
    return found


def _search_folders(elf: Elf, inherited: Tuple[str, ...], environment: Mapping[str, str]) -> List[str]:
    """Where the loader looks for what `elf` needs, in its order."""
    folders: List[str] = []
    origin = os.path.dirname(os.path.realpath(elf.path))
    if not elf.runpath:
        folders += [*elf.rpath, *inherited]
    folders += [part for part in environment.get("LD_LIBRARY_PATH", "").replace(";", ":").split(":") if part]
    folders += elf.runpath
    return [folder.replace("${ORIGIN}", origin).replace("$ORIGIN", origin) for folder in folders]


def _locate(name: str, folders: List[str], architecture: Tuple[int, int]) -> Optional[Elf]:
    candidates = [name] if "/" in name else [os.path.join(folder, name) for folder in folders]
    candidates += _loader_cache().get(os.fsencode(name), [])
    candidates += [f"{folder}/{name}" for folder in ("/lib64", "/usr/lib64", "/lib", "/usr/lib")]
    for candidate in candidates:
        try:
            elf = read_elf(candidate)
        except (OSError, NotElf):
            continue
        if elf.architecture == architecture:
            return elf
    return None


class Needed:
    """A library that a program needs, by itself or through others."""

    def __init__(self, name: str, chain: str, find: Callable[[], Optional[Elf]]) -> None:
        #: The file name, without folders.
        self.name = os.path.basename(name)
        #: " through libx.so" if another library needs it, else "".
        self.chain = chain
        self._find = find

    @property
    def file(self) -> Optional[Elf]:
        """The file that would be loaded, or None if it is not found."""
        return self._find()


def libraries(
    elf: Elf, environment: Mapping[str, str], enter: Callable[[str], bool] = lambda name: True
) -> Iterator[Needed]:
    """All that `elf` needs, breadth first as the loader does, each once.

    enter: says of a library's name whether what it needs in turn is asked for, too.
    """
    queue: List[Tuple[Elf, Tuple[str, ...], str]] = [(elf, (), "")]
    seen = set()
    for current, inherited, chain in queue:
        folders = _search_folders(current, inherited, environment)
        for name in current.needed:
            if name in seen:
                continue
            seen.add(name)

            def find(name: str = name, folders: List[str] = folders) -> Optional[Elf]:
                return _locate(name, folders, elf.architecture)

            needed = Needed(name, chain, find)
            yield needed
            file = needed.file if enter(needed.name) else None
            if file:
                queue.append((file, (*inherited, *current.rpath), f" through {needed.name}"))
