"""The tables of docs/algorithms.md: a row for each algorithm, from what it declares of itself beside its code.

The page says where a table belongs, and for which collectives:

    <!-- algorithms: scatter scatterv -->
    <!-- end -->

What stands between the two lines is replaced. The rest of the page is written by hand; a list item that begins with
the name of an algorithm (`- **eager**: ...`) says why it is there.
"""

import re
from typing import Dict, List

Row = Dict[str, str]

HEAD = "| name | hops | bytes each rank moves | needs | from |\n|---|---|---|---|---|\n"
_TABLE = re.compile(r"(<!-- algorithms: ([a-z_ ]+) -->\n).*?(<!-- end -->\n)", re.DOTALL)
_NAME = re.compile(r"\*\*([a-z-]+)\*\*")


class PageError(Exception):
    """Page and declarations do not fit together, in words."""


def with_tables(page: str, rows: List[Row]) -> str:
    """The page with its tables written anew. Raises PageError if it leaves out a collective or an algorithm."""
    of: Dict[str, List[Row]] = {}
    for row in rows:
        of.setdefault(row["collective"], []).append(row)
    shown: List[str] = []

    def table(found: "re.Match[str]") -> str:
        collectives = found.group(2).split()
        shown.extend(collectives)
        return found.group(1) + _table(collectives, of) + found.group(3)

    text = _TABLE.sub(table, page)
    missing = sorted(set(of) - set(shown))
    if missing:
        raise PageError(f"no table for {', '.join(missing)}")
    _check_reasons(text, of)
    return text


def _table(collectives: List[str], of: Dict[str, List[Row]]) -> str:
    lines = []
    for collective in collectives:
        if collective not in of:
            raise PageError(f"a table for '{collective}', which is no collective")
        lines.append([_line(row) for row in of[collective]])
    if any(other != lines[0] for other in lines):
        raise PageError(f"one table for {' and '.join(collectives)}, whose algorithms differ")
    return HEAD + "".join(lines[0])


def _line(row: Row) -> str:
    for key in ("hops", "source"):
        if not row[key]:
            raise PageError(f"{row['collective']} {row['algorithm']} declares nothing as its {key}")
    name = row["algorithm"]
    if row["parameter"]:
        name += f", {row['parameter']}"
    if row["alias"]:
        name += f" (also {row['alias']})"
    needs = "" if row["requirements"] == "nothing" else row["requirements"].replace("TUTTI_", "")
    cells = [name, row["hops"], row["moved"] or "none", needs, row["source"]]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _check_reasons(text: str, of: Dict[str, List[Row]]) -> None:
    """Whether each algorithm of a table is spoken of below it, up to the next heading, and nothing else is."""
    for found in _TABLE.finditer(text):
        below = text[found.end() :].split("\n## ")[0]
        items = (line.split(":")[0] for line in below.splitlines() if line.startswith("- **"))
        told = [name for item in items for name in _NAME.findall(item)]
        collectives = found.group(2).split()
        declared = [row["algorithm"] for row in of[collectives[0]]]
        for name in declared:
            if name not in told:
                raise PageError(f"{collectives[0]}: nothing says why {name} is there")
        for name in told:
            if name not in declared:
                raise PageError(f"{collectives[0]}: there is no algorithm {name}")
