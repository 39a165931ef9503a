"""A report as a whole: its parts in their order."""

from pathlib import Path
from typing import Sequence

from tutti.page.shell import Page
from tutti.report import machine, parts, regressions, told, winners
from tutti.report.sources import REPORT, Source

_STYLE = Path(__file__).resolve().with_name("report.css")


def whole_page(sources: Sequence[Source], against: Sequence[Source]) -> Page:
    """The page, with the files that it is from. against: those of before, to compare with. Raises UserError."""
    page = Page(*parts.title(sources))
    page.style(_STYLE.read_text(encoding="utf-8"))
    regressions.regressions(page, sources, against)
    for part in (
        machine.machine, machine.distances, machine.bytes_by_way, winners.winners, winners.against_the_mpi,
        told.what_ran, told.simulated,
    ):  # fmt: skip
        part(page, sources)
    told.inputs(page, sources, against)
    page.data(
        {"schema": REPORT, "files": [{"name": source.name, "value": source.value} for source in sources]}
    )
    return page
