"""Algorithms compared with each other: `tutti bench --algorithms`, as tables and as one picture a collective."""

from pathlib import Path
from typing import Dict, List, Tuple

from rich import box
from rich.table import Table

from tutti.bench.runs import Cell
from tutti.bench.words import MECHANISMS
from tutti.pictures import write_picture
from tutti.sizes import human_bytes

#: What was asked for: algorithm ("auto" is Tutti's own choice), mechanism ("" is any).
Line = Tuple[str, str]
AUTO: Line = ("auto", "")


def line_of(cell: Cell) -> Line:
    """Which line of the table and the picture a cell belongs to."""
    return (str(cell.get("asked") or "auto"), str(cell.get("asked_mechanism") or ""))


def line_name(line: Line, many_mechanisms: bool) -> str:
    """As tables and legends have it."""
    name, mechanism = line
    if line == AUTO:
        return "Tutti's choice"
    return f"{name}, {mechanism}" if mechanism and many_mechanisms else name


def by_panel(cells: List[Cell]) -> Dict[Tuple[str, str, int], List[Cell]]:
    """The cells by (collective, host, ranks)."""
    found: Dict[Tuple[str, str, int], List[Cell]] = {}
    for cell in cells:
        found.setdefault((str(cell["collective"]), str(cell["host"]), int(cell["ranks"])), []).append(cell)
    return found


def three_digits(value: float) -> str:
    """0.21, 4.30, 61.8, 410: three digits or all before the point."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def _many_mechanisms(lines: List[Line]) -> bool:
    return len({mechanism for line, mechanism in lines if mechanism}) > 1


def comparison_tables(cells: List[Cell], titles: Dict[str, str]) -> List[Table]:
    """One table for each collective, host and number of ranks: algorithms by sizes, microseconds, * the fastest."""
    tables = []
    for (collective, host, ranks), rows in by_panel(cells).items():
        sizes = sorted({int(cell["bytes"]) for cell in rows})
        lines = list(dict.fromkeys(line_of(cell) for cell in rows))
        many = _many_mechanisms(lines)
        times = {(line_of(cell), int(cell["bytes"])): float(cell["tutti_us"]) for cell in rows}
        ran = {int(cell["bytes"]): str(cell["algorithm"]) for cell in rows if line_of(cell) == AUTO}
        mpi = {int(cell["bytes"]): float(cell["host_us"]) for cell in rows}
        best = {size: min(times[key] for key in times if key[1] == size) for size in sizes}
        title = f"{collective}: {titles.get(host, host)}, {ranks} ranks (us; * fastest of Tutti's)"
        table = Table(title=title, title_justify="left", box=box.SIMPLE, padding=(0, 1), pad_edge=False)
        table.add_column("", no_wrap=True)
        for size in sizes:
            table.add_column(human_bytes(size), justify="right")

        def shown(line: Line, size: int, times: Dict[Tuple[Line, int], float] = times,
                  best: Dict[int, float] = best) -> str:  # fmt: skip
            value = times.get((line, size))
            if value is None:
                return ""
            return three_digits(value) + ("*" if value <= best[size] else "")

        table.add_row("MPI", *[three_digits(mpi[size]) for size in sizes], end_section=True)
        for line in lines:
            table.add_row(line_name(line, many), *[shown(line, size) for size in sizes])
            if line == AUTO:
                table.add_row("  which is", *[ran.get(size, "") for size in sizes], end_section=True)
        wrong = sum(1 for cell in rows if not cell.get("checked"))
        if wrong:
            table.caption = f"[bold red]{wrong} of {len(rows)} with wrong results[/]"
        tables.append(table)
    return tables


def picture_of(file: Path, collective: str) -> Path:
    """speed.png -> speed-scatter.png."""
    return file.with_name(f"{file.stem}-{collective}{file.suffix}")


def comparison_plots(cells: List[Cell], titles: Dict[str, str], file: Path) -> List[Path]:
    """One picture for each collective: latency against size, both logarithmic, a line an algorithm, a panel a number of
    ranks and MPI. Returns what was written: `file` with the collective's name put in."""
    written = []
    for collective in dict.fromkeys(str(cell["collective"]) for cell in cells):
        some = [cell for cell in cells if cell["collective"] == collective]
        path = picture_of(file, collective)
        _plot_one(collective, some, titles, path)
        written.append(path)
    return written


def _plot_one(collective: str, cells: List[Cell], titles: Dict[str, str], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.axes import Axes

    lines = list(dict.fromkeys(line_of(cell) for cell in cells))
    many = _many_mechanisms(lines)
    names = list(dict.fromkeys(name for name, _ in lines if name != "auto"))
    colours = {
        name: pyplot.get_cmap("tab20" if len(names) > 10 else "tab10")(i) for i, name in enumerate(names)
    }
    styles = dict(zip(("", *MECHANISMS), ("-", "-", "-.", "--", ":")))
    markers = "osv^D<>pPXh*"

    def draw(axes: Axes, rows: List[Cell]) -> None:
        rows = sorted(rows, key=lambda cell: int(cell["bytes"]))
        hosts = {int(cell["bytes"]): float(cell["host_us"]) for cell in rows}
        axes.plot(list(hosts), list(hosts.values()), "k--", linewidth=1.2, label="MPI")
        for line in lines:
            points = [cell for cell in rows if line_of(cell) == line]
            xs, ys = [int(cell["bytes"]) for cell in points], [float(cell["tutti_us"]) for cell in points]
            name, mechanism = line
            if line == AUTO:
                axes.plot(xs, ys, color="0.75", linewidth=6, label=line_name(line, many), zorder=1)
                continue
            axes.plot(
                xs, ys, color=colours.get(name, "0.4"), linestyle=styles[mechanism], linewidth=1.2,
                marker=markers[names.index(name) % len(markers)] if name in names else "o", markersize=4,
                label=line_name(line, many),
            )  # fmt: skip
        sizes = list(hosts)
        if len(sizes) > 1:
            axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=10)
        axes.set_xticks(sizes[::2], [human_bytes(size) for size in sizes[::2]], rotation=45, fontsize=7)
        axes.grid(True, which="major", alpha=0.3)

    places = by_panel(cells)
    hosts = list(dict.fromkeys(host for _, host, _ in places))
    counts = sorted({ranks for _, _, ranks in places})
    figure, grid = pyplot.subplots(
        len(hosts), len(counts), figsize=(4.6 * len(counts) + 2, 3.6 * len(hosts)), squeeze=False,
        sharey="row", layout="constrained",
    )  # fmt: skip
    for y, host in enumerate(hosts):
        for x, ranks in enumerate(counts):
            rows = places.get((collective, host, ranks), [])
            axes = grid[y][x]
            if not rows:
                axes.set_axis_off()
                continue
            draw(axes, rows)
            axes.set_title(f"{titles.get(host, host)}, {ranks} ranks", fontsize=9)
            if x == 0:
                axes.set_ylabel("time in us, slowest rank", fontsize=8)
    handles = {
        label: handle for axes in figure.axes for handle, label in zip(*axes.get_legend_handles_labels())
    }
    figure.legend(list(handles.values()), list(handles), loc="outside right upper", fontsize=8)
    figure.suptitle(collective)
    write_picture(figure, path, 130)
    pyplot.close(figure)
