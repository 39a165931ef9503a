"""The host MPIs there are to measure and test with."""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, Iterator, List, Optional

from tutti import places
from tutti.errors import UserError
from tutti.launch.launcher import OPENMPI, recognise
from tutti.launch.library import ROOT, find_library, find_tool

#: Where ./dev setup puts host MPIs, one prefix each.
MPI_FOLDER = ROOT / ".venv" / "mpi"

#: MPICH yields by sched_yield, after which the kernel may go on with the same process until its time slice ends. Its
#: throttle sleeps instead, here after each poll in vain.
_MPICH_YIELD = {
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
}
#: Waiting modes that give the processor away, for more ranks than cores: each MPI's own switch for it.
_YIELD: Dict[str, Dict[str, str]] = {
    "openmpi": {"OMPI_MCA_mpi_yield_when_idle": "1"},
    "openmpi-debian": {"OMPI_MCA_mpi_yield_when_idle": "1"},
    "mpich": _MPICH_YIELD,
    "abi": _MPICH_YIELD,
    "intel": {"I_MPI_THREAD_YIELD": "2"},
}


#: The names of MPIs of an ABI, for any of which its benchmark may have been built.
_OF_ABI = {
    "mpich": ("mpich", "intel", "mpich-debian"),
    "openmpi": ("openmpi", "openmpi-debian"),
    "abi": ("abi",),
}


@dataclass(frozen=True)
class Host:
    """One MPI, with its launcher and the benchmark built for it."""

    #: mpich, openmpi, intel, abi, openmpi-debian: the end of the benchmark's file name.
    name: str
    abi: str
    mpirun: Path
    title: str
    #: Folder of its libraries where the benchmark was linked with another installation of the same ABI.
    library_folder: Optional[Path] = None

    @property
    def bench(self) -> Optional[Path]:
        """The benchmark for this MPI, if it is built."""
        return self._program("tutti-bench")

    @property
    def network_probe(self) -> Optional[Path]:
        """What measures messages between nodes by this MPI, if it is built."""
        return self._program("tutti-network-probe")

    def _program(self, stem: str) -> Optional[Path]:
        """A program of bench/. What is installed has one for each ABI."""
        names = [self.name] if places.is_checkout() else [self.name, *_OF_ABI.get(self.abi, ())]
        found = (find_tool(f"{stem}-{name}", "bench") for name in names)
        return next((path for path in found if path), None)

    @property
    def library(self) -> Optional[Path]:
        """The interposed library for this MPI, if it is built."""
        return find_library(self.abi)

    def environment(self, yielding: bool = False) -> Dict[str, str]:
        """The variables its launcher needs. yielding: make the host give the processor away while it waits."""
        # Intel's mpirun is a script that looks for its parts in PATH.
        environment = {"PATH": f"{self.mpirun.parent}:{os.environ.get('PATH', os.defpath)}"}
        if self.library_folder:
            inherited = os.environ.get("LD_LIBRARY_PATH")
            environment["LD_LIBRARY_PATH"] = f"{self.library_folder}{':' + inherited if inherited else ''}"
        if self.abi == "openmpi" and os.geteuid() == 0:
            environment.update({"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        if yielding:
            environment.update(self.yielding)
        return environment

    @property
    def yielding(self) -> Dict[str, str]:
        """The variables by which its ranks give the processor away while they wait."""
        return _YIELD[self.name]

    def launch_words(self, ranks: int) -> List[str]:
        """`mpirun -n ranks`, with what it takes to have more ranks than cores."""
        words = [str(self.mpirun), "-n", str(ranks)]
        if self.abi == "openmpi" and ranks > len(os.sched_getaffinity(0)):
            words += ["--oversubscribe", "--bind-to", "none"]
        return words


def _prefix_host(name: str, abi: str, prefix: str) -> Optional[Host]:
    mpirun = MPI_FOLDER / prefix / "bin" / "mpirun"
    if not mpirun.is_file():
        return None
    titles = {"mpich": "MPICH", "openmpi": "Open MPI", "intel": "Intel MPI", "abi": "MPICH, MPI standard ABI"}
    return Host(name, abi, mpirun, titles[name])


def _debian_host() -> Optional[Host]:
    mpirun = shutil.which("mpirun.openmpi", path="/usr/bin")
    return Host("openmpi-debian", "openmpi", Path(mpirun), "Open MPI of the system") if mpirun else None


def _launchers_in_path() -> Iterator[Path]:
    """Of each installation in PATH the one that is found first; beside this Python, too, whose environment need not be
    activated. mpirun.NAME is what Debian calls those that it has several of."""
    beside = os.path.dirname(sys.executable)
    folders = f"{os.environ.get('PATH', os.defpath)}{os.pathsep}{beside}"
    seen = set()
    for name in ("mpirun", "mpiexec", "mpirun.openmpi", "mpirun.mpich"):
        for folder in folders.split(os.pathsep):
            path = shutil.which(name, path=folder) if folder else None
            if path and os.path.realpath(path) not in seen:
                seen.add(os.path.realpath(path))
                yield Path(path)


def _library_folder(mpirun: Path) -> Optional[Path]:
    """Where the library of a launcher lies, unless the loader finds it anyway."""
    prefix = mpirun.resolve().parent.parent
    for name in ("lib", "lib64", "lib/release"):
        if any((prefix / name).glob("libmpi*.so*")):
            return prefix / name
    return None


def _hosts_in_path() -> List[Host]:
    """The MPIs of the launchers in PATH, of each kind the first."""
    found: Dict[str, Host] = {}
    for path in _launchers_in_path():
        try:
            launcher = recognise(str(path))
        except UserError:
            continue
        if launcher.abi is None:
            continue
        name = "intel" if launcher.title.startswith("Intel") else launcher.abi
        folder = _library_folder(path)
        if name not in found:
            found[name] = Host(name, launcher.abi, path, launcher.title, folder)
        if launcher.abi == "mpich" and folder and any(folder.glob("libmpi_abi.so.*")):
            found.setdefault("abi", Host("abi", "abi", path, f"{launcher.title}, MPI standard ABI", folder))
    return list(found.values())


def how_to_get_one() -> str:
    """What to do where there is no MPI."""
    other = "./dev setup" if places.is_checkout() else "pip install mpich"
    return f"add the bin folder of your MPI to PATH (module load ...), or {other}"


def all_hosts() -> List[Host]:
    """Every MPI that is installed where we look, built for or not: in a checkout where ./dev setup puts them."""
    if not places.is_checkout():
        return _hosts_in_path()
    found = [_prefix_host("mpich", "mpich", "mpich"), _prefix_host("openmpi", "openmpi", "openmpi")]
    found += [_prefix_host("intel", "mpich", "intel"), _debian_host(), _prefix_host("abi", "abi", "mpich")]
    return [host for host in found if host]


def installed_hosts() -> List[Host]:
    """The MPIs that can be measured: installed, with their benchmark and library built."""
    return [host for host in all_hosts() if host.bench and host.library]


def host_of_mpirun(mpirun: str) -> Host:
    """The host for a launcher that the user names. Raises UserError if no benchmark is built for its kind."""
    launcher = recognise(mpirun)
    if launcher.abi is None:
        raise UserError(f"'{mpirun}' starts programs of any MPI; name the mpirun of one")
    if launcher.kind == OPENMPI:
        names = ["openmpi-debian", "openmpi"] if launcher.major == 4 else ["openmpi", "openmpi-debian"]
    else:
        names = ["intel", "mpich"] if launcher.title.startswith("Intel") else ["mpich", "intel"]
    path = Path(shutil.which(mpirun) or mpirun)
    # The benchmark must load the MPI that this launcher belongs to, not the one it was linked with.
    folder = _library_folder(path)
    for name in names:
        host = Host(name, launcher.abi, path, launcher.title, folder)
        if host.bench and host.library:
            return host
    raise UserError(f"no benchmark for {launcher.title} is built; {places.remedy()}")
