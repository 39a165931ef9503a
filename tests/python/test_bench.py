"""What `tutti bench` makes of the lines that the C++ program prints."""

import json
import re
from pathlib import Path

import pytest
from rich.console import Console
from typer import main

from tutti.bench import command, runs
from tutti.bench.measuring_program import parse_line
from tutti.bench.report import Reports, plot, result_tables, summary_table
from tutti.bench.runs import SCHEMA, BenchOptions, combine, document, geometric_means, measure, runs_of
from tutti.bench.words import COLLECTIVES, GROUPS, MESSAGES, library_names, parse_bytes, parse_collectives
from tutti.cli import app
from tutti.errors import UserError
from tutti.launch.hosts import Host, installed_hosts
from tutti.sizes import human_bytes

HOST = Host("mpich", "mpich", Path("/mpirun"), "MPICH")


def cell(ratio, collective="bcast", count=1024, wait="default", **more):
    known = {
        "ranks": 2,
        "host": "mpich",
        "spread_pct": 3.0,
        "algorithm": "xhc",
        "mechanism": "window",
        "checked": True,
    }
    times = {"host_us": 10.0 * ratio, "tutti_us": 10.0, "ratio": ratio, "floor_us": None}
    return {"collective": collective, "bytes": count, "host_wait": wait, **known, **times, **more}


def test_other_output_of_the_launcher_is_skipped():
    assert parse_line("Warning: something {") is None
    assert parse_line("{broken") is None
    assert parse_line('{"progress": 0.5}\n') == {"progress": 0.5}


def test_repeats_give_the_median_ratio():
    cells = combine([cell(3.0), cell(1.0), cell(2.0)])
    assert [one["ratio"] for one in cells] == [2.0]
    assert cells[0]["ratios"] == [1.0, 2.0, 3.0]


def test_best_of_two_ways_to_wait_keeps_the_lower_speed_up():
    cells = combine([cell(3.0, wait="default"), cell(2.0, wait="yield")])
    assert [(one["ratio"], one["host_wait"]) for one in cells] == [(2.0, "yield")]


def test_sizes_stay_apart():
    assert len(combine([cell(1.0, count=4), cell(1.0, count=16), cell(1.0, "reduce", 4)])) == 3


def test_near_and_far_cores_stay_apart():
    def on(flag_us, ratio):
        return cell(ratio, flag_us=flag_us)

    cells = combine([on(0.05, 3.0), on(0.06, 2.0), on(0.2, 1.0)])
    assert [(one["cores"], one["ratio"]) for one in cells] == [("near", 2.0), ("far", 1.0)]
    assert [place[3] for place in geometric_means(cells)] == ["near", "far"]


def test_one_state_of_the_machine_has_no_name():
    cells = combine([cell(3.0, flag_us=0.05), cell(2.0, "reduce", flag_us=0.07), cell(1.0, "barrier")])
    assert [one.get("cores") for one in cells] == [None, None, None]


def test_geometric_mean():
    means = geometric_means([cell(1.0, count=4), cell(4.0, count=16), cell(0.5, "reduce")])
    assert means == {("mpich", 2, "window", ""): {"bcast": pytest.approx(2.0), "reduce": pytest.approx(0.5)}}


def test_kinds_of_buffers_stay_apart():
    cells = combine([cell(2.0), cell(8.0, buffers="static")])
    assert [one["ratio"] for one in cells] == [2.0, 8.0]
    means = geometric_means(cells)
    assert means[("mpich", 2, "static", "")] == {"bcast": pytest.approx(8.0)}
    text = Reports(cells, {"mpich": "MPICH"}, False).text
    assert "MPICH, 2 ranks (cost of a call in us)" in text
    assert "MPICH, 2 ranks, static buffers (cost of a call in us)" in text


def test_each_kind_of_buffers_is_a_run_but_for_barriers():
    options = BenchOptions([2], ["barrier", "bcast"], buffers=["window", "mmap"])
    runs = runs_of([HOST], options)
    assert [(run.collective, run.buffers) for run in runs] == [
        ("barrier", "window"),
        ("bcast", "window"),
        ("bcast", "mmap"),
    ]
    assert runs[2].title.endswith("bcast, mmap")


def test_runs_cover_everything_that_was_asked_for():
    options = BenchOptions(ranks=[2, 4], collectives=["bcast", "barrier"], repeats=3, host_wait="best")
    assert len(runs_of([HOST], options)) == 2 * 2 * 2 * 3


def test_words_for_the_program():
    options = BenchOptions([2], ["bcast"], 4, 64, "rotate", True, seconds=0.25, floor=True)
    assert " ".join(options.program_words("bcast", "fresh")) == (
        "--collective bcast --min 4 --max 64 --factor 4 --root rotate --buffers fresh"
        " --seconds-per-cell 0.25 --in-place --floor --json-lines -"
    )


def test_the_program_is_told_of_a_state_only_if_there_is_one_to_wait_for():
    assert "--state-flag-us" not in BenchOptions([2], ["bcast"]).program_words("bcast")
    words = BenchOptions([2], ["bcast"], state_flag_us=0.055).program_words("bcast")
    assert words[words.index("--state-flag-us") + 1] == "0.055"


def test_sizes_are_the_programs_own_unless_asked_for():
    assert "--max" not in BenchOptions([2], ["bcast"]).program_words("bcast")


def test_groups_and_names_become_names_once():
    assert parse_collectives("basic,scan,reduce") == [*GROUPS["basic"], "scan"]
    assert parse_collectives("all") == list(COLLECTIVES)


def test_messages_are_a_form_with_names_of_its_own():
    assert parse_collectives("all", "messages") == list(MESSAGES)
    assert parse_collectives("halo_4,latency", "messages") == ["halo_4", "latency"]
    assert not set(MESSAGES) & set(parse_collectives("all"))


def test_collectives_are_those_of_the_program():
    hosts = installed_hosts()
    if not hosts:
        pytest.skip("no benchmark is built")
    assert set(library_names(hosts[0].bench)) == {*COLLECTIVES, *MESSAGES}


def test_each_kind_of_messages_is_measured_and_what_comes_is_checked(tutti_here):
    if not installed_hosts():
        pytest.skip("no benchmark is built")
    words = ["--host", installed_hosts()[0].name, "--form", "messages", "--min", "16K", "--max", "16K"]
    done = tutti_here("bench", *words, "-n", "2", "--seconds", "0.02", "--json", "-")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert {cell["collective"] for cell in told["cells"]} == set(MESSAGES)
    assert all(cell["checked"] and cell["host_us"] > 0 and cell["tutti_us"] > 0 for cell in told["cells"])


def shown(table):
    console = Console(width=160, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(table)
    return console.export_text()


def test_slower_cells_are_marked():
    cells = [cell(2.0, count=4), cell(0.8, count=16, checked=False)]
    text = shown(result_tables(cells, {"mpich": "MPICH"})[0])
    assert "0.80 slower" in text
    assert "2.00 slower" not in text
    assert text.count("not checked") == 1
    assert "1 of 2" in shown(summary_table(cells, {"mpich": "MPICH"}))


def test_floor_gets_a_column_only_if_measured():
    assert "floor" not in shown(result_tables([cell(1.0)], {})[0])
    assert "copy 2.50, flag 0.10" in shown(
        result_tables([cell(1.0, floor_us={"flag_us": 0.1, "copy_us": 2.5})], {})[0]
    )
    assert "1.25" in shown(result_tables([cell(1.0, floor_us=1.25)], {})[0])


def test_overlap_gets_two_columns_only_if_measured():
    assert "overlap" not in shown(result_tables([cell(1.0)], {})[0])
    text = shown(result_tables([cell(1.0, host_overlap_pct=12.3, tutti_overlap_pct=87.0)], {})[0])
    for word in ("overlap", "12 %", "87 %"):
        assert word in text


def test_of_messages_the_table_has_what_passes_in_a_second():
    assert "GB/s" not in shown(result_tables([cell(1.0)], {})[0])
    cells = [cell(2.0, name, 1 << 20) for name in ("bandwidth", "bidirectional", "halo_2")]
    text = shown(result_tables(cells, {})[0])
    assert "cost of a message in us" in text
    # 1 MiB in 20 and in 10 us; and as much in the other direction.
    rates = [re.findall(r"\d+\.\d\d", line)[-2:] for line in text.splitlines() if "1 MiB" in line]
    assert rates[:2] == [["52.43", "104.86"], ["104.86", "209.72"]]
    assert "algorithm" not in text


def test_document_can_be_read_back():
    options = BenchOptions(ranks=[2], collectives=["bcast"])
    value = json.loads(json.dumps(document([cell(2.0)], [HOST], options)))
    assert value["schema"] == SCHEMA
    assert value["cells"][0]["ratio"] == 2.0
    assert {"date", "machine", "command", "hosts", "options", "tutti"} <= set(value)


def test_many_collectives_fit_a_table_and_a_picture(tmp_path):
    cells = [cell(2.0, name, count) for name in COLLECTIVES for count in (4, 16)]
    text = shown(summary_table(cells, {}))
    assert all(name in text for name in COLLECTIVES)
    plot(cells[:24], {}, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 0


def test_picture_is_written(tmp_path):
    cells = [
        cell(2.0, count=4),
        cell(0.8, count=1 << 20),
        cell(3.0, "barrier", 0),
        cell(1.5, host="intel", count=4),
    ]
    plot(cells, {"mpich": "MPICH"}, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (4, "4 B"), (16384, "16 KiB"), (1 << 20, "1 MiB"), (1 << 30, "1 GiB")]
)
def test_sizes_are_readable(count, text):
    assert human_bytes(count) == text


@pytest.mark.parametrize(("text", "count"), [("4", 4), ("64K", 65536), ("16m", 16 << 20), ("1G", 1 << 30)])
def test_sizes_can_be_typed(text, count):
    assert parse_bytes(text) == count


@pytest.mark.parametrize("text", ["", "x", "4X", "-4", "K"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(UserError):
        parse_bytes(text)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["--collectives", "gahter"],
            "--collectives gahter: no such collective or group; the nearest is gather",
        ),
        (["--collective", "bcast,blcoks"], "the nearest is blocks"),
        (["--collectives", ","], "expected names or groups"),
        (["--overlap"], "--overlap needs another --form than blocking"),
        (
            ["--form", "message"],
            "--form message: expected blocking, nonblocking, tested, persistent or messages",
        ),
        (
            ["--form", "messages", "-c", "bcast"],
            "--collectives bcast: --form messages has latency, bandwidth,",
        ),
        (["--form", "messages", "-c", "haol_2"], "the nearest is halo_2"),
        (["-c", "bandwidth"], "--collectives bandwidth: those are messages; say --form messages"),
        (["--form", "messages", "--floor"], "--form messages: without --algorithm,"),
        (["--form", "messages", "-n", "1"], "expected --ranks 2 or more"),
        (["--min", "6"], "--min 6: sizes are multiples of 4 bytes, one float; the nearest is 4"),
        (["--min", "0"], "the nearest is 4"),
        (["--min", "1K", "--max", "16"], "--max 16: less than --min 1K"),
        (["--max", "lots"], "--max: 'lots' is not a size"),
        (["--max", "3G"], "--max 3G: more than 1G"),
        (["--seconds", "0"], "--seconds 0"),
        (["--repeats", "0"], "--repeats 0"),
        (
            ["--mechanisms", "windwo"],
            "--mechanisms windwo: expected some of window, xpmem, cma, staged; the nearest is window",
        ),
        (["--algorithms", "k=4"], "--algorithms k=4: follows no algorithm"),
        (["--algorithms", "all", "--algorithm", "bcast:xhc"], "exclude each other"),
        (["--host", "lam"], "--host lam"),
        (["--ranks", "two"], "--ranks two"),
        (["--root", "first"], "--root first"),
        (["--buffers", "heap"], "--buffers heap: expected window, static, stack, mmap, fresh"),
        (["--buffers", "static,mmap", "--algorithms", "all"], "--buffers: one kind at a time"),
        (["--host-wait", "sleep"], "--host-wait sleep"),
    ],
)
def test_mistakes_are_one_line_and_status_2(tutti_here, words, says):
    done = tutti_here("bench", *words)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert says in done.stderr


def fake_host(kit, text):
    """A launcher and a benchmark of our own; the benchmark is what the launcher would start."""
    return kit.script("bench/mpirun", '#!/bin/sh\n[ "$1" = --version ] && { echo HYDRA; exit; }\n' + text)


def test_runs_are_measured_through_the_launcher(kit, apps, preload, monkeypatch):
    line = json.dumps(cell(2.5))
    mpirun = fake_host(kit, f"echo noise; echo '{{\"progress\": 0.5}}'; echo '{line}'; echo \"$@\" >&2\n")
    host = Host("mpich", "mpich", mpirun, "MPICH")
    monkeypatch.setattr(Host, "bench", property(lambda self: apps["mpich"]))
    monkeypatch.setattr(Host, "library", property(lambda self: preload))
    seen = []
    failures = []
    options = BenchOptions([2], ["bcast"])
    cells = measure([host], options, lambda title, done: seen.append(done), failures.append)
    assert [one["ratio"] for one in cells] == [2.5]
    assert seen == [0.0, 0.5, 1.0]
    assert failures == []


def test_a_run_that_fails_is_told_and_the_rest_goes_on(kit, apps, preload, monkeypatch):
    line = json.dumps(cell(2.5))
    text = f"case \"$*\" in *barrier*) echo broken >&2; exit 3;; esac\necho '{line}'\n"
    host = Host("mpich", "mpich", fake_host(kit, text), "MPICH")
    monkeypatch.setattr(Host, "bench", property(lambda self: apps["mpich"]))
    monkeypatch.setattr(Host, "library", property(lambda self: preload))
    failures = []
    cells = measure(
        [host], BenchOptions([2], ["barrier", "bcast"]), lambda title, done: None, failures.append
    )
    assert len(cells) == 1
    assert len(failures) == 1
    assert "status 3 (broken)" in failures[0]


def test_the_table_of_an_mpi_is_shown_before_the_next_one_is_measured(monkeypatch, capsys):
    hosts = [HOST, Host("openmpi", "openmpi", Path("/mpirun"), "Open MPI")]
    shown = []

    def measured(part, options, progress, failed):
        shown.append(capsys.readouterr().out)
        return [cell(2.0, host=host.name) for host in part]

    monkeypatch.setattr(command, "installed_hosts", lambda: hosts)
    monkeypatch.setattr(runs, "measure", measured)
    words = ["bench", "--host", "mpich", "--host", "openmpi"]
    assert main.get_command(app).main(words, standalone_mode=False) == 0
    rest = capsys.readouterr().out
    assert shown[0] == ""
    assert "MPICH, 2 ranks" in shown[1]
    assert "Open MPI, 2 ranks" in rest
    assert rest.count("slower cells") == 1
    assert "MPICH, 2 ranks (times" not in rest


def test_all_of_messages_are_measured_unless_some_are_named(monkeypatch):
    asked = []
    monkeypatch.setattr(command, "installed_hosts", lambda: [HOST])
    monkeypatch.setattr(runs, "measure", lambda part, options, *_: asked.append(options) or [])
    main.get_command(app).main(["bench", "--form", "messages"], standalone_mode=False)
    assert asked[0].collectives == list(MESSAGES)


@pytest.mark.parametrize(
    ("words", "seconds"), [([], 0.25), (["-c", "all"], 0.5), (["-n", "4"], 0.5), (["--seconds", "2"], 2.0)]
)
def test_without_options_the_table_takes_half_as_long(monkeypatch, words, seconds):
    asked = []
    monkeypatch.setattr(command, "installed_hosts", lambda: [HOST])
    monkeypatch.setattr(runs, "measure", lambda part, options, *_: asked.append(options.seconds) or [])
    main.get_command(app).main(["bench", *words], standalone_mode=False)
    assert asked == [seconds]
