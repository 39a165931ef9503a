"""How to start an MPI program with each host MPI: the launcher, its options, and variables for the ranks only."""

import os
import re
import shutil
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY))
sys.path.insert(0, str(REPOSITORY / "tests" / "nodes"))
import places  # noqa: E402

from tutti.launch.elf import read_elf  # noqa: E402
from tutti.launch.loader import libraries as libraries_of  # noqa: E402
from tutti.launch.sanitizers import kind_of  # noqa: E402

# Each node would give its first rank the first core.
_UNBOUND = ["--bind-to", "none"]
DEFAULT_BUILD = REPOSITORY / "build" / "release"
HOSTS = ["mpich", "intel", "abi", "openmpi", "openmpi-debian"]
#: Those that only Fortran programs are built for, where the system has them.
FORTRAN_HOSTS = ["mpich-debian"]


def library_of(build):
    """The path of the library that is preloaded, whatever the host."""
    return Path(build) / "src" / "mpi" / "libtutti.so"


def runtimes_of(preload):
    """The paths of the runtimes of the sanitizers that libraries, with colons between them, were built with."""
    needed = [
        each
        for library in str(preload).split(":")
        for each in libraries_of(read_elf(library), os.environ, enter=lambda name: False)
    ]
    return list(dict.fromkeys(each.file.path for each in needed if kind_of(each.name) and each.file))


def mpi_root(build):
    """The folder of the host MPIs that a build was configured with."""
    cache = Path(build) / "CMakeCache.txt"
    found = (
        re.search(r"^TUTTI_MPI_ROOT:\w+=(.+)$", cache.read_text(), re.MULTILINE) if cache.exists() else None
    )
    return Path(found.group(1)) if found else REPOSITORY / ".venv" / "mpi"


def naps_of(build):
    """The path of the library by which ranks on make-believe nodes nap while nothing comes."""
    return Path(build) / "tests" / "nodes" / "libtutti-test-nap.so"


class Launcher:
    """Starts programs with one host MPI.

    preload: the library for the ranks (never for the launcher), or None. nodes: how many ranks each make-believe node
    has, "2,2,1"; None: all ranks on this machine as it is.
    """

    def __init__(self, host, build, preload=None, nodes=None):
        self.host = host
        self.build = Path(build)
        self.preload = preload
        # They want to come before any other library.
        self.runtimes = runtimes_of(preload) if preload else []
        self.nodes = nodes
        root = mpi_root(build)
        prefixes = {"mpich": "mpich", "abi": "mpich", "intel": "intel", "openmpi": "openmpi"}
        self.environment = dict(os.environ)
        for name in list(self.environment):
            if name.startswith("TUTTI_") or name == "LD_PRELOAD":
                del self.environment[name]
        if host in prefixes:
            binaries = root / prefixes[host] / "bin"
            self.environment["PATH"] = f"{binaries}{os.pathsep}{self.environment.get('PATH', '')}"
            self.mpirun = str(binaries / "mpirun")
        else:
            name = "mpirun.mpich" if host == "mpich-debian" else "mpirun.openmpi"
            self.mpirun = shutil.which(name) or f"/usr/bin/{name}"
        if host.startswith("openmpi"):
            self.environment["OMPI_ALLOW_RUN_AS_ROOT"] = "1"
            self.environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"

    @property
    def hydra(self):
        """Whether the launcher is Hydra, which MPICH and Intel MPI have."""
        return not self.host.startswith("openmpi")

    def options_on_nodes(self):
        """By these the ranks are spread over make-believe nodes (tests/nodes)."""
        if self.host == "openmpi":
            return ["--prtemca", "plm_ssh_agent", places.REACH, "--hostfile", places.SLOTS_FILE, *_UNBOUND]
        if self.host == "openmpi-debian":
            return ["--mca", "plm_rsh_agent", places.REACH, "--hostfile", places.SLOTS_FILE, *_UNBOUND]
        if self.host == "intel":
            bootstrap = ["-bootstrap", "ssh", "-bootstrap-exec", places.REACH]
            return [*bootstrap, "-machinefile", places.COUNTS_FILE, "-genv", "I_MPI_PIN", "0"]
        return ["-launcher", "ssh", "-launcher-exec", places.REACH, "-f", places.COUNTS_FILE]

    def program(self, folder, name):
        """The path of a program of ours that was built for this host."""
        return str(self.build / folder / f"{name}-{self.host}")

    def command(self, ranks, command, variables=None, options=()):
        """The command line that runs `command` on so many ranks with more environment variables."""
        if not self.nodes:
            return self._line(ranks, command, self._preloaded(variables, []), options)
        line = self.command_on_nodes(ranks, command, variables, options)
        return [places.NODES, "--nodes", self.nodes, "--build", str(self.build), "--", *line]

    def command_on_nodes(self, ranks, command, variables=None, options=(), naps=True):
        """The same where the nodes are there already, and this is run on the first."""
        variables = self._preloaded(variables, [naps_of(self.build)] if naps else [])
        return self._line(ranks, command, variables, [*self.options_on_nodes(), *options])

    def _preloaded(self, variables, libraries):
        """The variables, with what is preloaded. libraries: before ours."""
        libraries = [*self.runtimes, *libraries, self.preload] if self.preload else libraries
        preload = {"LD_PRELOAD": ":".join(map(str, libraries))} if libraries else {}
        # What hosts leave at their end is theirs.
        sanitizer = {"ASAN_OPTIONS": "detect_leaks=0"} if self.runtimes else {}
        return {**sanitizer, **(variables or {}), **preload}

    def _line(self, ranks, command, variables, options):
        line = [self.mpirun]
        if not self.hydra:
            line += ["--allow-run-as-root", "--oversubscribe"]
        line += [*options, "-n", str(ranks)]
        for name, value in variables.items():
            line += ["-genv", name, value] if self.hydra else ["-x", f"{name}={value}"]
        return line + [str(word) for word in command]
