"""The MPIs here: which there are, whether they are mixed up, whether our libraries reach their ranks."""

import os
import shlex
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Optional, Tuple

from tutti import places
from tutti.doctor.check import FAIL, OK, UNKNOWN, WARN, Check
from tutti.doctor.machine import Machine
from tutti.doctor.wheels import Launching, library_files, wheels_check
from tutti.errors import UserError
from tutti.launch.hosts import Host, how_to_get_one
from tutti.launch.launcher import OPENMPI, SLURM, Launcher, Preload, parse_contexts, recognise, with_variables
from tutti.launch.library import find_library
from tutti.launch.program import ABI_NAMES, abi_of_library

#: A rank that says which LD_PRELOAD it got, and whether the loader has followed it.
_RANK = 'echo "tutti-doctor: preload=$LD_PRELOAD"; while read -r line; do case $line in *libtutti*) ' + (
    "echo tutti-doctor: loaded; break;; esac; done < /proc/self/maps"
)
_RANK_SECONDS = 30.0
_WRAPPERS = ("mpicc", "mpicxx", "mpifort")


@dataclass(frozen=True)
class Found:
    """One MPI and what its launcher says of itself."""

    host: Host
    #: None if it cannot be told; `problem` says why.
    launcher: Optional[Launcher]
    problem: str = ""

    @property
    def title(self) -> str:
        return self.launcher.title if self.launcher else self.host.title

    @property
    def prefix(self) -> Path:
        """The installation it belongs to."""
        return _prefix(self.host.mpirun)


def _prefix(program: Path) -> Path:
    return Path(os.path.realpath(program)).parent.parent


class Hosts:
    """The MPIs of a machine, each asked once.

    selected: names to look at only, all if empty. Raises UserError for a name that is not there.
    """

    def __init__(self, machine: Machine, selected: Tuple[str, ...] = ()) -> None:
        self.machine = machine
        self._asked: Dict[str, Tuple[Optional[Launcher], str]] = {}
        known = machine.hosts()
        places = {os.path.realpath(host.mpirun) for host in known}
        in_path = self._host_in_path(places)
        everything = [*known, *([in_path] if in_path else [])]
        names = [host.name for host in everything]
        for name in selected:
            if name not in names:
                raise UserError(f"--host {name}: not found (there are: {', '.join(names) or 'none'})")
        self.hosts = [host for host in everything if not selected or host.name in selected]

    def ask(self, mpirun: Path) -> Tuple[Optional[Launcher], str]:
        """(what a launcher is, or why that cannot be told)."""
        key = str(mpirun)
        if key not in self._asked:
            try:
                self._asked[key] = (recognise(key, self._version), "")
            except UserError as problem:
                self._asked[key] = (None, str(problem))
        return self._asked[key]

    def _version(self, path: str) -> str:
        # Intel's mpirun is a script that looks for its parts in PATH, even to say its version.
        path_variable = f"{os.path.dirname(path)}:{self.machine.environment.get('PATH', os.defpath)}"
        answer = self.machine.run([path, "--version"], {"PATH": path_variable})
        return answer.output + answer.errors

    def _host_in_path(self, known: "set[str]") -> Optional[Host]:
        """The MPI of the mpirun in PATH, if it is none of the known ones."""
        for name in ("mpirun", "mpiexec"):
            path = self.machine.which(name)
            if path is None or os.path.realpath(path) in known:
                continue
            launcher, _ = self.ask(path)
            beside = [place for place in known if _prefix(Path(place)) == _prefix(path)]
            if launcher and any(self.ask(Path(place))[0] == launcher for place in beside):
                continue
            abi = launcher.abi if launcher and launcher.abi else ""
            return Host("path", abi, path, f"{name} in PATH")
        return None

    @cached_property
    def found(self) -> List[Found]:
        return [Found(host, *self.ask(host.mpirun)) for host in self.hosts]


def library_of(found: Found) -> Optional[Path]:
    """The MPI's own library for its ABI, or None if it is not where it should be."""
    files = [file for file in library_files(found.prefix) if abi_of_library(file.name) == found.host.abi]
    return min(files, key=lambda file: len(file.name)) if files else None


# --- each MPI --------------------------------------------------------------------------------------------------------


def _host_check(found: Found, machine: Machine) -> Check:
    name, title = f"host-{found.host.name}", f"{found.host.title}"
    if found.launcher is None:
        return Check(
            name,
            title,
            FAIL,
            found.problem,
            "nothing can be started with this MPI",
            f"{found.host.mpirun} --version must work; is its bin folder complete, and is it built for this machine?",
        )
    library = library_of(found)
    abi = ABI_NAMES.get(found.host.abi, "an unknown ABI")
    words = f"{found.title}; {found.host.mpirun}; {abi}"
    words += f"; {library}" if library else ""
    allowed = all(machine.environment.get(f"OMPI_ALLOW_RUN_AS_ROOT{end}") for end in ("", "_CONFIRM"))
    if found.launcher.kind == OPENMPI and machine.is_root and not allowed:
        return Check(
            name,
            title,
            WARN,
            words,
            "you are root, and this mpirun refuses to start anything for root",
            "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 (tutti bench does), or be another user",
        )
    return Check(name, title, OK, words)


def _no_hosts(machine: Machine) -> Check:
    return Check(
        "hosts",
        "MPIs",
        FAIL,
        "no mpirun in PATH" + (", none in .venv/mpi" if places.is_checkout() else ""),
        "there is nothing to put Tutti in front of",
        how_to_get_one(),
    )


# --- libraries -------------------------------------------------------------------------------------------------------


def _library_check(abi: str, hosts: List[Found], machine: Machine, library: Optional[Path]) -> Check:
    name, title = f"library-{abi}", f"Tutti's library for {ABI_NAMES[abi]}"
    needed = [found.host.name for found in hosts if found.host.abi == abi]
    if library is None:
        if not needed:
            return Check(name, title, OK, "not built; no MPI here needs it")
        return Check(
            name,
            title,
            FAIL,
            f"libtutti-{abi}.so is not built",
            f"nothing can be done for {', '.join(needed)}",
            places.remedy(),
        )
    answer = machine.run(["sh", "-c", _RANK], {"LD_PRELOAD": str(library)})
    if "tutti-doctor: loaded" in answer.output:
        return Check(name, title, OK, str(library))
    problem = next(
        (line for line in answer.errors.splitlines() if "LD_PRELOAD" in line), answer.errors.strip()
    )
    return Check(
        name,
        title,
        FAIL,
        f"{library} is not loaded: {problem or 'the loader does not say why'}",
        "programs run as without Tutti",
        f"ldd {library} shows what it lacks; built from a checkout it is made for this machine",
    )


# --- mixed up --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Part:
    """A launcher or compiler in PATH."""

    name: str
    path: Path
    abi: Optional[str]
    title: str


def _launcher_parts(hosts: Hosts) -> List[_Part]:
    parts = []
    for name in ("mpirun", "mpiexec"):
        path = hosts.machine.which(name)
        launcher = hosts.ask(path)[0] if path else None
        if path and launcher and launcher.kind != SLURM:
            parts.append(_Part(name, path, launcher.abi, launcher.title))
    return parts


def _abi_of_link(file: Path) -> Optional[str]:
    """The ABI of what `-lmpi` finds: a link to the library, or a linker script beside it."""
    if not file.exists():
        return None
    beside = [file.resolve().name, *(path.name for path in sorted(file.parent.glob(f"{file.name}.*")))]
    return next((abi for abi in map(abi_of_library, beside) if abi), None)


def _compiler_part(machine: Machine) -> Optional[_Part]:
    """What an MPI compiler links with, by what it says to -show."""
    for name in _WRAPPERS:
        path = machine.which(name)
        if path is None:
            continue
        try:
            words = shlex.split(machine.run([str(path), "-show"]).output)
        except ValueError:
            words = []
        folders = [word[2:] for word in words if word.startswith("-L")]
        names = [word[2:] for word in words if word.startswith("-l") and "mpi" in word]
        for library in names:
            for folder in [*folders, str(_prefix(path) / "lib")]:
                file = Path(folder) / f"lib{library}.so"
                abi = _abi_of_link(file)
                if abi:
                    return _Part(name, path, abi, str(file))
        return _Part(name, path, None, "its MPI cannot be told")
    return None


def _tools_check(hosts: Hosts) -> Check:
    name, title = "mpi-tools", "mpirun, mpiexec and mpicc in PATH"
    launchers = _launcher_parts(hosts)
    compiler = _compiler_part(hosts.machine)
    parts = [*launchers, *([compiler] if compiler else [])]
    if not parts:
        return Check(name, title, OK, "none in PATH")
    words = "; ".join(f"{part.name}: {part.title} ({part.path})" for part in parts)
    telling = [part for part in parts if part.abi]
    first = parts[0]
    remedy = (
        f"put one MPI first in PATH: export PATH={_prefix(first.path) / 'bin'}:$PATH, or use absolute paths"
    )
    if len({part.abi for part in telling}) > 1:
        return Check(
            name,
            title,
            FAIL,
            words,
            "what the one compiles the other starts as so many single ranks, if at all",
            remedy,
        )
    if len({os.path.dirname(part.path) for part in parts}) > 1 and not _same_installation(parts):
        return Check(
            name, title, WARN, words, "two installations: ranks may start, but with other settings", remedy
        )
    return Check(name, title, OK, words)


def _same_installation(parts: List[_Part]) -> bool:
    return len({_prefix(part.path) for part in parts}) == 1


def _library_path_check(hosts: Hosts) -> Check:
    name, title = "library-path", "MPI libraries in LD_LIBRARY_PATH"
    value = hosts.machine.environment.get("LD_LIBRARY_PATH", "")
    named: List[Path] = []
    for folder in [part for part in value.split(":") if part]:
        files = sorted(Path(folder).glob("libmpi*.so.*"))
        named += [file for file in files if abi_of_library(file.name)][:1]
    if not named:
        return Check(name, title, OK, "none" if value else "LD_LIBRARY_PATH is not set")
    launchers = _launcher_parts(hosts)
    words = ", ".join(str(file) for file in named)
    if not launchers:
        return Check(name, title, OK, f"{words}; no mpirun in PATH to compare with")
    first = launchers[0]
    same_abi = [file for file in named if abi_of_library(file.name) == first.abi]
    prefix = _prefix(first.path)
    foreign = same_abi[:1] and prefix not in Path(os.path.realpath(same_abi[0])).parents
    if not foreign:
        return Check(name, title, OK, words)
    return Check(
        name,
        title,
        WARN,
        f"{same_abi[0]} comes before the library of {first.path} ({first.title})",
        "programs load another MPI than their launcher's: often every rank is rank 0 of 1",
        f"take {same_abi[0].parent} out of LD_LIBRARY_PATH, or start with the mpirun beside it",
    )


def _wheels_check(hosts: Hosts) -> Check:
    first = next(iter(_launcher_parts(hosts)), None)
    return wheels_check(hosts.machine, Launching(first.path, first.title) if first else None)


# --- LD_PRELOAD ------------------------------------------------------------------------------------------------------


def _preload_check(found: Found, machine: Machine, library: Optional[Path]) -> Check:
    """Starts one rank as `tutti run` would, and lets it say what arrived."""
    name, title = f"preload-{found.host.name}", f"LD_PRELOAD reaches the ranks of {found.host.title}"
    launcher = found.launcher
    if launcher is None:
        return Check(name, title, UNKNOWN, "its launcher does not work")
    if library is None:
        return Check(name, title, UNKNOWN, "there is no library to preload")
    if launcher.kind == SLURM and not machine.environment.get("SLURM_JOB_ID"):
        return Check(name, title, UNKNOWN, "not inside of a Slurm job: srun would wait for one")
    words = ["-n", "1", "sh", "-c", _RANK]
    arguments = with_variables(
        launcher, parse_contexts(launcher, words), Preload(str(library), [()], None), {}
    )
    answer = machine.run([str(found.host.mpirun), *arguments], found.host.environment(), _RANK_SECONDS)
    arrived = f"tutti-doctor: preload={library}" in answer.output
    if arrived and "tutti-doctor: loaded" in answer.output:
        return Check(name, title, OK, "it does, and the library is loaded")
    by_hand = {OPENMPI: "mpirun -x LD_PRELOAD=", SLURM: "srun --export=ALL,LD_PRELOAD="}
    line = f"{by_hand.get(launcher.kind, 'mpirun -genv LD_PRELOAD ')}{library}"
    consequence = "programs run as without Tutti"
    if arrived:
        return Check(
            name,
            title,
            FAIL,
            "it arrives, but the library is not loaded",
            consequence,
            f"LD_PRELOAD={library} sh -c : says why; programs with file capabilities or setuid ignore LD_PRELOAD",
        )
    if "tutti-doctor: preload=" in answer.output:
        return Check(
            name,
            title,
            FAIL,
            "it is stripped on the way",
            consequence,
            f"is mpirun wrapped by a script, sudo or a site's plug-in? Without that: {line} ...; or set it in a"
            " script that mpirun starts: exec env LD_PRELOAD=... ./app",
        )
    said = next((each.strip() for each in answer.errors.splitlines() if each.strip(" -")), "")
    return Check(
        name,
        title,
        FAIL if answer.status is not None else UNKNOWN,
        f"no rank could be started: {said or f'status {answer.status}'}",
        "nothing runs with this MPI as it is, with or without Tutti",
        f"make this work first: {found.host.mpirun} -n 1 hostname",
    )


def host_checks(
    machine: Machine,
    selected: Tuple[str, ...] = (),
    library: Callable[[str], Optional[Path]] = find_library,
) -> Iterator[Check]:
    """Everything about MPIs, in the order in which it is shown; each as soon as it is known.

    selected: names of hosts. library: finds the library for an ABI. Raises UserError for an unknown host.
    """
    hosts = Hosts(machine, selected)
    return _checks(hosts, library)


def _checks(hosts: Hosts, library: Callable[[str], Optional[Path]]) -> Iterator[Check]:
    machine = hosts.machine
    if not hosts.hosts:
        yield _no_hosts(machine)
    for found in hosts.found:
        yield _host_check(found, machine)
    yield _tools_check(hosts)
    yield _library_path_check(hosts)
    yield _wheels_check(hosts)
    for abi in ABI_NAMES:
        yield _library_check(abi, hosts.found, machine, library(abi))
    for found in hosts.found:
        yield _preload_check(found, machine, library(found.host.abi) if found.host.abi else None)
