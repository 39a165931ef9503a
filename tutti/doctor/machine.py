"""What `tutti doctor` looks at: files, limits and processes of this machine. Tests put a described one in its place."""

import os
import platform
import resource
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from tutti.doctor.trials import Trial, run_trials
from tutti.launch.hosts import Host, all_hosts

#: Names of the limits that the checks ask for.
LIMITS = {
    "address-space": resource.RLIMIT_AS,
    "file-size": resource.RLIMIT_FSIZE,
    "open-files": resource.RLIMIT_NOFILE,
    "locked-memory": resource.RLIMIT_MEMLOCK,
}


@dataclass(frozen=True)
class Answer:
    """What came of a command."""

    #: Exit status; None if it was not there or did not end in time.
    status: Optional[int]
    output: str
    errors: str = ""


class Machine:
    """This machine. Paths are written as on it ("/proc/meminfo") and looked up below `root`.

    asked_ranks: how many ranks are to run here; 0 if that is not known.
    """

    def __init__(
        self,
        root: Path = Path("/"),
        environment: Optional[Mapping[str, str]] = None,
        asked_ranks: int = 0,
    ) -> None:
        self.root = root
        self.asked_ranks = asked_ranks
        self.environment: Mapping[str, str] = os.environ if environment is None else environment

    # Files.

    def path(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def text(self, path: str) -> Optional[str]:
        """The contents without the spaces around them; None if it cannot be read."""
        try:
            return self.path(path).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return None

    def number(self, path: str) -> Optional[int]:
        text = self.text(path)
        try:
            return int(text) if text is not None else None
        except ValueError:
            return None

    def exists(self, path: str) -> bool:
        return self.path(path).exists()

    def field(self, path: str, name: str) -> Optional[str]:
        """What follows `name:` in a file such as /proc/self/status."""
        for line in (self.text(path) or "").splitlines():
            key, colon, value = line.partition(":")
            if colon and key.strip() == name:
                return value.strip()
        return None

    def filesystem_bytes(self, path: str) -> Optional[int]:
        """The size of the file system at a path, None if there is none."""
        try:
            found = os.statvfs(self.path(path))
        except OSError:
            return None
        return found.f_blocks * found.f_frsize

    def device_problem(self, path: str) -> Optional[str]:
        """Why a device that is there cannot be opened for reading and writing; None if it can."""
        try:
            os.close(os.open(self.path(path), os.O_RDWR | os.O_CLOEXEC))
        except OSError as problem:
            return problem.strerror
        return None

    # The process.

    def limit(self, name: str) -> Optional[int]:
        """The soft limit of a name in LIMITS; None if there is none."""
        value = resource.getrlimit(LIMITS[name])[0]
        return None if value == resource.RLIM_INFINITY else value

    @cached_property
    def processors(self) -> List[int]:
        """The hardware threads that this process may run on."""
        return sorted(os.sched_getaffinity(0))

    @property
    def ranks(self) -> int:
        """For how many ranks limits have to do: one for each processor, if the number is not known."""
        return self.asked_ranks or len(self.processors)

    @property
    def is_root(self) -> bool:
        return os.geteuid() == 0

    @property
    def kernel(self) -> str:
        return f"{platform.system()} {platform.release()} {platform.machine()}"

    @cached_property
    def trials(self) -> Dict[str, Trial]:
        return run_trials()

    @property
    def python_prefixes(self) -> List[Path]:
        """Roots of the Python environments in use, each once."""
        named = [self.environment.get(name) for name in ("VIRTUAL_ENV", "CONDA_PREFIX")]
        return list(dict.fromkeys(Path(prefix) for prefix in [sys.prefix, *named] if prefix))

    # Programs.

    def which(self, name: str) -> Optional[Path]:
        found = shutil.which(name, path=self.environment.get("PATH", os.defpath))
        return Path(found) if found else None

    def hosts(self) -> List[Host]:
        """The MPIs in the places where they are looked for."""
        return all_hosts()

    def run(
        self, words: Sequence[str], more: Optional[Mapping[str, str]] = None, seconds: float = 20
    ) -> Answer:
        """Runs a command. more: variables to add. It ends with all that it started, in time or at Ctrl-C."""
        try:
            process = subprocess.Popen(
                list(words),
                env={**self.environment, **(more or {})},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except OSError as problem:
            return Answer(None, "", f"cannot be started: {problem.strerror}")
        try:
            output, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            _end_group(process)
            return Answer(None, "", f"did not end within {seconds:g} s")
        except BaseException:
            _end_group(process)
            raise
        return Answer(process.returncode, output, errors)

    # What is derived from the above.

    @property
    def memory_bytes(self) -> Optional[int]:
        text = self.field("/proc/meminfo", "MemTotal")
        return int(text.split()[0]) * 1024 if text else None

    @property
    def container(self) -> str:
        """docker, podman, kubernetes, apptainer, or nothing as far as can be seen."""
        if self.environment.get("KUBERNETES_SERVICE_HOST"):
            return "kubernetes"
        if any(self.environment.get(name) for name in ("APPTAINER_CONTAINER", "SINGULARITY_CONTAINER")):
            return "apptainer"
        if self.exists("/run/.containerenv"):
            return "podman"
        return "docker" if self.exists("/.dockerenv") else ""

    def groups(self, controller: str) -> Tuple[int, List[str]]:
        """(cgroup version, folders) of our group by a controller and of those around it, innermost first."""
        for line in (self.text("/proc/self/cgroup") or "").splitlines():
            _, controllers, path = [*line.split(":", 2), "", ""][:3]
            if controller in controllers.split(","):
                return 1, _upwards(f"/sys/fs/cgroup/{controller}", path)
        for line in (self.text("/proc/self/cgroup") or "").splitlines():
            if line.startswith("0::"):
                return 2, _upwards("/sys/fs/cgroup", line[3:])
        return 0, []


def _upwards(mount: str, group: str) -> List[str]:
    parts = [part for part in group.split("/") if part]
    return ["/".join([mount, *parts[:count]]) for count in range(len(parts), -1, -1)]


def _end_group(process: "subprocess.Popen[str]") -> None:
    """Ends a launcher: by asking, so that it ends its ranks, then by force."""
    for number, seconds in ((signal.SIGTERM, 5), (signal.SIGKILL, 5)):
        try:
            os.killpg(process.pid, number)
            process.communicate(timeout=seconds)
        except ProcessLookupError:
            break
        except subprocess.TimeoutExpired:
            continue
    if process.poll() is None:
        process.kill()
        process.wait()
