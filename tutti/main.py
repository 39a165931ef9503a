"""Where `tutti` begins and ends: signals, and what a command that cannot go on says and returns.

Little is imported before the signals are taken: importing the commands takes longer than a hasty Ctrl-C. `tutti run`
needs none of them.
"""

from __future__ import annotations

import os
import sys

from tutti.errors import INTERRUPTED, MISTAKE, UserError
from tutti.lines import say, tell
from tutti.places import is_checkout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Optional


def _take_signals() -> None:
    """SIGTERM, and the end of the terminal, stop a command as Ctrl-C does, so that its ranks end with it. What is
    ignored already (nohup) stays so."""
    import signal

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, stop)


def _give_up_output() -> None:
    """What could not be written is not tried again when the interpreter ends."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.close(nothing)


def _prepare_output() -> None:
    """Names of files may hold any bytes, and a terminal may lack letters: neither is a reason to fail."""
    if sys.stdout is None:
        raise UserError("standard output is closed")
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    sys.stdout.reconfigure(errors="surrogateescape" if unicode else "backslashreplace")  # type: ignore[attr-defined]


def _words_for(error: Any, words: List[str], command: Any) -> str:
    """What is said of a command line that cannot be read: what to type, if that can be guessed."""
    import click

    from tutti.launch import mistakes

    guess = None
    if isinstance(error, click.NoSuchOption) and words[0] == "run":
        guess = mistakes.without_launcher(words[1:])
    elif isinstance(error, click.NoSuchOption) and words[0].startswith("-"):
        guess = mistakes.before_command(words, list(command.commands))
    elif isinstance(error, click.MissingParameter) and words[0] == "run":
        guess = "nothing to run; type: tutti run mpirun -n 2 ./app"
    if guess:
        return guess
    path = error.ctx.command_path if error.ctx else "tutti"
    text = error.format_message().rstrip(".").replace(" Did you mean", "; did you mean")
    text, _, several = text.partition(" (Possible options: ")
    text += f"; did you mean {several.rstrip(')')}?" if several else ""
    return f"{text[:1].lower()}{text[1:]} ({path} --help lists what there is)"


def _run(words: List[str]) -> int:
    """Carries out one command line; returns its exit status. Raises UserError and OSError."""
    import click
    import typer.main

    from tutti.cli import app

    _prepare_output()
    if not words:
        from tutti.welcome import welcome

        tell(welcome())
        return 0
    command: Any = typer.main.get_command(app)
    try:
        with command.make_context("tutti", list(words)) as context:
            command.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # of Click 8.2 on
            print(error.format_message())
            return 0
        raise UserError(_words_for(error, words, command)) from None
    except click.ClickException as error:
        raise UserError(error.format_message()) from None
    finally:
        sys.stdout.flush()
    return 0


def _start_program(words: List[str]) -> bool:
    """`tutti run`, if these are its words and plain; signals end it as they would the program that it becomes."""
    from tutti.launch.plain_command import carry_out, read

    options = read(words[1:]) if words[:1] == ["run"] else None
    if options is None:
        return False
    if options.dry_run:
        _prepare_output()
    carry_out(options)
    sys.stdout.flush()
    return True


def main(words: Optional[List[str]] = None) -> None:
    """Entry point. A mistake of the user is one line and status 2; so is output that cannot be written."""
    try:
        words = sys.argv[1:] if words is None else words
        if _start_program(words):
            status = 0
        else:
            _take_signals()
            status = _run(words)
    except UserError as error:
        say(str(error))
        status = MISTAKE
    except ModuleNotFoundError as error:
        how = "run ./dev setup" if is_checkout() else f"pip install {error.name}"
        say(f"the Python package {error.name} is missing; {how}")
        status = MISTAKE
    except KeyboardInterrupt:
        say("interrupted")
        status = INTERRUPTED
    except BrokenPipeError:  # whoever read it has seen enough
        _give_up_output()
        status = 1
    except OSError as error:
        where = error.filename or "standard output"
        say(f"{where} cannot be used: {error.strerror or error}")
        _give_up_output()
        status = MISTAKE
    sys.exit(status)
