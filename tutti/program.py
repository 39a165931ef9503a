"""Which MPI a program was linked with."""

import os
import re
import shutil
import subprocess
from collections import deque
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Deque, Dict, List, Mapping, Optional, Set, Tuple

from tutti.elf import Elf, NotElf, read_elf
from tutti.errors import UserError

#: The ABIs there is a library for, and what they are called in messages.
ABI_NAMES = {
    "openmpi": "the Open MPI ABI",
    "mpich": "the MPICH ABI (MPICH, Intel MPI, MVAPICH, Cray)",
    "abi": "the MPI standard ABI",
}

# The vendors' names of one ABI differ in the middle only: libmpi_cray.so.12, libmpi_gnu_91.so.12, libmpicxx.so.12, ...
_LIBRARY_PATTERNS = (
    (re.compile(r"libmpi(fort|cxx)?_abi\.so(\.\d+)*"), "abi"),
    (re.compile(r"libmpi(_mpifh|_usempif08|_usempi_ignore_tkr|_usempi|_cxx)?\.so\.40(\.\d+)*"), "openmpi"),
    (re.compile(r"libmpi(_mpifh|_cxx|_usempif08)?\.so\.(1|20)(\.\d+)*"), "openmpi-old"),
    (
        re.compile(r"libmpi(fort|cxx|f90)?(_(cray|gnu|intel|nvidia|amd|aocc|pgi)\w*)?\.so\.12(\.\d+)*"),
        "mpich",
    ),
    (re.compile(r"libmpich(f90|cxx)?(_\w+)?\.so\.(12|3)(\.\d+)*"), "mpich"),
)
_WANTED = ("MPI_Init", "MPI_Init_thread", "ompi_mpi_comm_world")
_MAX_SHEBANGS = 4


def abi_of_library(name: str) -> Optional[str]:
    """The ABI that a library of this file name has, or None if it is not an MPI library."""
    for pattern, abi in _LIBRARY_PATTERNS:
        if pattern.fullmatch(name):
            return abi
    return None


@dataclass(frozen=True)
class Program:
    """A program of the command line and what is known about its MPI."""

    #: As the user wrote it.
    name: str
    path: Path
    #: A key of ABI_NAMES; None if the file does not tell (python, a shell script, a wrapper such as numactl).
    abi: Optional[str]
    #: Why it is believed to have that ABI, e.g. "needs libmpi.so.12".
    reason: str
    architecture: Optional[Tuple[int, int]] = None
    #: True if the program brings its own MPI_Init in front of a shared MPI: a profiler linked in.
    wraps_mpi: bool = False


def find_program(name: str, environment: Mapping[str, str], folder: Optional[str] = None) -> Optional[Path]:
    """The file that would be executed for `name`, or None. folder: where the launcher changes to first, if it does."""
    places = [Path(folder), Path.cwd()] if folder else [Path.cwd()]
    if "/" not in name:
        found = shutil.which(name, path=environment.get("PATH", os.defpath))
        if found:
            return Path(found)
    for place in places:
        # Launchers look in the working folder too when PATH has nothing.
        path = place / name
        if path.is_file() and os.access(path, os.X_OK):
            return path
    return None


@lru_cache(maxsize=1)
def _loader_cache() -> Dict[str, List[str]]:
    """The dynamic loader's cache: name of a library -> paths."""
    for tool in ("ldconfig", "/sbin/ldconfig", "/usr/sbin/ldconfig"):
        try:
            done = subprocess.run(
                [tool, "-p"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10
            )
        except (OSError, subprocess.SubprocessError):
            continue
        cache: Dict[str, List[str]] = {}
        for line in done.stdout.splitlines():
            name, arrow, path = line.strip().partition(" => ")
            if arrow:
                cache.setdefault(name.split(" ", 1)[0], []).append(path)
        return cache
    return {}


def _search_folders(elf: Elf, inherited: Tuple[str, ...], environment: Mapping[str, str]) -> List[str]:
    """Where the loader looks for what `elf` needs, in its order (see ld.so(8))."""
    folders: List[str] = []
    origin = str(elf.path.resolve().parent)
    if not elf.runpath:
        folders += [*elf.rpath, *inherited]
    folders += [part for part in environment.get("LD_LIBRARY_PATH", "").split(":") if part]
    folders += elf.runpath
    return [folder.replace("${ORIGIN}", origin).replace("$ORIGIN", origin) for folder in folders]


def _locate(name: str, folders: List[str], architecture: Tuple[int, int]) -> Optional[Elf]:
    candidates = [name] if "/" in name else [os.path.join(folder, name) for folder in folders]
    candidates += _loader_cache().get(name, [])
    candidates += [f"{folder}/{name}" for folder in ("/lib64", "/usr/lib64", "/lib", "/usr/lib")]
    for candidate in candidates:
        try:
            elf = read_elf(candidate)
        except (OSError, NotElf):
            continue
        if elf.architecture == architecture:
            return elf
    return None


def _mpi_library(elf: Elf, environment: Mapping[str, str]) -> Tuple[Optional[str], str]:
    """(ABI, reason) of the first MPI library among what is needed, breadth first as the loader does."""
    queue: Deque[Tuple[Elf, Tuple[str, ...], str]] = deque([(elf, (), "")])
    seen: Set[str] = set()
    while queue:
        current, inherited, chain = queue.popleft()
        for name in current.needed:
            abi = abi_of_library(os.path.basename(name))
            if abi:
                return abi, f"needs {os.path.basename(name)}{chain}"
        folders = _search_folders(current, inherited, environment)
        for name in current.needed:
            if name in seen:
                continue
            seen.add(name)
            library = _locate(name, folders, elf.architecture)
            if library:
                queue.append((library, (*inherited, *current.rpath), f" through {os.path.basename(name)}"))
    return None, "no MPI library among what it needs"


def _shebang(path: Path) -> List[str]:
    """The words of the #! line, or nothing."""
    with open(path, "rb") as file:
        line = file.readline(512)
    if not line.startswith(b"#!"):
        return []
    return line[2:].decode("utf-8", "replace").split(None, 1)


def _interpreter(path: Path, environment: Mapping[str, str]) -> Optional[Path]:
    words = [word.strip() for word in _shebang(path)]
    if not words:
        return None
    if os.path.basename(words[0]) == "env" and len(words) > 1:
        names = [word for word in words[1].split() if not word.startswith("-") and "=" not in word]
        return find_program(names[0], environment) if names else None
    return Path(words[0])


def inspect_program(name: str, environment: Mapping[str, str], folder: Optional[str] = None) -> Program:
    """Finds `name` as a launcher would and says which MPI it has. folder: as in find_program.

    Raises UserError if there is no such program, or if its MPI cannot be interposed.
    """
    path = find_program(name, environment, folder)
    if path is None:
        raise UserError(f"no program '{name}' (not an executable file, and not found in PATH)")
    target: Optional[Path] = path
    for _ in range(_MAX_SHEBANGS):
        try:
            elf = read_elf(target, _WANTED)
            return _judge(name, path, elf, environment, script=target != path)
        except OSError as error:
            raise UserError(f"cannot read '{target}': {error.strerror}") from None
        except NotElf:
            interpreter = _interpreter(target, environment)
        if interpreter is None:
            return Program(name, path, None, "neither an ELF file nor a script with a #! line")
        target = interpreter
    return Program(name, path, None, "a script")


def _judge(name: str, path: Path, elf: Elf, environment: Mapping[str, str], script: bool) -> Program:
    defines_mpi = elf.symbols.get("MPI_Init", False) or elf.symbols.get("MPI_Init_thread", False)
    if not elf.dynamic and not script:
        raise UserError(
            f"'{name}' is linked statically: LD_PRELOAD cannot reach it; link its MPI dynamically"
        )
    abi, reason = _mpi_library(elf, environment)
    if abi is None and defines_mpi:
        raise UserError(
            f"'{name}' has its MPI linked in statically: its calls cannot be replaced; link its MPI dynamically"
        )
    if abi == "openmpi-old" or (abi == "mpich" and "ompi_mpi_comm_world" in elf.symbols):
        raise UserError(
            f"'{name}' was built for an Open MPI older than 3 ({reason}); rebuild it with 4.1 or later"
        )
    if script and abi is None:
        reason = f"a script for {elf.path.name}"
    return Program(name, path, abi, reason, elf.architecture, wraps_mpi=abi is not None and defines_mpi)
