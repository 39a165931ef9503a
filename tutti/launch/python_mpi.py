"""Which MPI a Python is for: that of its mpi4py."""

from __future__ import annotations

import os

from tutti.launch.elf import NotElf, read_elf

TYPE_CHECKING = False
if TYPE_CHECKING:  # `tutti run` waits for every import
    from typing import Iterator, Mapping, Optional, Tuple


def _package_folders(python: str) -> Iterator[str]:
    """Where packages of the Python at this path may lie: of its virtual environment, of itself, and Debian's."""
    for path in dict.fromkeys((python, os.path.realpath(python))):
        prefix = os.path.dirname(os.path.dirname(path))
        library = os.path.join(prefix, "lib")
        try:
            versions = sorted(name for name in os.listdir(library) if name.startswith("python3"))
        except OSError:
            continue
        for version in versions:
            for packages in ("site-packages", "dist-packages"):
                yield os.path.join(library, version, packages)


def mpi4py_of(python: str, env: Mapping[str, str]) -> Optional[Tuple[str, str]]:
    """The file of the extension that this Python would import as mpi4py.MPI, and the MPI library that it needs; None if
    there is none, or if it is for several MPIs and finds out when it runs."""
    first = [folder for folder in env.get("PYTHONPATH", "").split(os.pathsep) if folder]
    for folder in [*first, *_package_folders(python)]:
        package = os.path.join(folder, "mpi4py")
        try:
            names = [name for name in os.listdir(package) if name.startswith("MPI.") and name.endswith(".so")]
        except OSError:
            continue
        if len(names) != 1:
            return None
        path = os.path.join(package, names[0])
        try:
            needed = read_elf(path).needed
        except (OSError, NotElf):
            return None
        library = next((name for name in needed if name.startswith("libmpi")), None)
        return (path, library) if library else None
    return None
