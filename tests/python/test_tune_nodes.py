"""Tables with nodes in their keys: from cells of communicators that span nodes, and what is made of them."""

from types import SimpleNamespace

import pytest
from made_tables import ORIGIN, cell, entry, table
from rich.console import Console
from typer.testing import CliRunner

from tutti.cli import app
from tutti.errors import UserError
from tutti.launch.library import find_tool
from tutti.tune import command, table_check
from tutti.tune.table import decide, document, entries_of, with_others, write_json
from tutti.tune.table_check import changes, examine

needs_table = pytest.mark.skipif(find_tool("tutti-table", "tools") is None, reason="tutti-table is not built")

RING, BRUCK = "multi-object-ring", "multi-object-bruck"


def across(asked, us, **more):
    known = {"collective": "allgather", "chosen_as": "allgather", "ranks": 12, "levels": 2, "reach": "staged"}
    return cell(asked, us, **{**known, "nodes": 4, "ranks_per_node": 3, **more})


def between(algorithm, low, high, nodes=4, places=3, **more):
    known = {"collective": "allgather", "nodes": [nodes, nodes], "ranks_per_node": [places, places]}
    return {**known, "bytes": [low, high], "algorithm": algorithm, "gain": 1.0, **more}


def measured(ring, bruck, host, runs=4, **more):
    """Cells of several starts; the model takes the ring."""
    return [
        one
        for run in range(1, runs + 1)
        for one in (
            across(RING, ring, host_us=host, predicted=10.0, run=run, **more),
            across(BRUCK, bruck, host_us=host, predicted=20.0, run=run, **more),
        )
    ]


def test_what_is_fastest_between_nodes_has_them_in_its_key():
    cells = measured(30.0, 10.0, 40.0) + measured(30.0, 40.0, 10.0, bytes=4096, class_bytes=4096)
    entries = entries_of(decide(cells))
    assert entries == [
        between(BRUCK, 0, 1024, gain=3.0),
        between("host", 1025, 4096, gain=3.0),
    ]
    made = document(ORIGIN, [*entries, entry("xhc", 0, 64)], {}, {})
    assert made["between_nodes"] == entries
    assert made["entries"] == [entry("xhc", 0, 64)]


def test_entries_for_other_nodes_are_kept():
    before = table(entry("xhc", 0, 64), between(RING, 0, 64), between("host", 0, 64, nodes=2))
    after = with_others(table(between(BRUCK, 0, 64)), before)
    assert [one["algorithm"] for one in after["entries"]] == ["xhc"]
    assert [(one["algorithm"], one["nodes"]) for one in after["between_nodes"]] == [
        ("host", [2, 2]),
        (BRUCK, [4, 4]),
    ]


def test_differences_between_nodes_are_told():
    found = changes(
        table(between(RING, 0, 64)), table(between(RING, 0, 64, places=2), between("host", 0, 64))
    )
    told = [table_check._words(change) for change in found]
    assert told == [
        f"allgather, 4 nodes of 2, 0 B to 64 B: by the model -> {RING}",
        f"allgather, 4 nodes of 3, 0 B to 64 B: {RING} -> host",
    ]


@needs_table
def test_the_library_says_what_it_makes_of_them(tmp_path):
    file = tmp_path / "table.json"
    other = between("no-such", 0, 64)
    unable = {**between("multi-object-tree", 0, 64), "collective": "gatherv"}
    write_json(file, table(between(RING, 0, 64), between(BRUCK, 64, 128), other, unable))
    found = examine(file)
    assert found["error"] is None
    assert found["entries"] == 3
    assert [line.partition(":")[0] for line in found["left_out"]] == ["entry between nodes 3"]
    assert any("overlaps with allgather, 4 nodes of 3, 0 to 64 bytes" in line for line in found["problems"])
    assert any("multi-object-tree cannot do it" in line for line in found["problems"])


def test_what_was_found_is_shown_with_its_nodes():
    made = document(ORIGIN, [between(BRUCK, 0, 64, gain=2.0)], {}, {})
    console = Console(width=120, record=True)
    command.show(SimpleNamespace(table=made, found={}, path="t.json"), None, console)
    assert "4x3" in console.export_text()


def typed(*words):
    done = CliRunner().invoke(app, ["tune", *map(str, words)])
    assert isinstance(done.exception, UserError), done.output
    return str(done.exception)


def test_mistakes_are_explained(monkeypatch):
    monkeypatch.setattr(command, "_host", lambda name, mpirun: None)
    monkeypatch.setenv("TUTTI_RANKS_PER_NODE", "2,2")
    assert "say how, as in tutti tune --network mpirun" in typed("--network")
    assert "but with --network" in typed("mpirun", "-n", "2")
    assert "--ranks and --network exclude each other" in typed("--network", "--ranks", "2", "mpirun")
    assert "name the table by --output" in typed("--network", "--host", "mpich", "mpirun")
