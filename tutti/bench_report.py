"""The results of `tutti bench` as tables and as a picture."""

from pathlib import Path
from typing import Dict, List, Tuple

from rich.table import Table

from tutti.bench import Cell, geometric_means


def human_bytes(count: int) -> str:
    """4 B, 16 KiB, 1 MiB."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024 or count % 1024:
            return f"{count} {unit}"
        count //= 1024
    return f"{count} GiB"


def _ratio(value: float) -> str:
    """A speed-up, marked if the host was faster."""
    return f"{value:.2f}" if value >= 1 else f"[bold red]{value:.2f} slower[/]"


def _microseconds(value: object) -> str:
    return f"{float(value):.2f}" if isinstance(value, (int, float)) else ""


def _floor_text(floor: object) -> str:
    if isinstance(floor, dict):
        return ", ".join(f"{name[: -len('_us')]} {_microseconds(floor[name])}" for name in sorted(floor))
    return _microseconds(floor)


def panels(cells: List[Cell]) -> Dict[Tuple[str, int], List[Cell]]:
    """The cells by (host, ranks)."""
    found: Dict[Tuple[str, int], List[Cell]] = {}
    for cell in cells:
        found.setdefault((str(cell["host"]), int(cell["ranks"])), []).append(cell)
    return found


def result_tables(cells: List[Cell], titles: Dict[str, str]) -> List[Table]:
    """One table for each host and number of ranks; times are in microseconds, of the slowest rank."""
    tables = []
    for (host, ranks), rows in panels(cells).items():
        table = Table(title=f"{titles.get(host, host)}, {ranks} ranks (times in us)", title_justify="left")
        for name in (
            "collective",
            "size",
            "MPI",
            "Tutti",
            "speed-up",
            "+-%",
            "algorithm",
            "memory",
            "result",
        ):
            table.add_column(
                name, justify="left" if name in ("collective", "algorithm", "memory", "result") else "right"
            )
        with_floor = any(cell.get("floor_us") is not None for cell in rows)
        if with_floor:
            table.add_column("floor", justify="right")
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
            line += [str(cell.get("algorithm") or ""), str(cell.get("mechanism") or ""), checked]
            table.add_row(*line, *([_floor_text(cell.get("floor_us"))] if with_floor else []))
        tables.append(table)
    return tables


def summary_table(cells: List[Cell], titles: Dict[str, str]) -> Table:
    """Geometric mean of the speed-ups over the sizes, and how many cells were slower than the host."""
    means = geometric_means(cells)
    collectives = list(dict.fromkeys(str(cell["collective"]) for cell in cells))
    table = Table(title="Speed-up over the MPI, geometric mean over sizes", title_justify="left")
    table.add_column("MPI")
    table.add_column("ranks", justify="right")
    for collective in collectives:
        table.add_column(collective, justify="right")
    table.add_column("slower cells", justify="right")
    for (host, ranks), rows in panels(cells).items():
        slower = sum(1 for cell in rows if float(cell["ratio"]) < 1)
        values = means.get((host, ranks), {})
        line = [_ratio(values[collective]) if collective in values else "" for collective in collectives]
        table.add_row(titles.get(host, host), str(ranks), *line, f"{slower} of {len(rows)}")
    return table


def plot(cells: List[Cell], titles: Dict[str, str], file: Path) -> None:
    """Time against size for each collective (rows) and MPI (columns), with the speed-up at each point."""
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

    columns = panels(cells)
    collectives = list(dict.fromkeys(str(cell["collective"]) for cell in cells))
    size = (4.2 * len(columns), 3.2 * len(collectives))
    figure, grid = pyplot.subplots(
        len(collectives), len(columns), figsize=size, squeeze=False, layout="constrained"
    )
    for column, ((host, ranks), rows) in enumerate(columns.items()):
        for line, collective in enumerate(collectives):
            axes = grid[line][column]
            some = [cell for cell in rows if cell["collective"] == collective]
            if not some:
                axes.set_axis_off()
                continue
            if len(some) == 1:
                draw_bars(axes, some[0])
            else:
                draw_curve(axes, some)
                axes.legend(fontsize=7)
            axes.set_title(f"{collective}: {titles.get(host, host)}, {ranks} ranks", fontsize=9)
            axes.set_ylabel("time in us, slowest rank", fontsize=8)
            axes.grid(True, which="major", alpha=0.3)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=130)
    pyplot.close(figure)
