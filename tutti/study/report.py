"""What `tutti study` prints and writes: a table for each panel, JSON, CSV, a picture."""

import csv
import io
from dataclasses import asdict
from pathlib import Path
from typing import Any, Dict, List

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tutti.pictures import write_picture
from tutti.sizes import human_bytes
from tutti.study.catalogue import FIGURES, PAPERS, Figure, Panel
from tutti.study.rows import Row

SCHEMA = "tutti-study-1"


def show_list(console: Console) -> None:
    """All figures, by paper."""
    for paper, title in PAPERS.items():
        console.print(Text(title, style="bold"))
        table = Table(box=None, header_style="bold", pad_edge=False)
        for column in ("name", "", "shows", "how", "left out"):
            table.add_column(column, overflow="fold")
        for figure in FIGURES:
            if figure.paper == paper:
                table.add_row(
                    figure.name,
                    figure.number,
                    Text(figure.shows),
                    figure.how,
                    Text(figure.without, style="dim"),
                )
        console.print(table)


def listed() -> List[Dict[str, Any]]:
    """The same for scripts."""
    return [
        {
            "name": figure.name, "paper": PAPERS[figure.paper], "number": figure.number, "shows": figure.shows,
            "how": figure.how, "without": figure.without,
        }
        for figure in FIGURES
    ]  # fmt: skip


def document(figure: Figure, rows: List[Row], sentences: List[str]) -> Dict[str, Any]:
    """All of a figure."""
    about = next(each for each in listed() if each["name"] == figure.name)
    return {"schema": SCHEMA, **about, "rows": [asdict(row) for row in rows], "compared": sentences}


def as_csv(rows: List[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(Row.__dataclass_fields__), lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    return text.getvalue()


def _words_of_x(panel: Panel, x: Any) -> str:
    return human_bytes(x) if panel.x == "bytes" else str(x)


def _digits(value: float) -> str:
    return f"{value:.3g}" if not 1000 <= abs(value) < 1e7 else f"{value:.0f}"


def show(figure: Figure, rows: List[Row], sentences: List[str], console: Console) -> None:
    """Tables: x by lines."""
    console.print(Text(f"{figure.number} of {PAPERS[figure.paper]}", style="bold"))
    console.print(Text(f"{figure.shows}; {figure.how}"))
    for panel in figure.panels:
        some = [row for row in rows if row.panel == panel.title]
        lines = list(dict.fromkeys(row.line for row in some))
        values = {(row.line, row.x): row for row in some}
        table = Table(box=None, header_style="bold", pad_edge=False, title=panel.title, title_justify="left")
        units = {row.unit for row in some}
        table.add_column(f"{panel.x}; {', '.join(sorted(units))}")
        for line in lines:
            table.add_column(line, justify="right")
        for x in dict.fromkeys(row.x for row in some):
            found = [values.get((line, x)) for line in lines]
            table.add_row(
                _words_of_x(panel, x), *["" if row is None else _digits(row.value) for row in found]
            )
        console.print()
        console.print(table if some else Text(f"{panel.title}: nothing was measured", style="yellow"))
    if figure.without:
        console.print(Text(f"\nLeft out, or otherwise: {figure.without}.", style="dim"))
    for sentence in sentences:
        console.print(Text(sentence))


def draw(figure: Figure, rows: List[Row], path: Path) -> None:
    """A panel for each of the figure's, three beside each other."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    beside = min(3, len(figure.panels))
    height = -(-len(figure.panels) // beside)
    picture, grid = pyplot.subplots(
        height, beside, figsize=(4.8 * beside, 3.8 * height + 0.6), squeeze=False, layout="constrained"
    )
    for axes in grid.flat[len(figure.panels) :]:
        axes.set_axis_off()
    for axes, panel in zip(grid.flat, figure.panels):
        some = [row for row in rows if row.panel == panel.title]
        _DRAWN[panel.form](axes, panel, some)
        axes.set_title(panel.title, fontsize=9)
    picture.suptitle(f"{figure.name}, {figure.number}: {figure.shows} ({figure.how})", fontsize=10, wrap=True)
    write_picture(picture, path, 130)
    pyplot.close(picture)


def _unit(panel: Panel, rows: List[Row]) -> str:
    return f"{panel.y} ({rows[0].unit})" if rows and rows[0].unit != panel.y else panel.y


def _draw_lines(axes: Any, panel: Panel, rows: List[Row]) -> None:
    xs = list(dict.fromkeys(row.x for row in rows))
    for number, line in enumerate(dict.fromkeys(row.line for row in rows)):
        points = [row for row in rows if row.line == line]
        axes.plot(
            [row.x for row in points], [row.value for row in points], marker="osv^D<>pPXh*"[number % 12],
            markersize=4, linewidth=1.2, label=line,
        )  # fmt: skip
    if len(xs) > 1:
        axes.set_xscale("log", base=2)
    values = [row.value for row in rows if row.value > 0]
    if values and max(values) > 10 * min(values):
        axes.set_yscale("log")
    axes.set_xticks(xs, [_words_of_x(panel, x) for x in xs], rotation=45, fontsize=7)
    axes.set_xticks([], minor=True)
    axes.set_xlabel(panel.x, fontsize=8)
    axes.set_ylabel(_unit(panel, rows), fontsize=8)
    axes.grid(True, which="major", alpha=0.3)
    if rows:
        axes.legend(fontsize=7)


def _draw_bars(axes: Any, panel: Panel, rows: List[Row]) -> None:
    xs, lines = list(dict.fromkeys(row.x for row in rows)), list(dict.fromkeys(row.line for row in rows))
    width = 0.8 / max(len(lines), 1)
    for number, line in enumerate(lines):
        points = [row for row in rows if row.line == line]
        places = [xs.index(row.x) - 0.4 + (number + 0.5) * width for row in points]
        axes.bar(places, [row.value for row in points], width, label=line)
    axes.set_xticks(range(len(xs)), [_words_of_x(panel, x) for x in xs], fontsize=7)
    if panel.y == "parameters":
        axes.set_yscale("log")
        axes.tick_params(axis="x", rotation=45)
    axes.set_ylabel(_unit(panel, rows), fontsize=8)
    if rows:
        axes.legend(fontsize=7)


def _draw_map(axes: Any, panel: Panel, rows: List[Row]) -> None:
    """From each core to each other; what was not measured stays white."""
    cores = sorted({row.x for row in rows} | {int(row.line.split()[-1]) for row in rows})
    values = [[float("nan")] * len(cores) for _ in cores]
    for row in rows:
        values[cores.index(int(row.line.split()[-1]))][cores.index(row.x)] = row.value
    if rows:
        axes.figure.colorbar(axes.imshow(values, origin="lower"), ax=axes, label=_unit(panel, rows))
    axes.set_xlabel(panel.x, fontsize=8)
    axes.set_ylabel("to", fontsize=8)
    axes.set_xticks(range(len(cores)), cores, fontsize=7)
    axes.set_yticks(range(len(cores)), cores, fontsize=7)


_DRAWN = {"lines": _draw_lines, "bars": _draw_bars, "map": _draw_map}
