"""`tutti topo` against the real tutti-topo, on machines that are only described."""

import json
import os
from pathlib import Path

import pytest
from rich.console import Console

from tutti.errors import UserError
from tutti.topo.command import carry_out
from tutti.topo.model import describe, highest_led, machine_boxes, machine_line, message_sizes, unbound_ranks
from tutti.topo.text import compact, show

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TUTTI_BUILD_DIR", REPOSITORY / "build" / "release"))
TOOL = BUILD / "tools" / "tutti-topo"
TWO_SOCKETS = "package:2 numa:4 core:8 pu:1"

needs_tool = pytest.mark.skipif(not TOOL.exists(), reason=f"{TOOL} is not built")


def text_of(description, width=120):
    console = Console(width=width, record=True, file=open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    show(description, console)
    console.file.close()
    return console.export_text()


@needs_tool
@pytest.mark.parametrize("root", [0, 10, 63])
@pytest.mark.parametrize("mapping", ["core", "numa", "socket"])
def test_message_counts_are_those_of_table_two(mapping, root):
    description = describe(TOOL, TWO_SOCKETS, "numa+socket", 64, root, mapping)
    assert description["message_counts"] == {"inter_socket": 1, "inter_numa": 6, "intra_numa": 56}
    assert [len(level["groups"]) for level in description["levels"]] == [8, 2, 1]
    assert description["ranks"][root]["parent"] is None


@needs_tool
def test_what_collectives_send_does_not_depend_on_the_numbers_of_ranks():
    description = describe(TOOL, TWO_SOCKETS, mapping="shuffle:1", messages=[64, 4096])
    by_call = {
        (each["collective"], each["bytes"], each["commutative"]): each for each in description["collectives"]
    }
    for collective in (
        "bcast",
        "reduce",
        "allreduce",
        "scatter",
        "gather",
        "gatherv",
        "allgather",
        "alltoall",
    ):
        for size in (64, 4096):
            call = by_call[collective, size, True]
            assert call["ordered"] == call["mapped"], collective
    # A tree leaves the first socket once; what is combined in the order of numbers has to cross more often.
    assert by_call["bcast", 64, True]["mapped"]["messages"] == {
        "inter_socket": 1,
        "inter_numa": 6,
        "intra_numa": 56,
    }
    scan = by_call["scan", 64, True]
    assert scan["mapped"]["messages"]["inter_socket"] > scan["ordered"]["messages"]["inter_socket"]
    text = text_of(description, width=160)
    assert "ordered / shuffle:1" in text
    assert "1 / 1" in text
    assert "allreduce in rank order" in text


@needs_tool
def test_messages_are_counted_where_they_are_asked_for():
    assert "collectives" not in describe(TOOL, TWO_SOCKETS)
    told = describe(TOOL, "package:1 core:2 pu:1", messages=[64])["collectives"]
    assert told[0]["collective"] == "bcast"
    assert "ordered /" not in text_of(describe(TOOL, "package:1 core:2 pu:1", messages=[64]))
    many = describe(TOOL, "package:2 core:8 pu:1", ranks=600, messages=[64])
    assert "collectives" not in many
    assert any("up to 512 ranks" in note for note in many["notes"])


def test_sizes_of_counted_messages_follow_from_the_mapping_or_are_given():
    assert message_sizes("", "core") == []
    assert message_sizes("", "shuffle:3") == [64, 16384]
    assert message_sizes("4K,1M", "core") == [4096, 1 << 20]
    with pytest.raises(UserError, match="at most 1M"):
        message_sizes("2M", "core")
    with pytest.raises(UserError, match="--messages"):
        message_sizes("some", "core")


@needs_tool
def test_auto_chooses_the_levels_of_the_machine_and_one_rank_a_core():
    description = describe(TOOL, "package:2 numa:8 core:10")
    assert description["rank_count"] == 160
    assert description["hierarchy"] == "numa+socket"
    assert not description["oversubscribed"]


@needs_tool
def test_wide_groups_are_cut_and_shown_as_no_part_of_the_machine():
    description = describe(TOOL, "package:2 l3:1 core:56 pu:1")
    assert description["hierarchy"] == "socket+16"
    assert [level["name"] for level in description["levels"]] == ["neighbors", "socket", "top"]
    assert [len(level["groups"]) for level in description["levels"]] == [14, 2, 1]
    told = text_of(description)
    assert "neighbors" in told
    assert "no boundary of the machine" in " ".join(told.split())
    flat = describe(TOOL, "package:1 core:56 pu:1", "flat")
    assert [level["name"] for level in flat["levels"]] == ["top"]
    given = describe(TOOL, "package:1 core:56 pu:1", "28")
    assert [len(level["groups"]) for level in given["levels"]] == [7, 1]


@needs_tool
def test_unbound_ranks_form_one_group():
    description = describe(TOOL, TWO_SOCKETS, "numa+socket", 6, 2, "unbound")
    assert unbound_ranks(description) == list(range(6))
    assert description["levels"] == [{"name": "top", "groups": [{"leader": 2, "members": list(range(6))}]}]
    assert len(description["notes"]) == 2


@needs_tool
def test_a_level_the_machine_lacks_is_noted():
    description = describe(TOOL, TWO_SOCKETS, "l3+numa")
    assert any("l3" in note and "has none" in note for note in description["notes"])


@needs_tool
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"hierarchy": "nuna"}, 'did you mean "numa"'),
        ({"mapping": "cores"}, 'did you mean "core"'),
        ({"mapping": "shuffle:first"}, "expected a number after shuffle:"),
        ({"topology": "/no/such/file.xml"}, "/no/such/file.xml"),
        ({"topology": "rubbish"}, "rubbish"),
        ({"topology": TWO_SOCKETS, "root": 64}, "0 to 63"),
        ({"ranks": -1}, "--ranks -1"),
    ],
)
def test_mistakes_are_explained(arguments, words, capsys):
    values = {"topology": "", "hierarchy": "", "ranks": 0, "root": 0, "mapping": "", **arguments}
    with pytest.raises(UserError, match=words):
        carry_out(**values, svg=None, png=None, json_file=None, tool=TOOL)
    assert capsys.readouterr().out == ""


@needs_tool
def test_text_shows_every_rank_once_and_marks_root_and_leaders():
    text = text_of(describe(TOOL, TWO_SOCKETS, "numa+socket", 64, 10))
    assert "2 sockets, 8 NUMA nodes, 64 cores" in text
    assert "ranks 8 9 10* 11-15" in text
    assert "ranks 32'' 33-39" in text
    assert "ranks 56' 57-63" in text
    assert "inter-socket" in text


@needs_tool
def test_boxes_nest_and_equal_domains_share_one():
    description = describe(TOOL, "package:2 [numa] l3:2 core:4 pu:2")
    boxes = machine_boxes(description)
    assert [box.domains for box in boxes] == [[("socket", 0), ("numa", 0)], [("socket", 1), ("numa", 1)]]
    assert [len(child.cores) for child in boxes[0].children] == [4, 4]
    assert sorted(core for box in boxes for core in box.cores) == list(range(16))
    assert machine_line(description).endswith("16 cores, 32 hardware threads")


@needs_tool
def test_files_are_written(tmp_path):
    pytest.importorskip("matplotlib")
    svg, png, json_file = tmp_path / "a.svg", tmp_path / "a.png", tmp_path / "a.json"
    assert carry_out(TWO_SOCKETS, "", 70, 3, "numa", svg, png, json_file, TOOL) == 0
    assert png.read_bytes().startswith(b"\x89PNG")
    assert "<svg" in svg.read_text(encoding="utf-8")
    description = json.loads(json_file.read_text(encoding="utf-8"))
    assert description["oversubscribed"]
    assert highest_led(description)[3] == len(description["levels"]) - 1


@needs_tool
@pytest.mark.parametrize("mapping", ["core", "unbound"])
@pytest.mark.parametrize(
    "topology", ["", "core:1 pu:1", "package:3 l3:5 core:1 pu:2", "numa:2 package:2 core:2 pu:1"]
)
def test_any_machine_can_be_shown_and_drawn(topology, mapping, tmp_path):
    pytest.importorskip("matplotlib")
    png = tmp_path / "machine.png"
    assert carry_out(topology, "", 0, 0, mapping, None, png, None, TOOL) == 0
    assert png.stat().st_size > 1000


@needs_tool
@pytest.mark.parametrize(
    ("topology", "ranks", "hierarchy", "groups"),
    [
        # One NUMA node of 128 cores, each with caches of its own; no hardware threads.
        ("package:1 numa:1 l2:128 core:1 pu:1", 128, "16", [11, 1]),
        ("package:2 numa:1 l2:128 core:1 pu:1", 256, "socket+16", [22, 2, 1]),
        # Eight hardware threads a core: a rank a core.
        ("package:2 numa:1 l3:10 l2:1 core:1 pu:8", 20, "socket", [2, 1]),
    ],
)
def test_machines_of_other_processors_are_divided(topology, ranks, hierarchy, groups):
    description = describe(TOOL, topology)
    assert len(description["ranks"]) == ranks
    assert description["hierarchy"] == hierarchy
    assert [len(level["groups"]) for level in description["levels"]] == groups


@needs_tool
def test_of_cores_of_two_kinds_the_smaller_caches_count():
    description = describe(TOOL, str(REPOSITORY / "tests" / "machines" / "two-kinds-of-cores.xml"))
    assert description["machine"]["l2_bytes"] == 512 << 10
    assert description["machine"]["l3_bytes"] == 8 << 20
    assert [len(level["groups"]) for level in description["levels"]] == [2, 1]


@needs_tool
def test_json_to_standard_output_is_nothing_but_json(capsys):
    assert carry_out(TWO_SOCKETS, "flat", 4, 0, "", None, None, Path("-"), TOOL) == 0
    assert json.loads(capsys.readouterr().out)["hierarchy"] == "flat"


@needs_tool
def test_a_file_that_cannot_be_written_is_said_before_anything_is_shown(tmp_path, capsys):
    (tmp_path / "no").write_text("no folder")
    with pytest.raises(UserError, match=r"file\.json cannot be written"):
        carry_out(TWO_SOCKETS, "", 4, 0, "", None, None, tmp_path / "no" / "file.json", TOOL)
    assert capsys.readouterr().out == ""


def test_a_missing_tool_is_explained(tmp_path):
    with pytest.raises(UserError, match="cannot be started"):
        carry_out("", "", 0, 0, "", None, None, None, tmp_path / "tutti-topo")


@pytest.mark.parametrize(
    ("numbers", "text"),
    [([], ""), ([4], "4"), ([0, 1, 2, 8], "0-2 8"), ([1, 2], "1 2"), ([3, 5, 6, 7], "3 5-7")],
)
def test_runs_of_ranks_are_joined(numbers, text):
    assert compact(numbers) == text


@needs_tool
def test_the_environment_counts_as_in_a_run_and_options_are_stronger(monkeypatch, capsys):
    def told(topology="", hierarchy=""):
        assert carry_out(topology, hierarchy, 0, 0, "", None, None, Path("-"), TOOL) == 0
        return json.loads(capsys.readouterr().out)

    monkeypatch.setenv("TUTTI_TOPOLOGY", TWO_SOCKETS)
    monkeypatch.setenv("TUTTI_HIERARCHY", "socket")
    assert told()["machine"]["core_count"] == 64
    assert told()["hierarchy"] == "socket"
    assert told(hierarchy="numa")["hierarchy"] == "numa"
    assert told("package:1 core:3 pu:1")["machine"]["core_count"] == 3
    assert carry_out("", "", 0, 0, "", None, None, None, TOOL) == 0
    assert f"from the environment: TUTTI_TOPOLOGY={TWO_SOCKETS}" in capsys.readouterr().out.replace("\n", " ")


@needs_tool
def test_what_the_environment_says_wrongly_is_a_warning_as_in_a_run(monkeypatch, capsys):
    monkeypatch.setenv("TUTTI_TOPOLOGY", "nonsense:2")
    monkeypatch.setenv("TUTTI_HIERARCHY", "rooms")
    assert carry_out("", "", 1, 0, "", None, None, Path("-"), TOOL) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["machine"]["is_this_machine"]
    for words in (
        "TUTTI_TOPOLOGY=nonsense:2",
        "this machine is used",
        "TUTTI_HIERARCHY=rooms",
        "auto is used",
    ):
        assert words in told.err
