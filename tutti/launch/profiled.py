"""`tutti run --profile`: the command as a child, and afterwards the page. The exit status is the command's."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from tutti.errors import UserError
from tutti.launch.plan import Plan, execute


def record_of(page: Path) -> Path:
    """Where ranks write what the page is made of. Raises UserError."""
    record = Path(os.path.abspath(page)).with_suffix(".profile")
    if record == Path(os.path.abspath(page)):
        raise UserError(
            f"--profile names the page, {page.with_suffix('.html')} for instance; the record is written beside it"
        )
    if not os.access(record.parent, os.W_OK):
        raise UserError(f"cannot write into '{record.parent}'")
    return record


#: What is handed on to the command.
_HANDED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def _start(plan: Plan) -> int:
    """The child's process. What of _HANDED_ON comes before _wait() is held until then."""
    sys.stdout.flush()
    sys.stderr.flush()
    held = signal.pthread_sigmask(signal.SIG_BLOCK, (*_HANDED_ON, signal.SIGINT))
    child = os.fork()
    if child:
        return child
    try:
        # As it was before: what is held comes now, and ends the child.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
        execute(plan)
    except UserError as error:
        print(f"tutti: {error}", file=sys.stderr)
    except BaseException as error:
        print(f"tutti: cannot execute: {error}", file=sys.stderr)
    finally:
        os._exit(2)


def _wait(child: int) -> int:
    """Its status, as waitpid has it. Ctrl-C goes to both; what is sent to this process alone is handed on."""

    def hand_on(number: int, _: object) -> None:
        with suppress(ProcessLookupError):
            os.kill(child, number)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in _HANDED_ON:
        signal.signal(number, hand_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (*_HANDED_ON, signal.SIGINT))
    return os.waitpid(child, 0)[1]


def _make_page(record: Path, page: Path) -> None:
    if not record.exists():
        print(
            "tutti: no profile: no job of this run has come to MPI_Finalize with Tutti (tutti doctor looks why)",
            file=sys.stderr,
        )
        return
    from tutti.profile.command import convert

    try:
        convert(record, page, None, False)
    except UserError as error:
        print(f"tutti: {error}", file=sys.stderr)
        return
    print(
        f"tutti: profile: {page} (tutti profile {os.path.relpath(record)} --trace FILE: for Perfetto)",
        file=sys.stderr,
    )


def carry_out(plan: Plan, page: Path, record: Path) -> None:
    """Ends the process."""
    with suppress(FileNotFoundError):
        record.unlink()
    status = _wait(_start(plan))
    _make_page(record, page)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        with suppress(OSError):  # of SIGKILL nothing can be set
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    sys.stderr.flush()
    os._exit(os.waitstatus_to_exitcode(status))
