"""Settings as a program gets them: TUTTI_ variables, made from the NAME=VALUE of `--set`."""

from __future__ import annotations

from tutti.errors import UserError

TYPE_CHECKING = False
if TYPE_CHECKING:  # `tutti run` waits for every import
    from typing import Dict, List, Tuple

#: Of the names of all variables.
PREFIX = "TUTTI_"


def parse_settings(pairs: List[str], known: List[str]) -> Tuple[Dict[str, str], List[str]]:
    """NAME=VALUE pairs as variables, and warnings about names that the library does not have.

    known: the names that it has; where there are none, nothing is known of them.
    """
    values: Dict[str, str] = {}
    warnings = []
    for pair in pairs:
        name, equals, value = pair.partition("=")
        name = name.strip().upper()
        name = name[len(PREFIX) :] if name.startswith(PREFIX) else name
        if not equals or not name:
            raise UserError(f"--set {pair}: expected NAME=VALUE, e.g. --set ALGORITHM=bcast:xhc")
        if known and name not in known:
            from tutti.nearest import hint

            warnings.append(f"unknown setting {name}{hint(name, known)} (tutti info lists them)")
        values[PREFIX + name] = value
    return values, warnings
