"""`tutti tune`: its options, tables checked and compared, and tables under real programs."""

import json
import os
import signal
import subprocess
import sys

import pytest
from conftest import started_with, until
from made_tables import ORIGIN, cell, entry, table

from tutti.errors import UserError
from tutti.launch.hosts import installed_hosts
from tutti.launch.library import find_tool
from tutti.launch.plan import make_plan
from tutti.tune.setups import DEFAULT, parse_setups
from tutti.tune.table import HOST, write_json
from tutti.tune.table_check import changes
from tutti.tune.tuning import STATE_SCHEMA, Start, State, TuneOptions, Tuning, parse_sizes, tunable

needs_tool = pytest.mark.skipif(find_tool("tutti-table", "tools") is None, reason="tutti-table is not built")
MPICH = next((host for host in installed_hosts() if host.name == "mpich"), None)
needs_mpich = pytest.mark.skipif(MPICH is None, reason="no benchmark for MPICH is built")


def test_words_of_the_options():
    assert parse_sizes("4:4M") == (4, 4 << 20)
    assert parse_sizes("64K") == (65536, 65536)
    assert tunable("reduce_scatter,alltoallw,bcast") == ["reduce_scatter_block", "alltoallv", "bcast"]
    for wrong in ("4M:4", "x", "4:"):
        with pytest.raises(UserError):
            parse_sizes(wrong)
    with pytest.raises(UserError, match="do not know each other's sizes"):
        tunable("neighbor_alltoall")


def test_words_of_the_setups():
    assert parse_setups("", "", {"TUTTI_MECHANISM": "cma"}) == [("", "")]
    assert parse_setups("window, cma", "auto,NUMA+socket,flat", {}) == [
        ("window", "auto"), ("window", "numa+socket"), ("window", "flat"),
        ("cma", "auto"), ("cma", "numa+socket"), ("cma", "flat"),
    ]  # fmt: skip
    for mechanisms, hierarchies, words in (
        ("windw", "", "the nearest is window"),
        (",", "", "expected names"),
        ("auto,window", "", "one to a table"),
        ("window,xpmem", "", "one to a table"),
        ("", "flatt", "the nearest is flat"),
        ("", "numa+flat", "expected some of"),
        ("", "numa,socket", "one to a table"),
    ):
        with pytest.raises(UserError, match=words):
            parse_setups(mechanisms, hierarchies, {})
    with pytest.raises(UserError, match="--mechanisms and -s MECHANISM exclude each other"):
        parse_setups("cma", "", {"TUTTI_MECHANISM": "cma"})
    with pytest.raises(UserError, match="--hierarchies and -s HIERARCHY exclude each other"):
        parse_setups("", "flat", {"TUTTI_HIERARCHY": "numa"})


# --- tables as files, looked at without MPI --------------------------------------------------------------------------


def written(folder, value):
    path = folder / "table.json"
    write_json(path, value)
    return path


HEAD = """measured on Some 9000 (1 socket, 2 cores)
measured with MPICH 5.0.2
not for this machine: it was measured on "Some 9000", this is """


@needs_tool
def test_check_says_that_all_is_well(tutti_here, tmp_path):
    path = written(tmp_path, table(entry("eager", 0, 4096, reach="staged"), entry("xhc", 4097, 1 << 20)))
    done = tutti_here("tune", "--check", path)
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert done.stdout.startswith(f"{path}: 2 entries\n{HEAD}")
    assert lines[-1] == "all of it can be used, on its own machine"
    assert json.loads(tutti_here("tune", "--check", path, "--json").stdout)["usable"] is True


@needs_tool
def test_check_finds_what_cannot_be_used(tutti_here, tmp_path):
    path = written(
        tmp_path,
        table(
            entry("egaer", 0, 16), entry("eager", 17, 1 << 20), entry("xhc", 65536, 1 << 21),
            entry("xhc", 1 << 23, 1 << 24), entry("host", 0, 64, collective="neighbor"),
        ),
    )  # fmt: skip
    done = tutti_here("tune", "--check", path)
    assert done.returncode == 1
    assert done.stdout.splitlines()[4:] == [
        'left out: entry 1: bcast has no algorithm "egaer" (the nearest is "eager")',
        "left out: entry 5: the ranks of neighbor do not know each other's sizes, so they cannot choose by a table",
        "problem: bcast, 2 ranks, 17 to 1048576 bytes, mapped: eager cannot do 32768 bytes on 2 ranks (it"
        " requires: at most TUTTI_EAGER_MAX bytes and TUTTI_FLAT_MAX ranks)",
        "problem: bcast, 2 ranks, 65536 to 2097152 bytes, mapped: overlaps with bcast, 2 ranks, 17 to 1048576 bytes,"
        " mapped; the first counts",
        "gap: bcast, 2 ranks, 65536 to 2097152 bytes, mapped: nothing from there to 8388608 bytes; the model chooses",
        "the model chooses where the table cannot be used",
    ]


@needs_tool
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"schema": "tutti-table-1", "ent', "it is no JSON, or cut off"),
        ('{"schema": "tutti-table-2"}', 'its schema "tutti-table-2" is newer than "tutti-table-1"'),
        ("[1]", "it is no table of tutti tune"),
    ],
)
def test_check_refuses_what_is_no_table_in_one_line(tutti_here, tmp_path, text, words):
    path = tmp_path / "table.json"
    path.write_text(text)
    done = tutti_here("tune", "--check", path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"tutti: {path}: {words}")
    assert done.stderr.count("\n") == 1
    assert tutti_here("tune", "--check", path, "--json").returncode == 2


@needs_tool
def test_tables_of_large_machines_are_checked_and_belong_there_alone(tutti_here, tmp_path):
    machine = "package:2 numa:8 core:160 pu:1"
    words = "2 sockets, 16 NUMA nodes, 0 L3, 0 L2, 2560 cores, 2560 units"
    origin = {**ORIGIN, "processor": "", "cores": "2560", "topology": words}
    ranks = [2, 16, 160, 1280, 2560]
    entries = [entry("xhc", 65537, 1 << 20, ranks=[count, count], levels=3) for count in ranks]
    path = written(tmp_path, table(*entries, origin=origin))
    there = json.loads(tutti_here("tune", "--check", path, "--topology", machine, "--json").stdout)
    assert (there["usable"], there["other_machine"]) == (True, None)
    here = json.loads(tutti_here("tune", "--check", path, "--json").stdout)
    assert here["other_machine"].startswith("it was measured on 2560 cores, here ")
    entries[0]["algorithm"] = "direct-read"
    entries[4]["algorithm"] = "direct-read"  # up to FLAT_MAX ranks
    path = written(tmp_path, table(*entries, origin=origin))
    assert len(json.loads(tutti_here("tune", "--check", path, "--json").stdout)["problems"]) == 1


@needs_tool
def test_diff_says_what_changed(tutti_here, tmp_path):
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    write_json(
        before,
        table(entry("eager", 0, 4096), entry("xhc", 4097, 65536), entry("tree", 0, 0, collective="barrier")),
    )
    newer = {**ORIGIN, "host_version": "5.0.3"}
    write_json(
        after,
        table(
            entry("eager", 0, 16384),
            entry("throttled", 0, 64, collective="scatter", parameter=4),
            origin=newer,
        ),
    )
    done = tutti_here("tune", "--diff", before, after)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines() == [
        'host: {"name": "MPICH", "version": "5.0.2"} -> {"name": "MPICH", "version": "5.0.3"}',
        "barrier, 2 ranks, 0 B, mapped: tree -> by the model",
        "bcast, 2 ranks, 8 KiB to 16 KiB, mapped: xhc -> eager",
        "bcast, 2 ranks, 32 KiB to 64 KiB, mapped: xhc -> by the model",
        "scatter, 2 ranks, 0 B to 64 B, mapped: by the model -> throttled(4)",
    ]
    same = tutti_here("tune", "--diff", before, before)
    assert (same.returncode, same.stdout) == (0, "both tables choose alike\n")
    as_json = json.loads(tutti_here("tune", "--diff", before, after, "--json").stdout)
    assert as_json["changes"] == changes(json.loads(before.read_text()), json.loads(after.read_text()))


@needs_tool
def test_diff_compares_what_the_library_would_choose(tutti_here, tmp_path):
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    write_json(before, table(entry("xhc", 0, 64), entry("eager", 65, 4096)))
    write_json(after, table(entry("xhc", 0, 64), entry("egaer", 65, 4096)))
    done = tutti_here("tune", "--diff", before, after)
    assert done.stdout.splitlines() == [
        f'left out of {after}: entry 2: bcast has no algorithm "egaer" (the nearest is "eager")',
        "bcast, 2 ranks, 128 B to 4 KiB, mapped: eager -> by the model",
    ]


@pytest.mark.parametrize(
    "words",
    [
        ["--minutes", "0"], ["--ranks", "1"], ["--ranks", "x"], ["--sizes", "3"], ["--collectives", "bcats"],
        ["--host", "nonsense"], ["--within", "0.5"], ["--check", "/nowhere.json"], ["--diff", "/nowhere", "/either"],
        ["--host", "mpich", "--buffers", "heap"], ["--host", "mpich", "--buffers", "static,mmap"],
        ["--host", "mpich", "--mechanisms", "windw"], ["--host", "mpich", "--hierarchies", "flatt"],
    ],
)  # fmt: skip
def test_mistakes_are_one_line_and_status_two(tutti_here, words):
    done = tutti_here("tune", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tutti: ")
    assert done.stderr.count("\n") == 1


def test_only_a_state_of_the_same_tuning_is_resumed(tmp_path):
    path = tmp_path / "state"
    state = State(path, {"host": "mpich"}, dict(ORIGIN), [cell("xhc", 1.0)], [["first", 2, "bcast"]], 1)
    state.save()
    assert State.load(path, {"host": "mpich"}) == state
    for text, key in (
        (path.read_text(), {"host": "intel"}),
        (path.read_text()[:-20], {"host": "mpich"}),
        (f'{{"schema": "{STATE_SCHEMA}", "key": {{"host": "mpich"}}}}', {"host": "mpich"}),
        ("[]", {"host": "mpich"}),
    ):
        path.write_text(text)
        with pytest.raises(UserError):
            State.load(path, key)


@needs_mpich
def test_what_is_measured_again_is_what_is_close(tmp_path):
    options = TuneOptions(MPICH, ["barrier", "bcast"], [2])
    state = State(tmp_path / "state", options.key())
    state.cells = [
        cell("flat", 1.0, count=0, chosen_as="barrier"),
        cell("tree", 2.0, count=0, chosen_as="barrier", predicted=1),
        *(cell("xhc", 5.0, count=count, predicted=1) for count in (64, 256)),
        *(cell("eager", 4.0, count=count, predicted=2) for count in (64, 256)),
        *(cell("smhc", 9.0, count=count, predicted=2) for count in (64, 256)),
    ]
    tuning = Tuning(options, state, lambda title, done: None, lambda line: None)
    close = tuning.close_ones()
    assert list(close) == [(2, "barrier", DEFAULT), (2, "bcast", DEFAULT)], (
        "twice as fast promises more than a quarter"
    )
    starts = [tuning.again(*which, decisions) for which, decisions in close.items()]
    assert starts[0] == Start(2, "barrier", ["flat", "tree"], (4, 4))
    assert starts[1] == Start(2, "bcast", ["xhc", "eager"], (64, 256))


# --- with MPICH ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    """A very short tuning, and its table."""
    path = tmp_path_factory.mktemp("tuned") / "table.json"
    done = subprocess.run(
        [sys.executable, "-m", "tutti", "tune", "--host", "mpich", "--minutes", "0.05",
         "--collectives", "barrier,bcast", "--ranks", "2", "--sizes", "1K:64K", "--output", str(path), "--json"],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    return done, path


@needs_mpich
def test_a_short_tuning_writes_a_table_that_can_be_used(tuned, tutti_here):
    done, path = tuned
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["complete"] is True
    assert {(one["collective"], one["class_bytes"]) for one in said["decisions"]} == {
        ("barrier", 0), ("bcast", 1024), ("bcast", 4096), ("bcast", 16384), ("bcast", 65536),
    }  # fmt: skip
    assert all(HOST in one["us"] and one["by_model"] in one["us"] for one in said["decisions"])
    assert tutti_here("tune", "--check", path).returncode == 0
    assert [file.name for file in path.parent.iterdir()] == ["table.json"]


def bench_bcast(table_path, folder, *, host=MPICH, count=1024, **variables):
    """What the benchmark and the library say of a Bcast on two ranks. folder: of the user's configuration."""
    command = [
        *host.launch_words(2),
        str(host.bench),
        "--collective",
        "bcast",
        "--min",
        str(count),
    ]
    command += ["--max", str(count), "--seconds-per-cell", "0.01", "--json-lines", "-"]
    # Yielding: what else runs on the cores must not make a call take milliseconds.
    environment = {**os.environ, **host.environment(yielding=True), "XDG_CONFIG_HOME": str(folder)}
    settings = {
        "TUTTI_SITE": str(folder / "site"),
        **({"TUTTI_TABLE": str(table_path)} if table_path else {}),
    }
    plan = make_plan(command, host.library, {**settings, **variables}, environment)
    done = subprocess.run(
        plan.words, env={**environment, **plan.variables}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    warnings = [line for line in done.stderr.splitlines() if "tutti" in line]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")], warnings


def bcast(table_path, folder, **more):
    """What the library chose for a Bcast on two ranks, and what it said. more: as for bench_bcast."""
    lines, warnings = bench_bcast(table_path, folder, **more)
    # One for each distance that the cores had meanwhile.
    row, *_ = [line for line in lines if "ratio" in line]
    assert row["checked"] is True
    return row["algorithm"], warnings


def for_here(tuned, folder, *entries):
    """A table of these entries for this machine and MPI."""
    value = json.loads(tuned[1].read_text())
    value["entries"] = list(entries)
    return written(folder, value)


@needs_mpich
def test_the_table_names_the_algorithm_that_runs(tuned, tmp_path):
    staged = {"reach": "staged"}
    path = for_here(
        tuned,
        tmp_path,
        entry("knomial-read", 512, 2048, parameter=3, **staged),
        entry("host", 0, 4, **staged),
    )
    assert bcast(path, tmp_path) == ("knomial-read", [])
    assert bcast(path, tmp_path, count=4) == ("host", [])
    assert bcast(path, tmp_path, TUTTI_ALGORITHM="bcast:eager") == ("eager", [])
    assert bcast(path, tmp_path, count=256)[0] == "eager"


@needs_mpich
def test_tables_in_the_users_folder_are_found_and_the_first_that_fits_counts(tuned, tmp_path):
    folder = tmp_path / "tutti" / "tables"
    value = json.loads(tuned[1].read_text())
    other = {**value, "host": {"name": "Open MPI", "version": "5.0.11"}}
    write_json(folder / "a.json", {**other, "entries": [entry("tree", 0, 4096, reach="staged")]})
    assert len(bcast(None, tmp_path)[1]) == 1, "the only table is of another MPI"
    write_json(folder / "b.json", {**value, "entries": [entry("direct-read", 0, 4096, reach="staged")]})
    assert bcast(None, tmp_path) == ("direct-read", [])
    assert bcast("off", tmp_path) == ("eager", [])


@pytest.mark.parametrize("name", ["openmpi", "intel"])
def test_the_table_of_another_mpi_is_for_its_programs(tmp_path, name):
    host = next((host for host in installed_hosts() if host.name == name), None)
    if host is None:
        pytest.skip("it is not there, or its benchmark is not built")
    lines, _ = bench_bcast("off", tmp_path, host=host, count=4)
    (origin,) = [line["origin"] for line in lines if "origin" in line]
    assert origin["host"] == {"openmpi": "Open MPI", "intel": "Intel MPI"}[name]
    entries = [entry("knomial-read", 512, 2048, parameter=3, reach="staged")]
    path = written(tmp_path, table(*entries, origin=origin))
    assert bcast(path, tmp_path, host=host) == ("knomial-read", [])
    path = written(tmp_path, table(*entries, origin={**origin, "host": "MPICH"}))
    algorithm, (line,) = bcast(path, tmp_path, host=host)
    assert algorithm == "eager"
    assert f"it was measured with MPICH {origin['host_version']}, this is {origin['host']}" in line


@needs_mpich
def test_tables_of_the_site_come_after_the_user_s_and_a_broken_one_hides_none(tuned, tmp_path):
    value = json.loads(tuned[1].read_text())
    site, user = tmp_path / "site" / "tables", tmp_path / "tutti" / "tables"
    write_json(
        site / "a.json", {**value, "entries": [entry("knomial-read", 0, 4096, parameter=3, reach="staged")]}
    )
    assert bcast(None, tmp_path) == ("knomial-read", [])
    user.mkdir(parents=True)
    (user / "a.json").write_text('{"schema": "tutti-ta')
    algorithm, (line,) = bcast(None, tmp_path)
    assert algorithm == "knomial-read"
    assert f"{user / 'a.json'}: it is no JSON, or cut off; it is not used" in line
    other = {**value, "host": {"name": "Open MPI", "version": "5.0.11"}}
    write_json(user / "a.json", {**other, "entries": [entry("host", 0, 4096, reach="staged")]})
    assert bcast(None, tmp_path) == ("knomial-read", []), "one that fits comes later, so nothing is said"
    write_json(user / "b.json", {**value, "entries": [entry("direct-read", 0, 4096, reach="staged")]})
    assert bcast(None, tmp_path) == ("direct-read", [])


@needs_mpich
def test_an_ineligible_entry_is_one_line_and_something_else_runs(tuned, tmp_path):
    path = for_here(tuned, tmp_path, entry("eager", 0, 1 << 20))
    algorithm, (line,) = bcast(path, tmp_path, count=1 << 20)
    assert algorithm != "eager"
    assert (
        f"table: bcast of 1048576 bytes on 2 ranks cannot be done by eager; {algorithm} is used instead"
        in line
    )


@needs_mpich
@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda text: text[: len(text) // 2], "it is no JSON, or cut off; the model chooses instead"),
        (lambda text: text.replace("tutti-table-1", "tutti-table-9"), "newer"),
        (lambda text: text.replace("knomial-read", "knomail-read"), 'has no algorithm "knomail-read"'),
        (lambda text: text.replace('"cores": ', '"cores": 9'), "it was measured on 9"),
        (lambda text: text.replace('"topology": "', '"topology": "7 sockets, '), "a machine of 7 sockets"),
        (
            lambda text: text.replace('"processor": "', '"processor": "Another '),
            'it was measured on "Another',
        ),
        (lambda text: text.replace('"name": "MPICH"', '"name": "Open MPI"'), "it was measured with Open MPI"),
        (lambda text: text.replace('"ranks": [2, 2]', '"ranks": [2, -2]'), "is not [from, to]"),
    ],
)
def test_what_does_not_belong_is_one_line_and_the_model_chooses(tuned, tmp_path, damage, words):
    path = for_here(tuned, tmp_path, entry("knomial-read", 0, 4096, parameter=3, reach="staged"))
    path.write_text(damage(path.read_text()))
    algorithm, lines = bcast(path, tmp_path)
    assert algorithm == "eager"
    assert len(lines) == 1
    assert words in lines[0]


@needs_mpich
def test_a_table_of_a_large_machine_counts_there_alone(tuned, tmp_path):
    value = json.loads(tuned[1].read_text())
    words = "2 sockets, 16 NUMA nodes, 0 L3, 0 L2, 2560 cores, 2560 units"
    value["machine"] = {"processor": "", "cores": 2560, "topology": words}
    value["entries"] = [entry("direct-read", 0, 4096, ranks=[2, 2560], reach="staged")]
    path = written(tmp_path, value)
    there = bcast(path, tmp_path, TUTTI_TOPOLOGY="package:2 numa:8 core:160")
    assert there == ("direct-read", [])
    algorithm, (line,) = bcast(path, tmp_path)
    assert algorithm == "eager"
    assert "it was measured on 2560 cores" in line


@needs_mpich
def test_a_table_that_is_not_there_is_one_line(tmp_path):
    algorithm, (line,) = bcast("/nowhere/table.json", tmp_path)
    assert algorithm == "eager"
    assert 'there is no file "/nowhere/table.json"' in line


@needs_mpich
def test_ranks_that_would_read_different_files_choose_alike(tuned, tmp_path):
    folders = []
    for name, algorithm in (("one", "direct-read"), ("two", "host")):
        value = {**json.loads(tuned[1].read_text()), "entries": [entry(algorithm, 0, 4096, reach="staged")]}
        write_json(tmp_path / name / "tutti" / "tables" / "table.json", value)
        folders.append(tmp_path / name)
    words = [
        "--collective",
        "bcast",
        "--min",
        "1024",
        "--max",
        "1024",
        "--seconds-per-cell",
        "0.01",
        "--json-lines",
        "-",
    ]
    command = [str(MPICH.mpirun)]
    for folder in folders:
        command += [":"] if folder != folders[0] else []
        command += ["-n", "1", "-env", "XDG_CONFIG_HOME", str(folder), str(MPICH.bench), *words]
    environment = {**os.environ, **MPICH.environment(yielding=True)}
    plan = make_plan(command, MPICH.library, {}, environment)
    done = subprocess.run(
        plan.words, env={**environment, **plan.variables}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    (row,) = [json.loads(line) for line in done.stdout.splitlines() if '"ratio"' in line]
    assert (row["algorithm"], row["checked"]) == ("direct-read", True)


@needs_mpich
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_tuning_that_is_stopped_keeps_what_it_has_and_can_go_on(tmp_path, sign):
    path, state = tmp_path / "table.json", tmp_path / "table.json.state"
    # Much more time than is needed until the first collective is done, so that it is in the middle of something then.
    words = ["--host", "mpich", "--collectives", "bcast,reduce", "--ranks", "2", "--sizes", "1K"]
    command = [sys.executable, "-m", "tutti", "tune", *words, "--output", str(path)]
    process = subprocess.Popen(
        [*command, "--minutes", "10"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "MARK": str(tmp_path)}, start_new_session=True,
    )  # fmt: skip
    until(lambda: state.exists() and json.loads(state.read_text())["done"])
    # As a terminal does: to the whole group.
    os.killpg(process.pid, sign) if sign == signal.SIGINT else process.send_signal(sign)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert "--resume goes on" in said
    assert json.loads(state.read_text())["schema"] == STATE_SCHEMA
    assert {one["collective"] for one in json.loads(path.read_text())["entries"]} >= {"bcast"}
    until(lambda: not started_with(f"MARK={tmp_path}"))
    if sign == signal.SIGTERM:
        return
    other = subprocess.run(
        [*command, "--minutes", "0.05", "--resume", "--within", "2"], capture_output=True, text=True
    )
    assert (other.returncode, other.stderr.count("\n")) == (2, 1)
    again = subprocess.run(
        [*command, "--minutes", "0.05", "--resume"], capture_output=True, text=True, timeout=240
    )
    assert again.returncode == 0, again.stderr
    assert not state.exists()
    assert {one["collective"] for one in json.loads(path.read_text())["entries"]} == {"bcast", "reduce"}
