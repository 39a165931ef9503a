"""Where the built libraries and programs of Tutti are."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any, List, Optional

from tutti import places

#: The folder that holds this package: the checkout, if there is one.
ROOT = Path(places.ROOT)


def _first(paths: List[str]) -> Optional[Path]:
    return next((Path(path) for path in paths if os.path.isfile(path)), None)


def find_preload() -> Optional[Path]:
    """What is preloaded, whatever the MPI: it loads the part for the one it finds. None if it has not been built."""
    path = places.find_preload()
    return Path(path) if path else None


def find_part(abi: str) -> Optional[Path]:
    """The part of the library for a key of ABI_NAMES, or None if it has not been built."""
    return _first(places.candidates("src/mpi", "lib", f"libtutti-{abi}.so"))


def find_library(abi: str) -> Optional[Path]:
    """The library to preload into programs of a key of ABI_NAMES, or None if it or its part has not been built."""
    return find_preload() if find_part(abi) else None


def find_tool(name: str, folder: str) -> Optional[Path]:
    """A built program: folder is "bench" or "tools"."""
    return _first(places.candidates(folder, "libexec", name))


def printed_json(tool: Path) -> Any:
    """What a built program prints as JSON. Raises OSError, SubprocessError or ValueError if it does not work."""
    done = subprocess.run(
        [str(tool)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=True,
        timeout=30,
    )
    return json.loads(done.stdout)
