"""`tutti run`: start a program with the right library preloaded into its ranks, and only into them."""

import json
import os
import shlex
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, List, Mapping, Optional, Tuple

from tutti.elf import NotElf, read_elf
from tutti.errors import UserError
from tutti.launcher import Launcher, looks_like_launcher, parse_contexts, recognise, with_variables
from tutti.library import library_for
from tutti.nearest import hint
from tutti.program import ABI_NAMES, Program, inspect_program
from tutti.settings import PREFIX, Setting

#: Version of what `--dry-run --json` prints.
SCHEMA = "tutti-run-1"


@dataclass
class Plan:
    """What is going to be executed, and why."""

    words: List[str]
    #: Variables for the process that is executed, beside those that are there.
    variables: Dict[str, str] = field(default_factory=dict)
    #: For --verbose.
    notes: List[str] = field(default_factory=list)
    #: Always printed.
    warnings: List[str] = field(default_factory=list)

    def command(self) -> str:
        """As one would type it."""
        prefix = (
            ["env", *(f"{name}={value}" for name, value in self.variables.items())] if self.variables else []
        )
        return shlex.join([*prefix, *self.words])

    def as_json(self, warnings: List[str]) -> str:
        """For scripts. warnings: those that came before the plan."""
        value = {
            "schema": SCHEMA,
            "command": self.words,
            "variables": self.variables,
            "found": self.notes,
            "warnings": [*warnings, *self.warnings],
        }
        return json.dumps(value, indent=1)


def parse_settings(pairs: List[str], known: List[Setting]) -> Tuple[Dict[str, str], List[str]]:
    """NAME=VALUE pairs as variables, and warnings about names that the library does not have."""
    values: Dict[str, str] = {}
    warnings = []
    names = [setting.name for setting in known]
    for pair in pairs:
        name, equals, value = pair.partition("=")
        name = name.strip().upper()
        name = name[len(PREFIX) :] if name.startswith(PREFIX) else name
        if not equals or not name:
            raise UserError(f"--set {pair}: expected NAME=VALUE, e.g. --set ALGORITHM=bcast:xhc")
        if names and name not in names:
            warnings.append(f"unknown setting {name}{hint(name, names)} (tutti info lists them)")
        values[PREFIX + name] = value
    return values, warnings


def _check_library(library: Path, programs: List[Program]) -> None:
    try:
        architecture = read_elf(library).architecture
    except (OSError, NotElf) as error:
        raise UserError(f"cannot use the library '{library}': {error}") from None
    if any(character in str(library) for character in ": "):
        raise UserError(f"the path '{library}' has a colon or a space in it, which LD_PRELOAD cannot hold")
    for program in programs:
        if program.architecture not in (None, architecture):
            raise UserError(f"'{program.name}' is for another kind of processor than the library '{library}'")


def _common_abi(programs: List[Program]) -> Optional[str]:
    """The ABI of all programs, None if none tells. Raises UserError if they differ."""
    telling = [program for program in programs if program.abi]
    for program in telling[1:]:
        if program.abi != telling[0].abi:
            raise UserError(
                f"'{telling[0].name}' was built for {ABI_NAMES[telling[0].abi or '']} and '{program.name}' for"
                f" {ABI_NAMES[program.abi or '']}: they cannot run in one job"
            )
    return telling[0].abi if telling else None


def _notes(programs: List[Program]) -> Tuple[List[str], List[str]]:
    notes = []
    warnings = []
    for program in programs:
        what = ABI_NAMES[program.abi] if program.abi else "its MPI cannot be seen in the file"
        notes.append(f"{program.name}: {what} ({program.reason})")
        if program.wraps_mpi:
            warnings.append(
                f"'{program.name}' has MPI functions of its own linked in (a profiler?); calls that these hand to"
                " PMPI_* do not reach Tutti"
            )
    return notes, warnings


def _plan_single(
    words: List[str], library: Optional[Path], values: Dict[str, str], env: Mapping[str, str]
) -> Plan:
    program = inspect_program(words[0], env)
    notes, warnings = _notes([program])
    if library is None:
        if program.abi is None:
            raise UserError(
                f"cannot tell the MPI of '{program.name}' ({program.reason}) without a launcher; start it with mpirun,"
                " or name the library with --library"
            )
        library = library_for(program.abi)
    _check_library(library, [program])
    notes.append("no launcher: one rank")
    notes.append(f"library: {library}")
    theirs = env.get("LD_PRELOAD")
    preload = f"{library}:{theirs}" if theirs else str(library)
    return Plan([str(program.path), *words[1:]], {**values, "LD_PRELOAD": preload}, notes, warnings)


def _plan_launcher(
    launcher: Launcher,
    words: List[str],
    library: Optional[Path],
    values: Dict[str, str],
    env: Mapping[str, str],
) -> Plan:
    contexts = parse_contexts(launcher, words[1:])
    programs = []
    for context in contexts:
        extra = context.value_of("path")
        where = {**env, "PATH": f"{extra}:{env.get('PATH', os.defpath)}"} if extra else env
        programs.append(
            inspect_program(context.program or "", where, context.value_of("wdir", "wd", "chdir", "D"))
        )
    abi = _common_abi(programs)
    if abi and not launcher.starts(abi):
        culprit = next(program for program in programs if program.abi)
        raise UserError(
            f"'{culprit.name}' was built for {ABI_NAMES[abi]} ({culprit.reason}), but '{words[0]}' is the launcher of"
            f" {launcher.title}; start it with the mpirun of its own MPI"
        )
    if library is None:
        if abi is None and launcher.abi is None:
            raise UserError(
                f"cannot tell the MPI of '{programs[0].name}' ({programs[0].reason}), and {launcher.title} starts any;"
                " name the library with --library"
            )
        library = library_for(abi or launcher.abi or "")
    _check_library(library, programs)
    notes, warnings = _notes(programs)
    notes.append(f"launcher: {launcher.title}")
    notes.append(f"library: {library}")
    passed = {name: value for name, value in env.items() if name.startswith(PREFIX)}
    passed.update(values)
    arguments = with_variables(launcher, contexts, str(library), env.get("LD_PRELOAD"), passed)
    return Plan([words[0], *arguments], values, notes, warnings)


def make_plan(
    words: List[str], library: Optional[Path], values: Dict[str, str], environment: Mapping[str, str]
) -> Plan:
    """Decides what to execute for `words`, the user's own command line. Starts nothing but `launcher --version`.

    library: to preload instead of the one that fits. values: TUTTI_* variables to add. Raises UserError.
    """
    if not words:
        raise UserError("nothing to run; try: tutti run mpirun -n 4 ./app")
    if library is not None:
        library = library.resolve()
    if looks_like_launcher(words[0]):
        return _plan_launcher(recognise(words[0]), words, library, values, environment)
    return _plan_single(words, library, values, environment)


def execute(plan: Plan) -> None:
    """Becomes the command, so that signals and the exit status are its own. Returns only by an exception."""
    path = shutil.which(plan.words[0])
    if path is None:
        raise UserError(f"no program '{plan.words[0]}'")
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execve(path, plan.words, {**os.environ, **plan.variables})
    except OSError as error:
        raise UserError(f"cannot execute '{path}': {error.strerror}") from None
