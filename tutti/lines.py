"""Lines of text that are no wider than the terminal that they are printed to; pipes and files get them as they are."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional, TextIO

#: In fewer columns than these lines are as long as in these.
LEAST_WIDTH = 40


def columns_of(stream: TextIO) -> Optional[int]:
    """Of the terminal that it is; None if it is none."""
    try:
        if not stream.isatty():
            return None
        columns = int(os.environ.get("COLUMNS") or 0) or os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return None
    return max(columns, LEAST_WIDTH)


def fitted(text: str, columns: Optional[int]) -> str:
    """Each line in as many as it takes, cut between words. What follows begins where the line's last column did, which
    two spaces are in front of. Words, such as paths, stay whole."""
    if columns is None:
        return text
    return "\n".join(line if len(line) <= columns else _cut(line, columns) for line in text.split("\n"))


def _cut(line: str, columns: int) -> str:
    import textwrap

    begin = len(line) - len(line.lstrip())
    column = max(begin, line.rstrip().rfind("  ") + 2 if "  " in line.strip() else 0)
    longest = max(map(len, line.split()))
    indent = next((each for each in (column, begin + 2) if each + longest <= columns), 0)
    return textwrap.fill(
        line,
        columns,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )


def tell(text: str) -> None:
    """On standard output."""
    print(fitted(text, columns_of(sys.stdout)))


def say(text: str) -> None:
    """One message on standard error. Never fails: there is nobody left to tell."""
    message = "tutti: " + " ".join(part.strip() for part in text.splitlines())
    try:
        print(fitted(message, columns_of(sys.stderr)), file=sys.stderr)
    except (OSError, ValueError):
        return
