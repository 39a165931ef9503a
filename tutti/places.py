"""Where the built libraries and programs are, as strings: `tutti run` has no time for more."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # `tutti run` waits for every import
    from typing import List, Optional

#: The folder that holds this package: the checkout, when installed with `pip install -e`.
ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def candidates(in_build: str, in_prefix: str) -> List[str]:
    """Where something built may lie: in the checkout, or where it was installed to."""
    return [os.path.join(ROOT, "build", "release", in_build), os.path.join(sys.prefix, in_prefix)]


def find_preload() -> Optional[str]:
    """The library that is preloaded whatever MPI a program has, or None if it has not been built."""
    for path in candidates("src/mpi/libtutti.so", "lib/tutti/libtutti.so"):
        if os.path.isfile(path):
            return path
    return None
