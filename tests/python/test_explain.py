"""`tutti explain`: the text for people from a fixed answer, and what the real tutti-predict answers."""

import json
import os
from pathlib import Path

import pytest
from rich.console import Console

from tutti.errors import UserError
from tutti.explain import Question, as_json_text, ask, overview_ranges, show, words_of_seconds

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TUTTI_BUILD_DIR", REPOSITORY / "build" / "release"))
TOOL = BUILD / "tools" / "tutti-predict"
BIG = "package:2 numa:8 core:10 pu:1"

needs_tool = pytest.mark.skipif(not TOOL.exists(), reason=f"{TOOL} is not built")


def candidate(name, seconds=None, parameter=None, allowed=True, requirements="nothing"):
    return {
        "name": name,
        "parameter": parameter,
        "parameter_name": "k" if parameter else None,
        "eligible": seconds is not None,
        "allowed": allowed,
        "seconds": seconds,
        "requirements": requirements,
    }


def answer(**more):
    """What tutti-predict says of a scatter."""
    return {
        "collective": "scatter",
        "shape": {
            "bytes": 65536,
            "ranks": 8,
            "levels": 2,
            "ranks_per_core": 4,
            "regular": True,
            "reach": "kernel",
        },
        "model_source": {"path": None, "words": "shipped values"},
        "table": None,
        "table_entry": None,
        "candidates": [
            candidate("eager", requirements="at most TUTTI_EAGER_MAX bytes"),
            candidate("throttled", 3.0e-5, 4),
            candidate("parallel-read", 2.0e-5),
        ],
        "choice": {
            "name": "parallel-read",
            "parameter": None,
            "seconds": 2.0e-5,
            "reason": "model",
            "words": "cheapest by the model",
        },
        "warnings": [],
        **more,
    }


def text_of(told, width=120):
    console = Console(width=width, record=True, file=open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    show(told, console)
    console.file.close()
    return [line.rstrip() for line in console.export_text().splitlines()]


def test_candidates_are_shown_with_why_they_are_not_taken():
    assert text_of(answer()) == [
        "scatter of up to 64 KiB on 8 ranks, 2 levels, 4 a core: parallel-read, cheapest by the model",
        "the kernel copies between ranks",
        "algorithm      by the model",
        "parallel-read         20 us  taken",
        "throttled(4)          30 us  1.50 times as long",
        "eager                     -  cannot here; needs: at most TUTTI_EAGER_MAX bytes",
        "model: shipped values",
    ]


def test_what_the_user_asked_for_is_told_apart_from_what_is_slower():
    told = answer()
    told["candidates"][2]["allowed"] = False
    told["choice"] = {
        "name": "throttled",
        "parameter": 4,
        "seconds": 3.0e-5,
        "reason": "user",
        "words": "asked for",
    }
    lines = text_of(told)
    assert lines[0].endswith(": throttled(4), asked for")
    assert lines[3:5] == [
        "throttled(4)          30 us  taken",
        "parallel-read         20 us  not asked for",
    ]


def test_the_table_that_decided_is_shown_and_one_of_another_machine_is_refused():
    table = {
        "path": "t.json",
        "words": "measured with MPICH 5.0.2",
        "fits": True,
        "why_not": None,
        "left_out": [],
    }
    entry = {"name": "throttled", "parameter": 4, "bytes_from": 32769, "bytes_to": 131072}
    choice = {
        "name": "throttled",
        "parameter": 4,
        "seconds": 3.0e-5,
        "reason": "table",
        "words": "by the table",
    }
    lines = text_of(answer(table=table, table_entry=entry, choice=choice))
    assert "parallel-read         20 us  not what the table says" in lines
    assert lines[-2:] == [
        "table: measured with MPICH 5.0.2 (t.json)",
        "the table says throttled(4) for 32769 B to 128 KiB",
    ]
    refused = {**table, "fits": False, "why_not": "it was measured on 160 cores, this has 2"}
    assert text_of(answer(table=refused))[-1] == (
        "t.json is not used: it was measured on 160 cores, this has 2"
    )


def test_neighbouring_classes_with_one_choice_are_one_range():
    def row(collective, bytes_to, name, seconds):
        return {
            "collective": collective,
            "bytes_to": bytes_to,
            "reach": "mapped",
            "name": name,
            "parameter": None,
            "seconds": seconds,
            "reason": "model",
            "words": "cheapest by the model",
        }

    told = {
        "shape": {"ranks": 2, "levels": 1, "ranks_per_core": 1},
        "model_source": {"path": None, "words": "shipped values"},
        "table": None,
        "choices": [
            row("barrier", None, "flat", 1e-7),
            row("bcast", 1, "eager", 1e-7),
            row("bcast", 2, "eager", 2e-7),
            row("bcast", 4, "xhc", 3e-7),
            row("scatterv", None, "direct", 5e-6),
        ],
    }
    ranges = overview_ranges(told)
    assert [(each["bytes_from"], each["bytes_to"], each["name"]) for each in ranges] == [
        (None, None, "flat"),
        (0, 2, "eager"),
        (3, 4, "xhc"),
        (None, None, "direct"),
    ]
    assert text_of(told) == [
        "On 2 ranks:",
        "collective  size       algorithm  why                        by the model",
        "barrier     -          flat       cheapest by the model            100 ns",
        "bcast       to 2 B     eager      cheapest by the model  100 ns to 200 ns",
        "            above 2 B  xhc        cheapest by the model            300 ns",
        "scatterv    any        direct     cheapest by the model              5 us",
        "model: shipped values",
    ]


@pytest.mark.parametrize(
    ("seconds", "words"), [(1.2e-7, "120 ns"), (1e-6, "1 us"), (0.0123, "12.3 ms"), (2.5, "2.5 s")]
)
def test_times_have_units(seconds, words):
    assert words_of_seconds(seconds) == words


@needs_tool
@pytest.mark.parametrize("collective", ["barrier", "bcast", "scatterv", "exscan", "neighbor", "alltoall"])
def test_the_choice_is_the_fastest_that_can(collective):
    told = ask(TOOL, Question(collective=collective, size="40000", topology=BIG))
    able = [each["seconds"] for each in told["candidates"] if each["eligible"]]
    assert told["choice"]["seconds"] == min(able)
    assert told["choice"]["reason"] == "model"
    assert told["shape"]["ranks"] == 160
    assert told["shape"]["levels"] == 3
    assert told["shape"]["distances"]["widest"] == "machine"
    assert sum(told["shape"]["distances"]["pairs"].values()) == pytest.approx(1)
    if collective != "barrier":
        assert told["shape"]["bytes"] == 65536


@needs_tool
def test_what_ranks_can_do_decides_how_buffers_are_reached():
    reaches = {
        mechanisms: ask(TOOL, Question("bcast", "1M", 8, mechanisms=mechanisms))["shape"]["reach"]
        for mechanisms in ("window,cma,staged", "xpmem", "cma", "staged")
    }
    assert reaches == {
        "window,cma,staged": "mapped",
        "xpmem": "mapped",
        "cma": "kernel",
        "staged": "staged",
    }


@needs_tool
def test_the_user_is_heard():
    told = ask(TOOL, Question("bcast", "64K", 8, algorithm="bcast:knomial-read,k=3"))
    assert (told["choice"]["name"], told["choice"]["parameter"]) == ("knomial-read", 3)
    assert told["choice"]["reason"] == "user"
    refused = ask(TOOL, Question("bcast", "64K", 8, algorithm="bcast:eager"))
    assert refused["choice"]["reason"] == "refused"
    warned = ask(TOOL, Question("bcast", "64K", 8, algorithm="bcats:eager"))
    assert "bcast" in " ".join(warned["warnings"])


@needs_tool
def test_every_collective_has_a_choice_for_every_size():
    told = ask(TOOL, Question(topology=BIG))
    ranges = overview_ranges(told)
    names = {each["collective"] for each in ranges}
    assert {"barrier", "bcast", "allreduce", "scatterv", "neighborv"} <= names
    bcast = [each for each in ranges if each["collective"] == "bcast"]
    assert bcast[0]["bytes_from"] == 0
    assert bcast[-1]["bytes_to"] == 16 << 20
    for before, after in zip(bcast, bcast[1:]):
        assert after["bytes_from"] == before["bytes_to"] + 1


@needs_tool
@pytest.mark.parametrize(
    ("question", "says"),
    [
        (Question("bsact"), "bsact: there is none; the nearest is bcast"),
        (Question("bcast", "64Q"), "'64Q' is not a size"),
        (Question("bcast", mechanisms="windo"), "--mechanism windo: expected window"),
        (Question("bcast", topology="rubbish"), "rubbish"),
        (Question("bcast", hierarchy="nuna"), "numa"),
        (Question("bcast", probe=Path("/no/such.json")), "/no/such.json cannot be read"),
        (Question("bcast", table=Path("/no/such.json")), "/no/such.json cannot be read"),
    ],
)
def test_mistakes_are_one_line(question, says):
    with pytest.raises(UserError) as caught:
        ask(TOOL, question)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def table_for(machine, algorithm, host="MPICH"):
    return {
        "schema": "tutti-table-1",
        "machine": machine,
        "host": {"name": host, "version": "5.0.2"},
        "entries": [
            {
                "collective": "bcast",
                "ranks": [2, 8],
                "levels": 1,
                "ranks_per_core": 1,
                "reach": "mapped",
                "bytes": [32769, 1048576],
                "algorithm": algorithm,
            }
        ],
    }


@needs_tool
def test_a_table_decides_where_it_belongs_and_only_there(tmp_path):
    path = tmp_path / "table.json"
    question = Question("bcast", "64K", 8, topology=BIG, hierarchy="flat", table=path)
    path.write_text(json.dumps(table_for({"cores": 2, "topology": "one of 2 cores"}, "direct-write")))
    told = ask(TOOL, question)
    assert told["choice"]["reason"] == "model"
    assert "measured on 2 cores, here are 160" in told["table"]["why_not"]
    path.write_text(json.dumps(table_for({"cores": 160, "topology": "another"}, "direct-write")))
    described = ask(TOOL, question)["table"]["why_not"].partition("this has ")[2]
    machine = {"cores": 160, "topology": described}
    path.write_text(json.dumps(table_for(machine, "direct-write")))
    told = ask(TOOL, question)
    assert told["table"]["fits"]
    assert (told["choice"]["name"], told["choice"]["reason"]) == ("direct-write", "table")
    assert told["table_entry"]["bytes_to"] == 1 << 20
    told = ask(TOOL, Question("bcast", "64K", 8, topology=BIG, hierarchy="flat", table=path, host="intel"))
    assert "measured with MPICH" in told["table"]["why_not"]
    path.write_text(json.dumps(table_for(machine, "eager")))
    told = ask(TOOL, question)
    assert (told["choice"]["reason"], told["table_entry"]["name"]) == ("model", "eager")
    path.write_text(json.dumps(table_for(machine, "no-such"))[:-20])
    with pytest.raises(UserError, match="cut off"):
        ask(TOOL, question)


@needs_tool
def test_the_command_prints_json_and_a_mistake_has_status_2(tutti_here):
    done = tutti_here("explain", "bcast", "64K", "8", "--json", "-t", BIG)
    told = json.loads(done.stdout)
    assert done.returncode == 0
    assert told["schema"] == "tutti-choice-1"
    taken = [each["name"] for each in told["candidates"] if each["why_not"] == ""]
    assert taken == [told["choice"]["name"]]
    overview = json.loads(tutti_here("explain", "--json", "-t", BIG).stdout)
    assert overview["ranges"]
    assert "choices" not in overview
    wrong = tutti_here("explain", "bsact")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr == "tutti: bsact: there is none; the nearest is bcast\n"


def test_json_has_why_not_for_every_candidate():
    told = json.loads(as_json_text(answer()))
    assert [each["why_not"] for each in told["candidates"]] == [
        "",
        "1.50 times as long",
        "cannot here; needs: at most TUTTI_EAGER_MAX bytes",
    ]


def test_run_explain_is_the_setting(tutti, apps, launchers, preload):
    done = tutti("run", "--explain", "--library", preload, launchers["mpich"], "-n", "1", apps["mpich"])
    assert "TUTTI_EXPLAIN" in done.stdout
