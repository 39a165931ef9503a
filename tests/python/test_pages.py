"""The pages for people: what they link to is there, and each can be reached."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, Set
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from algorithms_tables import HEAD, PageError, with_tables  # noqa: E402

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def pages() -> List[Path]:
    """Our own pages, also those that are not yet added to git."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", "*.md"]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sorted({ROOT / name for name in listed.splitlines() if (ROOT / name).is_file()})


def prose(page: Path) -> str:
    """The page without what is printed as it stands: blocks and words of code."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^    .*$", "", text, flags=re.MULTILINE)
    return re.sub(r"`[^`]*`", lambda found: found.group().replace("(", "").replace("]", ""), text)


def anchors(page: Path) -> Set[str]:
    """What may stand behind # in a link to the page."""
    found: Dict[str, int] = {}
    names = set()
    for heading in re.findall(r"^#+ +(.*?)\s*$", prose(page), re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        names.add(f"{name}-{found[name]}" if name in found else name)
        found[name] = found.get(name, 0) + 1
    return names


def links(page: Path) -> List[str]:
    """Where the page leads within the repository."""
    return [target for target in _LINK.findall(prose(page)) if not re.match(r"[a-z]+:", target)]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    broken = []
    for target in links(page):
        name, _, anchor = target.partition("#")
        file = (page.parent / unquote(name)).resolve() if name else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(target)
    assert broken == []


def test_every_page_can_be_reached_from_the_readme():
    seen: Set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in seen or page.suffix != ".md" or not page.is_file():
            continue
        seen.add(page)
        waiting += [(page.parent / unquote(target.partition("#")[0])).resolve() for target in links(page)]
    assert [str(page.relative_to(ROOT)) for page in pages() if page not in seen] == []


def test_every_file_of_results_is_listed():
    folder = ROOT / "bench" / "results"
    text = (folder / "README.md").read_text(encoding="utf-8")
    data = [file.name for file in folder.glob("*.json")]
    assert [name for name in data if f"`{name}`" not in text] == []


def row(collective: str, algorithm: str, **other: str) -> Dict[str, str]:
    """As tutti-algorithms prints one."""
    usual = {
        "alias": "",
        "requirements": "nothing",
        "hops": "1",
        "moved": "n",
        "source": "XHC",
        "parameter": "",
    }
    return {"collective": collective, "algorithm": algorithm, **usual, **other}


ROWS = [
    row("scatter", "flat", requirements="at most TUTTI_FLAT_MAX ranks", alias="even"),
    row("scatterv", "flat", requirements="at most TUTTI_FLAT_MAX ranks", alias="even"),
    row("barrier", "tree-k", parameter="k", moved=""),
]
PAGE = """# Algorithms

## Scatter

<!-- algorithms: scatter scatterv -->
what stood here
<!-- end -->

- **flat**: Because.

## Barrier

<!-- algorithms: barrier -->
<!-- end -->

- **tree-k**: Because.
"""


def test_tables_are_written_from_what_is_declared():
    text = with_tables(PAGE, ROWS)
    assert f"{HEAD}| flat (also even) | 1 | n | at most FLAT_MAX ranks | XHC |\n<!-- end -->" in text
    assert "| tree-k, k | 1 | none |  | XHC |\n" in text
    assert "what stood here" not in text
    assert with_tables(text, ROWS) == text


@pytest.mark.parametrize(
    ("page", "rows", "says"),
    [
        (PAGE, [*ROWS, row("scan", "flat")], "no table for scan"),
        (PAGE.replace("barrier -->", "fence -->"), ROWS, "'fence', which is no collective"),
        (PAGE, [*ROWS, row("barrier", "flat")], "barrier: nothing says why flat is there"),
        (PAGE.replace("**tree-k**", "**tree-k**, **ring**"), ROWS, "barrier: there is no algorithm ring"),
        (PAGE, [*ROWS, row("scatter", "eager")], "whose algorithms differ"),
        (PAGE, [*ROWS[:2], row("barrier", "tree-k", source="")], "declares nothing as its source"),
    ],
)
def test_a_page_that_does_not_fit_is_refused(page, rows, says):
    with pytest.raises(PageError, match=re.escape(says)):
        with_tables(page, rows)
