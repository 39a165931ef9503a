"""docs/several-nodes.md lists the algorithms between nodes with what they declare."""

import re

from conftest import ROOT

SOURCES = sorted((ROOT / "src" / "collectives" / "between_nodes").glob("*/*.cpp"))
#: The first words of an algorithm: its name, rounds, bytes, source and what it requires.
DECLARED = re.compile(r'between_nodes_\w+\{\s*((?:"[^"]*",\s*){5})')


def test_the_page_has_a_row_for_each_algorithm_and_no_other():
    expected = []
    for source in SOURCES:
        declared = DECLARED.search(source.read_text(encoding="utf-8"))
        assert declared, source
        name, rounds, sent, after, needs = re.findall(r'"([^"]*)"', declared.group(1))
        expected.append(f"| {source.parent.name} | `{name}` | {rounds} | {sent} | {needs} | {after} |")
    page = (ROOT / "docs" / "several-nodes.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| [a-z_]+ \| `.*\|$", page, re.MULTILINE)
    assert len(expected) > 10
    assert rows == expected
