"""The table of docs/measurements/papers.md, which stands between `<!-- statements -->` and `<!-- end -->`."""

import re
from typing import Any, Dict, List

from tutti.study.catalogue import FIGURES
from tutti.study.compare import Outcome, is_against_library, outcome, seconds_in
from tutti.study.statements import STATEMENTS, Statement

_TABLE = re.compile(r"(<!-- statements -->\n).*?(<!-- end -->\n)", re.DOTALL)
_PAPERS = {"xhc": "XHC", "cma": "CMA-aware", "mpc": "MPC", "share": "Share", "pip": "PiP-MColl"}


def _row(statement: Statement, found: Outcome) -> List[str]:
    figure = next(each for each in FIGURES if each.name == statement.figure)
    spread = f"{found.ratio:.2f}" if found.least == found.greatest else (
        f"{found.ratio:.2f} ({found.least:.2f} to {found.greatest:.2f})"
    )  # fmt: skip
    expected = "alike" if statement.about else statement.paper
    return [
        f"{statement.section}, {figure.number}",
        statement.says,
        statement.at.replace(",", ", "),
        expected,
        spread,
        "yes" if found.same else "**no**",
    ]


def with_table(page: str, answers: Dict[str, Any]) -> str:
    """The page with its table written anew. Raises ValueError if a point is missing."""
    seconds = seconds_in(answers)
    lines = []
    #: Of statements without a stand-in, and with one: all, and those on the same side.
    counts = {False: [0, 0], True: [0, 0]}
    at_some_size = 0
    for paper, name in _PAPERS.items():
        lines.append(f"\n### {name}\n")
        lines.append("| where | what the text states | at | paper | simulated | same side |")
        lines.append("|---|---|---|---|---|---|")
        for statement in STATEMENTS:
            if not statement.figure.startswith(paper):
                continue
            found = outcome(statement, seconds)
            if found is None:
                raise ValueError(
                    f"{statement.figure}: {statement.says}: not simulated; tools/papers-page --simulate"
                )
            count = counts[is_against_library(statement)]
            count[0] += 1
            count[1] += found.same
            at_some_size += "up to" in statement.paper and not found.same and found.greatest > 1
            lines.append(f"| {' | '.join(_row(statement, found))} |")
    (own, own_same), (library, library_same) = counts[False], counts[True]
    total, same = own + library, own_same + library_same
    summary = (
        f"**{same} of {total} statements come out on the same side ({same / total:.0%}):** {own_same} of {own} "
        f"({own_same / own:.0%}) between\nalgorithms that are here, {library_same} of {library} "
        f"({library_same / library:.0%}) against a library that one of ours stands for. Of\nthe "
        f"others {at_some_size} do at one size at least where the text says *up to*.\n"
    )
    if not _TABLE.search(page):
        raise ValueError("the page has no place for the table")
    text = summary + "\n".join(lines) + "\n"
    return _TABLE.sub(lambda found: found.group(1) + text + found.group(2), page)
