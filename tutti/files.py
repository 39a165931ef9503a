"""Files that commands write and read. What is wrong with one is a UserError: one line that names it."""

import contextlib
import json
import os
import stat
import tempfile
from pathlib import Path
from typing import Any, Callable

from tutti.errors import UserError

#: What Matplotlib is asked for.
PICTURES = (".png", ".svg", ".pdf")


def user_folder() -> Path:
    """What is measured for the user, where the library looks for it."""
    configuration = os.environ.get("XDG_CONFIG_HOME", "")
    base = Path(configuration) if configuration.startswith("/") else Path.home() / ".config"
    return base / "tutti"


def _cannot(path: Path, problem: OSError) -> UserError:
    return UserError(f"{path} cannot be written: {problem.strerror or problem}")


def _is_special(path: Path) -> bool:
    """Whether it is a device or a pipe, which is written to, never replaced."""
    return path.exists() and not path.is_dir() and not stat.S_ISREG(path.stat().st_mode)


def write(path: Path, text: str) -> None:
    """Whoever reads the file meanwhile sees the old one or the new one; its folder is made. Raises UserError."""
    # A link stays one: what it points to is replaced.
    target = Path(os.path.realpath(path))
    temporary = ""
    try:
        if _is_special(target):
            target.write_text(text, encoding="utf-8")
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except BaseException as problem:
        with contextlib.suppress(OSError):
            if temporary:
                os.unlink(temporary)
        if isinstance(problem, OSError):
            raise _cannot(path, problem) from problem
        raise


def draw(path: Path, picture: Callable[[Path], Any]) -> Any:
    """Has `picture` written to a path; what it returns. Raises UserError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return picture(path)
    except ImportError:
        raise UserError("drawing needs Matplotlib; install it with pip install matplotlib") from None
    except OSError as problem:
        raise _cannot(path, problem) from problem


def check_output(path: Path) -> None:
    """Raises UserError if a file could not be written there: before anything is measured for it."""
    target = Path(os.path.realpath(path))
    try:
        if target.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        if _is_special(target):
            with open(target, "ab"):
                return
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as problem:
        raise _cannot(path, problem) from problem


def check_picture(path: Path) -> None:
    """As check_output, and whether its name says what kind of picture it is to be."""
    if path.suffix.lower() not in PICTURES:
        raise UserError(f"{path}: expected a name that ends in {', '.join(PICTURES[:-1])} or {PICTURES[-1]}")
    check_output(path)


def read_json(path: Path) -> Any:
    """The file's value. Raises UserError if it cannot be read or is no JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise UserError(f"{path}: it is no JSON, or cut off") from None
