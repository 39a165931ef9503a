"""What `tutti tune` starts the ranks with so that their communicators have other shapes: mechanisms, hierarchies."""

from typing import Dict, List, NamedTuple

from tutti.bench.words import MECHANISMS, split
from tutti.errors import UserError
from tutti.nearest import hint

#: Each of them is `mapped` in a table.
MAPPED = ("auto", "window", "xpmem")
LEVELS = ("l2", "l3", "numa", "socket")
MECHANISM, HIERARCHY = "TUTTI_MECHANISM", "TUTTI_HIERARCHY"


class Setup(NamedTuple):
    """As TUTTI_MECHANISM and TUTTI_HIERARCHY have it; empty: what is set anyway."""

    mechanism: str = ""
    hierarchy: str = ""

    def variables(self) -> Dict[str, str]:
        return {name: value for name, value in zip((MECHANISM, HIERARCHY), self) if value}

    def words(self) -> str:
        """For titles: ", cma, flat"; empty if nothing is set."""
        return "".join(f", {value}" for value in self if value)


DEFAULT = Setup()


def parse_setups(mechanisms: str, hierarchies: str, variables: Dict[str, str]) -> List[Setup]:
    """All combinations of what `--mechanisms` and `--hierarchies` say; variables: what `-s` does. Raises UserError for
    what is no such word, and for what a table could not tell apart."""
    for option, text, variable in (
        ("--mechanisms", mechanisms, MECHANISM),
        ("--hierarchies", hierarchies, HIERARCHY),
    ):
        if text and variable in variables:
            raise UserError(f"{option} and -s {variable[len('TUTTI_') :]} exclude each other")
    return [
        Setup(mechanism, hierarchy)
        for mechanism in (_mechanisms(mechanisms) if mechanisms else [""])
        for hierarchy in (_hierarchies(hierarchies) if hierarchies else [""])
    ]


def _words(text: str, option: str, example: str) -> List[str]:
    words = list(dict.fromkeys(split(text.lower())))
    if not words:
        raise UserError(f"{option} {text}: expected names, e.g. {example}")
    return words


def _known(word: str, option: str, names: List[str]) -> None:
    if word not in names:
        raise UserError(f"{option} {word}: expected some of {', '.join(names)}{hint(word, names)}")


def _mechanisms(text: str) -> List[str]:
    words = _words(text, "--mechanisms", "window,cma,staged")
    for word in words:
        _known(word, "--mechanisms", ["auto", *MECHANISMS])
    mapped = [word for word in words if word in MAPPED]
    if len(mapped) > 1:
        raise UserError(f"--mechanisms: {' and '.join(mapped)} are one to a table (mapped); name one of them")
    return words


def _hierarchies(text: str) -> List[str]:
    words = _words(text, "--hierarchies", "auto,flat")
    by_depth: Dict[int, str] = {}
    for word in words:
        if word in ("auto", "flat"):
            continue
        levels = word.split("+")
        alone = ["auto", "flat"] if len(levels) == 1 else []
        for level in levels:
            _known(level, "--hierarchies", [*alone, *LEVELS])
        other = by_depth.setdefault(len(levels), word)
        if other != word:
            raise UserError(
                f"--hierarchies: {other} and {word} are one to a table, which counts levels; name one of them"
            )
    return words
