"""`tutti probe --network`: parameters from figures whose answer is known, the file, what is said of it; and the real
program on one machine that is cut into nodes."""

import json
import os
import sys
from pathlib import Path

import pytest
from made_probes import line
from typer.testing import CliRunner

from tutti.cli import app
from tutti.errors import UserError
from tutti.launch.hosts import Host, installed_hosts
from tutti.launch.library import find_tool
from tutti.probe import measurement, network, network_steps

needs_predict = pytest.mark.skipif(
    find_tool("tutti-predict", "tools") is None, reason="tutti-predict is not built"
)
ABOUT = {"nodes": 3, "ranks_per_node": 2, "ranks": 6, "make_believe": False}


def figures():
    """Of a network of 10 us, whose links carry 1 GB/s and two million messages a second, if two ranks send."""
    rows = [
        line("ping_pong", seconds, between=[0, node], bytes=8) for node, seconds in ((1, 9e-6), (2, 1.1e-5))
    ]
    rows += [line("ping_pong", 1e-5 + size * 2e-9, between=[0, 1], bytes=size) for size in (64, 4096)]
    for senders in (1, 2):
        rows += [
            line("messages_at_once", 1e-6 / senders, senders=senders, bytes=8),
            line("messages_at_once", 8.192e-6 / senders, senders=senders, bytes=4096),
            line("messages_at_once", 131072e-9 if senders == 2 else 262144e-9, senders=senders, bytes=131072),
        ]
    return rows


def test_parameters_are_those_of_the_network():
    found = network.parameters(figures())
    assert found["between_start"] == pytest.approx(1e-5), "the median over the nodes"
    assert found["between_byte"] == pytest.approx(1e-9), "with as many senders as get most through"
    assert found["message_rate"] == pytest.approx(2e6)
    assert found["unasked_bytes"] == 0


def test_a_handshake_is_seen():
    asked = [line("ping_pong", 3e-5 + size * 2e-9, between=[0, 1], bytes=size) for size in (16384, 65536)]
    found = network.parameters(figures() + asked)
    assert found["unasked_bytes"] == 4096
    said = network.summary(network.section(ABOUT, figures() + asked, "MPICH 5.0.2"))
    assert said[2] == "the receiver is asked before a message of more than 4 KiB (rendezvous)"


def test_one_sender_alone_is_no_handshake():
    # It gets half of the link, so that what long messages take is more than start and link would say.
    alone = [
        line("ping_pong", 9e-6 + size * 2e-9, between=[0, 1], bytes=size) for size in (16384, 65536, 262144)
    ]
    assert network.parameters(figures() + alone)["unasked_bytes"] == 0


@pytest.mark.parametrize("missing", ["ping_pong", "messages_at_once"])
def test_nothing_is_made_of_half_a_measurement(missing):
    with pytest.raises(UserError, match="did not measure all"):
        network.parameters([row for row in figures() if row["measure"] != missing])


def test_the_summary_has_the_papers_first_figure():
    said = network.summary(network.section(ABOUT, figures(), "MPICH 5.0.2"))
    assert said == [
        "between 3 nodes, up to 2 ranks on each, by MPICH 5.0.2:",
        "a message takes 10.0 us to start; a node's link carries 8 Gb/s and 2 million messages a second",
        "bytes  half a round trip     from       to",
        "  8 B            10.0 us  8.91 us  11.1 us",
        " 64 B            10.1 us  10.0 us  10.2 us",
        "4 KiB            18.2 us  18.0 us  18.4 us",
        "senders  8 B messages   4 KiB messages  128 KiB messages",
        "      1         1 M/s  122 k/s, 4 Gb/s  3.81 k/s, 4 Gb/s",
        "      2         2 M/s  244 k/s, 8 Gb/s  7.63 k/s, 8 Gb/s",
    ]


def launcher(folder: Path, *lines: str, status: int = 0) -> str:
    """Starts nothing, and prints what the measuring program would."""
    path = folder / "launch"
    printed = "".join(f"print({text!r})\n" for text in lines)
    path.write_text(f"#!{sys.executable}\nimport sys\n{printed}sys.exit({status})\n")
    path.chmod(0o755)
    return str(path)


def measured_lines():
    return [
        json.dumps({"network": ABOUT}),
        *(json.dumps(row) for row in figures()),
        "something of the launcher",
    ]


@pytest.fixture
def host(monkeypatch, tmp_path):
    """An MPI with the measuring program built, so that no MPI is needed."""
    made = Host("mpich", "mpich", tmp_path / "bin" / "mpirun", "MPICH 5.0.2")
    monkeypatch.setattr(Host, "network_probe", property(lambda self: Path("network-probe")))
    monkeypatch.setattr(network_steps, "installed_hosts", lambda: [made])
    monkeypatch.delenv("TUTTI_RANKS_PER_NODE", raising=False)
    return made


def typed(*words):
    done = CliRunner().invoke(app, ["probe", *map(str, words)])
    if isinstance(done.exception, UserError):
        return 2, str(done.exception)
    return done.exit_code, done.output


@needs_predict
def test_a_file_of_a_machine_that_was_not_measured_has_shipped_values(host, tmp_path):
    file = tmp_path / "probe.json"
    status, said = typed(
        "--network", "--host", "mpich", "-o", file, launcher(tmp_path, *measured_lines()), "-n", "6"
    )
    assert status == 0, said
    assert f"written: {file}" in said
    document = measurement.read(file)
    assert set(document["shipped"]) == set(document["model"])
    assert document["network"]["message_rate"] == pytest.approx(2e6)
    assert document["network"]["host"] == "MPICH 5.0.2"
    assert measurement.verdict(file) == "", "the library uses it here"


@needs_predict
def test_what_was_measured_of_the_machine_stays_and_so_does_what_was_of_the_network(host, tmp_path):
    file = tmp_path / "probe.json"
    file.write_text(json.dumps({**measurement.unmeasured(), "date": "2026-01-01", "spread": {"hop": 0.5}}))
    status, said = typed("--network", "--host", "mpich", "-o", file, launcher(tmp_path, *measured_lines()))
    assert status == 0, said
    document = measurement.read(file)
    assert (document["date"], document["spread"]) == ("2026-01-01", {"hop": 0.5})
    assert measurement.network_of(file) == {"network": document["network"]}


def test_the_programs_error_is_what_is_said(host, tmp_path):
    words = "all 2 ranks are on one node: start them on two nodes or more"
    start = launcher(tmp_path, json.dumps({"error": words}), status=2)
    assert typed("--network", "--host", "mpich", "-o", tmp_path / "probe.json", start) == (2, words)
    assert not (tmp_path / "probe.json").exists()


def test_a_launcher_that_fails_is_said(host, tmp_path):
    status, said = typed(
        "--network", "--host", "mpich", "-o", tmp_path / "probe.json", launcher(tmp_path, status=7)
    )
    assert status == 2
    assert "the launcher ended with status 7" in said
    status, said = typed("--network", "--host", "mpich", "-o", tmp_path / "probe.json", tmp_path / "none")
    assert (status, "cannot be started" in said) == (2, True)


def test_mistakes_are_explained(host, tmp_path, monkeypatch):
    for words, said in (
        (["--network"], "say how, as in tutti probe --network mpirun"),
        (["mpirun", "-n", "2"], "nothing is started but with --network"),
        (["--network", "--validate", "mpirun"], "--validate and --network exclude each other"),
        (["--network", "--host", "lam", "mpirun"], "not installed or not built"),
    ):
        status, text = typed(*words)
        assert (status, said in text) == (2, True), text
    monkeypatch.setenv("TUTTI_RANKS_PER_NODE", "1,1")
    status, text = typed("--network", "--host", "mpich", "mpirun", "-n", "2")
    assert status == 2
    assert "name a file by --output" in text


def real_host():
    return next((host for host in installed_hosts() if host.network_probe and host.name == "mpich"), None)


@pytest.mark.skipif(real_host() is None, reason="tutti-network-probe is not built for MPICH")
def test_one_machine_cut_into_nodes_is_measured(tmp_path, monkeypatch):
    found = real_host()
    mpirun, file = str(found.mpirun), tmp_path / "probe.json"
    for name, value in found.environment(yielding=True).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("TUTTI_RANKS_PER_NODE", raising=False)
    status, said = typed("--network", "--host", "mpich", "-o", file, mpirun, "-n", "2")
    assert status == 2
    assert "all 2 ranks are on one node" in said
    monkeypatch.setenv("TUTTI_RANKS_PER_NODE", "2,1")
    status, said = typed("--network", "--host", "mpich", "--seconds", "1", "-o", file, mpirun, "-n", "3")
    assert status == 0, said
    section = json.loads(file.read_text())["network"]
    assert (section["nodes"], section["ranks_per_node"], section["make_believe"]) == (2, 2, True)
    assert {row["senders"] for row in section["measurements"] if row["measure"] == "messages_at_once"} == {1}
    assert 0 < section["between_start"] < 1
    assert os.environ["TUTTI_RANKS_PER_NODE"] == "2,1"
