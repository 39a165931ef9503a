"""All commands alike: help with examples, a line for a mistake, output that cannot be written, signals, golden text."""

import itertools
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import made_probes
import pytest
import typer.main
from conftest import started_with, until

from tutti.bench.host_knobs import DEFAULT
from tutti.bench.report import Reports
from tutti.bench.runs import BenchOptions, document
from tutti.bench.words import CHOSEN_AS, library_names
from tutti.cli import app
from tutti.explain.question import HOST_NAMES
from tutti.info.facts import TOOLS
from tutti.launch.hosts import Host, installed_hosts
from tutti.launch.library import find_tool
from tutti.launch.program import ABI_NAMES
from tutti.probe.measurement import document as probe_document
from tutti.probe.measurement import shipped_model
from tutti.tune.command import show
from tutti.tune.table import decide, entries_of
from tutti.tune.tuning import Outcome

REPOSITORY = Path(__file__).resolve().parents[2]
GOLDEN = Path(__file__).with_name("golden")
COMMANDS = ("run", "topo", "bench", "probe", "tune", "explain", "sim", "study", "report", "doctor", "info")
needs_tools = pytest.mark.skipif(
    find_tool("tutti-topo", "tools") is None or find_tool("tutti-predict", "tools") is None,
    reason="tutti-topo or tutti-predict is not built",
)
needs_host = pytest.mark.skipif(not installed_hosts(), reason="no benchmark is built")


def golden(name, text):
    """Whether `text` is what the file of this name has; UPDATE_GOLDEN=1 writes it."""
    file = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    return text == file.read_text(encoding="utf-8")


def without_ends(text):
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


# --- help -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples_the_exit_status_and_json(tutti_here, command):
    done = tutti_here(command, "--help", env={**os.environ, "COLUMNS": "80"})
    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines())) <= 80
    for words in ("Examples:", f"tutti {command}", "Exit status:", "--json"):
        assert words in done.stdout
    assert "None" not in done.stdout


def documents():
    """What users read."""
    return [
        REPOSITORY / "README.md",
        REPOSITORY / "CONTRIBUTING.md",
        *sorted((REPOSITORY / "docs").rglob("*.md")),
    ]


def typed_lines():
    """Every line `tutti ...` in a block of code of the documents."""
    for path in documents():
        for line in re.findall(r"^    (tutti .*)$", path.read_text(encoding="utf-8"), re.M):
            yield pytest.param(line, id=f"{path.name}: {line}")


@pytest.mark.parametrize("line", typed_lines())
def test_what_the_documents_have_typed_is_understood(line):
    command = typer.main.get_command(app)
    name, *words = itertools.takewhile(lambda word: word not in "|>>", shlex.split(line, comments=True)[1:])
    found = command.get_command(None, name)
    assert found, f"no command {name}"
    found.make_context(name, words)


def test_options_that_the_documents_mention_exist():
    """In `tutti COMMAND ... --option` between backquotes."""
    command = typer.main.get_command(app)
    for path in documents():
        for line in re.findall(r"`(tutti [a-z][^`]*)`", path.read_text(encoding="utf-8")):
            name, *words = shlex.split(line)[1:]
            found = command.get_command(None, name)
            assert found, f"{path.name}: {line}"
            known = {option for parameter in found.params for option in [*parameter.opts, "--help"]}
            before = itertools.takewhile(lambda word: word not in ("mpirun", "srun"), words)
            options = {word for word in before if word.startswith("-")}
            assert options <= known, f"{path.name}: {line}"


# --- mistakes -------------------------------------------------------------------------------------------------------


@needs_tools
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["tpoo"], "no such command 'tpoo'; the nearest is topo (tutti --help"),
        (["--bogus"], "no such option: --bogus (tutti --help"),
        (["run"], "nothing to run; type: tutti run mpirun -n 2 ./app"),
        (["run", "-n", "2", "./a"], "type: tutti run mpirun -n 2 ./a"),
        (["-v", "run", "mpirun", "./a"], "type: tutti run -v mpirun ./a"),
        (["-s", "WAIT=spin", "run", "./a"], "type: tutti run -s WAIT=spin ./a"),
        (["run", "--verbos", "ls"], "no such option: --verbos; did you mean --verbose?"),
        (["bench", "--hots", "x"], "no such option: --hots; did you mean --host, --plot, --root?"),
        (["run", "{folder}"], "is a folder"),
        (["run", "--json", "ls"], "--json goes with --dry-run"),
        (["topo", "--ranks", "x"], "'x' is not a valid integer (tutti topo --help"),
        (["topo", "extra"], "unexpected extra argument (extra)"),
        (["topo", "--svg", "/proc/none/a.svg"], "/proc/none/a.svg cannot be written"),
        (["bench", "--seconds", "nan"], "--seconds nan"),
        (["bench", "--root", "2", "--ranks", "4,2"], "--root 2: of 2 ranks the last is 1"),
        (["bench", "--ranks", "1000000"], "--ranks 1000000: more than 64 a core"),
        (["bench", "--json", "/proc/none/a.json"], "/proc/none/a.json cannot be written"),
        (["bench", "--table", "{folder}"], "it is a folder"),
        (["bench", "--plot", "speed.jpeg2"], "expected a name that ends in .png, .svg or .pdf"),
        (["probe", "--seconds", "nan"], "--seconds nan"),
        (["probe", "--host", "mpich"], "--host goes with --validate"),
        (["probe", "--max", "1M"], "--max goes with --validate"),
        (["probe", "--validate", "--min", "8M"], "--max 4M: less than --min 8M"),
        (["probe", "--validate", "-c", "bcsat"], "--collectives bcsat: no such collective"),
        (["probe", "--validate", "--mechanisms", "knem"], "--mechanisms knem: expected some of"),
        (["probe", "--validate", "--mechanisms", ","], "--mechanisms: expected some of"),
        (["probe", "--validate", "--host", "lam"], "--host lam: not installed"),
        (["probe", "--output", "{folder}"], "it is a folder"),
        (["probe", "--plot", "probe"], "expected a name that ends in"),
        (["probe", "--from", "{folder}"], "cannot be read: Is a directory"),
        (["probe", "--from", "/bin/sh"], "it is no JSON, or cut off"),
        (["tune", "--topology", "core:2"], "--topology goes with --check"),
        (["tune", "--check", "{folder}"], "cannot be read: it is a folder"),
        (["tune", "--check", "/bin/sh"], "it is no JSON, or cut off"),
        (["tune", "--check", "/dev/zero"], "it is larger than 16 MiB"),
        (["tune", "--diff", "one"], "requires 2 arguments"),
        (["explain", "bcast", "--table", "{folder}"], "cannot be read: it is a folder"),
        (["explain", "bcast", "--probe", "{folder}"], "cannot be read: it is a folder"),
        (["explain", "bcast", "--host", "mpihc"], "the nearest is mpich"),
        (["explain", "bcast", "--ranks-per-core", "nan"], "--ranks-per-core nan"),
        (["explain", "bcast", "64K", "-3"], "no such option: -3"),
        (["doctor", "--host", "lam"], "--host lam"),
        (["info", "extra"], "unexpected extra argument"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_and_status_2(tutti_here, tmp_path, words, says):
    done = tutti_here(*[word.replace("{folder}", str(tmp_path)) for word in words])
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert done.stderr.startswith("tutti: ")
    assert says in done.stderr


@needs_host
@pytest.mark.parametrize("words", [["--within", "nan"], ["--minutes", "inf"], ["--output", "{folder}"]])
def test_a_tuning_that_could_not_be_kept_is_not_begun(tutti_here, tmp_path, words):
    words = [word.replace("{folder}", str(tmp_path)) for word in words]
    done = tutti_here(
        "tune",
        "--host",
        installed_hosts()[0].name,
        *words,
        env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path)},
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr


@needs_tools
@pytest.mark.parametrize(
    "words", [["info"], ["explain", "--json"], ["topo"], ["topo", "--json", "-"], ["--version"]]
)
def test_output_that_cannot_be_written_is_one_line(words):
    command = [sys.executable, "-m", "tutti", *words]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (
        2,
        "tutti: standard output cannot be used: No space left on device\n",
    )


@needs_tools
def test_a_device_is_written_to_and_a_link_stays_one(tutti, tmp_path):
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_text("old")
    link.symlink_to(target)
    assert tutti("topo", "-t", "core:2", "--json", link).returncode == 0
    assert link.is_symlink()
    assert json.loads(target.read_text())["rank_count"] == 2
    assert tutti("topo", "-t", "core:2", "--json", "/dev/null").returncode == 0
    assert Path("/dev/null").is_char_device()
    full = tutti("topo", "-t", "core:2", "--json", "/dev/full")
    assert full.stderr == "tutti: /dev/full cannot be written: No space left on device\n"
    assert Path("/dev/full").is_char_device()


@needs_tools
@pytest.mark.parametrize(
    "variables", [{"COLUMNS": "1"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}]
)
def test_commands_work_in_poor_surroundings(tutti, tmp_path, variables):
    """Neither columns, letters, a home nor a folder for configurations are needed."""
    path = {"PATH": os.environ["PATH"], "XDG_CONFIG_HOME": "/proc/none"}
    for words in (["topo", "-t", "core:2 pu:1"], ["explain", "bcast"], ["info"]):
        done = tutti(*words, env={**path, **variables})
        assert (done.returncode, done.stderr) == (0, ""), words
    refused = tutti("topo", "-t", "\u00e9", env={**path, **variables})
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)


# --- signals --------------------------------------------------------------------------------------------------------


STOPPABLE = {
    "bench": (["bench", "--host", "{host}", "-n", "2", "-c", "bcast", "--seconds", "60"], "tutti-bench-"),
    "probe": (["probe", "--seconds", "60"], "tutti-probe-measure"),
    "validate": (
        ["probe", "--from", "{probe}", "--validate", "--host", "{host}", "-c", "all"],
        "tutti-bench-",
    ),
}


@needs_host
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("command", STOPPABLE)
def test_a_signal_ends_a_command_and_all_that_it_started(tmp_path, command, number):
    words, program = STOPPABLE[command]
    mark = f"MARK={tmp_path}"
    environment = {**os.environ, "MARK": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    known = tmp_path / "known.json"
    known.write_text(
        json.dumps(probe_document([made_probes.line("turn", 2e-6)], [], shipped_model(), 1)[0]),
        encoding="utf-8",
    )
    words = [word.format(host=installed_hosts()[0].name, probe=known) for word in words]
    process = subprocess.Popen(
        [sys.executable, "-m", "tutti", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True,
    )  # fmt: skip
    until(lambda: any(program in name for name in started_with(mark)))
    process.send_signal(number)
    out, said = process.communicate(timeout=120)
    assert (process.returncode, out) == (130, "")
    assert said in ("tutti: interrupted\n", "tutti: stopped; no file was changed\n")
    until(lambda: not started_with(mark))
    assert not list(tmp_path.rglob("probe.json"))


# --- golden output --------------------------------------------------------------------------------------------------


def test_run_says_what_it_will_do_like_this(tutti, launchers, apps, preload, kit):
    words = ["run", "-v", "--dry-run", "--library", preload, "-s", "WAIT=spin", "-s", "WIAT=spin"]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("TUTTI_", "LD_"))
    }
    done = tutti(*words, launchers["openmpi"], "-n", "2", apps["openmpi"], "a b", env=environment)
    as_json = tutti(
        *words, "--json", launchers["openmpi"], "-n", "2", apps["openmpi"], "a b", env=environment
    )
    assert done.returncode == as_json.returncode == 0
    told = json.loads(as_json.stdout)
    assert shlex.split(done.stdout)[3:] == told["command"]
    text = f"{done.stdout}\n{done.stderr}\n{as_json.stdout}"
    assert golden("run.txt", text.replace(str(kit.folder), "/kit"))


@needs_tools
def test_topo_reads_like_this(tutti):
    words = [
        "topo",
        "-t",
        "package:2 numa:2 core:3 pu:1",
        "-n",
        "12",
        "--root",
        "4",
        "--hierarchy",
        "numa+socket",
    ]
    text = tutti(*words).stdout + tutti(*words, "--json", "-").stdout
    assert golden("topo.txt", without_ends(text))


def bench_cells(**more):
    known = {
        "ranks": 2,
        "host": "mpich",
        "host_wait": "default",
        "spread_pct": 3.0,
        "mechanism": "window",
        "checked": True,
    }
    rows = [
        ("bcast", 4, 0.5, 0.25, "eager"),
        ("bcast", 65536, 9.0, 12.0, "xhc"),
        ("barrier", 0, 0.6, 0.2, "flat"),
    ]
    return [
        {**known, "collective": name, "bytes": count, "host_us": theirs, "tutti_us": ours, "ratio": theirs / ours,
         "algorithm": algorithm, "asked": algorithm, "asked_mechanism": "window", "floor_us": None, **more}
        for name, count, theirs, ours, algorithm in rows
    ]  # fmt: skip


def test_bench_reads_like_this():
    titles = {"mpich": "MPICH 5.0.2"}
    knobs = {"host_knob": "eager", "host_knobs_us": {DEFAULT: 1.0, "eager": 0.5}}
    texts = [
        Reports(bench_cells(), titles, False).text,
        Reports(
            bench_cells(floor_us={"flag_us": 0.1, "copy_us": 2.5}, checked=False, **knobs), titles, False
        ).text,
        Reports(bench_cells(), titles, True).text,
    ]
    assert golden("bench.txt", without_ends("".join(texts)))
    value = document(
        bench_cells(), [Host("mpich", "mpich", Path("/mpirun"), "MPICH")], BenchOptions([2], ["bcast"])
    )
    for here in ("tutti", "date", "machine", "command"):
        assert value.pop(here)
    assert golden("bench.json", json.dumps(value, indent=1) + "\n")


def test_tune_reads_like_this(capsys):
    from tutti.console import for_output

    def cell(asked, us, run, count, predicted):
        known = {
            "collective": "bcast", "chosen_as": "bcast", "ranks": 2, "levels": 1, "ranks_per_core": 1.0, "bytes": count,
            "reach": "mapped", "class_bytes": count, "host_us": 10.0, "host_low_us": 9.9, "host_high_us": 10.1,
        }  # fmt: skip
        times = {
            "tutti_us": us,
            "tutti_low_us": us * 0.99,
            "tutti_high_us": us * 1.01,
            "predicted_us": predicted,
        }
        return {
            **known,
            **times,
            "asked": asked,
            "algorithm": asked.partition(",")[0],
            "checked": True,
            "run": run,
        }

    cells = [
        cell(asked, us, run, count, predicted)
        for run in (1, 2)
        for asked, us, count, predicted in (
            ("eager", 2.0, 1024, 1), ("throttled,k=4", 4.0, 1024, 2), ("eager", 9.0, 4096, 1),
            ("throttled,k=4", 6.0, 4096, 2),
        )
    ]  # fmt: skip
    found = decide(cells)
    table = {"entries": entries_of(found)}
    show(Outcome(table, found, Path("/t/table.json"), True, False, []), Path("/t/table.json"), for_output())
    assert golden("tune.txt", without_ends(capsys.readouterr().out))


# --- names that stand in several places -----------------------------------------------------------------------------


@needs_host
def test_names_of_collectives_are_chosen_as_the_benchmark_says():
    names = library_names(installed_hosts()[0].bench)
    assert {name: chosen for name, chosen in names.items() if name != chosen} == CHOSEN_AS


def test_info_lists_every_program():
    text = "".join((REPOSITORY / folder / "CMakeLists.txt").read_text() for folder in ("tools", "bench"))
    programs = set(re.findall(r"add_executable\((tutti-[a-z-]+)", text))
    assert set(TOOLS) == programs


def test_every_library_and_host_has_a_name():
    assert set(ABI_NAMES) == {"mpich", "openmpi", "abi"}
    assert {host.name for host in installed_hosts()} <= set(HOST_NAMES)
