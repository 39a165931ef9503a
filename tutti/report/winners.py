"""Who wins by size and ranks, and the program's time against the MPI with its spread."""

from html import escape
from itertools import groupby
from typing import Any, Dict, List, Optional, Sequence, Tuple

from tutti.page.charts import Axis, Point, chart, legend, short_bytes
from tutti.page.shell import Page, marked
from tutti.report.compared import Key, Speed, own_choices, speeds_of, titles_of
from tutti.report.parts import WHERE, chosen_name, microseconds, times, where
from tutti.report.sources import Source, blamed, of_kind
from tutti.tune.table import HOST, all_entries, shape_key

#: Of a grid: the class, which gives it its look, and HTML.
Square = Tuple[str, str]
_NOBODY: Square = ("", "")


def _grid(
    caption: str, head: Sequence[str], sizes: Sequence[int], rows: Sequence[Tuple[List[str], List[Square]]]
) -> str:
    """A table whose columns are sizes; neighbours that are alike are one wide square."""
    names = [*head, *map(short_bytes, sizes)]
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    lines = []
    for of, squares in rows:
        line = "".join(f'<th scope="row">{escape(name)}</th>' for name in of)
        for (kind, html), same in groupby(squares):
            line += f'<td class="{kind}" colspan="{len(list(same))}">{html}</td>'
        lines.append(f"<tr>{line}</tr>")
    body = "\n".join(lines)
    return (
        f'<div class="scroll whole" role="region" tabindex="0" aria-label="{escape(caption)}"><table class="grid">\n'
        f"<caption>{marked(caption)}</caption>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody>"
        "</table></div>\n"
    )


def winners(page: Page, sources: Sequence[Source]) -> None:
    """Of the benchmarks, and of the decision tables."""
    tables = of_kind(sources, "table")
    speeds = speeds_of(sources)
    if not (tables or speeds):
        return
    page.section("winners", "Winners by size and ranks")
    if speeds:
        _measured(page, speeds, titles_of(sources))
    for source in tables:
        with blamed(source):
            page.heading(f"By the decision table for {source.value['host']['name']}")
            _chosen(page, source.value)


def _measured(page: Page, speeds: Dict[Key, Speed], titles: Dict[str, str]) -> None:
    page.text(
        "The fastest of Tutti's that was measured, and how many times as fast as the MPI it was. `MPI` stands where "
        "the MPI is faster, and `even` where neither is, beyond the spread."
    )
    best: Dict[Tuple[str, ...], Dict[str, Dict[int, Speed]]] = {}
    for key, speed in speeds.items():
        place = (titles.get(key.host, key.host), f"{key.ranks} ranks", *key.unusual)
        row = best.setdefault(place, {}).setdefault(key.collective, {})
        if key.bytes not in row or speed.ratio > row[key.bytes].ratio:
            row[key.bytes] = speed
    for place, by_collective in best.items():
        # What has no size has one square as wide as all.
        sizes = sorted({count for row in by_collective.values() for count in row} - {0}) or [0]
        rows = [
            ([collective], [_square(row.get(count, row.get(0))) for count in sizes])
            for collective, row in by_collective.items()
        ]
        page.markup(_grid(f"{', '.join(place)}; sizes in bytes", ["collective"], sizes, rows))


def _square(speed: Optional[Speed]) -> Square:
    if speed is None:
        return _NOBODY
    word = "" if speed.verdict == "Tutti" else f"{speed.verdict} "
    algorithm = escape(str(speed.cell.get("algorithm") or ""))
    return speed.verdict, f"{word}{speed.ratio:.2f}<small>{algorithm}</small>"


def _chosen(page: Page, told: Dict[str, Any]) -> None:
    """Sizes go up by 4, as they are tuned."""
    entries = all_entries(told)
    last = min(max((entry["bytes"][1] for entry in entries), default=4), 1 << 40)
    sizes = [4]
    while sizes[-1] * 4 <= last:
        sizes.append(sizes[-1] * 4)
    # One row for a shape, however its buffers are reached: that changes with the size.
    shapes: Dict[Tuple[Any, ...], List[Dict[str, Any]]] = {}
    for entry in entries:
        shape = shape_key(entry)
        shapes.setdefault((*shape[:4], *shape[5:]), []).append(entry)
    rows = [
        ([some[0]["collective"], _ranks_of(some[0])], [_choice_at(some, count) for count in sizes])
        for some in shapes.values()
    ]
    caption = "What the library takes by the table; sizes in bytes"
    page.markup(_grid(caption, ["collective", "ranks"], sizes, rows))


def _ranks_of(entry: Dict[str, Any]) -> str:
    least, most = entry.get("ranks", entry.get("nodes"))
    count = str(least) if least == most else f"{least} to {most}"
    return f"{count} nodes of {entry['ranks_per_node'][1]}" if "nodes" in entry else count


def _choice_at(entries: List[Dict[str, Any]], count: int) -> Square:
    if all(entry["bytes"][1] == 0 for entry in entries):  # a barrier
        count = 0
    here = [entry for entry in entries if entry["bytes"][0] <= count <= entry["bytes"][1]]
    if not here:
        return _NOBODY
    kind = "MPI" if all(entry["algorithm"] == HOST for entry in here) else "Tutti"
    return kind, escape(" or ".join(dict.fromkeys(map(chosen_name, here))))


def against_the_mpi(page: Page, sources: Sequence[Source]) -> None:
    """How many times as fast as the MPI, with the spread: a chart for each collective, a mark for each MPI."""
    speeds, titles = own_choices(speeds_of(sources)), titles_of(sources)
    if not speeds:
        return
    page.section("times", "The program's time against the MPI")
    page.text(
        "What a call costs the program: the MPI's own and Tutti's, in turns in the same processes. Above the dashed "
        "line Tutti is faster. The bars are 95 % intervals."
    )
    hosts = list(dict.fromkeys(key.host for key in speeds))
    places: Dict[Tuple[str, ...], List[Key]] = {}
    for key in speeds:
        places.setdefault((f"{key.ranks} ranks", *key.unusual), []).append(key)
    for place, keys in places.items():
        panels: Dict[str, Dict[int, List[Point]]] = {}
        for key in keys:
            series = panels.setdefault(key.collective, {}).setdefault(hosts.index(key.host), [])
            series.append(Point(key.bytes, speeds[key].ratio, speeds[key].low, speeds[key].high))
        x, y = Axis("bytes", short_bytes), Axis("times as fast as the MPI", lambda value: f"{value:g}")
        charts = [
            chart(collective, dict(sorted(series.items())), x, y, line_at=1, joined=False)
            for collective, series in panels.items()
        ]
        rows = [
            [*where(key, titles), times(speeds[key].ratio), times(speeds[key].low), times(speeds[key].high),
             microseconds(speeds[key].cell["host_us"]), microseconds(speeds[key].cell["tutti_us"]), speeds[key].ran]
            for key in keys
        ]  # fmt: skip
        page.figure(
            legend([titles.get(host, host) for host in hosts]) + "".join(charts),
            ", ".join(place),
            "",
            [*WHERE, "speed-up", "least", "most", "MPI's time", "Tutti's time", "what ran"],
            rows,
        )
