"""Programs that start others: which the one is that a command line comes down to."""

from __future__ import annotations

import os

from tutti.launch.loader import find_program

TYPE_CHECKING = False
if TYPE_CHECKING:  # `tutti run` waits for every import
    from typing import List, Mapping, Optional

#: They start the program that their own command line names, as words of it.
_WRAPPERS = frozenset(
    """
    env time timeout nice ionice nohup setsid stdbuf unbuffer numactl numad taskset chrt setarch setpriv prlimit
    hwloc-bind valgrind gdb cgdb lldb strace ltrace perf vtune amplxe-cl likwid-pin likwid-perfctr rr catchsegv
    eatmydata
    """.split()
)

#: They start what stands in a file, in one word, or what they decide.
_STARTERS = frozenset(
    """
    sh bash dash zsh ksh mksh fish csh tcsh busybox make gmake ninja ctest cmake pytest tox nox xargs parallel watch
    script hyperfine ch-run perl ruby lua julia R Rscript octave matlab node java tclsh expect awk gawk sbatch salloc
    qsub bsub flux snakemake nextflow reframe jupyter ipython screen tmux tutti
    """.split()
)

#: They do not hand their environment on, or not to where the ranks are.
_SEALED = frozenset("sudo su doas runuser pkexec ssh rsh docker podman nerdctl kubectl chroot".split())


def is_python(word: str) -> bool:
    return os.path.basename(word).rstrip("0123456789.") in ("python", "pypy")


def is_wrapper(word: str) -> bool:
    """Does a program of this name start another one that its command line names?"""
    return os.path.basename(word) in _WRAPPERS


def starts_others(word: str) -> bool:
    """Is it in the nature of a program of this name to start or to load others?"""
    base = os.path.basename(word)
    return base in _WRAPPERS or base in _STARTERS or is_python(base)


def seals(words: List[str]) -> Optional[str]:
    """Why the first of these does not hand the environment on to what it starts, or None if nothing is known."""
    base = os.path.basename(words[0])
    if base in _SEALED:
        return f"'{words[0]}' does not hand the environment on"
    if base == "env":
        for at, word in enumerate(words[1:], 1):
            if word in ("-i", "-", "--ignore-environment"):
                return f"'{words[0]} {word}' takes the environment away"
            if word in ("-uLD_PRELOAD", "--unset=LD_PRELOAD") or words[at : at + 2] == ["-u", "LD_PRELOAD"]:
                return f"'{words[0]}' takes LD_PRELOAD away"
            if not word.startswith("-") and "=" not in word:
                break
    return None


def started(words: List[str], environment: Mapping[str, str]) -> int:
    """Where in a command line the program stands that the wrappers at its beginning start; 0 if there are none."""
    at = 0
    while is_wrapper(words[at]):
        for following in range(at + 1, len(words)):
            word = words[following]
            if not word.startswith("-") and "=" not in word and find_program(word, environment):
                at = following
                break
        else:
            return at
    return at
