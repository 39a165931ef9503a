"""The most similar of some names, for "did you mean" lines."""

import difflib
from typing import Iterable, Optional


def nearest(name: str, names: Iterable[str]) -> Optional[str]:
    """The name most like `name`, or None if none is at all alike."""
    found = difflib.get_close_matches(
        name.upper(), [candidate.upper() for candidate in names], n=1, cutoff=0.4
    )
    return found[0] if found else None
