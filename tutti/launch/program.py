"""What a program is: which MPI it was linked with, which sanitizers it has, and whether Tutti can reach it."""

from __future__ import annotations

import os
import stat

from tutti.errors import UserError
from tutti.launch import sanitizers
from tutti.launch.elf import Elf, NotElf, read_elf
from tutti.launch.loader import find_program, libraries
from tutti.launch.record import Record
from tutti.launch.wrappers import is_python, starts_others

TYPE_CHECKING = False
if TYPE_CHECKING:  # `tutti run` waits for every import
    from typing import Any, ClassVar, Dict, List, Mapping, Optional

#: The ABIs there is a library for, and what they are called in messages.
ABI_NAMES = {
    "openmpi": "the Open MPI ABI",
    "mpich": "the MPICH ABI (MPICH, Intel MPI, MVAPICH, Cray)",
    "abi": "the MPI standard ABI",
}

#: What Open MPI's libraries are called, libmpi.so.40 and its companions.
_OPENMPI_NAMES = {
    "libmpi", "libmpi_mpifh", "libmpi_usempif08", "libmpi_usempi_ignore_tkr", "libmpi_usempi", "libmpi_cxx",
}  # fmt: skip
# The vendors' names of one ABI differ in the middle only: libmpi_cray.so.12, libmpi_gnu_91.so.12, libmpicxx.so.12, ...
_MPICH_NAMES = {"libmpi", "libmpifort", "libmpicxx", "libmpif90"}
_VENDORS = ("cray", "gnu", "intel", "nvidia", "amd", "aocc", "pgi")
_OLD_MPICH_NAMES = {"libmpich", "libmpichfort", "libmpichf90", "libmpichcxx"}
#: Where the functions are that Fortran programs call; a vendor's name may follow.
_FORTRAN_BINDINGS = (
    "libmpi_mpifh",
    "libmpi_usempi",
    "libmpifort",
    "libmpif90",
    "libmpichfort",
    "libmpichf90",
)

_C_INIT = ("MPI_Init", "MPI_Init_thread")
#: Their libraries are many and need no MPI and no sanitizer.
_OF_THE_SYSTEM = (
    "libc", "libm", "libpthread", "libdl", "librt", "libgcc_s", "libstdc++", "libgfortran", "libquadmath",
    "ld-linux-x86-64", "ld-linux-aarch64", "ld64",
)  # fmt: skip
_MAX_SHEBANGS = 4


def abi_of_library(name: str) -> Optional[str]:
    """The ABI that a library of this file name has, or None if it is not an MPI library."""
    stem, so, version = name.partition(".so")
    number, *minor = version.lstrip(".").split(".")
    if not stem.startswith("libmpi") or not so or not all(part.isdigit() for part in [number or "0", *minor]):
        return None
    if stem in ("libmpi_abi", "libmpifort_abi", "libmpicxx_abi"):
        return "abi"
    if stem in _OPENMPI_NAMES and number in ("40", "20", "1"):
        return "openmpi" if number == "40" else "openmpi-old"
    base, _, vendor = stem.partition("_")
    if base in _MPICH_NAMES and number == "12" and (not vendor or vendor.startswith(_VENDORS)):
        return "mpich"
    return "mpich" if base in _OLD_MPICH_NAMES and number in ("12", "3") else None


class Program(Record):
    """A program of the command line and what is known about it.

    name: as the user wrote it. path: the file.
    abi: a key of ABI_NAMES; None if the file does not tell (python, a shell script, a wrapper such as numactl).
    reason: why it is believed to have that ABI, e.g. "needs libmpi.so.12".
    architecture: as in Elf, None if it cannot be read.
    wraps_mpi: it brings its own MPI_Init in front of a shared MPI: a profiler linked in.
    obstacle: why LD_PRELOAD cannot reach its MPI, None if nothing is in the way.
    fortran: the library by which it calls MPI from Fortran, None if it needs none.
    sanitizers: the runtime libraries of its sanitizers, as the loader finds them. built_in: one that is linked in.
    opaque: it may start or load anything: a script, an interpreter, a wrapper, or a file that cannot be read.
    by_shell: it is opaque, and what it starts may be any program, rather than one of Python's.
    """

    FIELDS = (
        "name", "path", "abi", "reason", "architecture", "wraps_mpi", "obstacle", "fortran", "sanitizers", "built_in",
        "opaque", "by_shell",
    )  # fmt: skip
    DEFAULTS: ClassVar[Dict[str, Any]] = {
        "architecture": None, "wraps_mpi": False, "obstacle": None, "fortran": None, "sanitizers": (), "built_in": None,
        "opaque": False, "by_shell": False,
    }  # fmt: skip


def _shebang(path: str) -> List[str]:
    """The words of the #! line, or nothing."""
    with open(path, "rb") as file:
        line = file.readline(512)
    if not line.startswith(b"#!"):
        return []
    return line[2:].decode("utf-8", "replace").split(None, 1)


def _interpreter(path: str, environment: Mapping[str, str]) -> Optional[str]:
    words = [word.strip() for word in _shebang(path)]
    if not words:
        return None
    if os.path.basename(words[0]) == "env" and len(words) > 1:
        names = [word for word in words[1].split() if not word.startswith("-") and "=" not in word]
        return find_program(names[0], environment) if names else None
    return words[0]


def inspect_program(name: str, environment: Mapping[str, str], folder: Optional[str] = None) -> Program:
    """Finds `name` as a launcher would and says what it is. folder: as in find_program.

    Raises UserError if there is no such program.
    """
    path = find_program(name, environment, folder)
    if path is None:
        from tutti.launch.mistakes import not_found

        raise UserError(not_found(name))
    target: Optional[str] = path
    for _ in range(_MAX_SHEBANGS):
        assert target is not None
        try:
            elf = read_elf(target, (*_C_INIT, "ompi_mpi_comm_world", *sanitizers.BUILT_IN), exported=True)
            return _judge(name, path, elf, environment)
        except OSError as error:
            reason = f"'{target}' cannot be read: {error.strerror}"
            return Program(name, path, None, reason, obstacle=_secure(target), opaque=True, by_shell=True)
        except NotElf:
            interpreter = _interpreter(target, environment)
        if interpreter is None:
            return Program(name, path, None, "a script without a #! line", opaque=True, by_shell=True)
        target = interpreter
    return Program(name, path, None, "a script", opaque=True, by_shell=True)


def _secure(path: str) -> Optional[str]:
    """Why the loader ignores LD_PRELOAD for this file, if it does: it runs with more rights than whoever starts it."""
    ignored = "which the loader ignores LD_PRELOAD for"
    try:
        status = os.stat(path)
    except OSError:
        return None
    if status.st_mode & stat.S_ISUID and status.st_uid != os.geteuid():
        return f"it is a set-uid program, {ignored}"
    if status.st_mode & stat.S_ISGID and status.st_mode & stat.S_IXGRP and status.st_gid != os.getegid():
        return f"it is a set-gid program, {ignored}"
    try:
        capable = os.geteuid() != 0 and bool(os.getxattr(path, "security.capability"))
    except OSError:
        capable = False
    return f"it is a program with capabilities, {ignored}" if capable else None


def _enters(name: str) -> bool:
    """Is it worth knowing what a library of this name needs in turn?"""
    return (
        name.partition(".so")[0] not in _OF_THE_SYSTEM
        and not abi_of_library(name)
        and not sanitizers.kind_of(name)
    )


def _has_mpi_inside(elf: Elf) -> bool:
    """Is an MPI linked in statically? The symbols that the loader does not see tell, too."""
    symbols = read_elf(elf.path, _C_INIT).symbols
    return any(symbols.get(name, False) for name in _C_INIT)


def _judge(name: str, path: str, elf: Elf, environment: Mapping[str, str]) -> Program:
    needed = list(libraries(elf, environment, _enters))
    mpi = next((library for library in needed if abi_of_library(library.name)), None)
    abi = abi_of_library(mpi.name) if mpi else None
    script = elf.path != path
    reason = f"needs {mpi.name}{mpi.chain}" if mpi else "no MPI library among what it needs"
    obstacle = _secure(elf.path)
    if abi is None and not elf.dynamic:
        reason = "linked statically"
    if abi is None and not script and _has_mpi_inside(elf):
        obstacle = obstacle or "its MPI is linked in statically"
    if abi == "openmpi-old" or (abi == "mpich" and "ompi_mpi_comm_world" in elf.symbols):
        obstacle = obstacle or f"it was built for an Open MPI older than 3 ({reason})"
        abi = None
    if script and abi is None:
        reason = f"a script for {os.path.basename(elf.path)}"
    bindings = (library.name for library in needed if library.name.startswith(_FORTRAN_BINDINGS))
    files = [library.file for library in needed if sanitizers.kind_of(library.name)]
    opaque = abi is None and (script or starts_others(elf.path))
    return Program(
        name,
        path,
        abi,
        reason,
        elf.architecture,
        wraps_mpi=abi is not None and any(elf.symbols.get(init, False) for init in _C_INIT),
        obstacle=obstacle,
        fortran=next(bindings, None) if abi else None,
        sanitizers=tuple(file.path for file in files if file),
        built_in=next((kind for init, kind in sanitizers.BUILT_IN.items() if elf.symbols.get(init)), None),
        opaque=opaque,
        by_shell=opaque and not is_python(elf.path),
    )
