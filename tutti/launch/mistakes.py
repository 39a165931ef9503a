"""What to type instead, for what newcomers type."""

from __future__ import annotations

import os
from typing import List, Optional

#: Options of launchers that come first when one forgets the launcher itself.
_OF_LAUNCHERS = ("-n", "-np", "--np", "-c", "-N", "-ppn", "-f", "-hosts", "--host", "--hostfile", "--ntasks")
#: Those of `tutti run` with a value (plain_command.VALUES), and those that no launcher has.
WITH_VALUES = ("--library", "--profile", "--set", "-s")
_OF_RUN = ("--explain", "--summary", "--dry-run", "--library", "--set")


def without_launcher(words: List[str]) -> Optional[str]:
    """For the words after `tutti run`, if they begin with options of a launcher that is not there."""
    option = next((word for word in words if word.startswith("-")), "")
    name = option.partition("=")[0]
    if name not in _OF_LAUNCHERS and not name.startswith(("-n", "-N")):
        return None
    return f"{name} is an option of a launcher, which is not there; type: tutti run mpirun {' '.join(words)}"


def before_command(words: List[str], commands: List[str]) -> Optional[str]:
    """For all words, if options of a command stand in front of its name."""
    at = next((place for place, word in enumerate(words) if word in commands), None)
    if not at or not all(
        word.startswith("-") or words[place - 1] in WITH_VALUES for place, word in enumerate(words[:at])
    ):
        return None
    line = " ".join(["tutti", words[at], *words[:at], *words[at + 1 :]])
    return f"options of a command stand behind its name; type: {line}"


def behind_launcher(words: List[str], at: int, is_program: List[bool]) -> Optional[str]:
    """For a command line with a launcher at `at`, if options of Tutti's stand among the launcher's. is_program: of each
    word behind that, whether it is a program."""
    for place, word in enumerate(words[at + 1 :], at + 1):
        if word.partition("=")[0] in _OF_RUN:
            count = 2 if word in WITH_VALUES else 1
            given, rest = words[place : place + count], [*words[:place], *words[place + count :]]
            line = " ".join(["tutti run", *given, *rest])
            return f"{word} is an option of tutti run, and stands in front of the launcher; type: {line}"
        if is_program[place - at - 1]:
            return None
    return None


def not_found(name: str) -> str:
    """Why a word of a command line is no program."""
    if os.path.isfile(name) and not os.access(name, os.X_OK):
        return f"'{name}' is a file that may not be executed; type: chmod +x {name}"
    if os.path.isdir(name):
        return f"'{name}' is a folder"
    return f"no program '{name}' (not an executable file, and not found in PATH)"
