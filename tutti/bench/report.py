"""The results of `tutti bench` as tables and as a picture."""

import io
import statistics
from pathlib import Path
from typing import Any, Dict, List

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from tutti.bench.choice import choices_of, report, summary
from tutti.bench.compare import comparison_plots, comparison_tables
from tutti.bench.host_knobs import DEFAULT
from tutti.bench.runs import Cell, Place, geometric_means, place_of
from tutti.bench.words import AT_ONCE, MESSAGES
from tutti.console import WIDTH, Fitting
from tutti.pictures import write_picture
from tutti.sizes import human_bytes


def _ratio(value: float) -> str:
    """A speed-up, marked if the host was faster."""
    return f"{value:.2f}" if value >= 1 else f"[bold red]{value:.2f} slower[/]"


def _microseconds(value: object) -> str:
    return f"{float(value):.2f}" if isinstance(value, (int, float)) else ""


def _floor_text(floor: object) -> str:
    if isinstance(floor, dict):
        return ", ".join(f"{name[: -len('_us')]} {_microseconds(floor[name])}" for name in sorted(floor))
    return _microseconds(floor)


def _rate(cell: Cell, side: str) -> str:
    """GB (10^9 bytes) that pass between two ranks in a second."""
    at_once, microseconds = AT_ONCE.get(str(cell["collective"])), float(cell[f"{side}_us"] or 0)
    return f"{at_once * int(cell['bytes']) / microseconds / 1000:.2f}" if at_once and microseconds else ""


def panels(cells: List[Cell]) -> Dict[Place, List[Cell]]:
    """The cells by host, ranks and kind of buffers."""
    found: Dict[Place, List[Cell]] = {}
    for cell in cells:
        found.setdefault(place_of(cell), []).append(cell)
    return found


def title_of(place: Place, titles: Dict[str, str]) -> str:
    """ "MPICH, 2 ranks", and what the buffers are if they are not the usual ones."""
    host, ranks, buffers, cores = place
    kind = f", {buffers} buffers" if buffers != "window" else ""
    kind += f", {cores} cores" if cores else ""
    return f"{titles.get(host, host)}, {ranks} ranks{kind}"


def result_tables(cells: List[Cell], titles: Dict[str, str]) -> List[Fitting]:
    """One table for each host and number of ranks; times are in microseconds, of the slowest rank: what a call costs
    the program, and what lies between its entry and exit."""
    tables = []
    for place, rows in panels(cells).items():
        of_messages = all(cell["collective"] in MESSAGES for cell in rows)
        costs = "message" if of_messages else "call"
        table = Table(title=f"{title_of(place, titles)} (cost of a {costs} in us)", title_justify="left")
        for name in (
            "messages" if of_messages else "collective",
            "size",
            "MPI",
            "Tutti",
            "speed-up",
            "+-%",
            "inside: MPI",
            "Tutti",
            *(("GB/s: MPI", "Tutti") if of_messages else ("algorithm", "memory")),
            "result",
        ):
            words = ("collective", "messages", "algorithm", "memory", "result")
            table.add_column(name, justify="left" if name in words else "right")
        with_floor = any(cell.get("floor_us") is not None for cell in rows)
        if with_floor:
            table.add_column("floor", justify="right")
        with_overlap = any("host_overlap_pct" in cell for cell in rows)
        if with_overlap:
            table.add_column("overlap: MPI", justify="right")
            table.add_column("Tutti", justify="right")
        with_knobs = any("host_knob" in cell for cell in rows)
        if with_knobs:
            table.add_column("MPI set to")
        before = ""
        for cell in rows:
            if before and cell["collective"] != before:
                table.add_section()
            before = str(cell["collective"])
            checked = "right" if cell.get("checked") else "[bold red]not checked[/]"
            line = [before, human_bytes(int(cell["bytes"])), _microseconds(cell["host_us"])]
            line += [_microseconds(cell["tutti_us"]), _ratio(float(cell["ratio"]))]
            spread = cell.get("spread_pct")
            line += [f"{float(spread):.0f}" if spread is not None else ""]
            line += [_microseconds(cell.get(f"{side}_inside_us")) for side in ("host", "tutti")]
            if of_messages:
                line += [_rate(cell, "host"), _rate(cell, "tutti"), checked]
            else:
                line += [str(cell.get("algorithm") or ""), str(cell.get("mechanism") or ""), checked]
            line += [_floor_text(cell.get("floor_us"))] if with_floor else []
            overlaps = [cell.get(f"{side}_overlap_pct") for side in ("host", "tutti")] if with_overlap else []
            line += ["" if value is None else f"{float(value):.0f} %" for value in overlaps]
            table.add_row(*line, *([str(cell.get("host_knob", ""))] if with_knobs else []))
        # What lies inside the calls, the ways of memory, and the spread go first, last that all results are right.
        all_right = [[10]] if all(cell.get("checked") for cell in rows) else []
        tables.append(Fitting(table, [[6, 7], *([] if of_messages else [[9]]), [5], *all_right]))
    return tables


def summary_table(cells: List[Cell], titles: Dict[str, str]) -> Table:
    """Geometric mean of the speed-ups over the sizes, and how many cells were slower than the host: a row a collective,
    a column an MPI and number of ranks."""
    means = geometric_means(cells)
    places = panels(cells)
    table = Table(title="Speed-up over the MPI, geometric mean over sizes", title_justify="left")
    table.add_column("messages" if all(cell["collective"] in MESSAGES for cell in cells) else "collective")
    for place in places:
        table.add_column(title_of(place, titles).replace(", ", "\n"), justify="right")
    for collective in dict.fromkeys(str(cell["collective"]) for cell in cells):
        values = [means.get(place, {}).get(collective) for place in places]
        table.add_row(collective, *["" if value is None else _ratio(value) for value in values])
    table.add_section()
    counts = [f"{sum(float(cell['ratio']) < 1 for cell in rows)} of {len(rows)}" for rows in places.values()]
    table.add_row("slower cells", *counts)
    return table


def knob_table(cells: List[Cell], titles: Dict[str, str]) -> Table:
    """What each MPI was set to where it was fastest: in how many cells, and how much faster than as it comes."""
    table = Table(title="What the MPIs were best set to", title_justify="left")
    for name in ("MPI", "ranks", "set to", "cells", "faster than as it comes"):
        table.add_column(name, justify="left" if name in ("MPI", "set to") else "right")
    for place, rows in panels(cells).items():
        host, ranks, *_ = place
        won: Dict[str, List[float]] = {}
        for cell in rows:
            times = cell.get("host_knobs_us", {})
            if DEFAULT in times and cell["host_us"]:
                won.setdefault(str(cell["host_knob"]), []).append(
                    times[DEFAULT] / times[str(cell["host_knob"])]
                )
        for knob, gains in sorted(won.items(), key=lambda pair: -len(pair[1])):
            gain = "" if knob == DEFAULT else f"{statistics.geometric_mean(gains):.2f}"
            table.add_row(titles.get(host, host), str(ranks), knob, str(len(gains)), gain)
        table.add_section()
    return table


def plot(cells: List[Cell], titles: Dict[str, str], file: Path) -> None:
    """Time against size for each collective and MPI, with the speed-up at each point. The MPIs of a collective stand
    side by side; where there are few of them, several collectives share a line."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.axes import Axes

    def draw_curve(axes: Axes, rows: List[Cell]) -> None:
        rows = sorted(rows, key=lambda cell: int(cell["bytes"]))
        sizes = [int(cell["bytes"]) for cell in rows]
        axes.loglog(sizes, [cell["host_us"] for cell in rows], "s--", color="#b0543c", label="MPI", base=2)
        axes.loglog(sizes, [cell["tutti_us"] for cell in rows], "o-", color="#1f6f8b", label="Tutti", base=2)
        axes.set_yscale("log", base=10)
        for cell in rows:
            axes.annotate(
                f"{float(cell['ratio']):.1f}x", (int(cell["bytes"]), float(cell["tutti_us"])), fontsize=7,
                textcoords="offset points", xytext=(0, -11), ha="center",
            )  # fmt: skip
        axes.set_xticks(sizes[::2], [human_bytes(size) for size in sizes[::2]], rotation=45, fontsize=7)
        axes.margins(y=0.15)

    def draw_bars(axes: Axes, cell: Cell) -> None:
        bars = axes.bar(
            ["MPI", "Tutti"], [cell["host_us"], cell["tutti_us"]], color=["#b0543c", "#1f6f8b"], width=0.5
        )
        axes.bar_label(
            bars, [f"{float(cell['host_us']):.2f}", f"{float(cell['tutti_us']):.2f}\n({cell['ratio']:.1f}x)"]
        )
        axes.margins(y=0.3)

    places = panels(cells)
    collectives = list(dict.fromkeys(str(cell["collective"]) for cell in cells))
    # A page that is about as wide as high, of whole groups of MPIs.
    groups = max(1, min(round((len(collectives) / len(places)) ** 0.5), 6 // len(places)))
    lines = -(-len(collectives) // groups)
    columns = groups * len(places)
    figure, grid = pyplot.subplots(
        lines, columns, figsize=(4.2 * columns, 3.2 * lines), squeeze=False, layout="constrained"
    )
    for axes in grid.flat:
        axes.set_axis_off()
    for number, collective in enumerate(collectives):
        for offset, (place, rows) in enumerate(places.items()):
            some = [cell for cell in rows if cell["collective"] == collective]
            if not some:
                continue
            axes = grid[number // groups][number % groups * len(places) + offset]
            axes.set_axis_on()
            if len(some) == 1:
                draw_bars(axes, some[0])
            else:
                draw_curve(axes, some)
                axes.legend(fontsize=7)
            axes.set_title(f"{collective}: {title_of(place, titles)}", fontsize=9)
            axes.set_ylabel(f"cost of a {'message' if collective in MESSAGES else 'call'} in us", fontsize=8)
            axes.grid(True, which="major", alpha=0.3)
    write_picture(figure, file, 130)
    pyplot.close(figure)


class Reports:
    """All that is shown of one run: the speed-ups over the MPI, or algorithms compared with each other."""

    def __init__(self, cells: List[Cell], titles: Dict[str, str], compares: bool) -> None:
        self._cells, self._titles, self._compares = cells, titles, compares

    @property
    def summary(self) -> List[RenderableType]:
        """The short form."""
        return self._choice if self._compares else self._summaries

    @property
    def tables(self) -> List[RenderableType]:
        """Everything."""
        if self._compares:
            return [*comparison_tables(self._cells, self._titles), *self._choice]
        return [*self.results, *self._summaries]

    @property
    def results(self) -> List[RenderableType]:
        """What was measured, without a summary."""
        return [*result_tables(self._cells, self._titles)]

    @property
    def text(self) -> str:
        """The tables as they stand in a file."""
        plain = Console(file=io.StringIO(), width=WIDTH)
        for one in self.tables:
            plain.print(one)
        return str(plain.file.getvalue())  # type: ignore[attr-defined]

    @property
    def document(self) -> Dict[str, Any]:
        """What `--json` has besides the cells."""
        return {"choice": summary(choices_of(self._cells, self._titles))} if self._compares else {}

    @property
    def _choice(self) -> List[RenderableType]:
        lines = report(choices_of(self._cells, self._titles))
        return [Text("\n".join(lines))] if lines else []

    @property
    def _summaries(self) -> List[RenderableType]:
        tables: List[RenderableType] = [summary_table(self._cells, self._titles)]
        with_knobs = any("host_knobs_us" in cell for cell in self._cells)
        return [*tables, knob_table(self._cells, self._titles)] if with_knobs else tables

    def draw(self, file: Path) -> None:
        """Writes the picture; of a comparison one for each collective, its name put into that of the file."""
        if self._compares:
            comparison_plots(self._cells, self._titles, file)
        else:
            plot(self._cells, self._titles, file)
