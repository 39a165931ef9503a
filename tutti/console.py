"""What commands print to: tables for people on standard output, a bar of progress on standard error."""

import contextlib
import copy
import sys
import threading
import time
from dataclasses import replace
from typing import Callable, Iterator, List, Sequence, Set

from rich.console import Console, ConsoleOptions, RenderResult
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from tutti.lines import LEAST_WIDTH, fitted

#: Columns of a pipe or a file, where nobody says how many there are.
WIDTH = 140
#: Of progress, where there is no terminal.
SECONDS_BETWEEN_LINES = 15.0


def for_output() -> Console:
    """The console of standard output."""
    if not sys.stdout.isatty():
        return Console(width=WIDTH)
    console = Console()
    return console if console.width >= LEAST_WIDTH else Console(width=LEAST_WIDTH)


def show_line(console: Console, text: str, style: str = "") -> None:
    """Sentences beside tables. In them paths stay whole."""
    width = console.width if console.is_terminal else None
    console.print(Text(fitted(text, width), style=style), soft_wrap=True)


class Fitting:
    """A table that leaves columns out where it would not fit otherwise, and says so."""

    def __init__(self, table: Table, less_important: Sequence[Sequence[int]]) -> None:
        """less_important: places of columns that go together, in the order in which they go."""
        self.table = table
        self.less_important = less_important

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = copy.copy(self.table)
        gone: Set[int] = set()
        unlimited = options.update(max_width=10_000)
        for columns in self.less_important:
            if console.measure(table, options=unlimited).maximum <= options.max_width:
                break
            gone.update(columns)
            # No lines between columns, either.
            table.box, table.pad_edge, table.collapse_padding = None, False, True
            table.caption = "more columns where there is room"
            kept = [each for place, each in enumerate(self.table.columns) if place not in gone]
            table.columns = [replace(each, _index=place) for place, each in enumerate(kept)]
        yield table


@contextlib.contextmanager
def busy(title: str) -> Iterator[Callable[[str], None]]:
    """On a terminal says what is being done while the block runs, if that takes a second and more. Told of another
    title, says that."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda title: None
        return
    status = console.status(title)
    late = threading.Timer(1.0, status.start)
    late.daemon = True
    late.start()
    try:
        yield status.update
    finally:
        late.cancel()
        late.join()
        status.stop()


@contextlib.contextmanager
def progress_bar(remaining: bool = False, lines: bool = False) -> Iterator[Callable[[str, float], None]]:
    """A bar on standard error while the block runs, told of the title and the fraction done. Where that is no terminal:
    nothing, or with `lines` a line now and then. remaining: show the time left, not the time spent."""
    console = Console(stderr=True)
    if not console.is_terminal:  # a bar that is switched off would still print an empty line
        yield _lines_now_and_then() if lines else lambda title, done: None
        return
    columns: List[ProgressColumn] = [
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:3.0f}%"),
        TimeRemainingColumn() if remaining else TimeElapsedColumn(),
    ]  # fmt: skip
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=1.0)
        yield lambda title, done: bar.update(task, description=title, completed=done)


def _lines_now_and_then() -> Callable[[str, float], None]:
    due = time.monotonic()

    def tell(title: str, done: float) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + SECONDS_BETWEEN_LINES
            print(f"tutti: {done:.0%}: {title}", file=sys.stderr, flush=True)

    return tell
