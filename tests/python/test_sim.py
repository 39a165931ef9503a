"""`tutti sim`: its options, what it asks of tutti-sim, and what it makes of the answer."""

import json
from pathlib import Path

import pytest
from conftest import ROOT

from tutti.errors import UserError
from tutti.sim import machine, question, timeline
from tutti.sim.question import Question, ask, words_of

PROGRAM = ROOT / "build" / "simulated" / "simulation" / "tutti-sim"
needs_program = pytest.mark.skipif(not PROGRAM.is_file(), reason=f"{PROGRAM} is not built")

SPANS = [
    {"rank": 0, "what": "copy", "begin": 1e-6, "end": 3e-6, "bytes": 4096, "peer": None},
    {"rank": 0, "what": "call", "begin": 1e-6, "end": 4e-6, "bytes": 4096, "peer": None},
    {"rank": 1, "what": "wait", "begin": 1.5e-6, "end": 3e-6, "bytes": 0, "peer": 0},
]
CALLS = [{"bytes": 4096, "name": "xhc", "spans": SPANS}]


# --- machines -------------------------------------------------------------------------------------------------------


def test_every_machine_says_what_it_is_and_where_that_is_from():
    assert {"epyc-1p", "epyc-2p", "arm-n1", "knights-landing", "broadwell", "power8", "pip-mcoll"} <= set(
        machine.names()
    )
    for name in machine.names():
        told = json.loads((machine.FOLDER / f"{name}.json").read_text())
        assert told["machine"]["description"], name
        assert told["machine"]["ranks"] > 0, name
        assert min(map(len, told["sources"])) > 20, name
        assert machine.find(name) == machine.FOLDER / f"{name}.json"


def test_a_wrong_machine_is_told_the_nearest():
    with pytest.raises(UserError, match="no machine epyc-2q; the nearest is epyc-2p"):
        machine.find("epyc-2q")


def test_a_described_machine_takes_a_probe(tmp_path):
    probe = tmp_path / "probe.json"
    probe.write_text(json.dumps({"schema": "tutti-probe-1", "machine": {"cores": 4}, "model": {"hop": 2e-7}}))
    told = machine.described("package:1 core:4 pu:1", str(probe))
    assert told["machine"] == {"cores": 4, "description": "package:1 core:4 pu:1"}
    assert told["model"] == {"hop": 2e-7}
    probe.write_text("[]")
    with pytest.raises(UserError, match="no file of tutti probe"):
        machine.described("package:1 core:4 pu:1", str(probe))


# --- the program ----------------------------------------------------------------------------------------------------


def test_without_the_program_the_remedy_is_said(monkeypatch, tutti_here, tmp_path):
    monkeypatch.setattr(question.places, "ROOT", str(tmp_path))
    monkeypatch.setattr(question.places, "candidates", lambda *_: [])
    done = tutti_here("sim", "bcast", "64", "--machine", "epyc-2p")
    assert done.returncode == 2
    assert "libboost-context-dev" in done.stderr
    assert "ninja -C build/simulated tutti-sim" in done.stderr


def test_mechanisms_have_the_names_that_they_have_elsewhere():
    assert "--reach=kernel" in words_of(Question("bcast", "64", mechanism="cma"))
    with pytest.raises(UserError, match="the nearest is window"):
        words_of(Question("bcast", "64", mechanism="windo"))


def test_what_the_program_says_is_one_line(tmp_path):
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho 'tutti-sim: no such collective: bcst' >&2\nexit 2\n")
    tool.chmod(0o755)
    with pytest.raises(UserError, match=r"^no such collective: bcst$"):
        ask(Question("bcst", "64"), Path("machine.json"), tool=tool)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "which collective"),
        (["bcast", "64", "--machine", "epyc-2p", "-t", "core:4"], "give one or the other"),
        (["bcast", "64", "--machine", "none.json"], "none.json cannot be read"),
        (["bcst", "64", "--machine", "epyc-2p"], "no such collective"),
        (["bcast", "many", "--machine", "epyc-2p"], "expected a size"),
        (["bcast", "64", "--machine", "epyc-2p", "-n", "65"], "64 hardware threads"),
        (["bcast", "64", "-t", "no:such"], "no:such"),
    ],
)
@needs_program
def test_mistakes_are_one_line(tutti_here, words, said):
    done = tutti_here("sim", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@needs_program
def test_all_algorithms_stand_beside_the_model(tutti_here):
    done = tutti_here("sim", "allreduce", "8,64K", "--machine", "epyc-1p", "-n", "8", "--json")
    told = json.loads(done.stdout)
    assert told["schema"] == "tutti-simulation-1"
    assert told["ranks"] == 8
    for size, count in zip(told["sizes"], (6, 4)):
        candidates = {each["name"]: each for each in size["candidates"]}
        assert len(candidates) >= count
        assert size["winner"] in candidates
        assert size["model"] in candidates
        assert all(0 < each["cost"] < 1e-3 and each["model"] > 0 for each in candidates.values())
        assert candidates[size["winner"]]["cost"] == min(each["cost"] for each in candidates.values())
    done = tutti_here("sim", "allreduce", "8", "--machine", "epyc-1p", "-n", "8", "--algorithms", "eager;xhc")
    assert "the quickest" in done.stdout
    assert "share" not in done.stdout


@needs_program
def test_the_same_question_has_the_same_answer(tutti_here):
    def answer():
        told = json.loads(tutti_here("sim", "bcast", "4K", "-t", "package:2 core:4 pu:1", "--json").stdout)
        return told["sizes"], told["events"]

    assert answer() == answer()


@needs_program
@pytest.mark.parametrize(
    ("where", "quicker"), [("epyc-1p", "flat"), ("epyc-2p", "flat"), ("arm-n1", "numa+socket")]
)
def test_a_few_bytes_go_flat_where_cores_share_a_cache(tutti_here, where, quicker):
    """As the XHC paper found it (section V.D.1)."""
    seconds = {}
    for levels in ("flat", "numa+socket"):
        words = ["--machine", where, "--algorithms", "xhc", "--hierarchy", levels, "--meets", "--json"]
        told = json.loads(tutti_here("sim", "bcast", "8", *words).stdout)
        seconds[levels] = told["sizes"][0]["candidates"][0]["inside"]
    assert min(seconds, key=seconds.__getitem__) == quicker


@needs_program
def test_several_nodes_take_messages(tutti_here):
    done = tutti_here("sim", "allgather", "64", "--machine", "pip-mcoll", "-n", "2", "--nodes", "4", "--json")
    told = json.loads(done.stdout)
    assert (told["ranks"], told["nodes"]) == (8, 4)
    assert all(each["cost"] > 1e-6 for each in told["sizes"][0]["candidates"])


# --- what ranks do --------------------------------------------------------------------------------------------------


def test_trace_events_are_those_of_perfetto():
    events = json.loads(timeline.as_events(CALLS))["traceEvents"]
    by_kind = {kind: [each for each in events if each["ph"] == kind] for kind in "MXsf"}
    assert [each["args"]["name"] for each in by_kind["M"]] == ["xhc, 4096 bytes", "rank 0", "rank 1"]
    copied, _, waited = by_kind["X"]
    assert (copied["tid"], copied["ts"], round(copied["dur"], 6)) == (0, 0, 2)
    assert waited["args"] == {"ended by": 0}
    # The arrow goes from who has ended the wait to who has waited, when that is over.
    (begin,), (end,) = by_kind["s"], by_kind["f"]
    assert (begin["tid"], end["tid"], begin["id"]) == (0, 1, end["id"])
    assert begin["ts"] == end["ts"] == waited["ts"] + waited["dur"]


def test_the_picture_has_a_row_for_each_rank(tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "calls.png"
    timeline.draw(CALLS, path)
    assert path.read_bytes().startswith(b"\x89PNG")


@needs_program
def test_trace_and_picture_are_written(tutti_here, tmp_path):
    pytest.importorskip("matplotlib")
    trace, plot = tmp_path / "trace.json", tmp_path / "plot.svg"
    words = ["sim", "bcast", "16K", "-m", "epyc-1p", "-n", "4", "--algorithms", "xhc"]
    done = tutti_here(*words, "--trace", str(trace), "--plot", str(plot))
    assert (done.returncode, done.stderr) == (0, "")
    events = json.loads(trace.read_text())["traceEvents"]
    assert {each["tid"] for each in events if each["ph"] == "X"} == {0, 1, 2, 3}
    assert any(each["ph"] == "s" for each in events)
    assert "<svg" in plot.read_text()
