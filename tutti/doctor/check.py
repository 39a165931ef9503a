"""One finding of `tutti doctor`."""

from dataclasses import dataclass

OK, WARN, FAIL, UNKNOWN = "ok", "warn", "fail", "unknown"


@dataclass(frozen=True)
class Check:
    """What was looked at, what was found, what follows from it and what to do."""

    #: Stable, for scripts, e.g. "ptrace-scope".
    id: str
    title: str
    #: OK; WARN: works, but slower or not for everything; FAIL: something does not work at all; UNKNOWN.
    status: str
    found: str
    #: What it means for a program; empty if nothing does.
    consequence: str = ""
    #: What to type, or what to ask for; empty if there is nothing to put right.
    remedy: str = ""
