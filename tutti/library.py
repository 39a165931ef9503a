"""Where the built libraries and programs of Tutti are."""

import json
import subprocess
from pathlib import Path
from typing import Any, List, Optional

from tutti import places
from tutti.errors import UserError
from tutti.program import ABI_NAMES

#: The folder that holds this package: the checkout, when installed with `pip install -e`.
ROOT = Path(places.ROOT)


def _candidates(in_build: str, in_prefix: str) -> List[Path]:
    return [Path(path) for path in places.candidates(in_build, in_prefix)]


#: What is preloaded, whatever the MPI. It loads the part for the MPI that it finds in the process.
PRELOAD = "libtutti.so"


def _find_shared(name: str) -> Optional[Path]:
    for path in _candidates(f"src/mpi/{name}", f"lib/tutti/{name}"):
        if path.is_file():
            return path
    return None


def find_preload() -> Optional[Path]:
    """The library to preload, or None if it has not been built."""
    return _find_shared(PRELOAD)


def preload_library() -> Path:
    """As find_preload; raises UserError that says how to get it."""
    path = find_preload()
    if path is None:
        raise UserError(f"{PRELOAD} is not built; run ./dev setup && ./dev build")
    return path


def find_part(abi: str) -> Optional[Path]:
    """The part of the library for a key of ABI_NAMES, or None if it has not been built."""
    return _find_shared(f"libtutti-{abi}.so")


def find_library(abi: str) -> Optional[Path]:
    """The library to preload into programs of a key of ABI_NAMES, or None if it or its part has not been built."""
    return find_preload() if find_part(abi) else None


def library_for(abi: str) -> Path:
    """As find_library; raises UserError that says how to get it."""
    if find_part(abi) is None:
        raise UserError(
            f"no library for {ABI_NAMES[abi]}: libtutti-{abi}.so is not built; run ./dev setup && ./dev build"
        )
    return preload_library()


def find_tool(name: str, folder: str) -> Optional[Path]:
    """A built program: folder is "bench" or "tools"."""
    for path in _candidates(f"{folder}/{name}", f"libexec/tutti/{name}"):
        if path.is_file():
            return path
    return None


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
