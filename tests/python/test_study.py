"""`tutti study`: its catalogue names what there is, and a figure goes from the question to the picture."""

import json
import re
import sys
from dataclasses import replace

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))

from papers_table import with_table

from tutti.sim import machine
from tutti.sim.question import REACHES
from tutti.study import catalogue, simulated
from tutti.study.catalogue import FIGURES, PAPERS, Figure, Line, Panel
from tutti.study.compare import outcome, points_of, seconds_in
from tutti.study.rows import Row, Source, as_shown, rows_of
from tutti.study.statements import STATEMENTS

PROGRAM = ROOT / "build" / "simulated" / "simulation" / "tutti-sim"
needs_program = pytest.mark.skipif(not PROGRAM.is_file(), reason=f"{PROGRAM} is not built")
PROBE = ROOT / "bench" / "results" / "xeon-16-cores-probe.json"
DATA = ROOT / "bench" / "results" / "papers.json"
PAGE = ROOT / "docs" / "measurements" / "papers.md"

PANELS = [pytest.param(panel, id=f"{each.name}: {panel.title}") for each in FIGURES for panel in each.panels]
SIMULATED = [each for each in PANELS if each.values[0].by == "sim"]


def algorithms_in_sources(collective):
    """Names that the library declares for a collective, within a node and between nodes."""
    text = "".join(
        file.read_text(encoding="utf-8")
        for folder in (
            ROOT / "src" / "collectives" / collective,
            ROOT / "src" / "collectives" / "between_nodes" / collective,
        )
        for file in folder.glob("*.cpp")
    )
    return set(re.findall(r'"([a-z][a-z-]+)"', text))


# --- the catalogue --------------------------------------------------------------------------------------------------


def test_names_are_of_papers_and_unique():
    names = catalogue.names()
    assert len(set(names)) == len(names)
    assert {figure.paper for figure in FIGURES} == set(PAPERS)


def test_each_figure_is_answered_or_says_why_not():
    for figure in FIGURES:
        assert figure.panels or len(figure.without) > 30, figure.name
        assert (figure.how == "not answered") == (not figure.panels)


@pytest.mark.parametrize("panel", SIMULATED)
def test_what_is_simulated_exists(panel):
    assert panel.machine in machine.names()
    known = algorithms_in_sources(panel.collective)
    for line in panel.lines:
        assert line.mechanism in REACHES
        assert line.column in ("inside", "model")
        names = {word.partition(",")[0] for word in line.ours.split(";") if word}
        assert names <= known, names - known
    assert simulated.xs_of(panel)
    assert (panel.x == "bytes") == bool(panel.sizes)
    assert panel.x == "bytes" or all(line.size for line in panel.lines)


@pytest.mark.parametrize("panel", PANELS)
def test_lines_have_names_of_their_own(panel):
    assert len({line.paper for line in panel.lines}) == len(panel.lines)


def test_panels_of_a_figure_have_titles_of_their_own():
    for figure in FIGURES:
        assert len({panel.title for panel in figure.panels}) == len(figure.panels), figure.name


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda each: f"{each.figure}: {each.says}")
def test_statements_are_of_points_that_the_figure_has(statement):
    figure = next(each for each in FIGURES if each.name == statement.figure)
    shown = {
        point
        for panel in figure.panels
        if panel.by == "sim"
        for line in panel.lines
        for x in simulated.xs_of(panel)
        for point in simulated.points_of(panel, line, x)
    }
    points = set(points_of(statement))
    assert points
    assert points <= shown


# --- comparing ------------------------------------------------------------------------------------------------------


def test_the_slower_side_is_told_from_the_quicker_one():
    statement = next(each for each in STATEMENTS if each.figure == "xhc-7")
    slow, quick = (replace(statement, at="1M", about=about) for about in (False, True))

    def seconds(panel, line, x, each):
        return 3e-6 if "flat" in line.paper else 2e-6

    found = outcome(slow, seconds)
    assert (round(found.ratio, 6), found.same) == (1.5, True)
    assert not outcome(quick, seconds).same
    turned = replace(slow, slower=slow.quicker, quicker=slow.slower)
    assert not outcome(turned, seconds).same
    assert outcome(slow, lambda *_: None) is None


def test_a_gain_is_compared_with_a_gain():
    statement = next(each for each in STATEMENTS if each.says.startswith("the gain of the tree grows"))
    times = {("Epyc-2P", "XHC-flat"): 6e-6, ("Epyc-2P", "XHC-tree"): 2e-6, ("Epyc-1P", "XHC-flat"): 2e-6}
    found = outcome(
        replace(statement, at="1M"), lambda panel, line, x, each: times.get((panel.title, line.paper), 1e-6)
    )
    assert round(found.ratio, 6) == 1.5


def test_parts_of_the_first_and_ratios_are_shown():
    panel = Panel("p", (Line("ours"), Line("theirs")), y="ratio")
    rows = two_rows("ours", [4.0, 8.0]) + two_rows("theirs", [12.0, 16.0])
    assert [(row.line, row.value, row.unit) for row in as_shown(panel, rows)] == [
        ("ours", 3.0, "times"),
        ("ours", 2.0, "times"),
    ]
    panel = replace(panel, y="relative time")
    assert [row.value for row in as_shown(panel, two_rows("ours", [4.0, 8.0]))] == [1.0, 2.0]


def two_rows(line, seconds):
    return [Row("p", line, "", x, each, "us", each) for x, each in enumerate(seconds)]


# --- the page -------------------------------------------------------------------------------------------------------


def test_the_page_has_what_was_simulated():
    text = PAGE.read_text(encoding="utf-8")
    assert with_table(text, json.loads(DATA.read_text(encoding="utf-8"))["points"]) == text


def test_a_statement_that_was_not_simulated_is_refused():
    with pytest.raises(ValueError, match="tools/papers-page --simulate"):
        with_table(PAGE.read_text(encoding="utf-8"), {})


@needs_program
def test_the_simulator_still_says_what_the_page_has():
    """Of statements that take little to simulate."""
    kept = json.loads(DATA.read_text(encoding="utf-8"))["points"]
    cheap = [
        each
        for each in STATEMENTS
        if each.figure in ("xhc-1", "mpc-6") or each.says.startswith("XHC-flat is quicker")
    ]
    points = [point for statement in cheap for point in points_of(statement)]
    anew = {}
    simulated.simulate(points, anew, lambda title, done: None)
    assert len(anew) > 20
    for statement in cheap:
        before, now = (outcome(statement, seconds_in(answers)) for answers in (kept, anew))
        # Sizes that are simulated before leave something in the caches.
        assert now.ratio == pytest.approx(before.ratio, rel=0.1), statement.says
        assert now.same == before.same, statement.says


# --- the command ----------------------------------------------------------------------------------------------------


def test_all_figures_are_listed(tutti_here):
    listed = json.loads(tutti_here("study", "list", "--json").stdout)
    assert [each["name"] for each in listed] == list(catalogue.names())
    assert {each["how"] for each in listed} >= {"simulated", "measured", "counted", "not answered"}
    shown = tutti_here("study").stdout
    assert all(name in shown for name in catalogue.names())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["xhc-88"], "no figure xhc-88; the nearest is xhc-8"),
        (["xhc-10"], "xhc-10 is not answered: the library has one way"),
        (["share-1", "--probe", "none.json"], "none.json cannot be read"),
    ],
)
def test_mistakes_are_one_line(tutti_here, words, says):
    done = tutti_here("study", *words)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert says in done.stderr


def test_a_measured_figure_is_drawn_from_a_probe(tutti_here, tmp_path):
    pytest.importorskip("matplotlib")
    done = tutti_here("study", "cma-4", "--probe", str(PROBE), "--output", str(tmp_path / "figures"))
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads((tmp_path / "figures" / "cma-4.json").read_text())
    assert told["how"] == "measured"
    steps = {row["line"] for row in told["rows"]}
    assert {"up to empty", "up to access", "up to lock", "up to copy"} <= steps
    assert all(row["value"] > 0 for row in told["rows"])
    lines = (tmp_path / "figures" / "cma-4.csv").read_text().splitlines()
    assert len(lines) == 1 + len(told["rows"])
    assert (tmp_path / "figures" / "cma-4.png").read_bytes().startswith(b"\x89PNG")


class Said(Source):
    """Answers of other commands, made up; keeps what was asked."""

    def __init__(self, answer):
        super().__init__(None, lambda title, done: None)
        self.asked = []
        self.answer = answer

    def tutti(self, *words):
        self.asked.append(" ".join(words))
        return self.answer


def test_a_benched_figure_has_a_line_for_each_mpi():
    cell = {"ranks": 2, "bytes": 4, "host_us": 3.0, "tutti_us": 1.5, "algorithm": "eager"}
    source = Said({"cells": [{**cell, "host": host} for host in ("mpich", "openmpi")]})
    panel = next(each for each in FIGURES if each.name == "mpc-1").panels[0]
    rows = rows_of(Figure("mpc-1", "", "", (panel,)), source)
    assert {(row.line, row.x, row.value, row.unit) for row in rows} >= {
        ("schedule + request (persistent), mpich", 2, 1.5, "us"),
        ("the MPI's persistent, openmpi", 2, 3.0, "us"),
    }
    assert (
        "bench --collectives bcast --min 4 --max 4 --ranks 2,4,8 --seconds 0.1 --form nonblocking --json -"
        in source.asked
    )
    (panel,) = next(each for each in FIGURES if each.name == "share-3").panels
    row = rows_of(Figure("share-3", "", "", (panel,)), source)[0]
    assert (row.x, row.unit, row.value) == (4, "GB/s", pytest.approx(2 * 4 / 1500))


def test_messages_are_counted_by_distance():
    source = Said({"message_counts": {"inter_socket": 1, "inter_numa": 6, "intra_numa": 56}})
    rows = rows_of(next(each for each in FIGURES if each.name == "xhc-table-2"), source)
    assert [row.value for row in rows] == 3 * [1, 6, 56]
    assert "--mapping numa --root 0 --hierarchy numa+socket" in source.asked[1]


TINY = Figure(
    "xhc-8",
    "Fig. 8",
    "a tiny one",
    (
        Panel(
            "time", (Line("tree", "xhc"), Line("quickest", "eager;xhc")), "sim", "epyc-1p", "bcast", "4,4K", 4
        ),
        Panel(
            "bandwidth",
            (Line("kernel", "parallel-read", "cma", size="64K"),),
            machine="epyc-1p",
            collective="scatter",
            x="ranks",
            at=(2, 4),
            y="relative bandwidth",
            transfers="others",
        ),
    ),
)


@needs_program
def test_a_simulated_figure_has_a_row_for_each_point():
    rows = rows_of(TINY, Source(None, lambda title, done: None))
    assert [(row.panel, row.line, row.x) for row in rows] == [
        ("time", "tree", 4),
        ("time", "tree", 4096),
        ("time", "quickest", 4),
        ("time", "quickest", 4096),
        ("bandwidth", "kernel", 2),
        ("bandwidth", "kernel", 4),
    ]
    tree, _, quickest, _, one, three = rows
    assert tree.ours == "xhc"
    assert quickest.ours in ("eager", "xhc")
    assert quickest.seconds <= tree.seconds
    assert (one.value, one.unit) == (1, "relative")
    assert three.value == pytest.approx(3 * one.seconds / three.seconds)


@needs_program
def test_what_no_algorithm_can_carry_out_has_no_row():
    figure = replace(
        TINY, panels=(Panel("p", (Line("eager", "eager"),), "sim", "epyc-1p", "bcast", "4,1M", 4),)
    )
    assert [row.x for row in rows_of(figure, Source(None, lambda title, done: None))] == [4]
