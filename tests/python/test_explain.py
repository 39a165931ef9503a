"""`tutti explain`: the text for people from a fixed answer, and what the real tutti-predict answers."""

import json
import os
import subprocess
from pathlib import Path
from unittest import mock

import pytest
from explained import TOOL, needs_tool, text_of

from tutti.errors import UserError
from tutti.explain.answer import as_json_text, ordered_candidates, overview_ranges
from tutti.explain.question import USUAL_MECHANISMS, Question, ask, usable_mechanisms
from tutti.sizes import words_of_seconds

pytestmark = pytest.mark.usefixtures("configuration")

BIG = "package:2 numa:8 core:10 pu:1"

GOLDEN = Path(__file__).with_name("golden")


def candidate(name, seconds=None, parameter=None, allowed=True, requirements="nothing"):
    return {
        "name": name,
        "parameter": parameter,
        "parameter_name": "k" if parameter else None,
        "eligible": seconds is not None,
        "allowed": allowed,
        "seconds": seconds,
        "why_unpredicted": None,
        "requirements": requirements,
    }


HOST_CANDIDATE = {
    **candidate("host"),
    "eligible": True,
    "why_unpredicted": "the model does not predict the MPI's own algorithms; tutti tune measures them",
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
            "distances": {"widest": "cache"},
            "regular": True,
            "reach": "kernel",
        },
        "enabled": True,
        "environment": [],
        "model_source": {"path": None, "words": "shipped values"},
        "table": None,
        "tables_passed_over": [],
        "table_entry": None,
        "candidates": [
            candidate("eager", requirements="at most TUTTI_EAGER_MAX bytes"),
            candidate("throttled", 3.0e-5, 4),
            candidate("parallel-read", 2.0e-5),
            HOST_CANDIDATE,
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


def test_candidates_are_shown_with_why_they_are_not_taken():
    assert text_of(answer()) == [
        "scatter of up to 64 KiB on 8 ranks, 2 levels, 4 a core: parallel-read, cheapest by the model",
        "the kernel copies between ranks",
        "algorithm       by the model",
        "parallel-read          20 us  taken",
        "throttled(4)           30 us  1.50 times as long",
        "host           no prediction  the model does not predict the MPI's own algorithms; tutti tune measures them",
        "eager                      -  cannot here; needs: at most TUTTI_EAGER_MAX bytes",
        "model: shipped values",
        "table: none",
    ]


def test_buffers_outside_the_window_have_two_ways():
    told = answer(outside_the_window={"kernel": 2.5e-5, "staged": 1.25e-5})
    assert (
        "static arrays, the stack and mapped pages: by the kernel 25 us, by a copy that is lent 12.5 us; "
        "copies are lent where they fit two segments"
    ) in text_of(told, width=150)
    assert not any("static arrays" in line for line in text_of(answer(outside_the_window=None)))


@needs_tool
def test_both_ways_of_buffers_outside_the_window_are_predicted():
    def asked(size, mechanisms):
        return ask(TOOL, Question("reduce", size, 2, mechanisms=mechanisms))

    told = asked("1M", "window,cma,staged")
    ways = told["outside_the_window"]
    chosen = told["choice"]
    assert set(ways) == {"kernel", "staged"}
    for reach, mechanisms in (("kernel", "cma"), ("staged", "staged")):
        alone = asked("1M", mechanisms)["candidates"]
        same = [
            one for one in alone if (one["name"], one["parameter"]) == (chosen["name"], chosen["parameter"])
        ]
        assert ways[reach] == pytest.approx(same[0]["seconds"])
    assert asked("1M", "cma")["outside_the_window"] is None
    assert asked("64", "window,cma,staged")["outside_the_window"] is None


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
        "throttled(4)           30 us  taken",
        "parallel-read          20 us  not asked for",
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
    assert "parallel-read          20 us  not what the table says" in lines
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
        "shape": {"ranks": 2, "levels": 1, "ranks_per_core": 1, "distances": {"widest": "cache"}},
        "enabled": True,
        "environment": [],
        "model_source": {"path": None, "words": "shipped values"},
        "table": None,
        "tables_passed_over": [],
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
        "table: none",
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
    able = [each["seconds"] for each in told["candidates"] if each["seconds"]]
    # Blocks of different sizes may be small: what takes one hop then is chosen unless another is three times as fast.
    longest = 3 if collective in ("scatterv", "neighbor") else 1
    assert min(able) <= told["choice"]["seconds"] <= longest * min(able)
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
                "distances": {"widest": "cache"},
                "reach": "mapped",
                "bytes": [32769, 1048576],
                "algorithm": algorithm,
            }
        ],
    }


def topology_of_big(folder):
    """BIG as tables say it."""
    path = folder / "other.json"
    path.write_text(json.dumps(table_for({"cores": 160, "topology": "another"}, "direct-write")))
    return ask(TOOL, Question("bcast", topology=BIG, table=path))["table"]["why_not"].partition("this has ")[
        2
    ]


@needs_tool
def test_a_table_decides_where_it_belongs_and_only_there(tmp_path):
    path = tmp_path / "table.json"
    question = Question("bcast", "64K", 8, topology=BIG, hierarchy="flat", table=path)
    path.write_text(json.dumps(table_for({"cores": 2, "topology": "one of 2 cores"}, "direct-write")))
    told = ask(TOOL, question)
    assert told["choice"]["reason"] == "model"
    assert "measured on 2 cores, here are 160" in told["table"]["why_not"]
    machine = {"cores": 160, "topology": topology_of_big(tmp_path)}
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


def probe_for(machine, **parameters):
    """A file of tutti probe with the shipped parameters but for these."""
    done = subprocess.run([TOOL, "--model-only"], capture_output=True, check=True, stdin=subprocess.DEVNULL)
    return {
        "schema": "tutti-probe-1",
        "date": "2026-01-02T03:04:05+00:00",
        "kernel": "Linux",
        "machine": {"processor": "", "topology": "", **machine},
        "model": {**json.loads(done.stdout)["model"], **parameters},
    }


def written(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


@needs_tool
@pytest.mark.parametrize(
    ("name", "words"), [("explain-overview", []), ("explain-bcast", ["bcast", "256K", "20", "--ordered"])]
)
def test_what_is_printed_for_a_described_machine(tutti_here, name, words):
    done = tutti_here("explain", *words, "-t", BIG)
    assert (done.returncode, done.stderr) == (0, "")
    said = "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())
    file = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(said, encoding="utf-8")
    assert said == file.read_text(encoding="utf-8")


@needs_tool
def test_a_probe_of_another_machine_is_refused_with_one_line(tutti_here, tmp_path):
    path = written(tmp_path / "p.json", probe_for({"cores": 4}, hop=1e-6))
    words = ["explain", "bcast", "4", "8", "-t", BIG]
    shipped = tutti_here(*words).stdout.splitlines()
    refused = tutti_here(*words, "--probe", path).stdout.splitlines()
    assert f"{path} is not used: it was measured on 4 cores, here are 160" in refused
    assert [line for line in refused if not line.startswith(str(path))] == shipped
    fits = written(path, probe_for({"cores": 160}, hop=1e-6))
    assert f"model: measured 2026-01-02T03:04:05+00:00 ({fits})" in tutti_here(*words, "--probe", path).stdout


@needs_tool
def test_the_user_s_probe_is_found_as_a_run_finds_it(configuration, tmp_path, monkeypatch):
    def source(**more):
        told = ask(TOOL, Question("bcast", "4", 8, topology=BIG, **more))
        return told["model_source"], [row["name"] for row in told["environment"]]

    assert source() == ({"path": None, "words": "shipped values"}, [])
    own = written(configuration / "probe.json", probe_for({"cores": 160}))
    found, environment = source()
    assert (found["path"], found["fits"], environment) == (str(own), True, [])
    named = written(tmp_path / "named.json", probe_for({"cores": 160}))
    monkeypatch.setenv("TUTTI_PROBE", str(named))
    found, environment = source()
    assert (found["path"], environment) == (str(named), ["TUTTI_PROBE"])
    found, environment = source(probe=own)
    assert (found["path"], environment) == (str(own), [])
    assert source(probe=Path("off")) == ({"path": None, "words": "shipped values"}, [])
    monkeypatch.setenv("TUTTI_PROBE", "off")
    assert source() == ({"path": None, "words": "shipped values"}, ["TUTTI_PROBE"])


@needs_tool
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda good: {**good, "machine": {"cores": 2}}, "it was measured on 2 cores, here are 160"),
        (lambda good: json.dumps(good)[:-20], "it is no JSON, or cut off"),
        (None, "there is no such file"),
    ],
)
def test_a_probe_that_is_found_and_cannot_be_used_is_one_line(tmp_path, monkeypatch, change, why):
    path = tmp_path / "p.json"
    if change:
        written(path, change(probe_for({"cores": 160})))
    monkeypatch.setenv("TUTTI_PROBE", str(path))
    lines = text_of(ask(TOOL, Question("bcast", "4", 8, topology=BIG)))
    assert lines[-4:] == [
        f"from the environment: TUTTI_PROBE={path}",
        "model: shipped values",
        f"{path} is not used: {why}",
        "table: none",
    ]


@needs_tool
def test_tables_are_found_in_the_order_of_their_names(configuration, tmp_path, monkeypatch):
    def answer_of(**more):
        return ask(TOOL, Question("bcast", "64K", 8, topology=BIG, hierarchy="flat", **more))

    folder = configuration / "tables"
    other = written(folder / "a.json", table_for({"cores": 2, "topology": "one of 2 cores"}, "xhc"))
    broken = written(folder / "b.json", "{")
    lines = text_of(answer_of())
    assert lines[-3:] == [
        "table: none",
        f"{other} is not used: it was measured on 2 cores, here are 160",
        f"{broken} is not used: it is no JSON, or cut off",
    ]
    machine = {"cores": 160, "topology": topology_of_big(tmp_path)}
    mpich = written(folder / "c.json", table_for(machine, "direct-write"))
    openmpi = written(folder / "d.json", table_for(machine, "host", host="Open MPI"))
    told = answer_of()
    assert (told["table"]["path"], told["choice"]["reason"]) == (str(mpich), "table")
    assert [row["path"] for row in told["tables_passed_over"]] == [str(other), str(broken), str(openmpi)]
    assert "it is for Open MPI" in text_of(told)[-1]
    told = answer_of(host="openmpi")
    assert (told["table"]["path"], told["choice"]["name"]) == (str(openmpi), "host")
    assert str(mpich) in [row["path"] for row in told["tables_passed_over"]]
    assert answer_of(table=Path("off"))["table"] is None
    monkeypatch.setenv("TUTTI_TABLE", str(openmpi))
    told = answer_of()
    assert (told["table"]["path"], told["tables_passed_over"]) == (str(openmpi), [])
    assert [row["name"] for row in told["environment"]] == ["TUTTI_TABLE"]
    assert answer_of(table=mpich)["table"]["path"] == str(mpich)
    monkeypatch.setenv("TUTTI_TABLE", "off")
    assert answer_of()["table"] is None


@needs_tool
@pytest.mark.parametrize(
    ("variable", "value", "part", "there", "option", "stronger"),
    [
        (
            "ALGORITHM",
            "bcast:scatter-allgather",
            ("choice", "name"),
            "scatter-allgather",
            {"algorithm": "bcast:xhc"},
            "xhc",
        ),
        ("MECHANISM", "cma", ("shape", "reach"), "kernel", {"mechanisms": "window"}, "mapped"),
        ("MECHANISM", "^window", ("shape", "reach"), "kernel", {"mechanisms": "staged"}, "staged"),
        ("WINDOW_SIZE", "1", ("shape", "reach"), "kernel", {"mechanisms": "window"}, "mapped"),
        ("HIERARCHY", "socket", ("shape", "levels"), 2, {"hierarchy": "flat"}, 1),
        ("TOPOLOGY", "core:3 pu:1", ("shape", "ranks"), 3, {"topology": "core:5 pu:1"}, 5),
        ("EAGER_MAX", "256K", ("shape", "eager_max"), 256 << 10, {}, None),
        ("FLAT_MAX", "200", ("shape", "flat_max"), 200, {}, None),
        ("WINDOW_MIN", "128K", ("shape", "window_min"), 128 << 10, {}, None),
    ],
)
def test_the_environment_counts_as_in_a_run_and_options_are_stronger(
    monkeypatch, variable, value, part, there, option, stronger
):
    def found(**more):
        asked = {} if variable == "TOPOLOGY" else {"topology": BIG}
        told = ask(TOOL, Question("bcast", "64K", **{**asked, **more}))
        return told[part[0]][part[1]], told["environment"]

    before, environment = found() if variable != "TOPOLOGY" else (None, [])
    assert before != there
    assert environment == []
    monkeypatch.setenv(f"TUTTI_{variable}", value)
    assert found() == (there, [{"name": f"TUTTI_{variable}", "value": value}])
    if option:
        assert found(**option) == (stronger, [])


@needs_tool
def test_settings_that_cannot_be_used_are_warnings_and_take_no_part(tutti_here, monkeypatch):
    for name, value in {"EAGER_MAX": "many", "HIERARCHY": "nuna", "TOPOLOGY": "rubbish", "WIAT": "1"}.items():
        monkeypatch.setenv(f"TUTTI_{name}", value)
    done = tutti_here("explain", "bcast", "64K", "2")
    assert done.returncode == 0
    assert "from the environment" not in done.stdout
    for words in ("TUTTI_EAGER_MAX=many", '"numa"', "TUTTI_TOPOLOGY=rubbish", "TUTTI_WAIT"):
        assert words in done.stderr
    assert all(line.startswith("tutti: warning: ") for line in done.stderr.splitlines())
    wrong = tutti_here("explain", "bsact")
    assert wrong.stderr == "tutti: bsact: there is none; the nearest is bcast\n"


@needs_tool
def test_a_library_that_is_switched_off_is_said_first(monkeypatch):
    monkeypatch.setenv("TUTTI_ENABLE", "0")
    first = text_of(ask(TOOL, Question("bcast", "64K", 8, topology=BIG)))[0]
    assert first == "TUTTI_ENABLE is off: a run leaves every call to the MPI. Otherwise:"


def test_mechanisms_are_tried_here_and_assumed_on_a_described_machine(monkeypatch):
    ways = {"window": True, "xpmem": False, "cma": None, "staged": True}
    tried = {name: {"usable": usable, "why": ""} for name, usable in ways.items()}
    with mock.patch("tutti.explain.question.mechanisms_of", return_value=tried):
        assert usable_mechanisms(Question()) == "window,staged"
        assert usable_mechanisms(Question(topology=BIG)) == USUAL_MECHANISMS
        monkeypatch.setenv("TUTTI_TOPOLOGY", BIG)
        assert usable_mechanisms(Question()) == USUAL_MECHANISMS


@needs_tool
def test_where_ranks_can_share_nothing_it_is_said():
    tried = {name: {"usable": False, "why": ""} for name in ("window", "xpmem", "cma", "staged")}
    with mock.patch("tutti.explain.question.mechanisms_of", return_value=tried):
        told = ask(TOOL, Question("bcast", "64K", 2))
    assert told["shape"]["reach"] == "staged"
    assert "ranks share no memory here" in told["warnings"][-1]


@needs_tool
def test_the_mpi_s_own_is_a_candidate_without_a_prediction():
    def row(told):
        return next(pair for pair in ordered_candidates(told) if pair[0]["name"] == "host")

    host, why = row(ask(TOOL, Question("bcast", "64K", 8, topology=BIG)))
    assert (host["eligible"], host["seconds"]) == (True, None)
    assert why == host["why_unpredicted"] == HOST_CANDIDATE["why_unpredicted"]
    told = ask(TOOL, Question("bcast", "64K", 8, topology=BIG, algorithm="bcast:host"))
    assert (told["choice"]["name"], told["choice"]["seconds"], row(told)[1]) == ("host", None, "")
    assert {why for candidate, why in ordered_candidates(told) if candidate["eligible"]} == {
        "",
        "not asked for",
    }
    assert (
        row(ask(TOOL, Question("bcast", "64K", 8, topology=BIG, algorithm="bcast:xhc")))[1] == "not asked for"
    )
    overview = ask(TOOL, Question(size="4", ranks=8, topology=BIG, algorithm="bcast:host"))
    (bcast,) = [each for each in overview_ranges(overview) if each["collective"] == "bcast"]
    assert (bcast["name"], bcast["seconds"]) == ("host", [None, None])
    assert any(line.split()[0] == "bcast" and line.endswith(" -") for line in text_of(overview))


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
        HOST_CANDIDATE["why_unpredicted"],
        "cannot here; needs: at most TUTTI_EAGER_MAX bytes",
    ]


def test_run_explain_is_the_setting(tutti, apps, launchers, preload):
    done = tutti("run", "--explain", "--library", preload, launchers["mpich"], "-n", "1", apps["mpich"])
    assert "TUTTI_EXPLAIN" in done.stdout
