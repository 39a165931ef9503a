"""What a probe found, in words."""

from typing import Any, Dict, List, Optional, Tuple

from tutti.probe.fitting import Line, select

MEGABYTE = 1 << 20


def time_text(seconds: float) -> str:
    """95 ns, 1.93 us, 34.6 us, 1.2 ms: three digits."""
    for unit, scale in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3)):
        if seconds < 999.5 * scale:
            value = seconds / scale
            return (
                f"{value:.2f} {unit}"
                if value < 9.995
                else f"{value:.1f} {unit}"
                if value < 99.95
                else f"{value:.0f} {unit}"
            )
    return f"{seconds:.2f} s"


def rate_text(seconds_per_byte: float) -> str:
    """33.1 GB/s."""
    return f"{1e-9 / seconds_per_byte:.1f} GB/s" if seconds_per_byte > 0 else "no time"


def gamma_text(gamma: Dict[str, Any]) -> str:
    """0.11 c^2 + 1.6 c; what is below a thousandth is 0."""
    square, linear = (0.0 if gamma[name] < 1e-3 else gamma[name] for name in ("square", "linear"))
    return f"{square:.2g} c^2 + {linear:.2g} c"


def _seconds(rows: List[Line]) -> Optional[float]:
    return float(rows[0]["seconds"]) if rows else None


def mechanism_ratios(lines: List[Line]) -> Dict[str, float]:
    """What 1 MB costs by cma and staged, as multiples of a mapped copy."""
    mapped = _seconds(select(lines, "mapped_copy", copy="read", bytes=MEGABYTE))
    if not mapped:
        return {}
    cma = _seconds(select(lines, "kernel_step", step="copy", call="process_vm_readv", pages=MEGABYTE // 4096))
    staged = _seconds(select(lines, "staged_copy", bytes=MEGABYTE))
    return {name: value / mapped for name, value in (("cma", cma), ("staged", staged)) if value}


def reader_throughput(lines: List[Line], pattern: str, size: int) -> List[Tuple[int, float]]:
    """(readers, bytes moved by all of them in a time, relative to one reader)."""
    rows = sorted(
        select(lines, "readers", pattern=pattern, bytes=size, lock_only=False),
        key=lambda row: int(row["readers"]),
    )
    one = _seconds(select(lines, "readers", pattern="same", bytes=size, lock_only=False, readers=1))
    return (
        [(int(row["readers"]), int(row["readers"]) * one / float(row["seconds"])) for row in rows]
        if one
        else []
    )


def best_readers(lines: List[Line]) -> Optional[int]:
    """How many read 1 MB of one rank with the most throughput; the fewest of those that are within 2 per cent."""
    points = reader_throughput(lines, "same", MEGABYTE)
    if len(points) < 2:
        return None
    most = max(value for _, value in points)
    return next(count for count, value in points if value >= 0.98 * most)


def summary(document: Dict[str, Any]) -> List[str]:
    """Sentences for whoever measured."""
    lines, model = document["measurements"], document["model"]
    shipped = document["shipped"]
    said = []
    machine = document["machine"]
    said.append(f"{machine.get('processor') or 'unknown processor'}: {machine.get('topology', '')}")
    hops = sorted(float(line["seconds"]) for line in select(lines, "hop"))
    if hops:
        span = "" if hops[-1] < 1.05 * hops[0] else f" ({time_text(hops[0])} to {time_text(hops[-1])})"
        said.append(f"a flag is seen by another core after {time_text(model['hop'])}{span}")
    if "turn" not in shipped:
        said.append(f"a rank that shares its core runs after {time_text(model['turn'])}")
    if "remote_byte" not in shipped:
        said.append(
            f"a copy of what another core has just written runs at {rate_text(model['remote_byte'])}, "
            f"in the own caches at {rate_text(model['copy_byte'])}"
        )
    ratios = mechanism_ratios(lines)
    if ratios:
        words = " and ".join(f"{name} {ratio:.1f} times" for name, ratio in ratios.items())
        said.append(f"{words} a mapped copy at 1 MB".replace(" ", " costs ", 1))
    kernel = (document["fits"] or {}).get("kernel")
    if kernel:
        both = kernel["both"]
        said.append(
            f"a copy by the kernel takes {time_text(both['alpha'])} to start, {time_text(both['l'])} to lock a page, "
            f"and runs at {rate_text(both['beta'])} then"
        )
    gamma = (document["fits"] or {}).get("gamma")
    if gamma:
        said.append(
            f"c readers of one rank lock a page {gamma_text(gamma)} times "
            f"as slowly as one (residuals up to {100 * gamma['worst_relative_residual']:.0f} %)"
        )
    best = best_readers(lines)
    if best:
        said.append(f"the best number of readers of one rank is {best}")
    return said
