"""MPI launchers: which one it is, where the programs stand in its command line, how it passes variables on."""

from __future__ import annotations

import mmap
import os

from tutti.errors import UserError
from tutti.launch.elf import NotElf, read_elf
from tutti.launch.launcher_options import HYDRA_OPTIONS, OPENMPI_OPTIONS, SLURM_OPTIONS, Grammar
from tutti.launch.loader import find_program
from tutti.launch.record import Record
from tutti.launch.sanitizers import preload_of

TYPE_CHECKING = False
if TYPE_CHECKING:  # `tutti run` waits for every import
    from typing import Any, Callable, ClassVar, Dict, List, Optional, Tuple

OPENMPI, HYDRA, SLURM = "openmpi", "hydra", "slurm"

#: Names under which launchers go; a word of this kind is never taken for a program of the user's.
_LAUNCHER_NAMES = (
    "mpirun", "mpiexec", "mpirun_rsh", "orterun", "prterun", "prte", "prun", "srun", "aprun", "jsrun", "ibrun",
    "palsrun", "yhrun", "oshrun",
)  # fmt: skip


class Launcher(Record):
    """A launcher that has been recognised.

    kind: OPENMPI, HYDRA or SLURM, how its command line is read.
    title: what to call it in messages, e.g. "Open MPI 5.0.11".
    abi: of the programs it starts, or None if it can start any (srun).
    major: version, 0 if unknown.
    """

    FIELDS = ("kind", "title", "abi", "major")
    DEFAULTS: ClassVar[Dict[str, Any]] = {"major": 0}

    @property
    def grammar(self) -> Grammar:
        return {OPENMPI: OPENMPI_OPTIONS, HYDRA: HYDRA_OPTIONS, SLURM: SLURM_OPTIONS}[self.kind]

    def starts(self, abi: str) -> bool:
        """Can it start programs of this ABI?"""
        if self.abi is None or abi == self.abi:
            return True
        # MPICH and Intel MPI bring libmpi_abi and start it with the same process manager; Open MPI does from 6 on.
        return abi == "abi" and (self.kind == HYDRA or self.major >= 6)


def looks_like_launcher(name: str) -> bool:
    """Does a word of a command line look like a launcher, rather than a program of the user's?"""
    base = os.path.basename(name)
    return any(
        base == known or base.startswith((f"{known}.", f"{known}-", f"{known}_")) for known in _LAUNCHER_NAMES
    )


def _version_output(path: str) -> str:
    import subprocess

    # Intel's mpirun is a script that looks for its parts in PATH, even to say its version.
    environment = {**os.environ, "PATH": f"{os.path.dirname(path)}:{os.environ.get('PATH', os.defpath)}"}
    try:
        done = subprocess.run(
            [path, "--version"],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=20,
            errors="replace",
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout + done.stderr


def _find_launcher(name: str) -> str:
    path = find_program(name, os.environ)
    if path is None:
        raise UserError(f"no launcher '{name}' (not an executable file, and not found in PATH)")
    return path


def recognise(name: str, version_of: Callable[[str], str] = _version_output) -> Launcher:
    """Asks a launcher what it is. Raises UserError if it cannot be found or is not known."""
    import re

    path = _find_launcher(name)
    text = version_of(path)
    base = os.path.basename(name)
    version = re.search(r"\d+(\.\d+)+\S*", text)
    number = version.group(0) if version else ""
    major = int(number.split(".")[0]) if number else 0
    if "Intel(R) MPI" in text:
        year = re.search(r"Version (\S+)", text)
        return Launcher(HYDRA, f"Intel MPI {year.group(1) if year else ''}".strip(), "mpich")
    if "HYDRA" in text:
        return Launcher(HYDRA, f"MPICH (Hydra) {number}".strip(), "mpich", major)
    if "Open MPI" in text or "OpenRTE" in text:
        return Launcher(OPENMPI, f"Open MPI {number}".strip(), "openmpi", major)
    if "PRRTE" in text or re.fullmatch(r"prterun|prte|prun", base):
        # PRRTE counts its own versions; it starts Open MPI 5 and later.
        return Launcher(OPENMPI, f"PRRTE {number}".strip(), "openmpi", 5)
    if text.lower().startswith("slurm") or base == "srun":
        return Launcher(SLURM, f"Slurm {number}".strip(), None, major)
    raise UserError(
        f"unknown launcher '{name}': its --version speaks neither of Open MPI, Hydra (MPICH, Intel MPI) nor Slurm"
    )


def _contains(path: str, *words: bytes) -> List[bool]:
    """Which of these words stand in a file; none in one that cannot be read."""
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return [data.find(word) >= 0 for word in words]
    except (OSError, ValueError):
        return [False] * len(words)


def glimpse(name: str) -> Optional[Launcher]:
    """What a launcher is by its file, without its version, which is quicker than to ask it; None if that does not tell.

    Raises UserError if there is no such launcher.
    """
    path = os.path.realpath(_find_launcher(name))
    hydra, intel, by_script = _contains(path, b"HYDRA build details", b"Intel(R) MPI", b"I_MPI_MPIRUN")
    if by_script or (hydra and intel):
        return Launcher(HYDRA, "Intel MPI", "mpich")
    if hydra:
        return Launcher(HYDRA, "MPICH (Hydra)", "mpich")
    try:
        needed = read_elf(path).needed
    except (OSError, NotElf):
        return None
    if any(library.startswith("libslurm") for library in needed) or os.path.basename(path) == "srun":
        return Launcher(SLURM, "Slurm", None)
    runtime = any(library.startswith(("libopen-rte.", "libprrte.")) for library in needed)
    # Open MPI 5's mpirun is a small program that starts the prterun of its installation.
    if runtime or os.path.isfile(os.path.join(os.path.dirname(path), "ompi_info")):
        return Launcher(OPENMPI, "Open MPI", "openmpi")
    return None


class Context:
    """One program of the command line: `[options] program [arguments]`, between colons."""

    def __init__(self) -> None:
        self.options: List[str] = []
        self.program: Optional[str] = None
        self.rest: List[str] = []

    def value_of(self, *names: str) -> Optional[str]:
        """The value of the first of these options (without dashes) that is given, or None."""
        for at, word in enumerate(self.options):
            name, equals, value = word.lstrip("-").partition("=")
            if word.startswith("-") and name in names:
                return value if equals else next(iter(self.options[at + 1 : at + 2]), None)
        return None


def _option_width(launcher: Launcher, words: List[str], at: int) -> int:
    """How many words the option at `at` takes, itself included. An unknown one is judged by what follows it."""
    grammar = launcher.grammar
    word = words[at]
    name = word.lstrip("-")
    if name in grammar.indirect or name.split("=")[0] in grammar.indirect:
        raise UserError(f"{word} names a file with the programs to start, which is not read here")
    if launcher.kind == SLURM and not word.startswith("--"):
        return _short_width(grammar, name)
    if "=" in name:
        return 1
    if name in grammar.arguments:
        return 1 + grammar.arguments[name]
    if name in grammar.flags or at + 1 >= len(words) or words[at + 1].startswith("-"):
        return 1
    return 1 if find_program(words[at + 1], os.environ) else 2


def _short_width(grammar: Grammar, letters: str) -> int:
    """srun's one-letter options: -l, -n4, -n 4, -ln4."""
    for index, letter in enumerate(letters):
        if letter in grammar.short:
            return 2 if index == len(letters) - 1 else 1
    return 1


def parse_contexts(launcher: Launcher, words: List[str]) -> List[Context]:
    """Splits what follows the launcher's name into contexts. Raises UserError where a program is missing."""
    contexts = [Context()]
    at = 0
    while at < len(words):
        context = contexts[-1]
        word = words[at]
        if word == ":":
            contexts.append(Context())
            at += 1
        elif context.program is not None:
            context.rest.append(word)
            at += 1
        elif word == "--":
            context.options.append(word)
            at += 1
            if at < len(words):
                context.program = words[at]
                at += 1
        elif word.startswith("-") and len(word) > 1:
            width = _option_width(launcher, words, at)
            context.options += words[at : at + width]
            at += width
        else:
            context.program = word
            at += 1
    for index, context in enumerate(contexts):
        if context.program is None:
            where = f" in part {index + 1} (after ':')" if index else ""
            raise UserError(f"no program to start{where}: the command line ends after the launcher's options")
    return contexts


def _take_openmpi(options: List[str], name: str) -> Tuple[List[str], Optional[str], bool]:
    """Removes `-x name[=value]`. Returns the rest, the value (None: the environment's), and whether it was there."""
    rest: List[str] = []
    value: Optional[str] = None
    found = False
    at = 0
    while at < len(options):
        pair = options[at + 1] if at + 1 < len(options) else ""
        if options[at] in ("-x", "--x") and pair.split("=", 1)[0] == name:
            found = True
            value = pair.split("=", 1)[1] if "=" in pair else None
            at += 2
        else:
            rest.append(options[at])
            at += 1
    return rest, value, found


def _take_hydra(options: List[str], name: str, *kinds: str) -> Tuple[List[str], Optional[str], bool]:
    """As _take_openmpi, for `-genv name value` and `-env name value`, or one of these kinds only."""
    rest: List[str] = []
    value: Optional[str] = None
    found = False
    at = 0
    while at < len(options):
        if options[at].lstrip("-") in (kinds or ("genv", "env")) and options[at + 1 : at + 2] == [name]:
            found = True
            value = options[at + 2] if at + 2 < len(options) else None
            at += 3
        else:
            rest.append(options[at])
            at += 1
    return rest, value, found


class Preload(Record):
    """What goes into LD_PRELOAD.

    library: ours. runtimes: those of the sanitizers of each program. inherited: the user's own LD_PRELOAD.
    """

    FIELDS = ("library", "runtimes", "inherited")

    def value(self, index: int, theirs: Optional[str]) -> str:
        """For the program of that number. theirs: what the command line has for it, instead of what is inherited."""
        return preload_of(self.library, self.runtimes[index], theirs or self.inherited)


def _openmpi_words(contexts: List[Context], preload: Preload, names: List[str]) -> List[List[str]]:
    lines = []
    for index, context in enumerate(contexts):
        options, value, _ = _take_openmpi(context.options, "LD_PRELOAD")
        ours = ["-x", f"LD_PRELOAD={preload.value(index, value)}"]
        given = {
            options[at + 1].split("=")[0] for at, word in enumerate(options[:-1]) if word in ("-x", "--x")
        }
        for name in names:
            # By name: the value comes from the launcher's environment, so no character of it can be misread.
            if name not in given:
                ours += ["-x", name]
        lines.append(ours + options)
    return lines


def _hydra_words(contexts: List[Context], preload: Preload, values: Dict[str, str]) -> List[List[str]]:
    lines = []
    of_all = None
    for context in contexts:
        options, value, _ = _take_hydra(context.options, "LD_PRELOAD", "genv")
        of_all = value or of_all
        lines.append(options)
    for index, options in enumerate(lines):
        options, value, _ = _take_hydra(options, "LD_PRELOAD", "env")
        ours: List[str] = []
        if index == 0:
            ours += ["-genv", "LD_PRELOAD", preload.value(0, of_all)]
            for name, text in values.items():
                if not _take_hydra(options, name)[2]:
                    ours += ["-genv", name, text]
        here = preload.value(index, value or of_all)
        if here != preload.value(0, of_all):
            ours += ["-env", "LD_PRELOAD", here]
        lines[index] = ours + options
    return lines


def _slurm_words(contexts: List[Context], preload: Preload, names: List[str]) -> List[List[str]]:
    lines = []
    # What srun goes by without the option; sbatch --export=NONE sets it in the job.
    usual = os.environ.get("SLURM_EXPORT_ENV") or "ALL"
    for index, context in enumerate(contexts):
        options: List[str] = []
        export = usual
        at = 0
        while at < len(context.options):
            word = context.options[at]
            if word.startswith("--export="):
                export = word.split("=", 1)[1]
                at += 1
            elif word == "--export" and at + 1 < len(context.options):
                export = context.options[at + 1]
                at += 2
            else:
                options.append(word)
                at += 1
        kept = [part for part in export.split(",") if part and not part.startswith("LD_PRELOAD=")]
        theirs = [part.split("=", 1)[1] for part in export.split(",") if part.startswith("LD_PRELOAD=")]
        if kept in (["NONE"], ["NIL"]):
            kept = []
        if "ALL" not in kept:
            kept += [name for name in names if name not in kept]
        value = preload.value(index, theirs[0] if theirs else None)
        lines.append([f"--export={','.join([*kept, 'LD_PRELOAD=' + value])}", *options])
    return lines


def with_variables(
    launcher: Launcher, contexts: List[Context], preload: Preload, values: Dict[str, str]
) -> List[str]:
    """The words after the launcher's name, such that every rank gets LD_PRELOAD and `values`.

    values: TUTTI_* and the like; they must be in the environment of the launcher as well.
    """
    names = list(values)
    if launcher.kind == OPENMPI:
        lines = _openmpi_words(contexts, preload, names)
    elif launcher.kind == HYDRA:
        lines = _hydra_words(contexts, preload, values)
    else:
        lines = _slurm_words(contexts, preload, names)
    words: List[str] = []
    for index, (context, options) in enumerate(zip(contexts, lines)):
        words += [":"] if index else []
        words += [*options, context.program or "", *context.rest]
    return words


def only_asks(words: List[str]) -> bool:
    """Do the words after a launcher's name ask it something, and start nothing?"""
    return bool(words) and words[0] in (
        "--help",
        "-help",
        "-h",
        "--version",
        "-version",
        "-V",
        "-info",
        "--info",
    )


# A value with other characters would be taken apart by the shell that starts a daemon on another node.
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,=+@%-")


def for_daemons(variables: Dict[str, str]) -> Dict[str, str]:
    """Variables of Open MPI's mpirun, wherever it is started, by which ranks on other nodes get these variables, too.

    On its own node the ranks inherit the mpirun's environment, on others that of a daemon, to which ssh passes none.
    There is `mca_base_env_list`, but in Open MPI 4 it excludes -x. So the daemons are started by env.
    """
    plain = [f"{name}={value}" for name, value in variables.items() if set(f"{name}{value}") <= _PLAIN]
    start = " ".join(["env", *plain])
    return {
        "OMPI_MCA_orte_launch_agent": f"{start} orted",
        "PRTE_MCA_prte_launch_agent": f"{start} prted",
    }
