"""`tutti probe`: fits of measurements whose answer is known, the file, what is said, the real program for a moment.

test_probe_predictions.py has --validate.
"""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from call_filters import REFUSE_EPERM, SET_AFFINITY, needs_filters, run_filtered
from conftest import started_with, until
from made_probes import ALPHA, BETA, BETA_WRITE, LINEAR, PAGE, SQUARE, K, M, line, measurements
from typer.testing import CliRunner

from tutti import files
from tutti.cli import app
from tutti.errors import UserError
from tutti.launch.library import find_tool
from tutti.probe import measurement
from tutti.probe.fitting import DISTANCES, combine_passes, fit, fit_gamma, select
from tutti.probe.sentences import summary, time_text

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


def cores_here():
    """As hwloc counts them."""
    words = [str(find_tool("tutti-topo", "tools")), "--ranks=1"]
    done = subprocess.run(words, capture_output=True, check=True, stdin=subprocess.DEVNULL)
    return json.loads(done.stdout)["machine"]["core_count"]


def made(lines=None, left_out=()):
    document, _ = measurement.document(lines or measurements(), list(left_out), SHIPPED, 45)
    return {**document, "date": "2026-01-02T03:04:05+00:00", "kernel": "Linux 6.1", "tutti": "0"}


def test_the_fit_finds_the_parameters_that_the_measurements_were_made_from():
    model = fit(measurements()).model
    expected = {
        "hop": 1e-7, "turn": 1.8e-6, "busy_turn": 2.4e-6, "expose": 3e-8, "copy_byte": 2e-11, "spilled_byte": 4e-11,
        "remote_byte": 3e-11, "exchange_byte": 5e-11, "slot_byte": 1e-10, "write_byte": 5e-11, "take_byte": 1e-11,
        "stream_byte": 1.1e-10, "left_byte": 7e-11, "found_byte": 6e-11, "found_streamed_byte": 1.3e-10,
        "reduce_byte": 2e-11, "private_cache": 512 * K, "streams_byte": 3e-11,
        "kernel_start": ALPHA, "kernel_page": PAGE, "kernel_byte": BETA, "kernel_write_byte": BETA_WRITE,
        "kernel_gamma_square": SQUARE, "kernel_gamma_linear": LINEAR, "shared_cache": 8 * M, "memory_byte": 9e-11,
        "hop_numa": 1.2, "hop_socket": 1.5, "hop_machine": 2.5, "byte_numa": 1.1, "byte_socket": 1.3, "byte_machine": 2,
        "store_numa": 1.21, "store_socket": 1.69, "store_machine": 4, "memory_socket": 1.3, "memory_machine": 2,
        "rank_byte": 2.5e-11, "node_byte": 1.1e-11, "link_byte": 1.5e-11, "total_byte": 6e-12, "page_bytes": 4096,
    }  # fmt: skip
    for name, value in expected.items():
        assert model[name] == pytest.approx(value, rel=0.02), name


def test_a_turn_among_busy_ranks_takes_no_less_than_one_among_others():
    model = fit([line("turn", 2e-6), line("busy_turn", -1e-6)]).model
    assert model["busy_turn"] == model["turn"] == 2e-6


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


@needs_predict
def test_a_line_that_begins_below_zero_gives_the_time_of_an_empty_call(tmp_path):
    rows = [row for row in measurements() if row["measure"] != "kernel_step" or row["step"] != "copy"]
    for call in ("process_vm_readv", "process_vm_writev"):
        rows += [
            line("kernel_step", pages * (PAGE + 4096 * BETA) * (1 if pages < 64 else 1.3), call=call, step="copy",
                 pages=pages)
            for pages in (4, 16, 64, 256)
        ]  # fmt: skip
    document, fitted = measurement.document(rows, [], measurement.shipped_model(), 1)
    assert document["model"]["kernel_start"] == pytest.approx(5e-7)
    assert measurement.why_useless({**document, "machine": {"cores": cores_here()}}, fitted, "") == ""
    assert fit([row for row in rows if row.get("step") != "empty"]).kernel is None


@needs_predict
def test_a_file_that_the_library_would_refuse_is_not_worth_keeping():
    document, fitted = measurement.document(measurements(), [], measurement.shipped_model(), 1)
    document = {**document, "machine": {"cores": cores_here()}}
    assert measurement.why_useless(document, fitted, "") == ""
    document["model"]["kernel_start"] = -1e-7
    assert 'would refuse what was measured: "kernel_start" is -1e-07' in measurement.why_useless(
        document, fitted, ""
    )


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
    schema = json.loads((REPOSITORY / "docs" / "schemas" / "probe.schema.json").read_text(encoding="utf-8"))
    document = made()
    assert set(schema["required"]) <= set(document)
    assert set(document) <= set(schema["properties"])
    assert document["schema"] == schema["properties"]["schema"]["const"]
    for row in document["measurements"]:
        assert set(schema["properties"]["measurements"]["items"]["required"]) <= set(row)


@needs_predict
def test_the_schema_names_every_parameter_of_the_library():
    schema = json.loads((REPOSITORY / "docs" / "schemas" / "probe.schema.json").read_text(encoding="utf-8"))
    model = measurement.shipped_model()
    named = schema["properties"]["model"]
    assert sorted([*named["required"], *named["properties"]]) == sorted(model)
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
    assert measurement.user_file() == tmp_path / "tutti" / "probe.json"
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert measurement.user_file() == tmp_path / ".config" / "tutti" / "probe.json"


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
        measurement.read(file)


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
    document = {**made(), "model": measurement.shipped_model()}
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


@needs_predict
def test_the_choice_of_a_synthetic_machine_can_be_looked_at_and_its_probe_does_not_belong_here(tmp_path):
    file = tmp_path / "probe.json"
    lines = measurements()
    described = "2 sockets, 16 NUMA nodes, 0 L3, 0 L2, 160 cores, 160 units"
    lines[0].update(cores=160, topology=described)
    document, _ = measurement.document(lines, [], measurement.shipped_model(), 1)
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

    def source(topology):
        command = [*words, "--topology", topology]
        return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["model_source"]

    assert source("package:2 numa:8 core:10")["fits"]
    other = source("package:4 numa:4 core:10")
    assert not other["fits"]
    assert other["why_not"].startswith(f"it was measured on a machine of {described}, this has 4 sockets")
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
    document = measurement.read(file)
    assert set(document["shipped"]) < set(document["model"])
    assert document["machine"]["cores"] >= 1
    assert str(file) in done.stdout


def old_file(tmp_path):
    file = tmp_path / "probe.json"
    file.write_text("old", encoding="utf-8")
    return file


@needs_measure
@needs_predict
@needs_filters
def test_where_binding_is_refused_one_line_says_so_and_the_old_file_stays(tmp_path):
    file = old_file(tmp_path)
    code = "from tutti.main import main; main(sys.argv[1:])"
    words = ["probe", "--seconds", "2", "--output", str(file)]
    done = run_filtered({SET_AFFINITY: REFUSE_EPERM}, code, *words)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done.stderr
    why = "processes cannot be bound to processors (sched_setaffinity: Operation not permitted)"
    assert re.match(
        rf"tutti: {re.escape(str(file))} is not written: no parameter could be measured: (\d+) of \1 figures: "
        rf"{re.escape(why)}; tutti doctor says",
        done.stderr,
    )
    assert [each.read_text() for each in tmp_path.iterdir()] == ["old"]


@needs_predict
def test_what_gives_no_parameter_or_is_refused_leaves_the_old_file(tmp_path, monkeypatch, tutti_here):
    file = old_file(tmp_path)
    machine = {**measurements()[0], "processor": "", "cores": cores_here()}
    found = {
        "no parameter could be measured: too slow": [machine, line("core_copy", 1.0, **{"from": 0, "to": 1})],
        'would refuse what was measured: "hop" is 2': [machine, line("hop", 2.0, **{"from": 0, "to": 1})],
    }
    for says, lines in found.items():
        measured = measurement.Measured(lines, ["too slow"], "")
        monkeypatch.setattr(measurement, "measure", lambda *_, measured=measured: measured)
        done = tutti_here("probe", "--output", file)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
        assert says in done.stderr
        assert file.read_text() == "old"


def measured_here(*words, **variables):
    """What tutti-probe-measure prints in one pass: the measurements, and what was left out."""
    done = subprocess.run(
        [str(find_tool("tutti-probe-measure", "bench")), "--passes", "1", *words],
        env={**os.environ, **variables}, check=True, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    rows = [json.loads(row) for row in done.stdout.splitlines()]
    left_out = [row["left_out"] for row in rows if "left_out" in row]
    return [row for row in rows if "measure" in row], left_out


def skip_if_incomplete(left_out):
    if any("the time was over" in why for why in left_out):
        pytest.skip("the machine is too busy")


#: Of two cores: what a measurement is of, by its name.
EVERYTHING = {
    "kernel_step": {
        (call, step, pages)
        for call in ("process_vm_readv", "process_vm_writev")
        for step, counts in {"empty": [1], "access": [1], "lock": [4, 16, 64, 256],
                             "copy": [1, 4, 16, 64, 256, 1024]}.items()
        for pages in counts
    },
    "readers": {
        *((pattern, count, size, False) for pattern in ("same", "different", "everybody") for count in (1, 2)
          for size in (16 * K, 64 * K, 256 * K, M) if (pattern, count) != ("everybody", 1)),
        *(("same", count, size, True) for count in (1, 2) for size in (64 * K, 256 * K, M)),
    },
    "mapped_copy": {
        *((copy, size) for copy in ("read", "own", "slot", "line", "stream")
          for size in (4 * K, 16 * K, 64 * K, 256 * K, M, 4 * M)),
        *(("read", size) for size in (8 * M, 16 * M, 32 * M)),
    },
    "pairs": {("inside", way, cold, 1) for way in ("mapped", "cma", "staged") for cold in (False, True)},
    "mapped_ring": {(where, 2, size) for where in ("node", "machine") for size in (64 * K, M)},
    "reduction": {(kernel, sources) for kernel in ("sum f64", "sum f32", "max i32", "prod f64")
                  for sources in (2, 4, 8)},
    "turn": {(2,), (4,)},
    "expose": {()},
}  # fmt: skip
#: The fields that say so.
FIELDS = {
    "kernel_step": ("call", "step", "pages"), "readers": ("pattern", "readers", "bytes", "lock_only"),
    "mapped_copy": ("copy", "bytes"), "pairs": ("where", "way", "cold", "pairs"), "reduction": ("kernel", "sources"),
    "mapped_ring": ("where", "processors", "bytes"),
    "turn": ("ranks_per_core",), "expose": (), "hop": ("from", "to"),
    "core_store": ("from", "to"), "core_copy": ("from", "to", "bytes"),
}  # fmt: skip


@needs_measure
@needs_predict
def test_a_probe_of_two_cores_measures_everything_that_it_says():
    here = measured_here("--only", "machine")[0][0]["processors"]
    if len(here) < 2:
        pytest.skip("one core")
    one, other = (entry["processor"] for entry in here[:2])
    lines, left_out = measured_here("--processors", f"{one},{other}", "--seconds", "12")
    if any("copies by the kernel" in why for why in left_out):
        pytest.skip("copies by the kernel are refused")
    wanted = {
        **EVERYTHING,
        "hop": {(one, other), (other, one)},
        "core_store": {(one, other), (other, one)},
        "core_copy": {pair for size in (M, 100 * M) for pair in ((one, other, size), (other, one, size))},
    }
    found = {}
    for measure, figures in wanted.items():
        rows = select(lines, measure)
        found[measure] = {tuple(row[field] for field in FIELDS[measure]) for row in rows}
        assert found[measure] <= figures, measure
    rows = [row for row in lines if row["measure"] != "machine"]
    assert all(0 < row["lower"] <= row["seconds"] <= row["upper"] and row["samples"] > 0 for row in rows)
    skip_if_incomplete(left_out)
    assert found == wanted
    document, _ = measurement.document(combine_passes(lines), left_out, measurement.shipped_model(), 12)
    # Two cores have one distance, and do not show what more of them get together from one.
    shipped = {
        name
        for name in document["shipped"]
        if not name.startswith(("hop_", "byte_", "store_", "memory_s", "memory_m"))
    }
    assert {"rank_byte"} <= shipped <= {"rank_byte", "link_byte"}
    assert all(0 <= value < float("inf") for value in document["model"].values())
    kernel, gamma = document["fits"]["kernel"], document["fits"]["gamma"]
    for call in ("process_vm_readv", "process_vm_writev", "both"):
        assert all(0 <= kernel[call][name] < float("inf") for name in ("alpha", "beta", "l"))
    assert all(0 <= gamma[name] < float("inf") for name in ("square", "linear"))


STAND_IN = REPOSITORY / "build" / "release" / "tests" / "mpi" / "stand_in"
needs_stand_in = pytest.mark.skipif(
    not (STAND_IN / "libxpmem.so.0").is_file(), reason="the stand-in for libxpmem is not built"
)


@needs_measure
@needs_stand_in
def test_copies_through_xpmem_follow_the_library_s_setting():
    words = ("--only", "pairs", "--seconds", "5")
    stand_in = {"LD_LIBRARY_PATH": str(STAND_IN), "TUTTI_XPMEM_DEVICE": "/dev/null"}
    if len(measured_here("--only", "machine")[0][0]["processors"]) < 2:
        pytest.skip("one core")
    lines, left_out = measured_here(*words[:2], "--seconds", "1", TUTTI_XPMEM_DEVICE="/dev/no-such-device")
    assert not select(lines, "pairs", way="xpmem")
    assert "copies through xpmem: /dev/no-such-device: No such file or directory" in left_out
    lines, left_out = measured_here(*words, **stand_in)
    assert not any(why.startswith("copies through xpmem") for why in left_out)
    skip_if_incomplete(left_out)
    assert {row["cold"] for row in select(lines, "pairs", way="xpmem")} == {False, True}
    _, left_out = measured_here(*words, **stand_in, XPMEM_STAND_IN_REFUSE="attach")
    skip_if_incomplete(left_out)
    assert any(why.endswith("(pairs of cores at once): xpmem cannot attach") for why in left_out)


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
