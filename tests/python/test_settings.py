"""The settings table and its page."""

import json
import os
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from tutti.info.facts import setting_rows, show
from tutti.settings import Setting, accepts, built_settings, page, parse_page

ROWS = [
    Setting("ALGORITHM", "string", "", "Which, e.g. bcast:xhc."),
    Setting("WAIT", "auto|spin", "auto", "How a rank waits."),
]


def test_page_can_be_read_back():
    assert parse_page(page(ROWS)) == ROWS


def test_info_shows_what_the_library_has(tutti_here):
    done = tutti_here("info", "--json")
    facts = json.loads(done.stdout)
    names = [row["name"] for row in facts["settings"]]
    assert "TUTTI_ALGORITHM" in names
    built = built_settings()
    if built:
        assert names == ["TUTTI_" + row.name for row in built]
    assert set(facts["libraries"]) == {"mpich", "openmpi", "abi"}


def test_info_for_people_names_each_setting(tutti):
    done = tutti("info", env=None)
    assert done.returncode == 0
    assert "TUTTI_ALGORITHM" in done.stdout


def test_info_says_where_each_value_comes_from(tutti_here):
    environment = {**os.environ, "TUTTI_WAIT": "yield", "TUTTI_FLAT_MAX": "many", "TUTTI_ALGORYTHM": "x"}
    facts = json.loads(tutti_here("info", "--json", env=environment).stdout)
    rows = {row["name"]: (row["value"], row["default"], row["source"]) for row in facts["settings"]}
    assert rows["TUTTI_WAIT"] == ("yield", "auto", "environment")
    assert rows["TUTTI_FLAT_MAX"] == ("16", "16", "environment, not usable")
    assert rows["TUTTI_SPIN"] == ("2000", "2000", "default")
    assert {"name": "TUTTI_ALGORYTHM", "nearest": "TUTTI_ALGORITHM"} in facts["unknown_settings"]


def test_info_lists_mechanisms_and_algorithms_with_requirements(tutti_here):
    facts = json.loads(tutti_here("info", "--json").stdout)
    assert facts["schema"] == "tutti-info-1"
    assert set(facts["mechanisms"]) == {"window", "xpmem", "cma", "staged"}
    if facts["tools"]["tutti-algorithms"]:
        names = {(row["collective"], row["algorithm"]) for row in facts["algorithms"]}
        assert ("bcast", "eager") in names
        assert all(row["requirements"] for row in facts["algorithms"])
    if facts["tools"]["tutti-build"]:
        assert facts["build"]["compiler"]
        assert facts["build"]["kernels"][0] == {"instruction_set": "baseline", "runs_here": True}


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("bool", ["1", "no", "On"], ["2", "maybe"]),
        ("bytes", ["0", "64K", "1GiB", "4096B", "2tb"], ["K", "-1", "1.5M", "64KK", " 1"]),
        ("count", ["16", "1K"], ["many", ""]),
        ("seconds", ["0", "1.5", "2e3", ".5"], ["-1", "1s", "soon"]),
        ("auto|spin", ["auto", "spin"], ["Spin", "yield"]),
        ("auto or sizes", ["auto", "64K", "16K,64k"], ["lots", "64K,", "0", "16K,0", ""]),
        ("string", ["anything"], []),
    ],
)
def test_values_are_judged_as_the_library_does(kind, good, bad):
    row = Setting("X", kind, "", "A sentence.")
    assert [accepts(row, text) for text in [*good, *bad]] == [True] * len(good) + [False] * len(bad)


def test_an_empty_value_counts_as_not_set():
    assert setting_rows(ROWS, {"TUTTI_WAIT": ""})[1]["source"] == "default"


FACTS = {
    "version": "1.2.3",
    "build": {
        "compiler": "GNU 12.2.0",
        "type": "Release",
        "flags": "-O3",
        "kernels": [
            {"instruction_set": "baseline", "runs_here": True},
            {"instruction_set": "avx512", "runs_here": False},
        ],
    },
    "libraries": {"openmpi": "/opt/libtutti-openmpi.so", "mpich": "", "abi": ""},
    "tools": {"tutti-topo": "/opt/tutti-topo", "tutti-table": ""},
    "hosts": [
        {
            "name": "openmpi",
            "title": "Open MPI",
            "version": "Open MPI 5.0.11",
            "mpirun": "/opt/bin/mpirun",
            "library": "/opt/libtutti-openmpi.so",
            "bench": "",
        },
        {
            "name": "path",
            "title": "mpirun in PATH",
            "version": None,
            "mpirun": "/x/mpirun",
            "library": "",
            "bench": "",
        },
    ],
    "mechanisms": {
        "window": {"usable": True, "why": "works"},
        "cma": {"usable": False, "why": "process_vm_readv: EPERM (Operation not permitted)"},
        "staged": {"usable": None, "why": "not tried"},
    },
    "algorithms": [
        {"collective": "bcast", "algorithm": "eager", "requirements": "at most 16K", "parameter": ""},
        {"collective": "bcast", "algorithm": "knomial-read", "requirements": "nothing", "parameter": "k"},
    ],
    "settings": setting_rows(ROWS, {"TUTTI_WAIT": "spin"}),
    "unknown_settings": [{"name": "TUTTI_WIAT", "nearest": "TUTTI_WAIT"}],
}


def test_info_for_people_reads_like_this():
    out = StringIO()
    show(FACTS, Console(file=out, width=110))
    text = "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"
    file = Path(__file__).resolve().parent / "golden" / "info.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


def test_version(tutti):
    done = tutti("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("tutti ")
