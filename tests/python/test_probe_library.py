"""How the library takes a probe: real ranks, with files that fit, do not belong, are broken or are not there."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tutti.launch.hosts import all_hosts
from tutti.launch.library import find_tool
from tutti.probe import measurement

REPOSITORY = Path(__file__).resolve().parents[2]
# The first host with everything built: what reads the file is the same source for all.
HOSTS = [host for host in all_hosts() if host.library and find_tool(f"tutti-start-up-{host.name}", "bench")]

pytestmark = pytest.mark.skipif(
    not HOSTS or find_tool("tutti-predict", "tools") is None,
    reason="no MPI, or tutti-start-up is not built for one",
)


@pytest.fixture(scope="module")
def good():
    """A probe of this machine with the shipped parameters but for one."""
    words = [str(find_tool("tutti-topo", "tools") or ""), "--ranks=1"]
    cores = len(os.sched_getaffinity(0))
    if words[0]:
        done = subprocess.run(words, capture_output=True, check=True, stdin=subprocess.DEVNULL)
        cores = json.loads(done.stdout)["machine"]["core_count"]
    names = [row for row in Path("/proc/cpuinfo").read_text().splitlines() if row.startswith("model name")]
    processor = names[0].partition(":")[2].strip() if names else ""
    return {
        "schema": measurement.SCHEMA,
        "date": "2026-01-02T03:04:05+00:00",
        "kernel": "Linux",
        "machine": {"processor": processor, "cores": cores, "topology": ""},
        "model": {**measurement.shipped_model(), "hop": 2e-7},
    }


def environment_of(tmp_path, **variables):
    """Of a job that finds no file but those that the variables lead to."""
    host = HOSTS[0]
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("TUTTI_")},
        **host.environment(), "XDG_CONFIG_HOME": str(tmp_path / "none"), "TUTTI_SITE": str(tmp_path / "none"),
        **variables,
    }  # fmt: skip


def said(tmp_path, setting=None, **variables):
    """What two ranks say of the model at start-up."""
    host = HOSTS[0]
    program = find_tool(f"tutti-start-up-{host.name}", "bench")
    environment = environment_of(tmp_path, TUTTI_VERBOSE="1", **variables)
    if setting is not None:
        environment["TUTTI_PROBE"] = str(setting)
    words = [*host.launch_words(2), "env", f"LD_PRELOAD={host.library}"]
    done = subprocess.run(
        [*words, str(program)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    assert '"init_ms"' in done.stdout
    return [row for row in done.stderr.splitlines() if "parameters" in row or "warning" in row]


def written(tmp_path, content):
    tmp_path.mkdir(parents=True, exist_ok=True)
    file = tmp_path / "probe.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return file


def test_a_file_that_fits_is_used_and_said(tmp_path, good):
    file = written(tmp_path, good)
    (row,) = said(tmp_path, file)
    assert f"parameters are from {file}, measured 2026-01-02" in row
    assert "warning" not in row


def test_the_user_s_file_is_found_and_can_be_switched_off(tmp_path, good):
    folder = tmp_path / "configuration" / "tutti"
    folder.mkdir(parents=True)
    written(folder, good)
    variables = {"XDG_CONFIG_HOME": str(folder.parent)}
    (row,) = said(tmp_path, **variables)
    assert str(folder / "probe.json") in row
    assert said(tmp_path, "off", **variables) == []
    assert said(tmp_path) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda good: json.dumps(good)[:-20], "cut off"),
        (lambda good: "", "cut off"),
        (lambda good: {**good, "schema": "tutti-probe-9"}, "newer"),
        (lambda good: {**good, "machine": {**good["machine"], "processor": "Another"}}, '"Another"'),
        (lambda good: {**good, "machine": {**good["machine"], "cores": 160}}, "160 cores"),
        (
            lambda good: {**good, "machine": {**good["machine"], "topology": "7 sockets"}},
            "a machine of 7 sockets",
        ),
        (lambda good: {**good, "machine": {**good["machine"], "processor": "A\nB\x1b[31mC"}}, '"A?B?[31mC"'),
        (lambda good: {**good, "schema": "tutti-probe-9\n\x1b[2J"}, '"tutti-probe-9??[2J" is newer'),
        (lambda good: {**good, "model": {**good["model"], "remote_byte": -1}}, '"remote_byte" is -1'),
        (lambda good: {**good, "model": {"hop": 1e-7}}, "has no number"),
    ],
)
def test_a_bad_file_is_one_line_and_the_shipped_parameters_are_used(tmp_path, good, change, words):
    file = written(tmp_path, change(good))
    (row,) = said(tmp_path, file)
    assert words in row
    assert "warning" in row
    assert "the shipped parameters are used" in row


def test_a_file_that_is_not_there_or_a_folder_is_one_line(tmp_path):
    (row,) = said(tmp_path, tmp_path / "nothing")
    assert "there is no file" in row
    (row,) = said(tmp_path, tmp_path)
    assert "it is a folder" in row


# --- the user's file, then the site's --------------------------------------------------------------------------------


def of_user_and_site(tmp_path, user, site):
    """What is said if these are the user's and the site's file; None: there is none."""
    files = []
    for name, content in (("user/tutti", user), ("site", site)):
        files.append(tmp_path / name / "probe.json")
        if content is not None:
            written(tmp_path / name, content)
    folders = {"XDG_CONFIG_HOME": str(tmp_path / "user"), "TUTTI_SITE": str(tmp_path / "site")}
    return (*files, said(tmp_path, **folders))


def test_the_site_s_file_is_used_where_the_user_has_none(tmp_path, good):
    user, site, rows = of_user_and_site(tmp_path, None, good)
    assert [f"parameters are from {site}, measured" in row for row in rows] == [True]
    user, site, rows = of_user_and_site(tmp_path, good, good)
    assert [f"parameters are from {user}, measured" in row for row in rows] == [True]


def test_a_broken_file_of_the_user_is_one_line_and_hides_no_file_of_the_site(tmp_path, good):
    user, site, rows = of_user_and_site(tmp_path, '{"schema": "tutti-pr', good)
    warning, note = rows
    assert f"{user}: it is no JSON, or cut off; it is not used" in warning
    assert f"parameters are from {site}, measured" in note


def test_a_user_s_file_of_another_machine_hides_no_file_of_the_site(tmp_path, good):
    other = {**good, "machine": {**good["machine"], "processor": "Another"}}
    user, site, rows = of_user_and_site(tmp_path, other, good)
    assert [f"parameters are from {site}, measured" in row for row in rows] == [True]
    user, site, rows = of_user_and_site(tmp_path, other, other)
    (row,) = rows
    assert f"{user}: it was measured on" in row
    assert "(nor does another); the shipped parameters are used" in row


def test_two_broken_files_are_two_lines(tmp_path):
    _, site, rows = of_user_and_site(tmp_path, "[]", "[]")
    assert len(rows) == 2
    assert rows[0].endswith("; it is not used")
    assert f"{site}: " in rows[1]
    assert rows[1].endswith("; the shipped parameters are used")


# --- ranks that would read different files ---------------------------------------------------------------------------


def bcast(tmp_path, folders):
    """What a Bcast is done with whose ranks have these folders of the user, one each."""
    host = HOSTS[0]
    words = ["--collective", "bcast", "--min", "65536", "--max", "65536", "--seconds-per-cell", "0.01"]
    command = [str(host.mpirun)]
    for rank, folder in enumerate(folders):
        command += [":"] if rank else []
        command += [
            "-n",
            "1",
            "env",
            f"LD_PRELOAD={host.library}",
            f"XDG_CONFIG_HOME={folder}",
            str(host.bench),
        ]
        command += [*words, "--json-lines", "-"]
    environment = {**environment_of(tmp_path), **host.environment(yielding=True)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    (row,) = [json.loads(line) for line in done.stdout.splitlines() if '"ratio"' in line]
    assert row["checked"] is True
    return row["algorithm"]


@pytest.mark.skipif(not HOSTS or HOSTS[0].bench is None, reason="no benchmark is built")
def test_ranks_that_would_read_different_files_choose_alike(tmp_path, good):
    fast, slow = tmp_path / "fast", tmp_path / "slow"
    written(fast / "tutti", good)
    written(slow / "tutti", {**good, "model": {**good["model"], "hop": 1e-3}})
    alone, other = bcast(tmp_path, [fast, fast]), bcast(tmp_path, [slow, slow])
    assert alone != other, "or the files differ in nothing that counts"
    assert bcast(tmp_path, [fast, slow]) == alone
    assert bcast(tmp_path, [slow, fast]) == other
