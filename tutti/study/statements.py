"""What the papers' texts say of their figures: which of two takes longer. In our words, with the section.

The statements are rows of statements.csv.
"""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Tuple


@dataclass(frozen=True)
class Statement:
    """slower takes longer than quicker. Each is `panel|line` of the figure, or `panel|line|x` for another x than `at`;
    of several the times are multiplied, so that a gain can be compared with a gain."""

    figure: str
    section: str
    says: str
    slower: Tuple[str, ...]
    quicker: Tuple[str, ...]
    #: Values of x, sizes as people write them; the geometric mean over them counts.
    at: str
    #: How many times, if the text has a number.
    paper: str
    #: Both take about as long.
    about: bool
    #: It is the time of each of the blocks that a call moves at once.
    each: bool


def _read(path: Path) -> Tuple[Statement, ...]:
    with open(path, encoding="utf-8", newline="") as file:
        return tuple(
            Statement(
                **{
                    **row,
                    "slower": tuple(row["slower"].split("; ")),
                    "quicker": tuple(row["quicker"].split("; ")),
                    "about": row["about"] == "yes",
                    "each": row["each"] == "yes",
                }
            )
            for row in csv.DictReader(file)
        )


STATEMENTS = _read(Path(__file__).with_name("statements.csv"))
