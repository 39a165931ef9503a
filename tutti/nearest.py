"""The most similar of some names, for "did you mean" lines."""

import difflib
from typing import Iterable, Optional


def nearest(name: str, names: Iterable[str]) -> Optional[str]:
    """The name most like `name`, or None if none is at all alike."""
    spelled = {candidate.upper(): candidate for candidate in names}
    found = difflib.get_close_matches(name.upper(), spelled, n=1, cutoff=0.4)
    return spelled[found[0]] if found else None


def hint(name: str, names: Iterable[str]) -> str:
    """ "; the nearest is X", or nothing if no name is like it."""
    like = nearest(name, names)
    return f"; the nearest is {like}" if like else ""
