"""docs/several-nodes.md lists the algorithms between nodes with what they declare; the page of predictions has what the
model says."""

import re
import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))

from between_nodes_tables import with_tables

SOURCES = sorted((ROOT / "src" / "collectives" / "between_nodes").glob("*/*.cpp"))
#: What an algorithm says of itself: its name; rounds, bytes and source; what it requires.
DECLARED = re.compile(r'between_nodes_\w+\{\s*"([^"]*)",\s*\{((?:"[^"]*",?\s*){3})\},\s*selection::(\w+)')
#: The words of each requirement.
REQUIREMENT = re.compile(r'Requirement (\w+)\{\s*"([^"]*)"')


def test_the_page_has_a_row_for_each_algorithm_and_no_other():
    words = (ROOT / "src" / "selection" / "requirement.h").read_text(encoding="utf-8")
    needs = dict(REQUIREMENT.findall(words))
    expected = []
    for source in SOURCES:
        declared = DECLARED.search(source.read_text(encoding="utf-8"))
        assert declared, source
        name, summary, requirement = declared.groups()
        rounds, sent, after = re.findall(r'"([^"]*)"', summary)
        expected.append(
            f"| {source.parent.name} | `{name}` | {rounds} | {sent} | {needs[requirement]} | {after} |"
        )
    page = (ROOT / "docs" / "several-nodes.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| [a-z_]+ \| `.*\|$", page, re.MULTILINE)
    assert len(expected) > 10
    assert rows == expected


def told(nodes, ranks, collective, size):
    """An answer of tutti-predict in which ours takes 1 us, each rank for itself 2, and leaders 3."""
    names = (
        "multi-object-bruck",
        "multi-object-ring",
        "multi-object-exchange",
        "multi-object-reduce-scatter-ring",
    )
    return {
        "choice": {"name": f"{collective}-of-{nodes}x{ranks}", "seconds": 1e-6},
        "candidates": [{"name": name, "seconds": (1 + at) * 1e-6} for at, name in enumerate(names)],
        "textbook": [
            {"name": "slow", "leaders": False, "seconds": 9e-6},
            {"name": "flat", "leaders": False, "seconds": 2e-6},
            {"name": "led", "leaders": True, "seconds": 3e-6},
        ],
    }


def test_the_page_of_predictions_has_a_table_for_each_figure():
    page = (ROOT / "docs" / "several-nodes-predicted.md").read_text(encoding="utf-8")
    rows = [line for line in with_tables(page, told).splitlines() if line.startswith("| ")]
    # Figure 10 at 64 B, figure 13 at 256 KiB, figure 7.
    assert "| 64 B | allgather-of-128x18 | 1 | flat | 2.00 | led | 3.00 | 0.50 | over 4.6 |" in rows
    assert (
        "| 256 KiB | allgather-of-128x18 | 1 | flat | 2.00 | led | 3.00 | 0.50 | over 1.1; small / large 2.46 |"
        in rows
    )
    over_nodes = " | ".join(["1; 2.00, 3.00"] * 7)
    assert f"| Allgather, 16 B | {over_nodes} | more than 6 at 128 (PiP-MPICH) |" in rows
    assert len(rows) == 4 * 2 + 6 + 6 + 8 + 9


def test_a_figure_without_a_table_and_a_table_without_a_figure_are_told():
    with pytest.raises(ValueError, match="no table of figures 10, 13; 11, 14; 6, 7, 8"):
        with_tables("<!-- figures 9, 12 -->\n<!-- end -->\n", told)
    with pytest.raises(ValueError, match="no table of figures 5"):
        with_tables("<!-- figures 5 -->\n<!-- end -->\n", told)
