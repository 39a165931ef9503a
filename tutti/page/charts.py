"""Drawings of a page as SVG: lines over sizes, and maps. Colours are the page's variables, and no colour says anything
alone: each series has its own mark."""

import math
from html import escape
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from tutti.page.shell import HEAT_STEPS

WIDTH, HEIGHT = 340, 230
#: Around what is drawn, in pixels.
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 10, 26, 38
#: Between the middles of two labels, in pixels.
_LABEL_WIDTH, _LABEL_HEIGHT = 36, 15
#: Marks of the series, around 0, 0.
_MARKS = (
    '<circle r="3.5"/>', '<rect x="-3.2" y="-3.2" width="6.4" height="6.4"/>', '<path d="M0-4.4 4.2 3.2-4.2 3.2z"/>',
    '<path d="M0-4.6 4.6 0 0 4.6-4.6 0z"/>', '<path d="M-4.2-3.2 4.2-3.2 0 4.4z"/>',
    '<path d="M-1.3-4v2.7h-2.7v2.6h2.7v2.7h2.6v-2.7h2.7v-2.6h-2.7v-2.7z"/>',
)  # fmt: skip


class Point(NamedTuple):
    """x and y, and between what bounds y lies."""

    x: float
    y: float
    low: Optional[float] = None
    high: Optional[float] = None


class Axis(NamedTuple):
    """What it shows, and how a value is written."""

    title: str
    text: Callable[[float], str]


def short_bytes(count: float) -> str:
    """4, 16K, 1M."""
    for unit, shift in (("G", 30), ("M", 20), ("K", 10)):
        if count >= 1 << shift:
            return f"{count / (1 << shift):.3g}{unit}"
    return f"{count:.0f}"


def _mark(number: int) -> str:
    return _MARKS[number % len(_MARKS)]


def _colour(number: int) -> str:
    return f"var(--series-{number % len(_MARKS) + 1})"


def legend(names: Sequence[str]) -> str:
    """Which mark is whose, for charts whose series are in this order."""
    parts = [
        '<li><svg width="14" height="14" viewBox="-7 -7 14 14" aria-hidden="true">'
        f'<g fill="{_colour(at)}">{_mark(at)}</g></svg> {escape(name)}</li>'
        for at, name in enumerate(names)
    ]
    return f'<ul class="legend">{"".join(parts)}</ul>'


def _round_values(least: float, most: float) -> List[float]:
    """Values for the labels of a logarithmic axis: 1, 2, 5, 10; more of them on a short one, fewer on a long one."""
    digits = (1,) if most / least > 300 else (1, 2, 5) if most / least > 6 else (1, 1.5, 2, 3, 4, 5, 7)
    values = [
        digit * 10.0**power
        for power in range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
        for digit in digits
    ]
    return [value for value in values if least <= value <= most]


def _apart(places: Sequence[Tuple[float, float]], least: float) -> List[Tuple[float, float]]:
    """Of (value, pixel) those whose labels do not meet."""
    kept: List[Tuple[float, float]] = []
    for value, pixel in places:
        if not kept or abs(pixel - kept[-1][1]) >= least:
            kept.append((value, pixel))
    return kept


def chart(
    title: str,
    series: Dict[int, Sequence[Point]],
    x: Axis,
    y: Axis,
    line_at: Optional[float] = None,
    joined: bool = True,
) -> str:
    """Series by their number in the legend, both axes logarithmic; x from 1 on. line_at: a value of y to compare with.
    joined: with a line through the points; their bounds are bars."""
    points = [point for some in series.values() for point in some]
    xs = sorted({point.x for point in points})
    ys = [value for point in points for value in (point.y, point.low, point.high) if value and value > 0]
    ys += [line_at] if line_at else []
    least, most = min(ys) / 1.15, max(ys) * 1.15
    width, height = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM
    wide = math.log(max(xs[-1], 1) / max(xs[0], 1))

    def across(value: float) -> float:
        # Beside the axis, so that marks of several series find place.
        part = math.log(max(value, 1) / max(xs[0], 1)) / wide if wide else 0.5
        return _LEFT + 12 + part * (width - 24)

    def up(value: float) -> float:
        return _TOP + height * (1 - math.log(max(value, least) / least) / math.log(most / least))

    out = [
        f'<svg role="img" aria-label="{escape(title)}" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}">',
        f'<text x="{WIDTH / 2}" y="13" text-anchor="middle" class="title">{escape(title)}</text>',
    ]
    for value, pixel in _apart([(value, up(value)) for value in _round_values(least, most)], _LABEL_HEIGHT):
        out.append(f'<path class="rule" d="M{_LEFT} {pixel:.1f}H{WIDTH - _RIGHT}"/>')
        out.append(
            f'<text x="{_LEFT - 6}" y="{pixel + 4:.1f}" text-anchor="end">{escape(y.text(value))}</text>'
        )
    for value, pixel in _apart([(value, across(value)) for value in xs], _LABEL_WIDTH):
        out.append(
            f'<text x="{pixel:.1f}" y="{_TOP + height + 15}" text-anchor="middle">{escape(x.text(value))}</text>'
        )
    middle = _LEFT + width / 2
    out.append(
        f'<text x="{middle}" y="{HEIGHT - 5}" text-anchor="middle" class="muted">{escape(x.title)}</text>'
    )
    turned = f"rotate(-90 10 {_TOP + height / 2})"
    out.append(
        f'<text x="10" y="{_TOP + height / 2}" text-anchor="middle" transform="{turned}" class="muted">'
        f"{escape(y.title)}</text>"
    )
    if line_at:
        out.append(f'<path class="even" d="M{_LEFT} {up(line_at):.1f}H{WIDTH - _RIGHT}"/>')
    for place, (number, some) in enumerate(series.items()):
        # Points of one size stand side by side.
        beside = 0.0 if joined else 5.0 * (place - (len(series) - 1) / 2)
        spots = [(across(point.x) + beside, up(point.y), point) for point in sorted(some)]
        out.append(f'<g fill="{_colour(number)}" stroke="{_colour(number)}">')
        if joined and len(spots) > 1:
            out.append(f'<path class="line" d="M{" ".join(f"{a:.1f} {b:.1f}" for a, b, _ in spots)}"/>')
        for a, b, point in spots:
            if point.low and point.high:
                out.append(f'<path class="line" d="M{a:.1f} {up(point.low):.1f}V{up(point.high):.1f}"/>')
            out.append(f'<g transform="translate({a:.1f} {b:.1f})" stroke="none">{_mark(number)}</g>')
        out.append("</g>")
    return "\n".join([*out, "</svg>"])


def heat_map(
    title: str, names: Sequence[int], values: Dict[Tuple[int, int], float], axes: Tuple[str, str]
) -> str:
    """A square map of (column, row) among names, more is more; values are written into the squares of small maps."""
    count = len(names)
    side = 33 if count <= 16 else max(4, 560 // count)
    left, top = 40, 40
    width, height = max(left + count * side + 4, 220), top + count * side + 24
    most = max(values.values())
    # What hardly differs has one colour.
    least = min(*values.values(), most / 1.5)

    def step(value: float) -> int:
        return (
            1 + min(HEAT_STEPS - 1, int(HEAT_STEPS * (value - least) / (most - least))) if most > least else 5
        )

    # A path for each step: a rectangle for each of thousands of squares would take megabytes.
    squares: Dict[int, List[str]] = {}
    texts = []
    place = {name: at for at, name in enumerate(names)}
    for (column, row), value in values.items():
        x, y = left + place[column] * side, top + place[row] * side
        squares.setdefault(step(value), []).append(f"M{x} {y}h{side}v{side}h-{side}z")
        if count <= 16:
            ink = f"fill:var(--heat-ink-{step(value)})"
            texts.append(
                f'<text x="{x + side / 2}" y="{y + side / 2 + 4}" text-anchor="middle" class="small" style="{ink}">'
                f"{value:.3g}</text>"
            )
    ticks = _apart([(name, at * side) for at, name in enumerate(names)], 24)
    out = [
        f'<svg role="img" aria-label="{escape(title)}" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        f"{' class=whole' if count <= 16 else ''}>",
        f'<text x="{left}" y="13" class="title">{escape(title)}</text>',
        *(
            f'<path fill="var(--heat-{number})" d="{"".join(some)}"/>'
            for number, some in sorted(squares.items())
        ),
        f'<path class="rule" fill="none" d="M{left} {top}h{count * side}v{count * side}h-{count * side}z"/>',
        *texts,
        *(
            f'<text x="{left + pixel + side / 2}" y="{top - 6}" text-anchor="middle">{name:g}</text>'
            f'<text x="{left - 6}" y="{top + pixel + side / 2 + 4}" text-anchor="end">{name:g}</text>'
            for name, pixel in ticks
        ),
        f'<text x="{left}" y="{height - 6}" class="muted">{escape(f"across: {axes[0]}; down: {axes[1]}")}</text>',
        "</svg>",
    ]
    return "\n".join(out)
