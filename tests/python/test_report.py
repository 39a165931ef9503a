"""`tutti report`: what it takes, what it shows first, what differs, what it refuses.

The files in reported/ were written by the commands, on one machine, and by a small program; tests/pages looks at the
page in a browser.
"""

import json
import re
import shutil
from html import escape, unescape
from pathlib import Path

import made_probes
import pytest

from tutti.errors import UserError
from tutti.page.charts import Axis, Point, chart, heat_map, short_bytes
from tutti.probe import measurement
from tutti.report import compared, sources
from tutti.report.machine import MOST_PAIRS
from tutti.report.whole import whole_page
from tutti.sizes import words_of_seconds

REPORTED = Path(__file__).with_name("reported")
GOLDEN = Path(__file__).with_name("golden")


def probe(**changes):
    document, _ = measurement.document(
        made_probes.measurements(), ["xpmem: <no device>"], {"hop": 1.0, "turn": 1.0}, 45
    )
    return {**document, **changes}


@pytest.fixture
def folder(tmp_path):
    """Files of every command but info."""
    for file in REPORTED.glob("*.json"):
        if file.name != "before.json":
            shutil.copy(file, tmp_path)
    shutil.copy(GOLDEN / "doctor.json", tmp_path)
    (tmp_path / "probe.json").write_text(json.dumps(probe()))
    return tmp_path


def html_of(*paths, against=()):
    return whole_page(sources.read(paths), sources.read(against)).html()


def sections(html):
    return re.findall(r'<h2 id="(\w+)"', html)


def rows(html, caption):
    """The cells of the table of this caption, as texts."""
    body = re.search(
        rf"<caption>{re.escape(escape(caption))}</caption>.*?<tbody>(.*?)</tbody>", html, re.DOTALL
    )
    assert body, caption
    cells = [
        re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", body.group(1))
    ]
    return [[unescape(re.sub("<[^>]+>", " ", cell)) for cell in row] for row in cells]


# --- what is shown ----------------------------------------------------------------------------------------------------


def test_all_parts_are_there_regressions_first(folder):
    html = html_of(folder)
    assert sections(html) == [
        "regressions", "machine", "distances", "bytes", "winners", "times", "ran", "simulated", "files",
    ]  # fmt: skip
    assert "<title>Tutti on AMD EPYC and Test Processor</title>" in html


@pytest.mark.parametrize(
    ("file", "parts"),
    [
        ("bench.json", ["regressions", "machine", "winners", "times"]),
        ("probe.json", ["machine", "distances", "bytes"]),
        ("table.json", ["machine", "winners"]),
        ("told.json", ["ran"]),
        ("simulation.json", ["simulated"]),
        ("doctor.json", ["machine"]),
    ],
)
def test_a_file_alone_has_the_parts_that_it_has_something_for(folder, file, parts):
    assert sections(html_of(folder / file)) == [*parts, "files"]


def test_what_is_slower_than_the_mpi_beyond_the_spread_is_listed_the_worst_first():
    html = html_of(REPORTED / "bench.json")
    assert "In 3 of 6 cells Tutti is slower beyond the spread." in html
    found = rows(html, "Slower than the MPI's own")
    assert [row[1:6] for row in found] == [
        ["16 KiB", "2", "MPICH", "0.64", "1.2"],
        ["4 KiB", "2", "MPICH", "0.72", "0.7"],
        ["1 KiB", "2", "MPICH", "0.78", "1.2"],
    ]


def test_two_reports_are_compared_by_speed_ups_and_spreads():
    html = html_of(REPORTED / "bench.json", against=[REPORTED / "before.json"])
    assert "Of 6 cells in both, 3 are slower than before and 3 faster, by more than both scatter." in html
    assert [row[:5] for row in rows(html, "Slower than before")] == [
        ["bcast", "4 KiB", "2", "MPICH", "0.54"],
        ["bcast", "1 KiB", "2", "MPICH", "0.62"],
        ["bcast", "256 B", "2", "MPICH", "0.93"],
    ]
    assert [row[1] for row in rows(html, "Faster than before")] == ["0 B", "16 KiB", "64 KiB"]
    assert html.index("Slower than before") < html.index("Slower than the MPI")


def test_nothing_has_changed_against_itself(folder):
    html = html_of(folder, against=[folder])
    assert "0 are slower than before and 0 faster" in html
    assert "0 parameters of the model" in html
    assert "What the tables choose otherwise" not in html


def test_a_report_can_be_read_as_the_files_that_it_was_made_from(folder, tmp_path):
    (tmp_path / "out").mkdir()
    report = tmp_path / "out" / "report.html"
    whole_page(sources.read([folder]), []).write(report)
    assert html_of(report) == html_of(folder)
    bench = REPORTED / "bench.json"
    whole_page(sources.read([REPORTED / "before.json"]), []).write(report)
    assert html_of(bench, against=[report]) == html_of(bench, against=[REPORTED / "before.json"])


def test_winners_say_who_won_and_by_what(folder):
    html = html_of(folder / "bench.json", folder / "table.json")
    measured = rows(html, "MPICH, 2 ranks; sizes in bytes")
    assert measured[0][:3] == ["bcast", "1.20 eager ", "MPI 0.78 eager "]
    assert measured[1] == ["barrier", "3.87 flat "]
    chosen = rows(html, "What the library takes by the table; sizes in bytes")
    assert ["bcast", "2", "eager", "the MPI's own", "direct-write"] in chosen


def test_texts_of_files_stay_texts(folder):
    value = probe()
    value["machine"]["processor"] = "<script>alert(1)</script>"
    (folder / "probe.json").write_text(json.dumps(value))
    html = html_of(folder)
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "xpmem: &lt;no device&gt;" in html


def test_pairs_of_many_cores_are_told_by_what_they_share(tmp_path):
    value = probe()
    cores = 40
    value["measurements"] = [
        made_probes.line("hop", 1e-7 * (1 + (a // 20 != b // 20)), **{"from": a, "to": b},
                         shares="machine" if a // 20 != b // 20 else "cache")
        for a in range(cores) for b in range(cores) if a != b
    ]  # fmt: skip
    assert len(value["measurements"]) > MOST_PAIRS
    (tmp_path / "probe.json").write_text(json.dumps(value))
    assert rows(html_of(tmp_path / "probe.json"), "Pairs of cores") == [
        ["cache", "760", "100"],
        ["machine", "800", "200"],
    ]


# --- what is compared -------------------------------------------------------------------------------------------------


def bench(*cells):
    value = json.loads((REPORTED / "bench.json").read_text())
    return sources.Source(
        "bench.json", "bench", {**value, "cells": [{**value["cells"][0], **cell} for cell in cells]}
    )


def test_the_median_of_several_files_counts_between_the_bounds_of_all():
    files = [bench({"ratio": ratio, "spread_pct": 10}) for ratio in (2.0, 1.0, 1.5)]
    (speed,) = compared.speeds_of(files).values()
    assert (speed.ratio, speed.low, speed.high) == pytest.approx((1.5, 0.9, 2.2))
    assert speed.verdict == "even"


def test_near_and_far_cores_are_two_unless_the_other_report_has_but_one():
    both = compared.speeds_of([bench({"ratio": 2.0, "cores": "near"}, {"ratio": 1.0, "cores": "far"})])
    one = compared.speeds_of([bench({"ratio": 0.5})])
    assert [key.unusual for key in both] == [["near cores"], ["far cores"]]
    assert [(key.cores, new.ratio, old.ratio) for key, new, old in compared.in_both(both, both)] == [
        ("near", 2.0, 2.0),
        ("far", 1.0, 1.0),
    ]
    ((key, new, old),) = compared.in_both(one, both)
    assert (key.cores, new.ratio, old.ratio, old.low < 1, old.high > 2) == ("", 0.5, 1.5, True, True)
    ((change, *_),) = compared.changes([(key, new, old)])
    assert change == pytest.approx(1 / 3)


def test_repeats_widen_the_bounds():
    (speed,) = compared.speeds_of(
        [bench({"ratio": 1.5, "spread_pct": 1, "ratios": [0.9, 1.5, 1.6]})]
    ).values()
    assert (speed.low, speed.high) == pytest.approx((0.9, 1.6))


def test_only_tuttis_own_choices_are_regressions():
    speeds = compared.speeds_of([bench({"asked": "auto"}, {"asked": "xhc", "asked_mechanism": "cma"})])
    assert len(speeds) == 2
    assert [key.asked for key in compared.own_choices(speeds)] == ["auto"]


def test_parameters_differ_if_measured_in_both_and_further_apart_than_they_scatter():
    old = {"model": {"a": 1.0, "b": 1.0, "c": 1.0}, "shipped": [], "spread": {"a": 0.1, "b": 0.1, "c": 0.1}}
    new = {"model": {"a": 1.19, "b": 1.21, "c": 2.0}, "shipped": ["c"], "spread": old["spread"]}
    assert [one.name for one in compared.parameter_changes(new, old)] == ["b"]


def test_tables_differ_where_they_choose_differently_for_one_shape():
    old = json.loads((REPORTED / "table.json").read_text())
    new = json.loads((REPORTED / "table.json").read_text())
    new["entries"][-1].update(bytes=[4097, 65536], algorithm="xhc")
    found = [
        (one["algorithm"], was["algorithm"], first, last)
        for one, was, first, last in compared.table_changes(new, old)
    ]
    assert found == [("xhc", "host", 4097, 16384), ("xhc", "direct-write", 16385, 65536)]


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("other.json", '{"a": 1}', "nothing of Tutti's; expected what one of these writes: tutti probe, "),
        ("list.json", "[1, 2]", "nothing of Tutti's"),
        ("new.json", '{"schema": "tutti-probe-9"}', 'schema "tutti-probe-9"; expected'),
        ("cut.json", '{"schema": 2, "cells"', "it is no JSON, or cut off"),
        ("empty.json", '{"schema": 2}', "not what tutti bench --json writes: machine is missing"),
        ("probe.json", '{"schema": "tutti-probe-1"}', "not what tutti probe writes"),
        ("page.html", "<html></html>", "no page that tutti report has written"),
        (
            "page.html",
            '<script type="application/json" id="data">{"a": 1}</script>',
            "no page that tutti report",
        ),
    ],
)
def test_what_is_none_of_ours_is_one_line_that_names_it(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=re.escape(words)) as told:
        sources.read([tmp_path / name])
    assert name in str(told.value)
    assert "\n" not in str(told.value)


def test_a_file_that_is_broken_further_inside_is_named(tmp_path):
    value = probe()
    for row in value["measurements"]:
        row.pop("bytes", None)
    (tmp_path / "probe.json").write_text(json.dumps(value))
    with pytest.raises(UserError, match=r"probe\.json: not what tutti probe writes: KeyError 'bytes'"):
        html_of(tmp_path / "probe.json")
    cells = json.loads((REPORTED / "bench.json").read_text())
    cells["cells"][0]["ratio"] = None
    (tmp_path / "bench.json").write_text(json.dumps(cells))
    with pytest.raises(UserError, match=re.escape("cells[0].ratio is missing or of the wrong kind")):
        html_of(tmp_path / "bench.json")


def test_what_is_no_json_in_a_browser_is_left_out(tmp_path):
    (tmp_path / "probe.json").write_text(json.dumps(probe(seconds=float("nan"))))
    assert "NaN" not in html_of(tmp_path / "probe.json")


# --- the command ------------------------------------------------------------------------------------------------------


def test_the_command_writes_one_file(tutti_here, folder, tmp_path):
    output = tmp_path / "made" / "report.html"
    done = tutti_here("report", folder / "bench.json", "--against", REPORTED / "before.json", "-o", output)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", f"Written: {output}\n")
    assert [file.name for file in output.parent.iterdir()] == ["report.html"]


def test_a_mistake_writes_nothing(tutti_here, tmp_path):
    output = tmp_path / "report.html"
    done = tutti_here("report", tmp_path / "absent.json", "-o", output)
    assert (done.returncode, done.stdout) == (2, "")
    assert "absent.json cannot be read" in done.stderr
    assert not output.exists()


def test_without_files_it_takes_what_is_there(tutti_here, configuration, tmp_path, monkeypatch):
    monkeypatch.setattr("tutti.launch.library.find_tool", lambda *_: None)
    output = tmp_path / "report.html"
    done = tutti_here("report", "-o", output)
    assert (done.returncode, output.exists()) == (2, False)
    assert "nothing to report: neither a probe nor tables in" in done.stderr
    (configuration / "tables").mkdir(parents=True)
    shutil.copy(REPORTED / "table.json", configuration / "tables")
    (configuration / "probe.json").write_text(json.dumps(probe()))
    assert tutti_here("report", "-o", output).returncode == 0
    assert sections(output.read_text()) == ["machine", "distances", "bytes", "winners", "files"]


# --- drawings ---------------------------------------------------------------------------------------------------------


def labels(svg):
    """(x, y, text) of what is written."""
    found = re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)</text>', svg)
    return [(float(x), float(y), text) for x, y, text in found]


@pytest.mark.parametrize(
    "points",
    [
        [Point(4**n, 1e-7 * 3**n) for n in range(1, 13)],
        [Point(0, 2.0, 1.5, 2.5)],
        [Point(0, 1.0), Point(4, 1.02, 1.01, 1.03), Point(64, 0.98)],
    ],
)
def test_charts_keep_points_inside_and_labels_apart(points):
    svg = chart(
        "Some <times>",
        {0: points, 3: points},
        Axis("bytes", short_bytes),
        Axis("time", words_of_seconds),
        1e-4,
    )
    width, height = map(int, re.search(r'width="(\d+)" height="(\d+)"', svg).groups())
    places = re.findall(r"translate\(([-\d.]+) ([-\d.]+)\)", svg)
    assert len(places) == 2 * len(points)
    assert all(0 < float(x) < width and 0 < float(y) < height for x, y in places)
    assert "Some &lt;times&gt;" in svg
    across = sorted(x for x, y, _ in labels(svg) if y > height - 30 and y < height - 10)
    assert all(b - a >= 30 for a, b in zip(across, across[1:]))


def test_a_map_has_a_square_for_each_value_and_one_colour_where_little_differs():
    values = {(0, 1): 100.0, (1, 0): 101.0}
    svg = heat_map("Map", [0, 1], values, ("owner", "reader"))
    assert re.findall(r"var\(--heat-(\d)\)", svg) == ["9"]
    far = heat_map("Map", [0, 1, 2], {**values, (0, 2): 10.0}, ("owner", "reader"))
    assert sorted(set(re.findall(r"var\(--heat-(\d)\)", far))) == ["1", "9"]
    assert far.count("v33") == 3
