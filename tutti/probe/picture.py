"""A probe as one picture: maps of all pairs of cores, and curves."""

from pathlib import Path
from typing import Any, Dict, List

from tutti.pictures import write_picture
from tutti.probe.fitting import Line, copy_curves, select
from tutti.probe.sentences import gamma_text, reader_throughput
from tutti.sizes import human_bytes

_MECHANISMS = {"mapped": "#1f6f8b", "cma": "#b0543c", "staged": "#7a8b1f", "xpmem": "#6b4c9a"}


def _map(axes: Any, figure: Any, rows: List[Line], title: str, value: Any, unit: str) -> None:
    import numpy

    cores = sorted({int(row[end]) for row in rows for end in ("from", "to")})
    if not cores:
        axes.set_axis_off()
        axes.set_title(f"{title}: not measured", fontsize=9)
        return
    grid = numpy.full((len(cores), len(cores)), numpy.nan)
    for row in rows:
        grid[cores.index(int(row["to"]))][cores.index(int(row["from"]))] = value(row)
    shown = axes.imshow(grid, origin="lower", cmap="viridis")
    figure.colorbar(shown, ax=axes, label=unit, shrink=0.8)
    if len(cores) <= 16:
        axes.set_xticks(range(len(cores)), cores, fontsize=7)
        axes.set_yticks(range(len(cores)), cores, fontsize=7)
        for y in range(len(cores)):
            for x in range(len(cores)):
                if grid[y][x] == grid[y][x]:
                    axes.text(
                        x,
                        y,
                        f"{grid[y][x]:.3g}",
                        ha="center",
                        va="center",
                        fontsize=7,
                        color="white" if shown.norm(grid[y][x]) < 0.6 else "black",
                    )
    axes.set_xlabel("owner", fontsize=8)
    axes.set_ylabel("reader", fontsize=8)
    axes.set_title(title, fontsize=9)


def _rate(row: Line) -> float:
    return 1e-9 * int(row["bytes"]) / float(row["seconds"])


def _copies(axes: Any, lines: List[Line]) -> None:
    curves = copy_curves(lines)
    for name, rows in curves.items():
        axes.plot(
            [int(row["bytes"]) for row in rows], [_rate(row) for row in rows], "o-", ms=3, lw=1, label=name
        )
    axes.set_xscale("log", base=2)
    axes.set_ylabel("GB/s", fontsize=8)
    axes.set_title("one copy, by size", fontsize=9)
    sizes = sorted({int(row["bytes"]) for rows in curves.values() for row in rows})
    axes.set_xticks(sizes[::2], [human_bytes(size) for size in sizes[::2]], fontsize=7, rotation=45)


def _readers(axes: Any, lines: List[Line]) -> None:
    styles = {"same": "-", "different": "--", "everybody": ":"}
    for pattern, style in styles.items():
        for size, colour in ((64 << 10, "#1f6f8b"), (1 << 20, "#b0543c")):
            points = reader_throughput(lines, pattern, size)
            if points:
                label = f"{pattern}, {human_bytes(size)}"
                axes.plot(*zip(*points), style, marker="o", ms=3, lw=1, color=colour, label=label)
    axes.axhline(1, color="0.8", lw=1, zorder=0)
    axes.set_xlabel("concurrent readers by cma", fontsize=8)
    axes.set_ylabel("throughput, one reader = 1", fontsize=8)
    axes.set_title("readers of one rank, or of each other", fontsize=9)


def _gamma(axes: Any, gamma: Dict[str, Any]) -> None:
    import numpy

    points = gamma["points"]
    most = max(c for c, _ in points)
    cs = numpy.linspace(1, most, 100)
    axes.plot(
        [c for c, _ in points], [value for _, value in points], "o", ms=4, color="#b0543c", label="measured"
    )
    label = gamma_text(gamma)
    axes.plot(cs, gamma["square"] * cs**2 + gamma["linear"] * cs, "-", lw=1, color="#1f6f8b", label=label)
    axes.set_xlabel("readers of the same pages, c", fontsize=8)
    axes.set_ylabel("time to lock a page, alone = 1", fontsize=8)
    axes.set_title("contention gamma(c)", fontsize=9)


def _pairs(axes: Any, lines: List[Line], where: str) -> None:
    for way, colour in _MECHANISMS.items():
        for cold, style in ((False, "-"), (True, "--")):
            rows = sorted(
                select(lines, "pairs", where=where, way=way, cold=cold), key=lambda row: int(row["pairs"])
            )
            if rows:
                xs = [int(row["pairs"]) for row in rows]
                ys = [int(row["pairs"]) * _rate(row) for row in rows]
                label = f"{way}, {'cold' if cold else 'hot'}"
                axes.plot(xs, ys, style, marker="o", ms=3, lw=1, color=colour, label=label)
    axes.set_xlabel("pairs of cores at once, 1 MiB", fontsize=8)
    axes.set_ylabel("GB/s, all together", fontsize=8)
    title = {"inside": "pairs inside a socket", "between": "pairs between sockets"}[where]
    axes.set_title(title, fontsize=9)


def draw(document: Dict[str, Any], path: Path) -> None:
    """Writes the picture. The file's name says of which kind (PNG, SVG, PDF)."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    lines = document["measurements"]
    figure, grid = pyplot.subplots(2, 4, figsize=(19, 8.5), layout="constrained")
    _map(
        grid[0][0],
        figure,
        select(lines, "core_copy", bytes=1 << 20),
        "copies of 1 MiB between cores",
        _rate,
        "GB/s",
    )
    _map(grid[0][1], figure, select(lines, "core_copy", bytes=100 << 20), "copies of 100 MiB", _rate, "GB/s")
    _map(grid[0][2], figure, select(lines, "hop"), "flag hops", lambda row: 1e9 * float(row["seconds"]), "ns")
    _copies(grid[0][3], lines)
    _readers(grid[1][0], lines)
    gamma = document["fits"]["gamma"]
    if gamma:
        _gamma(grid[1][1], gamma)
    else:
        grid[1][1].set_axis_off()
    _pairs(grid[1][2], lines, "inside")
    _pairs(grid[1][3], lines, "between")
    for axes in (grid[0][3], *grid[1]):
        if axes.has_data():
            axes.grid(True, alpha=0.3)
            if axes.get_legend_handles_labels()[1]:
                axes.legend(fontsize=6)
        else:
            axes.set_axis_off()
    machine = document["machine"]
    figure.suptitle(
        f"{machine.get('processor', '')}, {machine.get('topology', '')}, {document['date']}", fontsize=10
    )
    write_picture(figure, path, 120)
    pyplot.close(figure)
