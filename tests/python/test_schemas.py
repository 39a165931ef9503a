"""The published schemas: what our own code writes is as they say, and what lacks a required part is not."""

import copy
import json
import re
import sys

import jsonschema
import pytest
from conftest import ROOT
from made_tables import entry, table
from stub_bench import StubBench, options, tuned
from test_probe import measurements

from tutti.cli import parser
from tutti.errors import UserError
from tutti.launch.hosts import installed_hosts
from tutti.launch.library import find_tool
from tutti.probe import measurement, network
from tutti.probe.fitting import fit
from tutti.sim.question import program
from tutti.tune.command import _json as as_printed
from tutti.tune.setups import parse_setups
from tutti.tune.table import with_others, write_json
from tutti.tune.table_check import examine

SCHEMAS = {
    path.name.partition(".")[0]: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "docs" / "schemas").glob("*.json"))
}
TABLE, PROBE = SCHEMAS["table"], SCHEMAS["probe"]
#: Files of the repository, by the schema that they name.
FILES = {
    name: [
        path
        for path in sorted([*ROOT.glob("bench/results/*.json"), *ROOT.glob("tests/**/*.json")])
        if re.search(rf'"schema":\s*"{name}"', path.read_text(encoding="utf-8"))
    ]
    for name in ("tutti-table-1", "tutti-probe-1")
}


def complaints(schema, document):
    """What is not as the schema has it; of the document as a file has it."""
    validator = jsonschema.Draft202012Validator(schema)
    return [error.message for error in validator.iter_errors(json.loads(json.dumps(document)))]


def made_table():
    """With all that an entry may have."""
    more = {"parameter": 4, "commutative": False}
    before = table(
        entry("throttled", 0, 64, collective="scatter", **more), entry("host", 0, 64, ranks=[4, 4])
    )
    between = {
        "collective": "allgather",
        "nodes": [4, 4],
        "ranks_per_node": [3, 3],
        "bytes": [0, 64],
        "gain": 2.0,
    }
    now = table(entry("xhc", 0, 64), {**between, "algorithm": "multi-object-ring", "commutative": True})
    return with_others(now, before)


def made_probe(shipped=None):
    lines = measurements()
    lines[0]["processors"] = [{"processor": 0, "core": 0, "l3": -1}]
    document, _ = measurement.document(lines, ["a part"], shipped or fit(lines).model, 45)
    row = {"seconds": 1e-6, "lower": 1e-6, "upper": 1e-6, "samples": 5, "bytes": 8}
    figures = [
        {"measure": "ping_pong", "between": [0, 1], **row},
        {"measure": "messages_at_once", "senders": 1, **row},
        {"measure": "messages_at_once", "senders": 1, **row, "bytes": 131072, "seconds": 1e-4},
    ]
    about = {"nodes": 2, "ranks_per_node": 1, "make_believe": False}
    return {**document, "network": network.section(about, figures, "MPICH 5.0.2")}


MADE = {"table": (TABLE, made_table), "probe": (PROBE, made_probe)}


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_schemas_are_schemas(name):
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])


@pytest.mark.parametrize("name", MADE)
def test_what_is_made_is_as_the_schema_says(name):
    schema, make = MADE[name]
    assert complaints(schema, make()) == []


def test_tables_of_tunings_are_as_the_schema_says(monkeypatch, tmp_path):
    bench = StubBench(monkeypatch)
    bench.stop_at = 3
    setups = parse_setups("auto,cma", "auto,flat", {})
    assert complaints(TABLE, tuned(tmp_path, options(setups=setups)).table) == [], "of one that was stopped"
    assert complaints(TABLE, json.loads((tmp_path / "table.json").read_text())) == []
    other = tmp_path / "other"
    other.mkdir()
    first = tuned(other, options(ranks=[2], variables={"TUTTI_EAGER_MAX": "4K"})).table
    merged = with_others(tuned(tmp_path / "new", options(ranks=[4])).table, first)
    assert merged["earlier"]
    assert complaints(TABLE, merged) == []


@pytest.mark.skipif(find_tool("tutti-predict", "tools") is None, reason="tutti-predict is not built")
def test_a_probe_with_the_parameters_of_the_library_is_as_the_schema_says():
    shipped = measurement.shipped_model()
    made = made_probe(shipped)
    assert set(made["model"]) == set(shipped)
    assert complaints(PROBE, made) == [], "the schema requires none that the library does not have"


@pytest.mark.parametrize("schema", [TABLE, PROBE], ids=["tutti-table-1", "tutti-probe-1"])
def test_the_files_of_the_repository_are_as_their_schema_says(schema):
    files = FILES[schema["properties"]["schema"]["const"]]
    assert files
    for path in files:
        assert complaints(schema, json.loads(path.read_text(encoding="utf-8"))) == [], path.name


@pytest.mark.skipif(find_tool("tutti-table", "tools") is None, reason="tutti-table is not built")
def test_the_library_reads_tables_with_and_without_earlier_runs(tmp_path):
    merged = tmp_path / "table.json"
    write_json(merged, made_table())
    for path in (merged, *FILES["tutti-table-1"]):
        assert examine(path)["error"] is None, path.name
    assert examine(merged)["entries"] == 4


# --- what is broken --------------------------------------------------------------------------------------------------


def required(schema, part, at=()):
    """Where a document has to have something: the path of each required member, by the first element of lists."""
    if "$ref" in part:
        name = part["$ref"].rpartition("/")[2]
        part = schema["$defs"][name]
    for name in part.get("required", []):
        yield (*at, name)
    for name, inner in part.get("properties", {}).items():
        yield from required(schema, inner, (*at, name))
    if isinstance(part.get("items"), dict):
        yield from required(schema, part["items"], (*at, 0))


def holder_of(document, path):
    """What holds the last member of a path."""
    for step in path[:-1]:
        document = document[step]
    return document


MEMBERS = [(name, path) for name, (schema, _) in MADE.items() for path in required(schema, schema)]


def test_required_members_are_found_at_every_depth():
    assert {("table", ("entries",)), ("table", ("machine", "cores")), ("table", ("entries", 0, "reach")),
            ("probe", ("model", "hop")), ("probe", ("measurements", 0, "seconds"))} <= set(MEMBERS)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "path"), MEMBERS, ids=lambda part: part if isinstance(part, str) else ".".join(map(str, part))
)
def test_what_lacks_a_required_member_or_has_another_kind_there_is_refused(name, path):
    schema, make = MADE[name]
    good = make()
    broken = copy.deepcopy(good)
    del holder_of(broken, path)[path[-1]]
    assert complaints(schema, broken)
    for value in (None, [None], {"no": "such"}):
        broken = copy.deepcopy(good)
        holder_of(broken, path)[path[-1]] = value
        assert complaints(schema, broken), value


@pytest.mark.parametrize(
    "change",
    [
        {"ranks": [1, 2]}, {"ranks": [2]}, {"levels": 0}, {"ranks_per_core": 0}, {"reach": "window"},
        {"bytes": [-1, 4]}, {"parameter": -1}, {"commutative": 1}, {"earlier": -1}, {"earlier": "2026"},
    ],
)  # fmt: skip
def test_entries_that_the_library_refuses_are_none_to_the_schema(change):
    assert complaints(TABLE, table({**entry("xhc", 0, 64), **change}))


def test_other_schemas_are_refused():
    assert complaints(TABLE, {**made_table(), "schema": "tutti-table-2"})
    assert complaints(PROBE, {**made_probe(), "schema": "tutti-probe-2"})


# --- what commands print ---------------------------------------------------------------------------------------------

SHIPPED_TABLE = "bench/results/epyc-zen4-2-cores-2-ranks-table.json"
SYNTHETIC = "package:2 numa:2 core:4 pu:1"
BENCH = ["bench", "-n", "2", "--seconds", "0.02", "--max", "4", "--json", "-", "--host"]
#: What is typed, by the schema of what is then printed.
TYPED = {
    "run": [["run", "--dry-run", "--json", "-s", "EAGER_MAX=4K", sys.executable]],
    "topology": [
        ["topo", "--json", "-"],
        ["topo", "-t", SYNTHETIC, "--mapping", "shuffle:1", "--json", "-"],
        ["topo", "-n", "5", "--mapping", "unbound", "--json", "-"],
    ],
    "choice": [
        ["explain", "--json"],
        ["explain", "bcast", "64K", "8", "--json"],
        ["explain", "allgather", "64", "--nodes", "8x4", "--json"],
        ["explain", "allreduce", "--table", SHIPPED_TABLE, "--host", "openmpi", "--json"],
    ],
    "simulation": [["sim", "bcast", "64", "-t", SYNTHETIC, "--json"]],
    "study": [["study", "list", "--json"], ["study", "xhc-table-2", "--json"]],
    "info": [["info", "--json"]],
    "doctor": [["doctor", "--json"]],
    "table-check": [
        ["tune", "--check", SHIPPED_TABLE, "--json"],
        ["tune", "--check", "README.md", "--json"],
    ],
    "table-changes": [["tune", "--diff", SHIPPED_TABLE, "{changed}", "--json"]],
    "bench": [[*BENCH, "{host}", "-c", "bcast"], [*BENCH, "{host}", "-c", "bcast", "--algorithms", "all"]],
}
#: Beside these: what is made above, what a tuning prints, and what programs leave behind (tests/mpi/explain.py,
#: tests/mpi/profiling.py).
ELSEWHERE = {"table", "probe", "tuning", "explain", "profiled"}


def printed(tutti, tmp_path, words):
    """What a command prints as JSON."""
    if "{host}" in words and not installed_hosts():
        pytest.skip("no MPI is installed")
    if words[0] == "sim":
        try:
            program()
        except UserError as why:
            pytest.skip(str(why))
    changed = json.loads((ROOT / SHIPPED_TABLE).read_text(encoding="utf-8"))
    changed["entries"][0]["algorithm"] = "host"
    write_json(tmp_path / "changed.json", {**changed, "tutti": "another"})
    given = {"{changed}": str(tmp_path / "changed.json"), "{host}": (installed_hosts() or [None])[0]}
    if given["{host}"] is not None:
        given["{host}"] = given["{host}"].name
    done = tutti(*(given.get(word, word) for word in words), cwd=ROOT)
    assert done.returncode in (0, 1, 2), done.stderr
    return json.loads(done.stdout)


def members(schema, part, document):
    """What holds a required member of a document, and the member's name."""
    if isinstance(document, list):
        for item in document[:3]:
            yield from members(schema, part.get("items", {}), item)
    if not isinstance(document, dict):
        return
    for each in [part, *(schema["$defs"][one["$ref"].rpartition("/")[2]] for one in [part] if "$ref" in one)]:
        for name in each.get("required", []):
            yield document, name
        for name, inner in each.get("properties", {}).items():
            if name in document:
                yield from members(schema, inner, document[name])


@pytest.mark.skipif(find_tool("tutti-predict", "tools") is None, reason="the tools are not built")
@pytest.mark.parametrize(
    ("name", "words"), [(name, words) for name in TYPED for words in TYPED[name]], ids=str
)
def test_what_a_command_prints_is_as_its_schema_says_and_with_less_is_not(tutti, tmp_path, name, words):
    document = printed(tutti, tmp_path, words)
    assert complaints(SCHEMAS[name], document) == []
    for holder, member in list(members(SCHEMAS[name], SCHEMAS[name], document)):
        taken = holder.pop(member)
        assert complaints(SCHEMAS[name], document), member
        holder[member] = taken


def test_what_a_tuning_prints_is_as_its_schema_says(monkeypatch, tmp_path):
    StubBench(monkeypatch)
    told = as_printed(
        tuned(tmp_path, options(setups=parse_setups("auto,cma", "auto,flat", {}))), ["a failure"]
    )
    assert complaints(SCHEMAS["tuning"], told) == []
    assert complaints(SCHEMAS["tuning"], {**told, "decisions": [{"collective": "bcast"}]})


def test_published_results_are_as_the_schema_says():
    files = [path for path in ROOT.glob("bench/results/*.json") if b'"schema": 2' in path.read_bytes()[:200]]
    assert files
    for path in files:
        assert complaints(SCHEMAS["bench"], json.loads(path.read_text(encoding="utf-8"))) == [], path.name


def test_each_command_that_prints_json_has_a_schema():
    with_json = set()
    for name, command in parser().commands.items():
        if any("--json" in each.opts for each in command.params):
            with_json.add(name)
    assert with_json == {words[0] for typed in TYPED.values() for words in typed} | {
        "probe",
        "tune",
        "profile",
    }
    assert set(SCHEMAS) == {*TYPED, *ELSEWHERE}
