"""The page of a profile."""

from html import escape
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

from tutti.page.charts import heat_map
from tutti.page.shell import Cell, Page, table
from tutti.profile.calls import Arrivals, Calls, Kind
from tutti.profile.recorded import Rank, Recorded
from tutti.sizes import human_bytes, rounded, words_of_seconds

_HERE = Path(__file__).resolve().parent
#: Of all ranks' events, so many at most are on the page, the longest ones.
EVENTS_MOST = 60000
#: Rows of the table of calls that are there at once, longest time first.
_ROWS_MOST = 400
#: The same of pairs of ranks.
_PAIRS_MOST = 200
#: So many rows are open from the beginning.
_ROWS_OPEN = 20
#: A wait between ranks that are in step is no more than this, in seconds.
_IN_STEP = 1e-6
#: What the time of a rank is cut into, by number of its colour (--series-N); the rest is the program's own.
_PARTS = (
    ("waiting for ranks that came later", 2), ("collectives otherwise", 1), ("messages", 3),
    ("waits and tests", 4), ("other calls", 5),
)  # fmt: skip


def size_words(size_class: Any) -> str:
    """<=4 KiB, varying, or nothing."""
    if size_class is None:
        return ""
    return "varying" if size_class == "varying" else f"<={human_bytes(1 << size_class)}"


def _seconds(value: Optional[float]) -> Cell:
    return None if value is None else (words_of_seconds(value), value)


def _part(value: Optional[float]) -> Cell:
    return None if value is None else (f"{100 * value:.3g} %", value)


def _last(arrivals: Optional[Arrivals]) -> str:
    if not arrivals:
        return ""
    if arrivals.late < _IN_STEP:
        return "in step"
    rank, often = arrivals.last[0]
    return f"rank {rank} in {100 * often / arrivals.calls:.0f} %, {words_of_seconds(arrivals.late)} after the others"


def _by_mpi(each: Calls) -> Cell:
    if not (each.by_mpi and each.arrivals and each.arrivals.moving > 0):
        return None
    ratio = each.by_mpi.moving / each.arrivals.moving
    return (f"{words_of_seconds(each.by_mpi.moving)}, {ratio:.2g} times", ratio)


def waiting_of(each: Calls) -> Optional[float]:
    """The part of the calls' time that is waiting, where that is known."""
    return each.arrivals.waiting if each.arrivals else each.waited


def call_rows(calls: Sequence[Calls], seconds: float) -> List[List[Cell]]:
    """As in COLUMNS."""
    return [
        [
            each.site.place.words(), each.kind.function, size_words(each.kind.size_class), each.kind.communicator,
            each.calls, _part(each.seconds / seconds), _seconds(each.seconds),
            _seconds(each.seconds / max(1, each.calls)), _part(waiting_of(each)), _last(each.arrivals),
            _seconds(each.arrivals.moving if each.arrivals else None), _by_mpi(each),
            " ".join(part for part in (each.kind.how, each.kind.way and f"({each.kind.way})") if part), each.kind.why,
            (rounded(each.bytes), each.bytes) if each.bytes else None,
        ]
        for each in calls
    ]  # fmt: skip


#: Of the table of calls.
COLUMNS = (
    "where", "function", "size", "communicator", "calls", "of the run", "time", "a call", "waiting", "who came last",
    "moving", "the MPI alone", "how", "why", "bytes",
)  # fmt: skip


def parts_of(
    recorded: Recorded, calls: Sequence[Calls], kinds: Dict[int, List[Kind]]
) -> Dict[int, List[float]]:
    """Seconds of each rank in the parts of _PARTS."""
    waits = {each.kind: each.arrivals.waiting for each in calls if each.arrivals}
    parts = {}
    for rank in recorded.ranks:
        of = [0.0] * len(_PARTS)
        for row, kind in zip(rank.about["rows"], kinds[rank.rank]):
            seconds = row["ticks"] * rank.tick
            if row["category"] == "collective":
                of[0] += seconds * waits.get(kind, 0)
                of[1] += seconds * (1 - waits.get(kind, 0))
            else:
                of[0] += row["waited"] * rank.tick
                seconds -= row["waited"] * rank.tick
                of[{"message": 2, "wait": 3}.get(row["category"], 4)] += seconds
        parts[rank.rank] = of
    return parts


def _bars(parts: Dict[int, List[float]], seconds: float) -> str:
    """A bar for each rank: how much of the run each part is."""
    height = max(4, min(18, 1400 // len(parts)))
    left, width = 60, 560
    out = [
        f'<svg role="img" aria-label="Time of each rank by what it was spent on" width="{left + width + 10}" '
        f'height="{height * len(parts) + 24}" viewBox="0 0 {left + width + 10} {height * len(parts) + 24}">'
    ]
    every = -(-16 // height)
    for at, (rank, of) in enumerate(sorted(parts.items())):
        x, y = float(left), at * height
        if at % every == 0:
            out.append(
                f'<text x="{left - 6}" y="{y + min(height, 16) / 2 + 4}" text-anchor="end">{rank}</text>'
            )
        out.append(f'<rect x="{left}" y="{y}" width="{width}" height="{height - 1}" fill="var(--raised)"/>')
        for value, (_, colour) in zip(of, _PARTS):
            wide = width * value / seconds
            if wide >= 0.05:
                place = f'x="{x:.1f}" y="{y}" width="{wide:.2f}" height="{height - 1}"'
                out.append(f'<rect {place} fill="var(--series-{colour})"/>')
            x += wide
    bottom = height * len(parts) + 18
    out.append(f'<text x="{left}" y="{bottom}">0</text>')
    out.append(
        f'<text x="{left + width}" y="{bottom}" text-anchor="end">{words_of_seconds(seconds)}</text></svg>'
    )
    return "".join(out)


def _square(colour: str) -> str:
    """As in a legend."""
    return (
        '<svg width="14" height="14" aria-hidden="true"><rect x="0.5" y="0.5" width="13" height="13" '
        f'fill="{colour}" stroke="var(--line)"/></svg>'
    )


def _legend() -> str:
    items = [f"<li>{_square(f'var(--series-{colour})')} {escape(name)}</li>" for name, colour in _PARTS]
    items.append(f"<li>{_square('var(--raised)')} the program itself</li>")
    return f'<ul class="legend">{"".join(items)}</ul>'


def _longest_events(recorded: Recorded) -> Tuple[List[List[Tuple[int, int, int, int]]], float]:
    """Of each rank (begin, duration, row, thread) in tenths of microseconds, and from which duration on they are
    there."""
    spans = sorted(
        (event.end - event.begin for rank in recorded.ranks for event in rank.events), reverse=True
    )
    least = spans[EVENTS_MOST] if len(spans) > EVENTS_MOST else 0.0
    least = max(least, *(rank.about["least_event"] * rank.tick for rank in recorded.ranks), 0.0)
    return [
        [
            (
                round(event.begin * 1e7),
                max(1, round((event.end - event.begin) * 1e7)),
                event.row,
                event.thread,
            )
            for event in sorted(rank.events)
            if event.end - event.begin >= least
        ]
        for rank in recorded.ranks
    ], least


def _timeline(
    recorded: Recorded, calls: Sequence[Calls], kinds: Dict[int, List[Kind]]
) -> Tuple[Dict[str, Any], float]:
    events, least = _longest_events(recorded)
    where = {each.kind: each.site.place.words() for each in calls}
    numbers: Dict[Tuple[str, str, str], int] = {}
    names: List[Tuple[str, str, str]] = []
    ranks = []
    for rank, some in zip(recorded.ranks, events):
        of_row = []
        for row, kind in zip(rank.about["rows"], kinds[rank.rank]):
            name = (kind.function, where[kind], row["category"])
            if name not in numbers:
                numbers[name] = len(names)
                names.append(name)
            of_row.append(numbers[name])
        busy = [round(min(1.0, sum(each) / rank.stretch), 3) for each in rank.filled]
        ranks.append(
            {
                "rank": rank.rank, "start": rank.start, "stretch": rank.stretch, "busy": busy,
                "begin": [each[0] for each in some], "length": [each[1] for each in some],
                "kind": [of_row[each[2]] for each in some],
            }
        )  # fmt: skip
    return {"seconds": recorded.seconds, "kinds": names, "ranks": ranks}, least


def _share(part: float) -> str:
    return f"{100 * part:.0f} %" if part >= 0.1 else f"{100 * part:.1f} %"


def _summary(recorded: Recorded, calls: Sequence[Calls], parts: Dict[int, List[float]]) -> List[str]:
    """Sentences that say the most important things first."""
    whole = {rank: sum(of) / recorded.seconds for rank, of in parts.items()}
    most, least = max(whole.values()), min(whole.values())
    waiting = sum(of[0] for of in parts.values()) / (recorded.seconds * len(parts))
    run = f"of the run's {words_of_seconds(recorded.seconds)}"
    said = [
        f"Calls of MPI take {_share(least)} to {_share(most)} {run}, by rank; {_share(waiting)} of all ranks' time "
        "is waiting for ranks that came later."
        if len(parts) > 1
        else f"Calls of MPI take {_share(most)} {run}."
    ]
    if calls and calls[0].mean > 0.001 * recorded.seconds:
        first = calls[0]
        said.append(
            f"Most of it is `{first.kind.function}` at `{first.site.place.words()}`: "
            f"{_share(first.mean / recorded.seconds)} of the run, mean of the ranks."
        )
        if first.arrivals and first.arrivals.late >= _IN_STEP and first.arrivals.waiting > 0.5:
            rank, often = first.arrivals.last[0]
            said.append(
                f"There {_share(first.arrivals.waiting)} of the time is waiting: rank {rank} comes last in "
                f"{100 * often / first.arrivals.calls:.0f} % of the calls. Faster collectives cannot help with that; "
                f"less work for rank {rank} does."
            )
    return said


def make_page(
    recorded: Recorded, calls: Sequence[Calls], kinds: Dict[int, List[Kind]], symbols: bool
) -> Page:
    """The whole page. symbols: whether a program that finds lines was there."""
    about = recorded.about
    program = Path(about["program"]).name
    page = Page(
        f"Profile of {program}",
        f"{about['ranks']} rank{'s' if about['ranks'] != 1 else ''}, {about['mpi']}, {about['date']}. "
        f"`{about['command']}`",
    )
    page.style((_HERE / "profile.css").read_text(encoding="utf-8"))
    parts = parts_of(recorded, calls, kinds)

    page.section("run", "Where the time goes")
    if not about["active"]:
        page.text(
            f"Tutti did nothing in this run: {about['why_inactive']}. What follows is of the MPI alone."
        )
    for sentence in _summary(recorded, calls, parts):
        page.text(sentence)
    page.figure(
        _bars(parts, recorded.seconds) + _legend(),
        "Each rank's time",
        "A bar a rank, from MPI_Init to MPI_Finalize.",
        ["rank", *(name for name, _ in _PARTS), "the program itself"],
        [
            [
                (str(rank), rank),
                *(_seconds(value) for value in of),
                _seconds(max(0.0, recorded.seconds - sum(of))),
            ]
            for rank, of in sorted(parts.items())
        ],
    )

    page.section("calls", "What each call costs")
    page.text(
        "Sorted by the mean time of the ranks. Time: of the slowest rank; of the run: its part. Waiting: for ranks "
        "that came later, or for what is received. Moving: what is left when all are there, to the end of the last "
        "rank. The MPI alone: the same by the MPI, which was given one of many calls, and how many times as long."
    )
    page.table(COLUMNS, call_rows(calls[:_ROWS_OPEN], recorded.seconds), "Calls, the longest time first")
    more = calls[_ROWS_OPEN:_ROWS_MOST]
    if more:
        rest = sum(each.mean for each in calls[_ROWS_OPEN:])
        left = f"; {len(calls) - _ROWS_MOST} of them are left out" if len(calls) > _ROWS_MOST else ""
        page.folded(
            f"{len(calls) - _ROWS_OPEN} more, together {_share(rest / recorded.seconds)} of the run{left}",
            table(COLUMNS, call_rows(more, recorded.seconds), "More calls"),
        )
    reached = _first_of_each_site(calls[:_ROWS_OPEN])
    if reached:
        page.folded("How they are reached", "".join(_stack(each) for each in reached))

    page.section("time", "Over time")
    timeline, least = _timeline(recorded, calls, kinds)
    shown = sum(len(rank["begin"]) for rank in timeline["ranks"])
    page.figure(
        '<div id="timeline"><p role="status" id="pointed"></p><canvas tabindex="0" role="img" '
        'aria-label="Timeline of all ranks; arrow keys move, plus and minus zoom, 0 shows all"></canvas>'
        '<p class="buttons"><button type="button" data-do="in">Zoom in</button> <button type="button" data-do="out">'
        'Zoom out</button> <button type="button" data-do="left">Earlier</button> <button type="button" data-do="right">'
        'Later</button> <button type="button" data-do="all">All</button></p></div>' + _legend_of_timeline(),
        "Timeline",
        f"A lane a rank. {shown} calls are drawn one by one"
        + (f", those of {words_of_seconds(least)} or longer" if least > 0 else "")
        + "; behind them, how much of each stretch was spent in MPI. Wheel or plus and minus zoom, arrows or drag "
        "move.",
        ["when", "rank", "function", "where", "took"],
        [
            [_seconds(each.longest[2]), each.longest[1], each.kind.function, each.site.place.words(),
             _seconds(each.longest[0])]
            for each in sorted(calls, key=lambda some: -some.longest[0])[:40]
        ],
    )  # fmt: skip
    page.data(timeline, "timeline-data")
    page.script((_HERE / "timeline.js").read_text(encoding="utf-8"))

    _messages(page, recorded.ranks)
    _how(page, recorded, symbols)
    return page


def _first_of_each_site(calls: Sequence[Calls]) -> List[Calls]:
    found: Dict[Any, Calls] = {}
    for each in calls:
        found.setdefault((each.site.key, each.kind.function), each)
    return [each for each in found.values() if each.site.outer]


def _stack(each: Calls) -> str:
    lines = "".join(f"<li>{escape(place.words())}</li>" for place in each.site.outer)
    name = f"{each.kind.function} at {each.site.place.words()}"
    return f"<p>{escape(name)}, called by</p><ol>{lines}</ol>\n"


def _legend_of_timeline() -> str:
    names = (("collective", 1), ("message", 3), ("wait", 4), ("other", 5))
    items = "".join(f"<li>{_square(f'var(--series-{colour})')} {name}</li>" for name, colour in names)
    return f'<ul class="legend">{items}</ul>'


def _messages(page: Page, ranks: Sequence[Rank]) -> None:
    sent = [(rank.rank, *each) for rank in ranks for each in rank.about["sent"]]
    if not sent:
        return
    page.section("messages", "Who sends to whom")
    columns = ["from", "to", "messages", "bytes"]
    most = sorted(sent, key=lambda each: -each[3])[:_PAIRS_MOST]
    rows: List[List[Cell]] = [
        [source, to, count, (rounded(total), total)] for source, to, count, total in most
    ]
    more = f"; {len(sent) - len(most)} more" if len(sent) > len(most) else ""
    caption = f"Messages between two ranks, by whatever carried them, most bytes first{more}"
    if len(ranks) <= 2:
        page.table(columns, rows, caption)
        return
    mebibytes = {(to, source): total / (1 << 20) for source, to, _, total in sent}
    drawn = heat_map("MiB", [rank.rank for rank in ranks], mebibytes, ("to", "from"))
    page.figure(drawn, "Bytes between ranks", caption, columns, rows)


def _how(page: Page, recorded: Recorded, symbols: bool) -> None:
    about = recorded.about
    page.section("how", "What this rests on")
    page.text(
        "Every call of a function that Tutti takes over is counted, with its time, on every rank. Who came last is "
        "known of some calls of each row, the same on all ranks; clocks of several nodes are compared at the beginning "
        "and at the end. Calls of MPI's files and one-sided communication are not seen."
    )
    if not symbols:
        page.text(
            "There was no addr2line, which finds lines of compiled programs: Debian's package binutils has it."
        )
    silent = [rank.rank for rank in recorded.ranks if not rank.about["recorded"]]
    if silent:
        page.text(f"Ranks that had not been told to record: {', '.join(map(str, silent))}.")
    source = about["model_source"]
    page.table(
        ["what", "value"],
        [
            ["program", about["program"]],
            ["MPI", about["mpi"]],
            ["Tutti", about["version"]],
            ["model", source["words"] if source else "-"],
            ["table", about["table"]["words"] if about["table"] else "none"],
            ["ways between ranks", ", ".join(about["mechanisms"]) or "-"],
            ["nodes", str(len({rank.about["host"] for rank in recorded.ranks}))],
            [
                "threads that called MPI, most on a rank",
                str(max(rank.about["threads"] for rank in recorded.ranks)),
            ],
            [
                "calls too short for the timeline",
                str(sum(rank.about["events_left_out"] for rank in recorded.ranks)),
            ],
        ],
        "The run",
    )
