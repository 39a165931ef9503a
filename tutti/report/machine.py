"""The machine, and what its cores and copies cost."""

import statistics
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from tutti.page.charts import Axis, Point, chart, heat_map, legend, short_bytes
from tutti.page.shell import Page, marked, table
from tutti.probe.fitting import Line, copy_curves, select
from tutti.report.parts import Row, facts, mpis, plural, processors, seconds, size
from tutti.report.sources import Source, blamed, of_kind
from tutti.sizes import human_bytes, words_of_seconds
from tutti.topo.model import Box, machine_boxes, machine_line

Pair = Tuple[int, int]
#: Pairs of cores in a table: one of 192 cores would be longer than the rest of the page.
MOST_PAIRS = 600
_KINDS = {"socket": "Socket", "numa": "NUMA node", "l3": "L3", "l2": "L2"}


def _described(source: Source) -> Dict[str, Any]:
    """The machine as tutti topo tells of it; of a probe, by the processors that it measured."""
    if source.kind == "topology":
        return {"machine": source.value["machine"]}
    about = source.value["machine"]
    nowhere = dict.fromkeys(_KINDS)
    units = [{**nowhere, **one, "os_index": one["processor"]} for one in about["processors"]]
    counts = {kind: len({unit[kind] for unit in units} - {None}) for kind in _KINDS}
    machine: Dict[str, Any] = {
        "units": units,
        "core_count": len({unit["core"] for unit in units}),
        "unit_count": len(units),
    }
    machine.update(domain_counts=counts, l2_bytes=about.get("l2_bytes", 0), l3_bytes=about.get("l3_bytes", 0))
    return {"machine": machine}


def _box(box: Box) -> str:
    name = " / ".join(f"{_KINDS[kind]} {number}" for kind, number in box.domains) or "Cores"
    inner = "".join(map(_box, box.children)) or "".join(f'<li class="core">{core}</li>' for core in box.cores)
    return f"<li>{name}<ul>{inner}</ul></li>"


def machine(page: Page, sources: Sequence[Source]) -> None:
    """What the files say of it, its topology, and what it allows."""
    described = [*of_kind(sources, "topology"), *of_kind(sources, "probe")][:1]
    known = facts(sources)
    if not (described or known):
        return
    page.section("machine", "The machine")
    rows = [*known, *(("MPI", name) for name in mpis(sources))]
    if rows:
        page.table(["what", "as the files have it"], rows, "Machine and MPIs")
    if len(processors(sources)) > 1:
        page.text("The files are of several machines.")
    for source in described:
        with blamed(source):
            told = _described(source)
            if told["machine"]["units"]:
                page.heading("Topology")
                page.text(f"{machine_line(told)}. The numbers are those of cores.")
                page.markup(f'<ul class="machine">{"".join(map(_box, machine_boxes(told)))}</ul>\n')
    for source in of_kind(sources, "doctor"):
        with blamed(source):
            _doctor(page, source.value)


def _doctor(page: Page, told: Dict[str, Any]) -> None:
    page.heading("What it allows")
    page.table(
        ["mechanism", "usable", "why"],
        [[name, {True: "yes", False: "no"}.get(way["usable"], "not known"), way["why"]]
         for name, way in told["mechanisms"].items()],
        "How ranks reach each other's memory",
    )  # fmt: skip
    rows = [
        [str(check.get(name) or "") for name in ("status", "title", "found", "consequence", "remedy")]
        for check in told["checks"]
        if check["status"] != "ok"
    ]
    if rows:
        caption = f"{len(rows)} of {plural(len(told['checks']), 'check')} of `tutti doctor`"
        page.table(["status", "check", "found", "means", "remedy"], rows, caption)


def _rate(row: Line) -> float:
    """GB/s."""
    return 1e-9 * int(row["bytes"]) / float(row["seconds"])


def _by_pair(rows: List[Line], value: Callable[[Line], float]) -> Dict[Pair, float]:
    return {(int(row["from"]), int(row["to"])): value(row) for row in rows}


def distances(page: Page, sources: Sequence[Source]) -> None:
    """Maps of all pairs of cores."""
    for source in of_kind(sources, "probe")[:1]:
        with blamed(source):
            lines = source.value["measurements"]
            hops = select(lines, "hop")
            maps = {"flag, ns": _by_pair(hops, lambda row: 1e9 * float(row["seconds"]))}
            for count in (1 << 20, 100 << 20):
                rows = select(lines, "core_copy", bytes=count)
                maps[f"{human_bytes(count)}, GB/s"] = _by_pair(rows, _rate)
            shares = {
                (int(row["from"]), int(row["to"])): str(row.get("shares", ""))
                for row in lines
                if "from" in row
            }
            maps = {name: values for name, values in maps.items() if values}
            if maps:
                page.section("distances", "The map of distances")
                _pair_maps(page, maps, shares)


def _pair_maps(page: Page, maps: Dict[str, Dict[Pair, float]], shares: Dict[Pair, str]) -> None:
    cores = sorted({core for values in maps.values() for pair in values for core in pair})
    pairs = sorted({pair for values in maps.values() for pair in values})
    # A few pairs are no map.
    drawn = [
        heat_map(name, cores, values, ("owner", "reader"))
        for name, values in maps.items()
        if 4 * len(values) >= len(cores) * (len(cores) - 1)
    ]
    columns = ["owner", "reader", "share", *maps]
    rows: List[Row] = [
        [*pair, shares[pair], *(values.get(pair) for values in maps.values())] for pair in pairs
    ]
    if len(rows) > MOST_PAIRS:
        columns = ["share", "pairs", *maps]
        rows = [
            [share, sum(shares[pair] == share for pair in pairs),
             *(_median([values[pair] for pair in pairs if shares[pair] == share and pair in values])
               for values in maps.values())]
            for share in dict.fromkeys(shares[pair] for pair in pairs)
        ]  # fmt: skip
    page.figure(
        "".join(drawn),
        "Pairs of cores",
        "How long a flag takes that one core stores, until another sees it, and how fast one core copies what another "
        "has written. Darker on light paper, and lighter on dark paper, is more.",
        columns,
        rows,
    )


def _median(values: List[float]) -> Optional[float]:
    return statistics.median(values) if values else None


def bytes_by_way(page: Page, sources: Sequence[Source]) -> None:
    """What a copy takes by each way, by size."""
    for source in of_kind(sources, "probe")[:1]:
        with blamed(source):
            curves = copy_curves(source.value["measurements"])
            # Two copies, not one.
            curves.pop("mapped: both cores at once", None)
            page.section("bytes", "What a byte costs by each way")
            if curves:
                _copies(page, curves)
            _model(page, source.value)


def _model(page: Page, told: Dict[str, Any]) -> None:
    rows: List[Row] = []
    for name, value in told["model"].items():
        spread = float(told.get("spread", {}).get(name, 0))
        half = None if name in told["shipped"] else (f"{100 * spread:.0f}", spread)
        rows.append([name, value, half, "shipped" if half is None else "measured"])
    columns = ["parameter", "value", "± %", "from"]
    page.folded("All parameters of the model", table(columns, rows, "Parameters, in seconds and bytes"))
    notes = "".join(f"<li>{marked(str(note))}</li>" for note in told["left_out"])
    if notes:
        page.folded("What was not measured", f"<ul>{notes}</ul>\n")


def _copies(page: Page, curves: Dict[str, List[Line]]) -> None:
    def points(value: Callable[[Line], float]) -> Dict[int, List[Point]]:
        return {
            at: [Point(int(row["bytes"]), value(row)) for row in rows]
            for at, rows in enumerate(curves.values())
        }

    x = Axis("bytes", short_bytes)
    time, rate = Axis("time", words_of_seconds), Axis("GB/s", lambda value: f"{value:g}")
    drawn = [
        chart("Time of one copy", points(lambda row: float(row["seconds"])), x, time),
        chart("Bytes in a second", points(_rate), x, rate),
    ]
    rows = [
        [name, size(int(row["bytes"])), seconds(float(row["seconds"])), seconds(row["lower"]), seconds(row["upper"]),
         _rate(row)]
        for name, some in curves.items()
        for row in some
    ]  # fmt: skip
    page.figure(
        legend(list(curves)) + "".join(drawn),
        "One copy, by size",
        "Mapped: a core loads and stores the other's memory. Staged: through shared memory, copied in and out. Cma: "
        "the kernel copies.",
        ["way", "size", "time", "least", "most", "GB/s"],
        rows,
    )
