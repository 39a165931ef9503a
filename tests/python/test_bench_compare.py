"""Algorithms compared with each other: what is asked for, and what is made of the results."""

import json

import pytest
from rich.console import Console

from tutti.bench.compare import comparison_plots, comparison_tables
from tutti.bench.runs import BenchOptions, Run, combine
from tutti.bench.words import Algorithm, AlgorithmWords, catalogue
from tutti.errors import UserError
from tutti.launch.hosts import installed_hosts
from tutti.launch.library import find_tool

KNOWN = [Algorithm("parallel", "", []), Algorithm("throttled", "k", [2, 4]), Algorithm("eager", "", [])]


def cell(asked, mechanism, count, tutti_us, **more):
    known = {"collective": "scatter", "ranks": 2, "host": "mpich", "host_wait": "default", "host_us": 8.0}
    ran = {"algorithm": "parallel" if asked == "auto" else asked, "mechanism": "window", "checked": True}
    asked_for = {"asked": asked, "asked_mechanism": mechanism, "ratio": 8.0 / tutti_us}
    return {**known, **ran, **asked_for, "bytes": count, "tutti_us": tutti_us, "spread_pct": 1.0, **more}


CELLS = [
    cell("auto", "", 4, 1.0),
    cell("parallel", "window", 4, 2.0),
    cell("eager", "window", 4, 0.9),
    cell("auto", "", 65536, 40.0),
    cell("parallel", "window", 65536, 41.0),
    cell("parallel", "cma", 65536, 123.4),
]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("all", ["parallel", "throttled,k=2", "throttled,k=4", "eager"]),
        ("eager,throttled", ["throttled,k=2", "throttled,k=4", "eager"]),
        ("throttled,k=3,k=1,parallel", ["parallel", "throttled,k=3", "throttled,k=1"]),
        ("all,throttled,k=2,k=8", ["parallel", "throttled,k=2", "throttled,k=4", "throttled,k=8", "eager"]),
        ("host", []),
    ],
)
def test_what_is_asked_for(text, words):
    asked = AlgorithmWords(text)
    asked.check(KNOWN)
    assert asked.of(KNOWN) == words


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "paralell",
            "--algorithms paralell: the collectives have no such algorithm; the nearest is parallel",
        ),
        ("throttled,j=2", "takes k= and a number from 1 on"),
        ("throttled,k=0", "takes k= and a number from 1 on"),
        ("eager,k=2", "eager takes no number"),
        ("all,k=2", "follows no algorithm"),
    ],
)
def test_what_cannot_be_asked_for(text, says):
    with pytest.raises(UserError, match=says):
        AlgorithmWords(text).check(KNOWN)


def test_the_names_are_the_librarys_own():
    if find_tool("tutti-algorithms", "tools") is None:
        pytest.skip("not built")
    assert "xhc" in [algorithm.name for algorithm in catalogue(2)["bcast"]]


def test_words_for_the_program():
    hosts = installed_hosts()
    if not hosts:
        pytest.skip("no benchmark is built")
    run = Run(hosts[0], 2, "bcast", False, 0)
    assert run.algorithm_words(AlgorithmWords("xhc,eager"), hosts[0].bench) == [
        "--algorithms",
        "bcast:eager;bcast:xhc",
    ]
    assert run.algorithm_words(None, hosts[0].bench) == []
    options = BenchOptions([2], ["bcast"], mechanisms=["window", "cma"])
    assert options.compares
    assert " ".join(options.program_words("bcast")).count("--mechanisms window,cma") == 1


def test_an_unknown_algorithm_is_one_line_and_status_2(tutti_here):
    if not installed_hosts():
        pytest.skip("no benchmark is built")
    done = tutti_here("bench", "--collectives", "bcast", "--algorithms", "metting")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "the nearest is meeting" in done.stderr


def test_algorithms_stay_apart():
    assert len(combine(CELLS)) == len(CELLS)


def shown(table):
    console = Console(width=160, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(table)
    return console.export_text()


def test_the_fastest_is_marked_and_the_choice_named():
    tables = comparison_tables(CELLS, {"mpich": "MPICH"})
    assert len(tables) == 1
    text = shown(tables[0])
    assert "scatter: MPICH, 2 ranks" in text
    assert "0.90*" in text
    assert "40.0*" in text
    assert "1.00*" not in text
    assert "parallel, cma" in text
    assert "123" in text
    assert text.index("Tutti's choice") < text.index("which is")


def test_wrong_results_are_told():
    assert "1 of 1 with wrong results" in shown(
        comparison_tables([cell("auto", "", 4, 1.0, checked=False)], {})[0]
    )


def test_one_picture_a_collective(tmp_path):
    cells = [*CELLS, cell("auto", "", 4, 1.0, collective="gather"), cell("auto", "", 4, 2.0, ranks=4)]
    written = comparison_plots(cells, {}, tmp_path / "speed.png")
    assert [path.name for path in written] == ["speed-scatter.png", "speed-gather.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written)


@pytest.mark.parametrize("name", [host.name for host in installed_hosts() if host.name == "mpich"])
def test_a_real_run_compares_and_checks(tutti, tmp_path, name):
    file = tmp_path / "results.json"
    words = ["--host", name, "--ranks", "2", "--collectives", "bcast", "--min", "16K", "--max", "64K"]
    words += [
        "--seconds",
        "0.01",
        "--host-wait",
        "yield",
        "--algorithms",
        "all",
        "--mechanisms",
        "window,staged",
        "--json",
        file,
    ]
    done = tutti("bench", *words)
    assert done.returncode == 0, done.stderr
    cells = json.loads(file.read_text())["cells"]
    assert all(one["checked"] for one in cells)
    large = {
        (one["asked"], one["asked_mechanism"], one["mechanism"]) for one in cells if one["bytes"] == 65536
    }
    assert ("xhc", "staged", "staged") in large
    assert {asked for asked, _, _ in large} >= {"auto", "meeting", "xhc"}
    assert "eager" not in {asked for asked, _, _ in large}
