"""`tutti run`: start a program with the library preloaded into its ranks, or step aside and say so."""

from __future__ import annotations

import os
import sys

from tutti import places
from tutti.errors import UserError
from tutti.launch.elf import NotElf, read_elf
from tutti.launch.launcher import (
    Context,
    Launcher,
    Preload,
    for_daemons,
    glimpse,
    looks_like_launcher,
    only_asks,
    parse_contexts,
    recognise,
    with_variables,
)
from tutti.launch.loader import find_program
from tutti.launch.program import ABI_NAMES, Program, abi_of_library, inspect_program
from tutti.launch.sanitizers import OPTIONS, behind_others, preload_of
from tutti.launch.wrappers import is_python, seals, started, starts_others
from tutti.variables import PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:  # `tutti run` waits for every import
    from typing import Callable, Dict, List, Mapping, Optional, Tuple

#: Version of what `--dry-run --json` prints.
SCHEMA = "tutti-run-1"

#: How the ranks get Tutti: by the launcher's options, by inheriting the variables, or not at all.
RANKS, ENVIRONMENT, NOTHING = "ranks", "environment", "nothing"


def _quoted(word: str) -> str:
    """For a shell, as shlex.quote has it, which takes longer to load than all of this."""
    plain = word and all(letter.isascii() and (letter.isalnum() or letter in "@%+=:,./-_") for letter in word)
    quotes = word.replace("'", "'\"'\"'")
    return word if plain else f"'{quotes}'"


class Plan:
    """What is going to be executed, and why.

    words: the command. variables: for the process that is executed, beside those that are there. reach: RANKS,
    ENVIRONMENT or NOTHING. notes: for --verbose. warnings: always printed.
    """

    def __init__(
        self, words: List[str], variables: Dict[str, str], reach: str, notes: List[str], warnings: List[str]
    ) -> None:
        self.words = words
        self.variables = variables
        self.reach = reach
        self.notes = notes
        self.warnings = list(dict.fromkeys(warnings))

    def command(self) -> str:
        """As one would type it."""
        prefix = (
            ["env", *(f"{name}={value}" for name, value in self.variables.items())] if self.variables else []
        )
        return " ".join(map(_quoted, [*prefix, *self.words]))

    def as_json(self, warnings: List[str]) -> str:
        """For scripts. warnings: those that came before the plan."""
        import json

        value = {
            "schema": SCHEMA,
            "command": self.words,
            "variables": self.variables,
            "reach": self.reach,
            "found": self.notes,
            "warnings": [*warnings, *self.warnings],
        }
        return json.dumps(value, indent=1)


# --- the library -----------------------------------------------------------------------------------------------------


class _Library:
    """The library that is preloaded."""

    def __init__(self, path: str) -> None:
        """Raises UserError if it cannot be preloaded."""
        self.path = path
        try:
            self.architecture = read_elf(path).architecture
        except (OSError, NotElf) as error:
            raise UserError(f"cannot use the library '{path}': {error}") from None
        if any(character in path for character in ": "):
            raise UserError(f"the path '{path}' has a colon or a space in it, which LD_PRELOAD cannot hold")


def _obstacle(program: Program, library: _Library) -> Optional[str]:
    """Why the library cannot do anything in a program, or None."""
    if program.architecture not in (None, library.architecture):
        return "it is for another kind of processor than Tutti"
    return program.obstacle


# --- what is said of programs ----------------------------------------------------------------------------------------


def _notes(programs: List[Program]) -> List[str]:
    notes = []
    for program in programs:
        what = ABI_NAMES[program.abi] if program.abi else "its MPI cannot be seen in the file"
        notes.append(f"{program.name}: {what} ({program.reason})")
        if program.fortran:
            notes.append(f"{program.name}: calls MPI from Fortran, by {program.fortran}")
        if program.wraps_mpi:
            notes.append(
                f"{program.name}: has MPI functions of its own linked in (a profiler?), before Tutti's"
            )
        for runtime in program.sanitizers:
            notes.append(f"{program.name}: has a sanitizer, {runtime}")
        if program.built_in:
            notes.append(f"{program.name}: has a sanitizer linked in ({program.built_in})")
    return notes


def _doubts(programs: List[Program]) -> List[str]:
    """What is unusual about programs that Tutti goes into."""
    doubts = []
    for program in programs:
        if program.abi is None and "cannot be read" in program.reason:
            doubts.append(f"{program.reason}, so its MPI is not known; Tutti looks for it when it runs")
        elif program.abi is None and program.reason == "linked statically":
            doubts.append(
                f"'{program.name}' is linked statically: Tutti does nothing in it, only in what it starts"
            )
        elif program.abi is None and not program.opaque:
            doubts.append(
                f"'{program.name}' has no MPI among the libraries it needs: Tutti does nothing in it, unless it loads"
                " or starts something that has"
            )
    return doubts


def _aside(words: List[str], notes: List[str], why: str) -> Plan:
    """The command as it is."""
    return Plan(words, {}, NOTHING, notes, [f"{why}: run without Tutti"])


# --- without a launcher ----------------------------------------------------------------------------------------------


def _by_environment(
    words: List[str],
    library: _Library,
    values: Dict[str, str],
    env: Mapping[str, str],
    notes: List[str],
    doubts: List[str],
    programs: Tuple[Program, ...] = (),
) -> Plan:
    """Hands the variables to whatever is started. programs: those that are known, and are all that is started."""
    runtimes = [path for program in programs for path in program.sanitizers]
    variables = {**values, "LD_PRELOAD": preload_of(library.path, runtimes, env.get("LD_PRELOAD"))}
    if not programs:
        for name, value in for_daemons(
            {"LD_PRELOAD": variables["LD_PRELOAD"], **_passed(values, env)}
        ).items():
            if name not in env:
                variables[name] = value
        variables[OPTIONS] = behind_others(env)
    return Plan(words, variables, ENVIRONMENT, [*notes, f"library: {library.path}"], doubts)


def _passed(values: Dict[str, str], env: Mapping[str, str]) -> Dict[str, str]:
    """The TUTTI_ variables that the ranks are to have."""
    return {**{name: value for name, value in env.items() if name.startswith(PREFIX)}, **values}


def _plan_single(
    words: List[str], at: int, library: _Library, values: Dict[str, str], env: Mapping[str, str]
) -> Plan:
    """at: where the program stands, behind wrappers."""
    program = inspect_program(words[at], env)
    notes = _notes([program])
    obstacle = _obstacle(program, library)
    if obstacle:
        return _aside(words, notes, f"'{program.name}': {obstacle}")
    sealed = next((reason for reason in map(seals, _tails(words, at)) if reason), None)
    doubts = [f"{sealed}: what it starts runs without Tutti"] if sealed else _doubts([program])
    if at == 0 and not program.opaque and program.abi:
        return _by_environment(
            words, library, values, env, [*notes, "no launcher: one rank"], doubts, (program,)
        )
    notes.append("no launcher: handed down to all that is started, by the environment")
    return _by_environment(words, library, values, env, notes, doubts)


def _tails(words: List[str], last: int) -> List[List[str]]:
    """The command line of each program in it, up to the one at `last`."""
    return [
        words[start:]
        for start in range(last + 1)
        if start == 0 or start == last or starts_others(words[start])
    ]


# --- with a launcher -------------------------------------------------------------------------------------------------


def _programs(contexts: List[Context], env: Mapping[str, str], doubts: List[str]) -> List[Optional[Program]]:
    """The program of each context, behind wrappers; None, and a doubt, for one that is not found here."""
    programs: List[Optional[Program]] = []
    for context in contexts:
        extra = context.value_of("path")
        where = {**env, "PATH": f"{extra}:{env.get('PATH', os.defpath)}"} if extra else env
        words = [context.program or "", *context.rest]
        at = started(words, where)
        try:
            program = inspect_program(words[at], where, context.value_of("wdir", "wd", "chdir", "D"))
            # What stands before it gets the variables first, and no sanitizer should be put into that.
            programs.append(program.with_changes(opaque=True) if at else program)
        except UserError as error:
            doubts.append(f"{error}; the launcher may know better")
            programs.append(None)
    return programs


def _mismatch(programs: List[Program], launcher: Launcher, word: str) -> Optional[str]:
    """Why these programs are no job of this launcher, if they are not."""
    telling = [program for program in programs if program.abi]
    for program in telling:
        if program.abi != telling[0].abi:
            return (
                f"'{telling[0].name}' was built for {ABI_NAMES[telling[0].abi]} and '{program.name}' for"
                f" {ABI_NAMES[program.abi]}: they cannot run in one job"
            )
    if telling and not launcher.starts(telling[0].abi) and not recognise(word).starts(telling[0].abi):
        return (
            f"'{telling[0].name}' was built for {ABI_NAMES[telling[0].abi]} ({telling[0].reason}), but '{word}' is the"
            f" launcher of {launcher.title}, which starts it as so many single ranks if at all (use its own mpirun)"
        )
    return None


def _other_pythons(
    contexts: List[Context], launcher: Launcher, word: str, env: Mapping[str, str]
) -> List[str]:
    """Of Pythons, what their mpi4py is for, if that is none of this launcher's MPI."""
    doubts = []
    for context in contexts:
        line = [context.program or "", *context.rest]
        path = find_program(line[started(line, env)], env)
        if not path or not is_python(path):
            continue
        from tutti.launch.python_mpi import mpi4py_of

        found = mpi4py_of(path, env)
        abi = abi_of_library(found[1]) if found else None
        if found and abi in ABI_NAMES and not launcher.starts(abi) and not recognise(word).starts(abi):
            doubts.append(
                f"the mpi4py of '{path}' was built for {ABI_NAMES[abi]} ({found[0]} needs {found[1]}), but '{word}' is"
                f" the launcher of {launcher.title}, which starts it as so many single ranks if at all (use its own"
                " mpirun)"
            )
    return doubts


def _plan_launcher(
    words: List[str],
    at: int,
    launcher: Launcher,
    library: _Library,
    values: Dict[str, str],
    env: Mapping[str, str],
) -> Plan:
    """at: where the launcher stands, behind wrappers."""
    contexts = parse_contexts(launcher, words[at + 1 :])
    doubts: List[str] = []
    found = _programs(contexts, env, doubts)
    programs = [program for program in found if program]
    notes = [*_notes(programs), f"launcher: {launcher.title}"]
    mismatch = _mismatch(programs, launcher, words[at])
    if mismatch:
        return _aside(words, notes, mismatch)
    doubts += _other_pythons(contexts, launcher, words[at], env)
    obstacles = [(program, _obstacle(program, library)) for program in programs]
    lines = [f"'{program.name}': {obstacle}" for program, obstacle in obstacles if obstacle]
    if lines and len(lines) == len(contexts):
        return _aside(words, notes, lines[0])
    notes.append(f"library: {library.path}")
    passed = _passed(values, env)
    variables = dict(values)
    if any(
        program is None or program.by_shell or (program.opaque and program.sanitizers) for program in found
    ):
        variables[OPTIONS] = passed[OPTIONS] = behind_others(env)
    runtimes = [() if program is None or program.opaque else program.sanitizers for program in found]
    preload = Preload(library.path, runtimes, env.get("LD_PRELOAD"))
    arguments = with_variables(launcher, contexts, preload, passed)
    doubts += _doubts([program for program, obstacle in obstacles if not obstacle])
    return Plan([*words[: at + 1], *arguments], variables, RANKS, notes, [*lines, *doubts])


def _launched(
    words: List[str], at: int, exact: bool, library: _Library, values: Dict[str, str], env: Mapping[str, str]
) -> Plan:
    """A command line with a launcher at `at`, of which not everything may be understood."""
    if any(word.startswith("--") for word in words[at + 1 :]):
        from tutti.launch.mistakes import behind_launcher

        mistake = behind_launcher(
            words, at, [find_program(word, env) is not None for word in words[at + 1 :]]
        )
        if mistake:
            raise UserError(mistake)
    try:
        launcher = (None if exact else glimpse(words[at])) or recognise(words[at])
        return _plan_launcher(words, at, launcher, library, values, env)
    except UserError as error:
        doubts = [
            f"{error}; what '{words[at]}' starts inherits Tutti by its environment, if it hands that on"
        ]
        if only_asks(words[at + 1 :]):
            doubts = []
        return _by_environment(words, library, values, env, [], doubts)


def _timed(words: List[str], plan_of: Callable[[List[str]], Plan]) -> Plan:
    """For `time`, which is a word of the shell's where there is no program of that name."""
    option = words[:1] if words[0] == "-p" else []
    plan = plan_of(words[len(option) :])
    inside = ["env", *(f"{name}={value}" for name, value in plan.variables.items())] if plan.variables else []
    shell = ["bash", "-c", " ".join(["time", *option, '"$@"']), "time"]
    return Plan([*shell, *inside, *plan.words], {}, plan.reach, plan.notes, plan.warnings)


def make_plan(
    words: List[str],
    library: Optional[str | os.PathLike[str]],
    values: Dict[str, str],
    environment: Mapping[str, str],
    exact: bool = False,
) -> Plan:
    """Decides what to execute for `words`, the user's own command line.

    library: to preload instead of Tutti's own. values: TUTTI_* variables to add. exact: ask launchers for their
    versions, which are only shown. Raises UserError if the library that was named cannot be used, or there is no such
    program.
    """
    if not words:
        raise UserError("nothing to run; try: tutti run mpirun -n 4 ./app")
    if words[0] == "time" and len(words) > 1 and find_program("time", environment) is None:
        return _timed(words[1:], lambda rest: make_plan(rest, library, values, environment, exact))
    at = started(words, environment)
    if looks_like_launcher(words[0]):
        if find_program(words[0], environment) is None:
            raise UserError(f"no launcher '{words[0]}' (not an executable file, and not found in PATH)")
        at = 0
    elif find_program(words[0], environment) is None:
        from tutti.launch.mistakes import not_found

        raise UserError(not_found(words[0]))
    try:
        path = os.path.realpath(library) if library is not None else places.find_preload()
        if path is None:
            return _aside(words, [], f"the library is not there ({places.remedy()})")
        preloaded = _Library(path)
    except UserError as error:
        if library is not None:
            raise
        return _aside(words, [], str(error))
    if looks_like_launcher(words[at]):
        return _launched(words, at, exact, preloaded, values, environment)
    return _plan_single(words, at, preloaded, values, environment)


# --- execution -------------------------------------------------------------------------------------------------------


def _as_before_python(variables: Dict[str, str]) -> None:
    """Undoes what the interpreter has changed for itself, and a program would inherit."""
    # The module signal takes ten times as long to load as this one, which is most of it.
    from _signal import SIG_DFL, SIGPIPE, SIGXFSZ, signal

    for number in (SIGPIPE, SIGXFSZ):
        signal(number, SIG_DFL)
    if variables.get("LC_CTYPE") in ("C.UTF-8", "C.utf8", "UTF-8"):
        try:
            with open("/proc/self/environ", "rb") as file:
                given = file.read().split(b"\0")
        except OSError:
            return
        if not any(word.startswith(b"LC_CTYPE=") for word in given):
            del variables["LC_CTYPE"]


def make_certain_plan(
    words: List[str],
    library: Optional[str | os.PathLike[str]],
    values: Dict[str, str],
    environment: Mapping[str, str],
) -> Plan:
    """As make_plan, for those who measure: raises UserError where the ranks would run without Tutti."""
    plan = make_plan(words, library, values, environment)
    if plan.reach != RANKS:
        raise UserError(
            plan.warnings[0] if plan.warnings else f"Tutti does not reach the ranks of '{words[0]}'"
        )
    return plan


def execute(plan: Plan) -> None:
    """Becomes the command, so that signals and the exit status are its own. Returns only by an exception."""
    path = find_program(plan.words[0], os.environ)
    if path is None:
        raise UserError(f"no program '{plan.words[0]}'")
    sys.stdout.flush()
    sys.stderr.flush()
    variables = {**os.environ, **plan.variables}
    _as_before_python(variables)
    try:
        os.execve(path, plan.words, variables)
    except OSError as error:
        import errno

        if error.errno != errno.ENOEXEC:
            raise UserError(f"cannot execute '{path}': {error.strerror}") from None
        # A script without a #! line: shells and launchers start it by sh.
        os.execve("/bin/sh", ["sh", path, *plan.words[1:]], variables)
