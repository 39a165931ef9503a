"""The command line of `tutti run`, read without the packages that the other commands use, as those take longer to load
than a launcher to start.

The options are declared, with their help, in tutti/launch/command.py; what is not plain is left to that.
"""

from __future__ import annotations

import os
import sys

from tutti import places
from tutti.errors import UserError
from tutti.lines import say

TYPE_CHECKING = False
if TYPE_CHECKING:  # `tutti run` waits for every import
    from typing import Dict, Iterable, List, Optional

#: Options without a value and with one, and the name of each in Options.
FLAGS = {
    "--verbose": "verbose",
    "-v": "verbose",
    "--dry-run": "dry_run",
    "--json": "as_json",
    "--explain": "explain",
    "--summary": "summary",
}
VALUES = {"--library": "library", "--profile": "profile", "--set": "settings", "-s": "settings"}


class Options:
    """What stands before the command that is run."""

    def __init__(self) -> None:
        self.verbose = False
        self.dry_run = False
        self.as_json = False
        self.explain = False
        self.summary = False
        self.library: Optional[str] = None
        #: The page to be made of a profile.
        self.profile: Optional[str] = None
        self.settings: List[str] = []
        #: The command.
        self.words: List[str] = []

    def take(self, option: str, value: str) -> None:
        if VALUES[option] == "settings":
            self.settings.append(value)
        else:
            setattr(self, VALUES[option], value)


def read(words: List[str]) -> Optional[Options]:
    """The words after `tutti run`; None if something is to be said about them: help, or a mistake."""
    options = Options()
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        word = words[at]
        name, equals, value = word.partition("=")
        at += 1
        if word == "--":
            break
        if word in FLAGS:
            setattr(options, FLAGS[word], True)
        elif word in VALUES and at < len(words):
            options.take(word, words[at])
            at += 1
        elif name in VALUES and name.startswith("--") and equals:
            options.take(name, value)
        else:
            return None
    options.words = words[at:]
    return options if options.words else None


def _documented(names: Iterable[str]) -> bool:
    """Are these settings on the reference page, which is read more quickly than the library is asked?"""
    try:
        with open(places.settings_page(), encoding="utf-8") as file:
            page = file.read()
    except OSError:
        return False
    return all(f"| `{name}` |" in page for name in names)


def _settings(options: Options, warnings: List[str]) -> Dict[str, str]:
    from tutti.variables import parse_settings

    values: Dict[str, str] = {}
    if options.settings:
        values, _ = parse_settings(options.settings, [])
        if not _documented(values):
            from tutti.settings import setting_names

            values, more = parse_settings(options.settings, setting_names())
            warnings += more
    told = "1" if options.explain else "summary" if options.summary else ""
    return {**({"TUTTI_EXPLAIN": told} if told else {}), **values}


def carry_out(options: Options) -> None:
    """Says what is to be said, and becomes the command; with --dry-run returns. Raises UserError."""
    from tutti.launch.plan import execute, make_plan

    if options.as_json and not options.dry_run:
        raise UserError("--json goes with --dry-run; -s EXPLAIN=FILE writes what ran as JSON")
    warnings: List[str] = []
    values = _settings(options, warnings)
    record = None
    if options.profile is not None:
        from pathlib import Path

        from tutti.launch.profiled import record_of

        record = record_of(Path(options.profile))
        values["TUTTI_PROFILE"] = str(record)
    if options.library is not None and not os.path.isfile(options.library):
        raise UserError(f"no library '{options.library}'")
    exact = options.verbose or options.as_json
    plan = make_plan(options.words, options.library, values, os.environ, exact)
    for line in [*warnings, *plan.warnings]:
        say(f"warning: {line}")
    if options.verbose:
        for line in [*plan.notes, f"command: {plan.command()}"]:
            print(f"tutti: {line}", file=sys.stderr)
    if options.dry_run:
        print(plan.as_json(warnings) if options.as_json else plan.command())
        return
    if record and options.profile is not None:
        from tutti.launch import profiled

        profiled.carry_out(plan, Path(options.profile), record)
    execute(plan)
