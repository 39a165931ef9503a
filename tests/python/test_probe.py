"""`tutti probe`: fits of measurements whose answer is known, the file, what is said, the real program for a moment."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import started_with, until
from typer.testing import CliRunner

from tutti import files, probe, probe_validate
from tutti.cli import app
from tutti.errors import UserError
from tutti.library import find_tool
from tutti.probe_fit import DISTANCES, combine_passes, fit, fit_gamma, select
from tutti.probe_validate import Point, errors_of, percentile, report
from tutti.probe_words import summary, time_text

REPOSITORY = Path(__file__).resolve().parents[2]
GOLDEN = Path(__file__).with_name("golden") / "probe.txt"
SHIPPED = {
    "hop": 1e-7,
    "hop_machine": 3.0,
    "turn": 1e-6,
    "copy_byte": 4e-11,
    "remote_byte": 8e-11,
    "kernel_start": 4e-7,
    "new_field": 7.0,
}

needs_measure = pytest.mark.skipif(
    find_tool("tutti-probe-measure", "bench") is None, reason="tutti-probe-measure is not built"
)
needs_predict = pytest.mark.skipif(
    find_tool("tutti-predict", "tools") is None, reason="tutti-predict is not built"
)

K, M = 1 << 10, 1 << 20
ALPHA, PAGE, BETA, BETA_WRITE = 2e-6, 2e-7, 5e-11, 4e-11
SQUARE, LINEAR = 0.3, 0.7


def line(measure, seconds, **of):
    return {
        "measure": measure,
        **of,
        "seconds": seconds,
        "lower": 0.99 * seconds,
        "upper": 1.01 * seconds,
        "samples": 99,
    }


def pair_of(a, b):
    """What two of the four cores share, and how many times as long a hop and a byte take as between the nearest."""
    return {(0, 1): ("cache", 1, 1), (1, 2): ("numa", 1.2, 1.1), (2, 3): ("socket", 1.5, 1.3)}.get(
        (min(a, b), max(a, b)), ("machine", 2.5, 2)
    )


def measurements():
    """What a machine of four cores would give that follows the model to the letter."""
    lines = [
        {"measure": "machine", "processor": "Test Processor", "cores": 4, "units": 4, "topology": "1 socket, 4 cores",
         "l2_bytes": 512 * K, "l3_bytes": 32 * M, "processors": []}
    ]  # fmt: skip
    for call, beta in (("process_vm_readv", BETA), ("process_vm_writev", BETA_WRITE)):
        lines.append(line("kernel_step", 5e-7, call=call, step="empty", pages=1))
        lines.append(line("kernel_step", ALPHA + PAGE, call=call, step="access", pages=1))
        for pages in (4, 16, 64, 256):
            lines.append(line("kernel_step", ALPHA + pages * PAGE, call=call, step="lock", pages=pages))
        for pages in (1, 4, 16, 64, 256, 1024):
            seconds = ALPHA + pages * (PAGE + 4096 * beta)
            lines.append(line("kernel_step", seconds, call=call, step="copy", pages=pages))
    for size in (16 * K, 64 * K, 256 * K, M, 4 * M, 8 * M, 16 * M, 32 * M):
        beyond = max(0.0, 1 - 8 * M / (2 * size))
        lines.append(line("mapped_copy", size * (3e-11 + beyond * 6e-11), copy="read", bytes=size))
    for size in (16 * K, 64 * K, 256 * K, M, 4 * M):
        lines.append(line("mapped_copy", size * 2e-11, copy="own", bytes=size))
        lines.append(line("mapped_copy", size * 1e-10, copy="slot", bytes=size))
        lines.append(line("spilled_copy", size * 4e-11, bytes=size))
        lines.append(line("mapped_copy", size * 1.1e-10, copy="stream", bytes=size))
        lines.append(line("mapped_exchange", size * 5e-11, bytes=size))
        lines.append(line("mapped_streams", size * 1.2e-10, bytes=size, processors=4))
        lines.append(line("staged_copy", size * 9e-11, bytes=size))
    lines += [line("turn", 1.8e-6), line("expose", 3e-8)]
    lines.append(line("reduction", 16 * K * 4e-11, kernel="sum f64", sources=2, bytes=16 * K))
    for c in (1, 2, 3, 4):
        gamma = SQUARE * c * c + LINEAR * c
        for pages in (64, 256):
            lines.append(
                line("readers", ALPHA + PAGE + pages * PAGE * gamma, pattern="same", readers=c, bytes=4096 * pages,
                     lock_only=True)
            )  # fmt: skip
        seconds = ALPHA + 256 * (PAGE * gamma + 4096 * BETA)
        lines.append(line("readers", seconds, pattern="same", readers=c, bytes=M, lock_only=False))
    for a in range(4):
        for b in range(4):
            if a != b:
                shares, hop, byte = pair_of(a, b)
                pair = {"from": a, "to": b, "shares": shares}
                lines.append(line("hop", hop * 1e-7, **pair))
                lines.append(line("core_copy", M * byte * 3e-11, **pair, bytes=M))
    for way in ("mapped", "cma", "staged"):
        for cold in (False, True):
            for pairs in (1, 2):
                lines.append(
                    line("pairs", 1e-4 * pairs, where="inside", way=way, cold=cold, pairs=pairs, bytes=M)
                )
    return lines


def made(lines=None, left_out=()):
    document, _ = probe.document(lines or measurements(), list(left_out), SHIPPED, 45)
    return {**document, "date": "2026-01-02T03:04:05+00:00", "kernel": "Linux 6.1", "tutti": "0"}


def test_the_fit_finds_the_parameters_that_the_measurements_were_made_from():
    model = fit(measurements()).model
    expected = {
        "hop": 1e-7, "turn": 1.8e-6, "expose": 3e-8, "copy_byte": 2e-11, "spilled_byte": 4e-11, "remote_byte": 3e-11,
        "exchange_byte": 5e-11, "slot_byte": 1e-10, "write_byte": 1e-10, "stream_byte": 1.1e-10, "reduce_byte": 2e-11,
        "private_cache": 512 * K, "streams_byte": 3e-11,
        "kernel_start": ALPHA, "kernel_page": PAGE, "kernel_byte": BETA, "kernel_write_byte": BETA_WRITE,
        "kernel_gamma_square": SQUARE, "kernel_gamma_linear": LINEAR, "shared_cache": 8 * M, "memory_byte": 9e-11,
        "hop_numa": 1.2, "hop_socket": 1.5, "hop_machine": 2.5, "byte_numa": 1.1, "byte_socket": 1.3, "byte_machine": 2,
    }  # fmt: skip
    for name, value in expected.items():
        assert model[name] == pytest.approx(value, rel=0.02), name


def hops(**seconds):
    return [line("hop", value, **{"from": 0, "to": 1, "shares": name}) for name, value in seconds.items()]


def test_distances_are_relative_to_the_nearest_one_that_was_measured():
    model = fit(hops(numa=1.5e-7, machine=3e-7)).model
    assert model["hop"] == pytest.approx(1.5e-7)
    assert model["hop_numa"] == 1
    assert model["hop_machine"] == pytest.approx(2)
    assert "hop_socket" not in model, "it was not measured: the shipped value stays"


def test_what_is_farther_takes_no_less():
    model = fit(hops(cache=1e-7, numa=3e-7, socket=2e-7, machine=9e-8)).model
    assert [model[f"hop_{name}"] for name in ("numa", "socket", "machine")] == pytest.approx([3, 3, 3])


def test_large_copies_are_not_taken_for_distances():
    rows = [
        line("core_copy", M * 1e-10, bytes=M, shares="cache"),
        line("core_copy", 1, bytes=100 * M, shares="numa"),
    ]
    assert "byte_numa" not in fit(rows).model


def test_pairs_that_do_not_say_what_they_share_are_all_of_one_distance():
    rows = [line("hop", seconds, **{"from": 0, "to": to}) for to, seconds in ((1, 1e-7), (2, 3e-7))]
    document = made([*measurements()[:1], *rows])
    assert document["model"]["hop"] == pytest.approx(2e-7)
    assert document["model"]["hop_machine"] == SHIPPED["hop_machine"]
    assert "hop_machine" in document["shipped"]


def test_gamma_is_fitted_by_least_squares_with_its_residuals():
    points = [(c, 0.11 * c * c + 1.6 * c) for c in range(1, 20)]
    found = fit_gamma(points)
    assert found["square"] == pytest.approx(0.11, rel=1e-3)
    assert found["linear"] == pytest.approx(1.6, rel=1e-3)
    assert found["worst_relative_residual"] < 1e-3
    assert len(found["residuals"]) == len(points)
    assert fit_gamma([(1, 1.0)]) is None
    assert fit_gamma([]) is None


def test_passes_become_their_median_and_their_range():
    rows = [{**line("turn", seconds), "pass": number} for number, seconds in enumerate((3.0, 1.0, 2.0))]
    (one,) = combine_passes(rows)
    assert (one["seconds"], one["lower"], one["upper"], one["passes"], one["samples"]) == (
        2.0,
        1.0,
        3.0,
        3,
        297,
    )
    (same,) = combine_passes(rows[:1])
    assert same["upper"] == rows[0]["upper"]


def test_a_machine_that_changed_meanwhile_is_warned_of():
    rows = [
        {**line("hop", seconds, **{"from": 0, "to": 1}), "pass": i}
        for i, seconds in enumerate((6e-8, 7e-8, 2e-7))
    ]
    assert "3.3 times" in made(combine_passes([*measurements()[:1], *rows]))["warnings"][0]
    assert made(combine_passes([*measurements()[:1], *rows[:2]]))["warnings"] == []
    rows[2]["in_state"] = False
    document = made(combine_passes([*measurements()[:1], *rows]))
    assert document["warnings"] == []
    assert document["model"]["hop"] == pytest.approx(6.5e-8)


def test_what_was_measured_in_another_state_alone_is_kept_and_warned_of():
    rows = [{**line("turn", 2e-6), "pass": i, "in_state": False} for i in range(2)]
    document = made(combine_passes([*measurements()[:1], *rows]))
    assert document["model"]["turn"] == 2e-6
    assert document["measurements"][0]["in_state"] is False
    assert document["warnings"][0].startswith("turn: measured in part only while")


def test_what_was_not_measured_is_shipped_and_said():
    only = [row for row in measurements() if row["measure"] in ("machine", "turn")]
    document = made(only, ["copies by the kernel: forbidden"])
    assert document["model"]["kernel_start"] == SHIPPED["kernel_start"]
    assert document["model"]["turn"] == 1.8e-6
    assert "kernel_start" in document["shipped"]
    assert "turn" not in document["shipped"]
    assert document["left_out"][0] == "copies by the kernel: forbidden"
    assert "kernel_start" in document["left_out"][1]
    assert summary(document)


def test_the_file_has_what_its_schema_asks_for():
    schema = json.loads((REPOSITORY / "docs" / "probe.schema.json").read_text(encoding="utf-8"))
    document = made()
    assert set(schema["required"]) <= set(document)
    assert set(document) <= set(schema["properties"])
    assert document["schema"] == schema["properties"]["schema"]["const"]
    for row in document["measurements"]:
        assert set(schema["properties"]["measurements"]["items"]["required"]) <= set(row)


@needs_predict
def test_the_schema_names_every_parameter_of_the_library():
    schema = json.loads((REPOSITORY / "docs" / "probe.schema.json").read_text(encoding="utf-8"))
    model = probe.shipped_model()
    assert sorted(schema["properties"]["model"]["required"]) == sorted(model)
    assert not set(model) - set(fit(measurements()).model), "a parameter that no measurement gives"
    page = (REPOSITORY / "docs" / "model.md").read_text(encoding="utf-8")
    for name in model:
        assert name.replace("kernel_gamma_linear", "_linear") in page, name


def test_the_summary_is_the_golden_one():
    text = "\n".join([*summary(made()), ""])
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(9.5e-8, "95.0 ns"), (1.93e-6, "1.93 us"), (3.46e-5, "34.6 us"), (0.0012, "1.20 ms"), (2, "2.00 s")],
)  # fmt: skip
def test_times_have_three_digits(seconds, text):
    assert time_text(seconds) == text


def test_files_are_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    file = tmp_path / "new" / "probe.json"
    files.write(file, "one")
    monkeypatch.setattr(
        os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    with pytest.raises(UserError, match="No space left"):
        files.write(file, "two")
    assert file.read_text() == "one"
    assert [each.name for each in file.parent.iterdir()] == ["probe.json"]


def test_the_default_file_is_where_the_library_looks(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert probe.user_file() == tmp_path / "tutti" / "probe.json"
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert probe.user_file() == tmp_path / ".config" / "tutti" / "probe.json"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"schema": "tutti-probe-1", ', "cut off"),
        ("[]", "schema"),
        ('{"schema": "tutti-probe-2"}', "tutti-probe-2"),
        ("[" * 100000, "cut off"),
        (json.dumps({**made(), "machine": []}), '"machine" is missing or of the wrong kind'),
        (json.dumps({**made(), "fits": None}), '"fits" is missing'),
        (json.dumps({**made(), "model": {"hop": "x"}}), '"hop" of its model is no number'),
        (json.dumps({**made(), "measurements": [1]}), "does not say what it is of"),
        (json.dumps({**made(), "measurements": [{"measure": "hop"}]}), 'of "hop" has no seconds'),
    ],
)
def test_bad_files_are_refused_in_words(tmp_path, text, words):
    file = tmp_path / "probe.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=words):
        probe.read(file)


def shown(tmp_path, document, *words):
    file = tmp_path / "probe.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    return CliRunner().invoke(app, ["probe", "--from", str(file), *words])


@pytest.mark.parametrize("change", [{"fits": {"kernel": 5, "gamma": []}}, {"warnings": 7}])
def test_what_was_edited_too_boldly_is_refused_when_it_is_met(tmp_path, change):
    refused = shown(tmp_path, {**made(), **change})
    assert isinstance(refused.exception, UserError)
    assert "not as tutti probe writes it" in str(refused.exception)


@needs_predict
def test_a_file_is_shown_with_what_the_library_says_of_it(tmp_path):
    document = {**made(), "model": probe.shipped_model()}
    assert 'does not use it here: it was measured on "Test Processor"' in shown(tmp_path, document).output
    document["model"]["hop"] = -1.0
    assert 'does not use it here: "hop" is -1, which no machine has' in shown(tmp_path, document).output


def test_a_file_can_be_shown_and_drawn_instead_of_measured(tmp_path):
    pytest.importorskip("matplotlib")
    file, picture = tmp_path / "probe.json", tmp_path / "probe.png"
    file.write_text(json.dumps(made()), encoding="utf-8")
    shown = CliRunner().invoke(app, ["probe", "--from", str(file), "--plot", str(picture)])
    assert shown.exit_code == 0, shown.output
    assert shown.output.startswith(GOLDEN.read_text(encoding="utf-8"))
    assert picture.read_bytes().startswith(b"\x89PNG")
    as_json = CliRunner().invoke(app, ["probe", "--from", str(file), "--json"])
    assert json.loads(as_json.output) == made()


def test_help_has_examples_and_mistakes_are_explained(tmp_path):
    shown = CliRunner().invoke(app, ["probe", "--help"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0
    assert "tutti probe --validate" in re.sub(r"\s+", " ", shown.output)
    for words in (["--seconds", "500"], ["--from", str(tmp_path / "none")], ["--ranks", "x"]):
        refused = CliRunner().invoke(app, ["probe", *words])
        assert isinstance(refused.exception, UserError), words


def points(*errors):
    return [
        Point("bcast", f"a{i}", "window", 2, 65536, 1e-6 * (1 + e / 100), 1e-6) for i, e in enumerate(errors)
    ]


def test_errors_are_counted_without_their_sign():
    assert errors_of(points(10, -20, 30, 0)) == pytest.approx((15, 30))
    assert percentile([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 0.9) == 9
    said = report(points(10, -20, 30, 0))
    assert said[0] == "4 predictions: median error 15 %, 90th percentile 30 % (aim: 25 % and 60 %, reached)"
    assert "a2" in said[2]
    assert "not reached" in report(points(70, 80))[0]


@needs_predict
def test_predictions_are_the_library_s(tmp_path):
    file = tmp_path / "probe.json"
    shipped = probe.shipped_model()
    document, _ = probe.document(measurements(), [], shipped, 1)
    file.write_text(json.dumps(document), encoding="utf-8")
    slow, fast = probe_validate.Predictor(file), probe_validate.Predictor(None)
    cells = [
        {"collective": "bcast", "asked": name, "asked_mechanism": "cma", "mechanism": "cma", "ranks": 2, "bytes": M,
         "tutti_us": 300.0, "checked": True}
        for name in ("auto", "direct-read", "knomial-read,k=1", "no-such-algorithm")
    ]  # fmt: skip
    found = probe_validate.points_of(cells, slow, 2)
    assert [point.algorithm for point in found] == ["direct-read", "knomial-read,k=1"]
    assert found[0].predicted == pytest.approx(ALPHA + 256 * (PAGE + 4096 * BETA), rel=0.05)
    assert probe_validate.points_of(cells, fast, 2)[0].predicted != found[0].predicted


@needs_predict
def test_the_choice_of_a_synthetic_machine_can_be_looked_at_and_its_probe_does_not_belong_here(tmp_path):
    file = tmp_path / "probe.json"
    lines = measurements()
    lines[0]["cores"] = 160
    document, _ = probe.document(lines, [], probe.shipped_model(), 1)
    file.write_text(json.dumps(document), encoding="utf-8")
    words = [
        str(find_tool("tutti-predict", "tools")),
        "--probe",
        str(file),
        "--ranks",
        "160",
        "--levels",
        "3",
    ]
    there = json.loads(
        subprocess.run(
            [*words, "--topology", "package:2 numa:8 core:10"], capture_output=True, check=True
        ).stdout
    )
    assert there["model_source"]["fits"]
    here = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
    assert not here["model_source"]["fits"]
    assert "Test Processor" in here["model_source"]["why_not"]


@needs_measure
def test_pairs_of_cores_say_what_they_share():
    words = [
        str(find_tool("tutti-probe-measure", "bench")),
        "--only",
        "hop",
        "--passes",
        "1",
        "--seconds",
        "3",
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    rows = [row for row in map(json.loads, done.stdout.splitlines()) if row.get("measure") == "hop"]
    assert rows or len(os.sched_getaffinity(0)) < 2
    assert all(row["shares"] in DISTANCES for row in rows)


@needs_measure
@needs_predict
def test_a_short_probe_measures_and_writes(tmp_path):
    file = tmp_path / "probe.json"
    words = [sys.executable, "-m", "tutti", "probe", "--seconds", "2", "--output", str(file)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, cwd=REPOSITORY)
    assert done.returncode == 0, done.stderr
    document = probe.read(file)
    assert select(document["measurements"], "turn")
    assert document["machine"]["cores"] >= 1
    assert str(file) in done.stdout


@needs_measure
@needs_predict
def test_ctrl_c_in_a_terminal_leaves_no_process_and_no_file(tmp_path):
    """It goes to all of them there; test_commands.py has signals to one."""
    file = tmp_path / "probe.json"
    process = subprocess.Popen(
        [sys.executable, "-m", "tutti", "probe", "--seconds", "60", "--output", str(file)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY, start_new_session=True,
        env={**os.environ, "MARK": str(tmp_path)},
    )  # fmt: skip
    mark = f"MARK={tmp_path}"
    # Itself, and one for each core.
    until(lambda: sum("tutti-probe-measure" in name for name in started_with(mark)) > 1)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == (130, "", "tutti: stopped; no file was changed\n")
    until(lambda: not started_with(mark))
    assert not list(tmp_path.iterdir())


def bench_that_gives(monkeypatch, left_out=(), failure=""):
    """Stands for the benchmark; what it was asked for."""
    asked = []

    def bench(hosts, options, progress, failed):
        asked.append(options)
        if failure:
            failed(failure)
        return [
            {"collective": name, "ranks": count, "bytes": size}
            for name in options.collectives
            for count in options.ranks
            for size in (16 * K, 64 * K, 256 * K, M, 4 * M)
            if (name, count, size) not in left_out
        ]

    monkeypatch.setattr(probe_validate, "run_bench", bench)
    return asked


def observe(ranks, hop=1e-7):
    return probe_validate.observe(None, ranks, 0.1, hop, lambda title, done: None)


def test_where_ranks_share_cores_calls_are_timed_between_barriers(monkeypatch):
    monkeypatch.setattr(probe_validate, "usable_cores", lambda: 4)
    assert probe_validate.timings_of([2, 4, 8]) == {"calls": [2, 4], "between-barriers": [8]}
    asked = bench_that_gives(monkeypatch)
    assert observe([2, 8]).notes == []
    assert [(some.timing, some.ranks) for some in asked] == [("calls", [2]), ("between-barriers", [8])]


def test_only_what_is_measured_in_the_state_of_the_parameters_counts(monkeypatch):
    asked = bench_that_gives(monkeypatch, left_out=[("scatter", 2, M)])
    found = observe([2], hop=1.5e-7)
    assert "--state-flag-us 0.15" in " ".join(asked[0].program_words("bcast"))
    assert len(found.cells) == 5 * len(probe_validate.COLLECTIVES) - 1
    assert found.notes == ["left out, since the machine was in another state: scatter of 1 MiB with 2 ranks"]
    monkeypatch.setattr(probe_validate, "run_bench", lambda *_: [])
    with pytest.raises(UserError, match="never in the state in which a flag takes 150 ns"):
        observe([2], hop=1.5e-7)


def test_a_benchmark_that_fails_ends_the_validation(monkeypatch):
    bench_that_gives(monkeypatch, failure="the benchmark ended with status 1")
    with pytest.raises(UserError, match="ended with status 1"):
        observe([2])
