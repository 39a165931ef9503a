"""`tutti probe --validate`: predictions, their errors, what is measured for them, and all of it with a stub for the
benchmark and with the real one."""

import json
import subprocess

import pytest
from made_probes import ALPHA, BETA, PAGE, K, M, measurements

from tutti.errors import UserError
from tutti.launch.hosts import installed_hosts
from tutti.launch.library import find_tool
from tutti.probe import measurement, predictions, steps
from tutti.probe.predictions import Point, Wanted, errors_of, percentile, report

WANTED = Wanted()
needs_predict = pytest.mark.skipif(
    find_tool("tutti-predict", "tools") is None, reason="tutti-predict is not built"
)


def cell(collective, asked, mechanism, **more):
    """As the benchmark gives it."""
    known = {"ranks": 2, "levels": 1, "ranks_per_core": 1.0, "bytes": M, "chosen_bytes": M}
    return {
        **known, "collective": collective, "host": "stub", "asked": asked, "asked_mechanism": mechanism,
        "mechanism": mechanism, "algorithm": asked.partition(",")[0], "tutti_us": 300.0, "ratio": 1.0, "checked": True,
        **more,
    }  # fmt: skip


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
    shipped = measurement.shipped_model()
    document, _ = measurement.document(measurements(), [], shipped, 1)
    file.write_text(json.dumps(document), encoding="utf-8")
    slow, fast = predictions.Predictor(file), predictions.Predictor(None)
    cells = [
        cell("bcast", name, "cma")
        for name in ("auto", "direct-read", "knomial-read,k=1", "no-such-algorithm")
    ]
    found = predictions.points_of(cells, slow)
    assert [point.algorithm for point in found] == ["direct-read", "knomial-read,k=1"]
    # What the kernel has read its owner takes back later.
    model = document["model"]
    later = min(1 << 20, model["private_cache"] / 8) * model["left_byte"]
    assert found[0].predicted == pytest.approx(ALPHA + 256 * (PAGE + 4096 * BETA) + later, rel=0.05)
    assert predictions.points_of(cells, fast)[0].predicted != found[0].predicted


def predicted_by_hand(*words):
    """Seconds by algorithm."""
    tool = str(find_tool("tutti-predict", "tools"))
    done = subprocess.run([tool, *words], capture_output=True, check=True, stdin=subprocess.DEVNULL)
    return {row["name"]: row["seconds"] for row in json.loads(done.stdout)["candidates"]}


@needs_predict
def test_predictions_are_for_the_shape_that_was_measured():
    predictor = predictions.Predictor(None)
    two_levels = cell("bcast", "xhc", "window", ranks=8, levels=3, ranks_per_core=4.0)
    (point,) = predictions.points_of([two_levels], predictor)
    words = ["--collective", "bcast", "--bytes", "1M", "--ranks", "8", "--ranks-per-core", "4"]
    assert point.predicted == predicted_by_hand(*words, "--levels", "3")["xhc"]
    assert point.predicted != predicted_by_hand(*words)["xhc"]
    # What the library chooses by is not always what the size is of, nor by that name.
    all_of_it = cell("reduce_scatter_block", "direct", "window", ranks=4, chosen_bytes=4 * M)
    (point,) = predictions.points_of([all_of_it], predictor)
    assert (point.collective, point.bytes) == ("reduce_scatter_block", M)
    words = ["--collective", "reduce_scatter", "--bytes", "4M", "--ranks", "4"]
    assert point.predicted == predicted_by_hand(*words)["direct"]
    # Blocks whose sizes differ.
    words = ["--collective", "scatterv", "--bytes", "1M", "--ranks", "8"]
    assert predicted_by_hand(*words) == predicted_by_hand(*words, "--irregular")


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

    monkeypatch.setattr(predictions, "run_bench", bench)
    return asked


def observe(ranks, hop=1e-7):
    return predictions.observe(None, WANTED._replace(ranks=ranks), hop, lambda title, done: None)


def test_only_what_is_measured_in_the_state_of_the_parameters_counts(monkeypatch):
    asked = bench_that_gives(monkeypatch, left_out=[("scatter", 2, M)])
    found = observe([2], hop=1.5e-7)
    assert "--state-flag-us 0.15" in " ".join(asked[0].program_words("bcast"))
    assert len(found.cells) == 5 * len(WANTED.collectives) - 1
    assert found.notes == ["left out, since the machine was in another state: scatter of 1 MiB with 2 ranks"]
    monkeypatch.setattr(predictions, "run_bench", lambda *_: [])
    with pytest.raises(UserError, match="never in the state in which a flag takes 150 ns"):
        observe([2], hop=1.5e-7)


def test_a_benchmark_that_fails_ends_the_validation(monkeypatch):
    bench_that_gives(monkeypatch, failure="the benchmark ended with status 1")
    with pytest.raises(UserError, match="ended with status 1"):
        observe([2])


# --- from the command line ------------------------------------------------------------------------------------------


def probe_file(tmp_path):
    """A probe with the shipped parameters; the state of the machine counts for nothing."""
    document, _ = measurement.document(measurements(), [], measurement.shipped_model(), 1)
    document = {**document, "model": measurement.shipped_model(), "shipped": ["hop"]}
    file = tmp_path / "source.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    return file


class StubHost:
    """An MPI of which only the name is asked."""

    name, title = "stub", "Stub MPI"


def stub(monkeypatch, factor, file):
    """A benchmark that observes what is predicted, times a factor; what it was asked for."""
    asked = []
    predictor = predictions.Predictor(file)

    def bench(hosts, options, progress, failed):
        asked.append(options)
        cells = []
        for collective in options.collectives:
            for size in Wanted(
                minimum_bytes=options.minimum_bytes, maximum_bytes=options.maximum_bytes
            ).sizes(collective):
                one = cell(collective, "auto", "window", bytes=size, chosen_bytes=size)
                for name, seconds in predictor.of(one).items():
                    cells.append({**one, "asked": name, "tutti_us": 1e6 * factor * seconds})
        return cells

    monkeypatch.setattr(predictions, "run_bench", bench)
    monkeypatch.setattr(steps, "_host", lambda options: StubHost)
    return asked


@needs_predict
@pytest.mark.parametrize(
    ("factor", "status", "words"), [(1.1, 0, "%, reached)"), (3.0, 1, "%, not reached)")]
)
def test_the_exit_status_says_whether_the_aim_is_reached(
    tmp_path, monkeypatch, tutti_here, factor, status, words
):
    source = probe_file(tmp_path)
    asked = stub(monkeypatch, factor, source)
    done = tutti_here("probe", "--from", source, "--validate")
    assert (done.returncode, done.stderr) == (status, "")
    assert words in done.stdout
    (options,) = asked
    assert options.collectives == ["bcast", "scatter", "gather", "allgather"]
    assert (options.mechanisms, options.minimum_bytes, options.maximum_bytes) == (
        ["window", "cma"],
        16 * K,
        4 * M,
    )
    assert "nothing was measured by cma" in done.stdout


@needs_predict
def test_any_collectives_sizes_and_mechanisms_can_be_validated(tmp_path, monkeypatch, tutti_here):
    pytest.importorskip("matplotlib")
    source, picture = probe_file(tmp_path), tmp_path / "probe.png"
    asked = stub(monkeypatch, 1.0, source)
    words = ["-c", "barrier,reduce", "--min", "1K", "--max", "16K", "--mechanisms", "xpmem,window", "-n", "2"]
    done = tutti_here("probe", "--from", source, "--validate", "--json", "--plot", picture, *words)
    assert (done.returncode, done.stderr) == (0, "")
    (options,) = asked
    assert options.mechanisms == ["xpmem", "window"]
    validation = json.loads(done.stdout)["validation"]
    found = {(point["collective"], point["bytes"]) for point in validation["points"]}
    assert found == {("barrier", 0), ("reduce", 1 * K), ("reduce", 4 * K), ("reduce", 16 * K)}
    assert any(words.startswith("nothing was measured by xpmem: ") for words in validation["words"])
    assert (tmp_path / "probe-predicted.png").read_bytes().startswith(b"\x89PNG")


HOST = next(iter(installed_hosts()), None)


@needs_predict
@pytest.mark.skipif(HOST is None, reason="no benchmark is built")
def test_what_the_benchmark_prints_is_enough_to_predict_from(tmp_path, tutti_here):
    words = ["-c", "reduce_scatter_block,scatterv", "--min", "64K", "--max", "64K", "--mechanisms", "staged"]
    done = tutti_here(
        "probe", "--from", probe_file(tmp_path), "--validate", "--json", "--host", HOST.name, *words
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    points = json.loads(done.stdout)["validation"]["points"]
    assert {(point["collective"], point["bytes"], point["mechanism"]) for point in points} == {
        (name, 64 * K, "staged") for name in ("reduce_scatter_block", "scatterv")
    }
