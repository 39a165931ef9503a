"""What is slower than before, and what is slower than the MPI: the worst first."""

from typing import Dict, List, Sequence

from tutti.page.shell import Page, table
from tutti.report.compared import (
    Key,
    Speed,
    changes,
    in_both,
    own_choices,
    parameter_changes,
    speeds_of,
    table_changes,
    titles_of,
)
from tutti.report.parts import WHERE, Row, chosen_name, microseconds, plural, size, times, where
from tutti.report.sources import Source, blamed, of_kind

Speeds = Dict[Key, Speed]


def regressions(page: Page, sources: Sequence[Source], against: Sequence[Source]) -> None:
    """against: the files of before; none: compared is with the MPI alone."""
    speeds = own_choices(speeds_of(sources))
    titles = titles_of([*against, *sources])
    if not (speeds or against):
        return
    page.section("regressions", "Regressions")
    if against:
        _since_before(page, speeds, own_choices(speeds_of(against)), titles)
        _other_parameters(page, sources, against)
        _other_choices(page, sources, against)
    if speeds:
        _slower_than_the_mpi(page, speeds, titles)


def _since_before(page: Page, now: Speeds, before: Speeds, titles: Dict[str, str]) -> None:
    page.heading("Since before")
    both = in_both(now, before)
    if not both:
        page.text("There is no benchmark cell that is in both.")
        return
    found = changes(both)
    worse = sum(change < 1 for change, *_ in found)
    page.text(
        f"Of {plural(len(both), 'cell')} in both, {worse} {'is' if worse == 1 else 'are'} slower than before and "
        f"{len(found) - worse} faster, by more than both scatter. Compared is how many times as fast as the MPI Tutti "
        "was in the same run. The worst is first."
    )
    columns = [
        *WHERE,
        "now / before",
        "speed-up before",
        "now",
        "Tutti before",
        "now",
        "what ran before",
        "now",
    ]
    rows = [
        [*where(key, titles), times(change), times(old.ratio), times(new.ratio), microseconds(old.cell["tutti_us"]),
         microseconds(new.cell["tutti_us"]), old.ran, new.ran]
        for change, key, new, old in found
    ]  # fmt: skip
    if worse:
        page.table(columns, rows[:worse], "Slower than before")
    if worse < len(rows):
        page.folded("Faster than before", table(columns, rows[worse:], "Faster than before"))


def _other_parameters(page: Page, sources: Sequence[Source], against: Sequence[Source]) -> None:
    """Of the first probe of each."""
    for new, old in zip(of_kind(sources, "probe")[:1], of_kind(against, "probe")):
        with blamed(new), blamed(old):
            found = parameter_changes(new.value, old.value)
        page.heading("The machine, measured again")
        page.text(f"By more than both probes scatter differ: {plural(len(found), 'parameter')} of the model.")
        rows = [
            [one.name, one.before, one.now, times(one.now / one.before), (f"{100 * one.half:.0f}", one.half)]
            for one in found
        ]
        if rows:
            columns = ["parameter", "before", "now", "now / before", "± %, both"]
            page.table(columns, rows, "Parameters that differ; seconds and bytes")


def _other_choices(page: Page, sources: Sequence[Source], against: Sequence[Source]) -> None:
    rows: List[Row] = []
    for new in of_kind(sources, "table"):
        for old in of_kind(against, "table"):
            host = new.value["host"]["name"]
            if host != old.value["host"]["name"]:
                continue
            with blamed(new), blamed(old):
                rows += [
                    [entry["collective"], entry.get("ranks", entry.get("nodes"))[0], size(first), size(last), host,
                     chosen_name(was), chosen_name(entry)]
                    for entry, was, first, last in table_changes(new.value, old.value)
                ]  # fmt: skip
    if rows:
        page.heading("Decision tables")
        columns = ["collective", "ranks", "from", "to", "MPI", "before", "now"]
        page.table(columns, rows, "What the tables choose otherwise")


def _slower_than_the_mpi(page: Page, speeds: Speeds, titles: Dict[str, str]) -> None:
    page.heading("Slower than the MPI")
    slower = sorted((speed.ratio, key) for key, speed in speeds.items() if speed.verdict == "MPI")
    if not slower:
        page.text(f"Nothing: in none of {plural(len(speeds), 'cell')} is Tutti slower beyond the spread.")
        return
    page.text(
        f"In {len(slower)} of {plural(len(speeds), 'cell')} Tutti is slower beyond the spread. The worst is first."
    )
    rows = []
    for ratio, key in slower:
        speed = speeds[key]
        half = max(speed.high - ratio, ratio - speed.low) / ratio
        rows.append(
            [*where(key, titles), times(ratio), (f"{100 * half:.1f}", half), microseconds(speed.cell["host_us"]),
             microseconds(speed.cell["tutti_us"]), speed.ran]
        )  # fmt: skip
    columns = [*WHERE, "speed-up", "± %", "MPI's time", "Tutti's time", "what ran"]
    page.table(columns, rows, "Slower than the MPI's own")
