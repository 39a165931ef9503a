"""What ran in programs, what would be taken, what was simulated, and the files of a report."""

from pathlib import Path
from typing import Any, Dict, List, Sequence

from tutti.explain.answer import name_of, shape_words
from tutti.page.shell import Page
from tutti.report.parts import Row, chosen_name, seconds, size
from tutti.report.sources import Source, blamed, of_kind
from tutti.sizes import human_bytes, rounded, words_of_seconds


def what_ran(page: Page, sources: Sequence[Source]) -> None:
    """What programs told, and what tutti explain answered."""
    ran, choices = of_kind(sources, "ran"), of_kind(sources, "choice")
    if not (ran or choices):
        return
    page.section("ran", "What ran, and why")
    for source in ran:
        with blamed(source):
            _ran(page, source.value)
    for source in choices:
        with blamed(source):
            _choice(page, source.value)


def _ran(page: Page, told: Dict[str, Any]) -> None:
    program = Path(told["program"]).name
    page.heading(program)
    page.text(
        f"{told['mpi']}, {told['ranks']} ranks, {words_of_seconds(told['seconds'])} from MPI_Init to MPI_Finalize. "
        "Times are of the slowest rank, with what it waited for others."
    )
    lists = (("rows", "collective", "Collectives"), ("messages", "function", "Messages"))
    for part, key, caption in lists:
        rows = [
            [row[key], size(row.get("bytes_to")), row["communicator"]["ranks"], chosen_name(row),
             ", ".join(row["mechanisms"]), row["calls"], (rounded(row["bytes"]), row["bytes"]),
             seconds(row["seconds"]), seconds(row["seconds"] / row["calls"]), row["reason"]]
            for row in told.get(part, [])
        ]  # fmt: skip
        columns = [key, "up to", "ranks", "algorithm", "by", "calls", "bytes", "time", "a call", "why"]
        if rows:
            page.table(columns, rows, f"{caption} of `{program}`")


def _choice(page: Page, told: Dict[str, Any]) -> None:
    if "ranges" in told:
        page.heading(f"What would be taken on {shape_words(told)}")
        rows: List[Row] = [
            [row["collective"], size(row["bytes_from"]), size(row["bytes_to"]), name_of(row),
             *map(seconds, row["seconds"]), row["words"]]
            for row in told["ranges"]
        ]  # fmt: skip
        columns = ["collective", "from", "to", "algorithm", "by the model", "to", "why"]
        page.table(columns, rows, "By `tutti explain`")
        return
    bytes_words = f" of {human_bytes(told['shape']['bytes'])}" if "bytes" in told["shape"] else ""
    page.heading(f"{told['collective']}{bytes_words} on {shape_words(told)}: {name_of(told['choice'])}")
    rows = [
        [name_of(one), seconds(one["seconds"]), one["why_not"] or "taken: " + told["choice"]["words"]]
        for one in told["candidates"]
    ]
    page.table(["algorithm", "by the model", "why not"], rows, "Candidates, by `tutti explain`")


def simulated(page: Page, sources: Sequence[Source]) -> None:
    found = of_kind(sources, "simulation")
    if not found:
        return
    page.section("simulated", "Simulated")
    for source in found:
        with blamed(source):
            told = source.value
            nodes = f"{told['nodes']} nodes, " if told["nodes"] > 1 else ""
            page.heading(f"{told['collective']}: {nodes}{told['ranks']} ranks")
            page.text(f"{told.get('topology', '')}; buffers are {told['reach']}.")
            rows = [
                [size(one["bytes"]), each["name"], *(seconds(each[name]) for name in ("cost", "inside", "model")),
                 ", ".join(words for words, taken in (("the quickest", "winner"), ("the model's choice", "model"))
                           if each["name"] == one[taken])]
                for one in told["sizes"]
                for each in sorted(one["candidates"], key=lambda each: float(each["cost"]))
            ]  # fmt: skip
            columns = ["size", "algorithm", "simulated", "inside the call", "by the model", "note"]
            page.table(columns, rows, "By `tutti sim`")


def inputs(page: Page, sources: Sequence[Source], against: Sequence[Source]) -> None:
    """What the page was made from."""
    page.section("files", "What this is from")
    rows = [
        [source.name, source.written_by, part, str(source.value.get("date") or ""),
         str(source.value.get("tutti") or source.value.get("version") or "")]
        for part, some in (("now", sources), ("before", against))
        for source in some
    ]  # fmt: skip
    page.table(["file", "written by", "part", "date", "Tutti"], rows, "Files")
    page.text("Those of now are inside this page: `tutti report` reads it as it reads them.")
