"""Small programs and libraries that look like those of each MPI, and launchers that only say what they were given."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable, Dict, List, Optional
from unittest import mock

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from tutti.main import main  # noqa: E402

# Where the tests run in the background some signals are ignored, and would be by the programs that they start, too.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

MAIN = "int MPI_Init(int*, char***); int main(int c, char** v) { return MPI_Init(&c, &v); }\n"
MPI = "int MPI_Init(int* c, char*** v) { (void)c; (void)v; return 0; }\n"


class Kit:
    """Compiles into one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def compile(self, output: str, source: str, *options: str) -> Path:
        """Compiles one C source to `output`. options: of the compiler, after the source."""
        path = self.folder / output
        path.parent.mkdir(parents=True, exist_ok=True)
        code = path.with_suffix(path.suffix + ".c")
        code.write_text(source)
        subprocess.run(["cc", "-o", str(path), str(code), *options], check=True, cwd=self.folder)
        return path

    def library(self, output: str, source: str, *options: str) -> Path:
        """A shared library whose name in DT_NEEDED is its file name."""
        return self.compile(output, source, "-shared", "-fPIC", f"-Wl,-soname,{Path(output).name}", *options)

    def script(self, output: str, text: str) -> Path:
        """An executable script."""
        path = self.folder / output
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path


@pytest.fixture(autouse=True)
def no_files_of_the_user(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Choices do not depend on what whoever runs the tests has measured."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.getbasetemp() / "no-configuration"))


@pytest.fixture(scope="session")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Kit:
    return Kit(tmp_path_factory.mktemp("kit"))


@pytest.fixture(scope="session")
def apps(kit: Kit) -> Dict[str, Path]:
    """Programs: openmpi, mpich, mpich_debian, abi, cray, indirect, rpath, plain, static_mpi, static, profiled,
    openmpi1, fortran_openmpi, fortran_mpich."""
    built = {}
    for name, library in (
        ("openmpi", "libmpi.so.40"),
        ("mpich", "libmpi.so.12"),
        ("mpich_debian", "libmpich.so.12"),
        ("abi", "libmpi_abi.so.1"),
        ("cray", "libmpi_gnu_123.so.12"),
        ("openmpi1", "libmpi.so.20"),
    ):
        path = kit.library(f"{name}-lib/{library}", MPI)
        built[name] = kit.compile(f"app-{name}", MAIN, str(path))
    physics = "int MPI_Init(int*, char***); int physics(int* c, char*** v) { return MPI_Init(c, v); }\n"
    kit.library("lib/libphysics.so", physics, str(kit.folder / "mpich-lib/libmpi.so.12"))
    use = "int physics(int*, char***); int main(int c, char** v) { return physics(&c, &v); }\n"
    link = ("-Llib", "-lphysics", "-Wl,--allow-shlib-undefined")
    built["indirect"] = kit.compile("app-indirect", use, *link, "-Wl,--enable-new-dtags,-rpath,$ORIGIN/lib")
    built["rpath"] = kit.compile("app-rpath", use, *link, "-Wl,--disable-new-dtags,-rpath,$ORIGIN/lib")
    built["unlocated"] = kit.compile("app-unlocated", use, *link)
    built["plain"] = kit.compile("app-plain", "int main(void) { return 0; }\n")
    tail = "int PMPI_Init(int* c, char*** v) { return MPI_Init(c, v); }\n"
    built["static_mpi"] = kit.compile("app-static-mpi", MPI + tail + MAIN.split(";", 1)[1])
    built["static"] = kit.compile("app-static", "int main(void) { return 0; }\n", "-static")
    keep = "-Wl,--no-as-needed"
    shared = str(kit.folder / "mpich-lib/libmpi.so.12")
    fortran = "void mpi_init_(int*); int main(void) { int e; mpi_init_(&e); return e; }\n"
    for name, calls in (("openmpi", "PMPI_Init"), ("mpich", "MPI_Init")):
        stem = {"openmpi": "libmpi_mpifh.so.40", "mpich": "libmpifort.so.12"}[name]
        body = f"int {calls}(int*, char***); void mpi_init_(int* e) {{ *e = {calls}(0, 0); }}\n"
        path = kit.library(f"{name}-fortran/{stem}", body)
        mpi = {"openmpi": "libmpi.so.40", "mpich": "libmpi.so.12"}[name]
        words = (str(path), "-Wl,--no-as-needed", f"{name}-lib/{mpi}", "-Wl,--allow-shlib-undefined")
        built[f"fortran_{name}"] = kit.compile(
            f"app-fortran-{name}", fortran, *words, f"-Wl,-rpath,{path.parent}:{kit.folder}/{name}-lib"
        )
    built["profiled"] = kit.compile("app-profiled", MPI + MAIN.split(";", 1)[1], keep, shared)
    return built


@pytest.fixture(scope="session")
def preload(kit: Kit) -> Path:
    """A library to preload that does nothing."""
    return kit.library("preload/libtutti-test.so", "int tutti_test;\n")


VERSIONS = {
    "openmpi": "mpirun (Open MPI) 5.0.9",
    "openmpi4": "mpiexec (OpenRTE) 4.1.4",
    "openmpi6": "mpirun (Open MPI) 6.0.0",
    "mpich": "HYDRA build details:\n    Version:                                 5.0.2",
    "intel": "Intel(R) MPI Library for Linux* OS, Version 2021.18 Build 20260101 (id: 1)",
    "slurm": "slurm 23.11.4",
    "foreign": "Platform MPI 9",
}


@pytest.fixture(scope="session")
def launchers(kit: Kit) -> Dict[str, str]:
    """Scripts that answer --version as the real ones do, else print their words one a line and exit with 7."""
    built = {}
    for name, version in VERSIONS.items():
        text = f"""#!/bin/sh
if [ "$1" = --version ]; then printf '%s\\n' '{version}'; exit 0; fi
printf '%s\\n' "$@"
echo "preload=$LD_PRELOAD"
exit 7
"""
        built[name] = str(kit.script(f"{name}/{'srun' if name == 'slurm' else 'mpirun'}", text))
    return built


@pytest.fixture
def tutti() -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Runs the command line in a process of its own."""

    def call(*words: object, **options: object) -> "subprocess.CompletedProcess[str]":
        command: List[str] = [sys.executable, "-m", "tutti", *map(str, words)]
        return subprocess.run(  # type: ignore[call-overload,no-any-return]
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120, **options
        )

    return call


@pytest.fixture
def tutti_here(capsys: pytest.CaptureFixture[str]) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """As `tutti`, but in this process, which starts faster: for what depends on nothing that only a process has."""

    def replaced(*_: object) -> None:
        raise AssertionError("the process of the tests would become a program; use the fixture tutti")

    def call(*words: object, env: Optional[Dict[str, str]] = None) -> "subprocess.CompletedProcess[str]":
        before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
        capsys.readouterr()
        environment = mock.patch.dict(os.environ, os.environ if env is None else env, clear=True)
        with environment, mock.patch.object(os, "execve", replaced):
            try:
                main([str(word) for word in words])
            except SystemExit as end:
                status = int(end.code or 0)
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)
        said = capsys.readouterr()
        return subprocess.CompletedProcess(list(words), status, said.out, said.err)

    return call


def started_with(mark: str) -> List[str]:
    """The programs that run with this in their environment, which all that a process starts inherits."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                words = (folder / "cmdline").read_text(errors="replace")
                found += [words.split("\0")[0]] if words else []
        except OSError:
            continue
    return found


def until(condition: Callable[[], bool], seconds: float = 120) -> None:
    """Waits for something that must come; the time is for a machine that is very busy."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def have(tool: str) -> bool:
    return shutil.which(tool) is not None


@pytest.fixture
def configuration(tmp_path, monkeypatch):
    """A user without files and settings; returns where the library would look for the files."""
    for name in [name for name in os.environ if name.startswith("TUTTI_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "configuration"))
    return tmp_path / "configuration" / "tutti"
