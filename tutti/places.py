"""Where the built libraries and programs are, as strings: `tutti run` has no time for more."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:  # `tutti run` waits for every import
    from typing import List, Optional

#: This package. A wheel has everything in it.
PACKAGE = os.path.dirname(os.path.realpath(__file__))
#: The folder that holds it: the checkout, or share/tutti below a prefix.
ROOT = os.path.dirname(PACKAGE)
#: The prefix, if it is one.
PREFIX = os.path.dirname(os.path.dirname(ROOT))


def is_checkout() -> bool:
    """Whether this is a checkout, with ./dev."""
    return os.path.isfile(os.path.join(ROOT, "dev"))


def remedy() -> str:
    """What to type where something is not built, or not there."""
    return "run ./dev setup && ./dev build" if is_checkout() else "install Tutti again: it is not complete"


def candidates(in_build: str, kind: str, name: str) -> List[str]:
    """Where something built may lie: in a wheel, in the checkout, below a prefix. kind: lib or libexec."""
    return [
        os.path.join(PACKAGE, kind, name),
        os.path.join(ROOT, "build", "release", in_build, name),
        os.path.join(PREFIX, kind, "tutti", name),
    ]


def settings_page() -> str:
    """The reference page of settings."""
    inside = os.path.join(PACKAGE, "docs", "settings.md")
    return inside if os.path.isfile(inside) else os.path.join(ROOT, "docs", "settings.md")


def find_preload() -> Optional[str]:
    """The library that is preloaded whatever MPI a program has, or None if it has not been built."""
    for path in candidates("src/mpi", "lib", "libtutti.so"):
        if os.path.isfile(path):
            return path
    return None
