"""Algorithms between nodes over the MPI's own messages, each process a node, without the library; and with it, what is
chosen by files for communicators that span nodes, and what becomes of these when a rank is killed."""

import json
import re
import tempfile
import time

import explain
import faults
from runner import NOT_HOOKED

#: Processes, ranks of each in turn, and how ranks are dealt out.
SHAPES = [(4, "3", "blocks"), (3, "1,3,2", "turns"), (4, "1", "blocks"), (4, "2,1", "turns")]


def check(runner):
    """Every algorithm gives what it should, in nodes of equal and unequal size."""
    for processes, places, order in SHAPES:
        outcome = runner.start_plain(processes, "network", [places, order]).wait(120)
        good = outcome.status == 0 and ", 0 wrong" in outcome.text
        name = (
            f"{runner.arguments.host} {processes} nodes of {places} ranks, {order}: algorithms between nodes"
        )
        runner.verdict(good, name, outcome.why(), outcome.text)


#: As a file of tutti probe --network has it.
NETWORK = {
    "between_start": 1e-5, "between_byte": 1e-9, "message_rate": 1e6, "date": "2026-10-03T12:00:00+00:00",
    "host": "an MPI", "nodes": 4, "ranks_per_node": 3,
}  # fmt: skip
NETWORK_WORDS = "measured 2026-10-03T12:00:00+00:00 with an MPI on 4 nodes of 3 ranks"


def made_files(runner, folder, mpi, network):
    """A probe with this network, and a table: Allgather of communicators that span nodes is the MPI's, and Allreduce is
    done by an algorithm that no model would take."""
    paths = explain.made_files(runner, folder, mpi)
    known = {"nodes": [2, 64], "ranks_per_node": [1, 64], "bytes": [0, 1 << 20]}
    for path, part, value in (
        (paths["probe"], "network", network),
        (
            paths["table"],
            "between_nodes",
            [
                {**known, "collective": "allgather", "algorithm": "host"},
                {**known, "collective": "allreduce", "algorithm": "multi-object-ordered"},
            ],
        ),
    ):
        path.write_text(json.dumps({**json.loads(path.read_text()), part: value}))
    return paths


def check_messages(runner):
    """Messages between nodes that go wrong, and persistent calls for which one communicator has too few tags."""
    counts = runner.arguments.ranks_per_node or "2,2"
    variables = {"TUTTI_RANKS_PER_NODE": counts, "TUTTI_INTERNODE": "1"}
    words = ["--threads"] if runner.arguments.host in NOT_HOOKED else []
    ranks = sum(map(int, counts.split(",")))
    runner.program("between nodes:", ranks, "spanning", words, variables)
    variables["TUTTI_PROGRESS"] = "thread"
    runner.program("between nodes, with a thread that drives:", ranks, "spanning", ["--threads"], variables)


def start_with_files(runner, counts, network):
    """What becomes of collectives where these files are found, and nothing says whether nodes are to be spanned.

    Returns the outcome, and the path of the probe.
    """
    with tempfile.TemporaryDirectory() as folder:
        paths = made_files(runner, folder, explain.mpi_of(runner, folder), network)
        variables = {f"TUTTI_{kind.upper()}": str(path) for kind, path in paths.items()}
        variables.update(TUTTI_TOPOLOGY=explain.TOPOLOGY, TUTTI_RANKS_PER_NODE=counts, TUTTI_INTERNODE="auto")
        variables["TUTTI_EXPLAIN"] = "1"
        ranks = sum(map(int, counts.split(",")))
        return runner.start(ranks, "explain", ["calls"], variables).wait(120), paths["probe"]


def check_choices(runner):
    """Table and measured network of rank 0 are what all ranks of communicators that span nodes choose by.

    The network is why these are the library's.
    """
    counts = runner.arguments.ranks_per_node or "1,1"
    ranks = sum(map(int, counts.split(",")))
    outcome, probe = start_with_files(runner, counts, NETWORK)
    nodes = len(counts.split(","))
    spanning = rf"{ranks} ranks on {nodes} nodes, 2 levels"
    wrong = [
        name
        for name, pattern in (
            ("network", re.escape(f"tutti: between nodes: {NETWORK_WORDS} ({probe})")),
            ("allgather", rf"tutti: allgather +<=64 B +{spanning}.* host .* by the table"),
            ("allreduce", rf"tutti: allreduce +<=8 KiB +{spanning}.* multi-object-ordered .* by the table"),
            ("bcast", rf"tutti: bcast +<=1 MiB +{spanning}.* multi-object-.* cheapest by the model"),
        )
        if not re.search(pattern, outcome.text)
    ]
    good = outcome.status == 0 and not wrong
    name = f"{runner.arguments.host} {counts}: table and network decide between nodes"
    runner.verdict(good, name, f"{outcome.why()}, not found: {wrong}", outcome.text)
    warnings = [line for line in outcome.tutti_lines() if "warning" in line]
    runner.verdict(not warnings, f"{name}, without a warning", str(warnings), outcome.text)

    outcome, _ = start_with_files(runner, counts, {**NETWORK, "make_believe": True})
    good = outcome.status == 0 and not re.search(spanning, outcome.text)
    name = f"{runner.arguments.host} {counts}: of nodes that were one machine a measured network says nothing"
    runner.verdict(good, name, outcome.why(), outcome.text)


#: Seconds from a rank's death to the end of all; launchers end jobs at once, on a machine that is busy a little later.
END_WITHIN = 20


def check_killed(runner):
    """kill -9 of a rank while collectives between nodes are pending on all: the job ends, and nothing is left."""
    counts = runner.arguments.ranks_per_node or "2,1"
    ranks = sum(map(int, counts.split(",")))
    variables = {"TUTTI_RANKS_PER_NODE": counts, "TUTTI_INTERNODE": "1"}
    before = faults.shared_names()
    job = runner.start(ranks, "nodes", ["ends", "signal-9", "pending"], variables)
    has_begun = job.wait_for(rf"^ENDS {ranks - 1}$", 120)
    began = time.monotonic()
    outcome = job.wait(END_WITHIN)
    pids = [int(pid) for pid in re.findall(r"PID \d+ (\d+)", outcome.text)]
    while any(map(faults.is_alive, pids)) and time.monotonic() - began < END_WITHIN:
        time.sleep(0.1)
    alive = [pid for pid in pids if faults.is_alive(pid)]
    left = faults.names_left(before)
    name = f"{runner.arguments.host} {counts}: a rank is killed while collectives between nodes are pending"
    good = has_begun and outcome.status > 0 and len(pids) == ranks and not alive
    why = f"{outcome.why()}, {len(pids)} ranks, of which {len(alive)} were there after {END_WITHIN} s"
    runner.verdict(good, f"{name}: the job ends", why, outcome.text)
    runner.verdict(has_begun and not left, f"{name}: nothing is left in /dev/shm", " ".join(sorted(left)))
