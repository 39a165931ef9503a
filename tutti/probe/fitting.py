"""From measurements to the model's parameters: what each is taken from, fitted, and how well the fit holds.

A measurement is a line of `tutti-probe-measure`: {"measure": name, what it is of, "seconds", "lower", "upper",
"samples"}.
"""

import json
import math
import statistics
from collections import Counter
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple

Line = Dict[str, Any]

#: Where a file does not say how large pages are.
PAGE = 4096
#: Sizes that collectives with large buffers move; what is smaller is a matter of flags.
LEAST_BYTES = 16 * 1024
#: Copies up to this size stay within the caches that cores share.
CACHED_BYTES = 1 << 20
#: Copies of so much come from memory.
MEMORY_BYTES = 100 << 20
#: What is larger goes past the caches of the rank that gets it.
STREAMED_BYTES = 16 * 1024
#: How far apart two cores are, by what they share, nearest first: "shares" of what is measured of a pair.
DISTANCES = ("cache", "numa", "socket", "machine")
#: Passes that differ by more were measured in different states of the machine.
UNSTEADY = 1.5
#: What a line has of its measurement; the rest says of what.
_MEASURED = {"pass", "seconds", "lower", "upper", "samples", "in_state"}


class Fit(NamedTuple):
    """The parameters and what they rest on."""

    #: The fields of the library's model; those that could not be measured are not there.
    model: Dict[str, float]
    #: For each field, the relative half width of the 95 % confidence interval of what it rests on.
    spread: Dict[str, float]
    #: The fit of gamma: points, coefficients, residuals; None without copies by the kernel.
    gamma: Optional[Dict[str, Any]]
    #: The fit of the kernel's copies: alpha, beta, l by call.
    kernel: Optional[Dict[str, Any]]


def select(lines: Iterable[Line], measure: str, **conditions: Any) -> List[Line]:
    """The measurements of one name with these properties."""
    return [
        line
        for line in lines
        if line.get("measure") == measure
        and all(line.get(name) == value for name, value in conditions.items())
    ]


def copy_curves(lines: Iterable[Line]) -> Dict[str, List[Line]]:
    """What one copy takes by each way, sizes ascending; ways that were not measured are left out."""
    lines = list(lines)
    curves = {
        "mapped: read what a core has just written": select(lines, "mapped_copy", copy="read"),
        "mapped: both cores at once": select(lines, "mapped_exchange"),
        "mapped: own data to own memory": select(lines, "mapped_copy", copy="own"),
        "mapped: to lines another core has read": select(lines, "mapped_copy", copy="slot"),
        "staged": select(lines, "staged_copy"),
    }
    for call, name in (("process_vm_readv", "cma: read"), ("process_vm_writev", "cma: write")):
        rows = select(lines, "kernel_step", step="copy", call=call)
        curves[name] = [{**row, "bytes": PAGE * int(row["pages"])} for row in rows]
    return {name: sorted(rows, key=lambda row: int(row["bytes"])) for name, rows in curves.items() if rows}


def combine_passes(lines: Iterable[Line]) -> List[Line]:
    """One line for each figure: the median of its passes, with the range of them for a confidence interval. A single
    pass keeps its own. Those in another state of the machine than most count only where there are no others; then
    "in_state" is false."""
    groups: Dict[str, List[Line]] = {}
    for line in lines:
        of = {name: value for name, value in line.items() if name not in _MEASURED}
        groups.setdefault(json.dumps(of, sort_keys=True), []).append(line)
    combined = []
    for rows in groups.values():
        in_state = [row for row in rows if row.get("in_state", True)]
        rows = in_state or rows
        one = {name: value for name, value in rows[0].items() if name not in ("pass", "in_state")}
        if not in_state:
            one["in_state"] = False
        if "seconds" in one and len(rows) > 1:
            values = [float(row["seconds"]) for row in rows]
            one.update(
                seconds=statistics.median(values), lower=min(values), upper=max(values),
                samples=sum(int(row["samples"]) for row in rows), passes=len(rows),
            )  # fmt: skip
        combined.append(one)
    return combined


def spread_of(line: Line) -> float:
    """Half the width of the confidence interval, relative to the median."""
    seconds = float(line["seconds"])
    return (float(line["upper"]) - float(line["lower"])) / 2 / seconds if seconds > 0 else 0.0


def unsteady(lines: Iterable[Line]) -> List[str]:
    """What to say if the machine changed so much meanwhile that the parameters mix its states."""
    lines = list(lines)
    said = []
    elsewhere = sorted({str(line["measure"]) for line in lines if not line.get("in_state", True)})
    if elsewhere:
        said.append(
            f"{', '.join(elsewhere)}: measured in part only while the machine was in another state than for the rest; "
            "measure again"
        )
    rows = [line for line in lines if line.get("passes", 1) > 1 and float(line["lower"]) > 0]
    rows = [*select(rows, "hop"), *select(rows, "mapped_copy", copy="read", bytes=64 * 1024)]
    worst = max((float(row["upper"]) / float(row["lower"]) for row in rows), default=1.0)
    if worst >= UNSTEADY:
        said.append(
            f"flags or copies between two cores took up to {worst:.1f} times as long in one pass as in another: the "
            "parameters mix states of the machine; measure again"
        )
    return said


def _line_through(points: List[Tuple[float, float]]) -> Tuple[float, float]:
    """(y at 0, slope) of the straight line with the least relative errors."""
    if len(points) < 2:
        return (0.0, points[0][1] / points[0][0]) if points and points[0][0] else (0.0, 0.0)
    weights = [1 / (y * y) for _, y in points]
    total = sum(weights)
    mean_x = sum(w * x for w, (x, _) in zip(weights, points)) / total
    mean_y = sum(w * y for w, (_, y) in zip(weights, points)) / total
    above = sum(w * (x - mean_x) * (y - mean_y) for w, (x, y) in zip(weights, points))
    below = sum(w * (x - mean_x) ** 2 for w, (x, _) in zip(weights, points))
    slope = above / below if below else 0.0
    return mean_y - slope * mean_x, slope


def page_bytes(lines: List[Line]) -> int:
    """Of the pages that the kernel locks."""
    return int(next(iter(select(lines, "machine")), {}).get("page_bytes") or PAGE)


def fit_kernel(lines: List[Line]) -> Optional[Dict[str, Any]]:
    """alpha, beta and l of each call and of both together (CMA-aware, Table III); None if there is nothing of it."""
    found: Dict[str, Any] = {}
    for call in ("process_vm_readv", "process_vm_writev", None):
        only = {} if call is None else {"call": call}
        locks = select(lines, "kernel_step", step="lock", **only)
        copies = select(lines, "kernel_step", step="copy", **only)
        accesses = select(lines, "kernel_step", step="access", **only)
        empties = select(lines, "kernel_step", step="empty", **only)
        if len(locks) < 2 or len(copies) < 2 or not accesses or not empties:
            return None
        # One page is part of the access already.
        access = [(1.0, float(line["seconds"])) for line in accesses]
        _, page = _line_through(access + [(float(line["pages"]), float(line["seconds"])) for line in locks])
        start, whole_page = _line_through([(float(line["pages"]), float(line["seconds"])) for line in copies])
        page = min(max(page, 0.0), 0.95 * whole_page)
        empty_call = statistics.median(float(line["seconds"]) for line in empties)
        found["both" if call is None else call] = {
            # Where large copies scatter the line may begin below 0; a call that copies nothing does less than any.
            "alpha": max(start, empty_call),
            "l": page,
            "beta": (whole_page - page) / page_bytes(lines),
            "page": whole_page,
            "empty_call": empty_call,
            "access": statistics.median(float(line["seconds"]) for line in accesses),
            "worst_residual": max(
                abs((start + whole_page * float(line["pages"])) / float(line["seconds"]) - 1)
                for line in copies
            ),
        }
    return found


def fit_caches(lines: List[Line]) -> Optional[Dict[str, float]]:
    """How much the caches hold, C, and what a byte costs beyond, m: t(n)/n = r + (1 - C/2n) (m - r) where two buffers
    of n bytes exceed C, with r from small copies. None if nothing large was measured."""
    rows = {int(row["bytes"]): float(row["seconds"]) / int(row["bytes"])
            for row in select(lines, "mapped_copy", copy="read")}  # fmt: skip
    inside = [value for size, value in rows.items() if LEAST_BYTES <= size <= CACHED_BYTES]
    large = {size: value for size, value in rows.items() if size >= CACHED_BYTES}
    if not inside or len(large) < 3:
        return None
    cached = statistics.median(inside)
    best: Optional[Tuple[float, float, float]] = None
    for step in range(4 * 21, 4 * 33):  # 2 MB to 8 GB in steps of a quarter of an octave
        cache = 2.0 ** (step / 4)
        beyond = {size: max(0.0, 1 - cache / (2 * size)) for size in large}
        # The best m for this C, by relative errors: a straight line through the origin.
        above = sum(beyond[size] * (value - cached) / value**2 for size, value in large.items())
        below = sum(beyond[size] ** 2 / value**2 for size, value in large.items())
        memory = max(cached, cached + above / below) if below else cached
        errors = [
            abs((cached + beyond[size] * (memory - cached)) / value - 1) for size, value in large.items()
        ]
        total = sum(error * error for error in errors)
        if memory <= 3 * max(rows.values()) and (best is None or total < best[0]):
            best = (total, cache, memory)
    if best is None:
        return None
    _, cache, memory = best
    worst = max(
        abs((cached + max(0.0, 1 - cache / (2 * size)) * (memory - cached)) / value - 1)
        for size, value in large.items()
    )
    return {"shared_cache": cache, "memory_byte": memory, "worst_residual": worst}


def _gamma(c: Any, square: float, linear: float) -> Any:
    return square * c * c + linear * c


def gamma_points(lines: List[Line]) -> List[Tuple[int, float]]:
    """(c, gamma) for each number of readers of the same pages and number of pages: how much longer locking a page takes
    than alone."""
    rows = select(lines, "readers", pattern="same", lock_only=True)
    access = [float(line["seconds"]) for line in select(lines, "kernel_step", step="access")]
    if not rows or not access:
        return []
    start = statistics.median(access)
    alone = {int(line["bytes"]): float(line["seconds"]) - start for line in rows if int(line["readers"]) == 1}
    return [
        (int(line["readers"]), (float(line["seconds"]) - start) / alone[int(line["bytes"])])
        for line in rows
        if alone.get(int(line["bytes"]), 0.0) > 0 and float(line["seconds"]) > start
    ]


def fit_gamma(points: List[Tuple[int, float]]) -> Optional[Dict[str, Any]]:
    """gamma(c) = a c^2 + b c by nonlinear least squares, a and b not negative; None without points above c = 1."""
    if max((c for c, _ in points), default=0) < 2:
        return None
    import numpy
    from scipy.optimize import curve_fit

    cs = numpy.array([float(c) for c, _ in points])
    values = numpy.array([value for _, value in points])
    # Relative errors count: gamma(16) may be a hundred times gamma(1).
    (square, linear), _ = curve_fit(
        _gamma, cs, values, p0=(0.1, 0.9), sigma=values, bounds=((0, 0), (numpy.inf, numpy.inf))
    )
    residuals = values - _gamma(cs, square, linear)
    return {
        "square": float(square),
        "linear": float(linear),
        "points": [[int(c), float(value)] for c, value in points],
        "residuals": [float(residual) for residual in residuals],
        "worst_relative_residual": float(numpy.max(numpy.abs(residuals) / values)),
    }


def _per_byte(
    rows: List[Line], least: int = LEAST_BYTES, most: float = math.inf
) -> Optional[Tuple[float, float]]:
    """Median seconds a byte over the sizes, and the largest spread."""
    rows = [line for line in rows if least <= int(line["bytes"]) <= most]
    if not rows:
        return None
    return (
        statistics.median(float(line["seconds"]) / int(line["bytes"]) for line in rows),
        max(spread_of(line) for line in rows),
    )


def by_distance(rows: List[Line]) -> Dict[str, List[Line]]:
    """The measurements of pairs of cores by how far apart these are, nearest first; only distances that occur. Files of
    the first versions do not say: theirs are all of one."""
    if not all("shares" in row for row in rows):
        return {DISTANCES[0]: rows} if rows else {}
    found = {name: [row for row in rows if row["shares"] == name] for name in DISTANCES}
    return {name: some for name, some in found.items() if some}


def fit_distances(rows: List[Line], prefix: str) -> Dict[str, Tuple[float, float]]:
    """How many times as long it takes between cores so far apart as between the nearest ones that were measured, and
    the spread: by name of the parameter. What is farther takes no less; nothing is nearer than the nearest."""
    groups = by_distance(rows)
    if not groups:
        return {}
    medians = {
        name: statistics.median(float(row["seconds"]) for row in some) for name, some in groups.items()
    }
    spreads = {name: max(spread_of(row) for row in some) for name, some in groups.items()}
    nearest, *others = groups
    nearer = DISTANCES[1 : DISTANCES.index(nearest) + 1]
    factors = {f"{prefix}_{name}": (1.0, spreads[nearest]) for name in nearer}
    factor = 1.0
    for name in others:
        factor = max(factor, medians[name] / medians[nearest])
        factors[f"{prefix}_{name}"] = factor, spreads[name]
    return factors


def _at_once(rows: List[Line], how_many: str) -> Optional[Tuple[float, float]]:
    """Seconds a byte of all together where they get most, and the spread. how_many: names the number that copy."""
    if not rows:
        return None
    best = min(rows, key=lambda row: float(row["seconds"]) / int(row["bytes"]) / int(row[how_many]))
    return float(best["seconds"]) / int(best["bytes"]) / int(best[how_many]), spread_of(best)


def fit(lines: List[Line]) -> Fit:
    """The model of the machine that the measurements describe."""
    model: Dict[str, float] = {}
    spread: Dict[str, float] = {}

    def put(
        name: str, found: Optional[Tuple[float, float]], change: Callable[[float], float] = float
    ) -> None:
        if found is not None:
            model[name] = change(found[0])
            spread[name] = found[1]

    def single(rows: List[Line]) -> Optional[Tuple[float, float]]:
        if not rows:
            return None
        middle = statistics.median(float(line["seconds"]) for line in rows)
        return middle, max(spread_of(line) for line in rows)

    machine = next(iter(select(lines, "machine")), {})
    private = float(machine.get("l2_bytes") or 0)
    if private > 0:
        model["private_cache"] = private
        spread["private_cache"] = 0.0
    if machine.get("l3_bytes"):
        sharing = Counter(each.get("l3", -1) for each in machine.get("processors") or [])
        cores = max(sharing.values()) if sharing else int(machine["cores"])
        model["kept_far"] = float(machine["l3_bytes"]) / cores
        spread["kept_far"] = 0.0
    if machine.get("page_bytes"):
        model["page_bytes"] = float(machine["page_bytes"])
        spread["page_bytes"] = 0.0
    hops = select(lines, "hop")
    put("hop", single(next(iter(by_distance(hops).values()), [])))
    for name, factor in {
        **fit_distances(hops, "hop"),
        **fit_distances(select(lines, "core_copy", bytes=CACHED_BYTES), "byte"),
        **fit_distances(select(lines, "core_store"), "store"),
        **fit_distances(select(lines, "core_copy", bytes=MEMORY_BYTES), "memory"),
    }.items():
        if name != "memory_numa":  # memory is as near to all cores of its NUMA node
            put(name, factor)
    put("turn", single(select(lines, "turn")))
    put("busy_turn", single(select(lines, "busy_turn")))
    if "turn" in model and "busy_turn" in model:  # that it takes less can only be chance
        model["busy_turn"] = max(model["turn"], model["busy_turn"])
    put("expose", single(select(lines, "expose")))
    put("copy_byte", _per_byte(select(lines, "mapped_copy", copy="own"), most=private or math.inf))
    put("spilled_byte", _per_byte(select(lines, "spilled_copy"), most=CACHED_BYTES))
    put("remote_byte", _per_byte(select(lines, "mapped_copy", copy="read"), most=CACHED_BYTES))
    # Who gets something has taken over the lines of what it got before.
    put("write_byte", _per_byte(select(lines, "mapped_copy", copy="line"), most=CACHED_BYTES))
    put("take_byte", _per_byte(select(lines, "aftermath", who="reader"), most=CACHED_BYTES))
    put(
        "stream_byte",
        _per_byte(select(lines, "mapped_copy", copy="stream"), least=STREAMED_BYTES, most=CACHED_BYTES),
    )
    streams = select(lines, "mapped_streams")
    put(
        "streams_byte",
        _per_byte(streams, most=CACHED_BYTES),
        lambda seconds: seconds / int(streams[0]["processors"]),
    )
    # Each cache was seen to carry its part of it.
    l3s = max(1, len({each["l3"] for each in machine.get("processors") or [] if each.get("l3", -1) >= 0}))
    put(
        "cache_streams_byte",
        _per_byte(streams, most=CACHED_BYTES),
        lambda seconds: seconds * l3s / int(streams[0]["processors"]),
    )
    # One alone shows no limit of what several share; the fewest that do are two.
    put("rank_byte", _at_once(select(lines, "mapped_readers"), "readers"))
    put("node_byte", _at_once(select(lines, "mapped_ring", where="node"), "processors"))
    put("total_byte", _at_once(select(lines, "mapped_ring", where="machine"), "processors"))
    between = select(lines, "pairs", where="between", way="mapped", cold=False)
    put("link_byte", _at_once([row for row in between if int(row["pairs"]) > 1], "pairs"))
    put("exchange_byte", _per_byte(select(lines, "mapped_exchange"), most=CACHED_BYTES))
    put("slot_byte", _per_byte(select(lines, "mapped_copy", copy="slot"), most=CACHED_BYTES))
    for name, row, base in (
        ("left_byte", ("owner", "pull"), ("owner", "none")),
        ("found_byte", ("receiver", "push"), ("receiver", "pull")),
        ("found_streamed_byte", ("receiver", "push_beyond"), ("receiver", "pull")),
    ):
        more, less = (
            _per_byte(select(lines, "aftermath", who=who, move=move), most=CACHED_BYTES)
            for who, move in (row, base)
        )
        if more and less:
            put(name, (max(0.0, more[0] - less[0]), max(more[1], less[1])))
    caches = fit_caches(lines)
    if caches:
        model.update(shared_cache=caches["shared_cache"], memory_byte=caches["memory_byte"])
        spread["shared_cache"] = spread["memory_byte"] = caches["worst_residual"]
    put(
        "reduce_byte",
        _per_byte(select(lines, "reduction", kernel="sum f64", sources=2), least=0),
        lambda seconds: seconds / 2,
    )
    kernel = fit_kernel(lines)
    gamma = fit_gamma(gamma_points(lines))
    if kernel:
        both = kernel["both"]
        rows = select(lines, "kernel_step")
        model["kernel_start"], model["kernel_page"] = both["alpha"], both["l"]
        for name, call in (("kernel_byte", "process_vm_readv"), ("kernel_write_byte", "process_vm_writev")):
            # With the page's time of both together, so that their sum is what was measured.
            model[name] = max(kernel[call]["page"] - both["l"], 0.05 * kernel[call]["page"]) / page_bytes(
                lines
            )
        for name in ("kernel_start", "kernel_page", "kernel_byte", "kernel_write_byte"):
            spread[name] = max(spread_of(line) for line in rows)
    if gamma:
        model["kernel_gamma_square"] = gamma["square"]
        model["kernel_gamma_linear"] = gamma["linear"]
        spread["kernel_gamma_square"] = spread["kernel_gamma_linear"] = gamma["worst_relative_residual"]
    return Fit(model, spread, gamma, kernel)
