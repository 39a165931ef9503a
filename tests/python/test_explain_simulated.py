"""tutti explain --simulate: simulated times beside the model's, on the machines of tutti sim."""

import json

import pytest
from explained import TOOL, needs_tool, text_of
from test_explain import answer, candidate
from test_explain_nodes import answer_between_nodes
from test_sim import needs_program

from tutti.errors import UserError
from tutti.explain import simulated
from tutti.explain.question import Question, ask
from tutti.explain.simulated import add_times, on_machine
from tutti.sim import machine

pytestmark = pytest.mark.usefixtures("configuration")


@pytest.fixture
def sim(monkeypatch):
    """Instead of tutti-sim: what it is asked, and an answer for two candidates."""
    asked = []

    def told(question, where):
        asked.append((question, where))
        candidates = [{"name": "throttled,k=4", "cost": 4e-5}, {"name": "parallel-read", "cost": 5e-5}]
        return {"sizes": [{"candidates": candidates}]}

    monkeypatch.setattr(simulated.sim, "ask", told)
    return asked


def told_of_8(**more):
    told = answer(**more)
    told["shape"] = {**told["shape"], "ranks_per_core": 1}
    return told


def test_each_candidate_has_its_time(sim):
    told = told_of_8()
    add_times(told, Question("scatter", "64K", 8, topology="package:1 core:8 pu:1", mechanisms="cma,staged"))
    assert {each["name"]: each["simulated"] for each in told["candidates"]} == {
        "eager": None, "throttled": 4e-5, "parallel-read": 5e-5, "host": None
    }  # fmt: skip
    (question, where) = sim[0]
    assert (question.collective, question.sizes, question.ranks, question.nodes) == ("scatter", "65536", 8, 1)
    assert question.mechanism == "cma"
    assert where["machine"]["description"] == "package:1 core:8 pu:1"
    lines = text_of(told)
    assert "by the model  simulated" in next(line for line in lines if line.startswith("algorithm"))
    assert "30 us      40 us  1.50 times as long" in next(line for line in lines if "throttled(4)" in line)


def test_without_the_option_there_is_no_column():
    assert "simulated" not in "\n".join(text_of(answer()))


@pytest.mark.parametrize(
    ("mechanisms", "taken"),
    [("", "window"), ("xpmem,staged", "window"), ("staged,cma", "cma"), ("staged", "staged")],
)
def test_the_first_mechanism_counts(sim, mechanisms, taken):
    add_times(told_of_8(), Question("scatter", topology="core:8 pu:1", mechanisms=mechanisms))
    assert sim[0][0].mechanism == taken


def test_a_block_of_reduce_scatter_is_a_ranks_part(sim):
    add_times(told_of_8(collective="reduce_scatter"), Question("reduce_scatter", topology="core:8 pu:1"))
    assert sim[0][0].sizes == "8192"


def test_between_nodes(sim):
    told = answer_between_nodes(candidates=[{**candidate("parallel-read"), "seconds": None}])
    with pytest.raises(UserError, match="nodes of different size"):
        add_times(told, Question("allgather", nodes="2,4,4,2"))
    told["shape"]["ranks_per_node"] = [3, 3]
    add_times(told, Question("allgather", nodes="4x3"))
    assert (sim[0][0].nodes, sim[0][0].ranks) == (4, 3)
    assert any(line.endswith("50 us  taken") or "50 us" in line for line in text_of(told, 160))


def test_what_is_not_simulated_is_refused():
    with pytest.raises(UserError, match="share a core"):
        add_times(answer(), Question("scatter"))
    overview = told_of_8()
    del overview["candidates"]
    with pytest.raises(UserError, match="which collective"):
        add_times(overview, Question())


def test_a_machine_says_what_options_do_not():
    found = on_machine(Question("bcast", machine="epyc-2p"))
    assert found.topology == "package:2 numa:4 l3:2 core:4 pu:1"
    assert (found.ranks, found.nodes, found.probe) == (64, "", machine.FOLDER / "epyc-2p.json")
    assert on_machine(Question("bcast", machine="epyc-2p", ranks=8)).ranks == 8
    assert on_machine(Question("bcast", machine="pip-mcoll")).nodes == "128x18"
    assert on_machine(Question("bcast", machine="pip-mcoll", nodes="4x2")).nodes == "4x2"
    assert on_machine(Question("bcast", machine="pip-mcoll", ranks=4)).nodes == ""
    with pytest.raises(UserError, match="one or the other"):
        on_machine(Question("bcast", machine="epyc-2p", topology="core:4 pu:1"))
    with pytest.raises(UserError, match="nearest is epyc-2p"):
        on_machine(Question("bcast", machine="epyc-2q"))


@needs_tool
@needs_program
def test_all_that_can_run_are_simulated(tutti_here):
    done = tutti_here("explain", "bcast", "4K", "16", "--machine", "epyc-2p", "--simulate", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    times = {
        (each["name"], each["parameter"]): each["simulated"]
        for each in told["candidates"]
        if each["eligible"]
    }
    assert times.pop(("host", None)) is None
    assert len(times) > 5
    for name, seconds in times.items():
        assert 1e-7 < seconds < 1e-3, name


@needs_tool
@needs_program
@pytest.mark.parametrize("machine_name", ["pip-mcoll", "mpc-sandy-bridge"])
def test_so_are_those_between_nodes(machine_name):
    question = on_machine(Question("allreduce", "64", machine=machine_name, nodes="3x4"))
    told = ask(TOOL, question)
    add_times(told, question)
    assert all(
        each["simulated"] for each in told["candidates"] if each["eligible"] and each["name"] != "host"
    )
