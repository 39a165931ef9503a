"""tutti explain about nodes: what would run between them, and why."""

import json
import subprocess

import pytest
from explained import TOOL, needs_tool, text_of

from tutti.errors import UserError
from tutti.explain.answer import overview_ranges
from tutti.explain.question import Question, ask

pytestmark = pytest.mark.usefixtures("configuration")


def between(name, seconds=None, **more):
    """A candidate between nodes."""
    found = {
        "name": name,
        "eligible": True,
        "allowed": True,
        "requirements": "nothing",
        "seconds": seconds,
        **more,
    }
    if seconds is None:
        return found
    parts = {"between_seconds": seconds / 2, "inside_seconds": seconds / 4, "meanwhile_seconds": seconds / 8}
    return {**found, **parts, "rounds": 2, "messages": 25, "bytes": 146304}


def answer_between_nodes(**more):
    """What tutti-predict says of an allgather on several nodes."""
    return {
        "collective": "allgather",
        "shape": {"ranks": 12, "nodes": 4, "ranks_per_node": [2, 4], "bytes": 64, "regular": True},
        "parameters": {"between_start": 1e-6, "between_byte": 8e-11, "message_rate": 97e6},
        "network_source": {"path": "/p.json", "words": "measured then"},
        "internode": True,
        "enabled": True,
        "environment": [],
        "model_source": {"path": None, "words": "shipped values"},
        "table": None,
        "tables_passed_over": [],
        "table_entry": None,
        "candidates": [
            between("ring", 8e-6),
            between("bruck", 4e-6),
            between("host"),
            between("tree", eligible=False, requirements="blocks of the same size"),
        ],
        "textbook": [{**between("bruck-of-all", 16e-6), "leaders": False}],
        "choice": {
            "name": "bruck",
            "parameter": None,
            "seconds": 4e-6,
            "reason": "model",
            "words": "cheapest by the model",
        },
        "warnings": [],
        **more,
    }


def test_candidates_between_nodes_are_shown_on_both_levels():
    assert text_of(answer_between_nodes(), width=170) == [
        "allgather of up to 64 B on 12 ranks on 4 nodes of 2 to 4: bruck, cheapest by the model",
        "algorithm      by the model  between nodes  rounds     sent  inside  meanwhile",
        "bruck                  4 us           2 us       2  143 KiB    1 us     500 ns  taken",
        "ring                   8 us           4 us       2  143 KiB    2 us       1 us  2.00 times as long",
        "host          no prediction"
        "                                                     the model does not predict the MPI's own algorithms; "
        "tutti tune measures them",
        "tree                      -"
        "                                                     cannot here; needs: blocks of the same size",
        "bruck-of-all          16 us           8 us       2  143 KiB    4 us       2 us  "
        "for comparison: each rank for itself, 4.00 times as long",
        "model: shipped values",
        "between nodes: measured then (/p.json)",
        "a message takes 1 us to start, a node's link carries 100 Gb/s and 97 M messages/s",
        "table: none",
    ]


def test_what_a_run_leaves_to_the_mpi_between_nodes_is_said():
    assert "TUTTI_INTERNODE=1" in text_of(answer_between_nodes(internode=False), width=170)[0]


@needs_tool
def test_nodes_are_asked_about():
    told = ask(TOOL, Question("allgather", "64", nodes="128x18"))
    assert told["shape"]["ranks"] == 2304
    names = {one["name"]: one for one in told["candidates"]}
    assert {"multi-object-bruck", "multi-object-ring", "host"} <= set(names)
    assert (
        told["choice"]["name"]
        == min((one for one in told["candidates"] if one["seconds"]), key=lambda one: one["seconds"])["name"]
    )
    # Two rounds with base 19, and all blocks of the other nodes.
    assert names["multi-object-bruck"]["rounds"] == 2
    assert names["multi-object-bruck"]["bytes"] == 127 * 18 * 64
    assert {one["name"] for one in told["textbook"]} >= {"bruck", "ring"}
    assert "recursive-doubling" not in {one["name"] for one in told["textbook"]}, "2304 is no power of two"


@needs_tool
def test_nodes_of_different_size_and_all_collectives_are_asked_about():
    told = ask(TOOL, Question(nodes="2,3,1"))
    assert told["shape"] == {"ranks": 6, "nodes": 3, "ranks_per_node": [1, 3], "commutative": True}
    assert {row["name"] for row in told["choices"] if row["collective"] == "neighbor"} == {"pairs"}
    assert any("multi-object" in row["name"] for row in overview_ranges(told))


@needs_tool
@pytest.mark.parametrize("nodes", ["0x2", "x", "4x", "2,0", "2x3x4", "1x4", "1048577x2", "3,"])
def test_what_describes_no_nodes_is_refused(nodes):
    with pytest.raises(UserError, match="--nodes"):
        ask(TOOL, Question("bcast", nodes=nodes))


@needs_tool
def test_what_says_where_ranks_are_excludes_nodes():
    for more in ({"ranks": 4}, {"mapping": "core"}, {"mechanisms": "cma"}, {"hierarchy": "flat"}):
        with pytest.raises(UserError, match="--nodes exclude each other"):
            ask(TOOL, Question("bcast", nodes="2x2", **more))


@needs_tool
def test_a_measured_network_and_a_table_decide_between_nodes(tmp_path):
    model = json.loads(subprocess.run([str(TOOL), "--model-only"], capture_output=True, check=True).stdout)
    section = {"between_start": 1.0, "between_byte": 1e-9, "message_rate": 1e6, "date": "then"}
    probe = {"schema": "tutti-probe-1", "date": "", "machine": model["machine"], "model": model["model"]}
    file = tmp_path / "probe.json"
    file.write_text(json.dumps({**probe, "network": section}))
    told = ask(TOOL, Question("allgather", "64K", nodes="4x3", probe=file))
    assert told["network_source"] == {"path": str(file), "words": "measured then"}
    assert told["choice"]["name"] == "multi-object-bruck"
    assert told["choice"]["seconds"] == pytest.approx(1.0, rel=0.01)

    row = {"collective": "allgather", "nodes": [4, 4], "ranks_per_node": [3, 3], "bytes": [0, 1 << 20]}
    table = {
        "schema": "tutti-table-1",
        "machine": model["machine"],
        "host": {"name": "MPICH", "version": "5"},
    }
    path = tmp_path / "table.json"
    path.write_text(json.dumps({**table, "entries": [], "between_nodes": [{**row, "algorithm": "host"}]}))
    told = ask(TOOL, Question("allgather", "64K", nodes="4x3", probe=file, table=path))
    assert (told["choice"]["name"], told["choice"]["reason"]) == ("host", "table")
    assert told["table_entry"]["name"] == "host"
    assert ask(TOOL, Question("allgather", "64K", nodes="4x2", table=path))["choice"]["reason"] == "model"
