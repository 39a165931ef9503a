"""TUTTI_EXPLAIN: what is told at MPI_Finalize is what the program did. The numbers are those of explain.cpp."""

import json
import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from faults import kill_ranks
from schemas import complaints

OURS = "cheapest by the model"
#: collective, size in the table, bytes_to in JSON, communicator, algorithm or None, calls, bytes, reason
CALLS = [
    ("barrier", "-", None, "2 ranks", None, 10, 0, OURS),
    ("bcast", "<=4 B", 4, "2 ranks", "eager", 13, 52, "asked for"),
    ("bcast", "<=1 MiB", 1 << 20, "2 ranks", None, 5, 5 << 20, "what was asked for cannot; cheapest other"),
    ("bcast", "-", None, "2 ranks", "host", 2, 0, "no data"),
    ("allreduce", "<=8 KiB", 8192, "2 ranks", None, 3, 24000, OURS),
    ("allreduce", "<=16 B", 16, "2 ranks", None, 2, 32, OURS),
    ("allreduce", "<=512 B", 512, "2 ranks", None, 7, 2800, OURS + "; persistent, keeps the plan"),
    ("allgather", "<=64 B", 64, "2 ranks", "host", 4, 256, "asked for"),
    ("scatterv", "varying", None, "2 ranks", None, 6, 24, OURS),
    ("barrier", "-", None, "1 rank", "host", 2, 0, "a rank alone"),
    ("barrier", "-", None, "1 rank, inter", "host", 3, 0, "intercommunicator"),
]
LONG = "long, to a rank of the node"
MIB = 1 << 20
#: function, bytes_to, what carries it, calls and bytes of both ranks, reason
MESSAGES = [
    ("send", MIB, "envelope", 5, 5 * MIB, LONG),
    ("send", 8, "host", 5, 40, "shorter than what goes as an envelope"),
    ("recv", MIB, "envelope", 5, 5 * MIB, LONG),
    ("recv", 8, "host", 5, 40, "as it was sent"),
    ("isend", 64 << 10, "envelope", 6, 6 * (64 << 10), LONG),
    ("sendrecv", MIB, "envelope", 4, 4 * MIB, LONG),
    ("sendrecv", MIB, "host", 2, 2 * MIB, "to the rank itself"),
    ("send", MIB, "host", 8, 8 * MIB, "to MPI_PROC_NULL"),
    ("ssend", MIB // 2, "envelope", 1, MIB // 2, LONG),
    ("recv", MIB // 2, "envelope", 1, MIB // 2, LONG),
    ("bsend", MIB, "host", 2, 2 * MIB, "buffered by the MPI"),
    ("start", MIB, "envelope", 6, 6 * MIB, LONG),
]
#: Nothing of the calls depends on what the machine's model says.
FORCED = {"TUTTI_ALGORITHM": "bcast:eager;allgather:host"}
#: Files of the user or the site are not read.
SHIPPED = {"TUTTI_PROBE": "off", "TUTTI_TABLE": "off"}
#: A machine that is only planned for, so that files can be made that fit it, and what the library calls it.
TOPOLOGY = "package:1 core:2 pu:1"
MACHINE = {"processor": "", "cores": 2, "topology": "1 socket, 1 NUMA node, 0 L3, 0 L2, 2 cores, 2 units"}
DATES = {"probe": "2026-10-01T12:00:00+00:00", "table": "2026-10-02T12:00:00+00:00"}


def normal(words):
    """Without what depends on the number of cores."""
    return re.sub(r", [\d.]+ (a core|levels)", "", words)


def rows_of_table(text):
    """The cells of each row that is printed, without times."""
    rows = []
    lines = [line.split("tutti: ", 1)[1] for line in text.splitlines() if "tutti: " in line]
    heads = [number for number, line in enumerate(lines) if line.startswith("collective ")]
    if len(heads) != 1:
        return rows
    for line in lines[heads[0] + 1 :]:
        cells = re.split(r"\s{2,}", line.strip())
        if len(cells) == 10:
            collective, size, communicator, algorithm, _, calls, _, _, _, why = cells
            rows.append((collective, size, normal(communicator), algorithm, int(calls), why))
    return rows


def check_table(runner):
    """TUTTI_EXPLAIN=1."""
    outcome = runner.start(2, "explain", ["calls"], {**FORCED, **SHIPPED, "TUTTI_EXPLAIN": "1"}).wait(60)
    rows = rows_of_table(outcome.text)
    wrong = [row for row in CALLS if not any(matches_table(row, printed) for printed in rows)]
    good = outcome.status == 0 and not wrong and len(rows) == len(CALLS)
    good = (
        good and re.search(r"; 57 collectives in .*, 11 of them by the MPI itself", outcome.text) is not None
    )
    good = good and "tutti: model: shipped values" in outcome.text and "tutti: table: none" in outcome.text
    name = f"{runner.arguments.host} 2 TUTTI_EXPLAIN=1 prints what ran"
    runner.verdict(good, name, f"{outcome.why()}, not there: {wrong}", outcome.text)


def matches_table(row, printed):
    collective, size, _, communicator, algorithm, calls, _, why = row
    return (collective, size, communicator, algorithm or printed[3], calls, why) == printed


def matches_json(row, found):
    collective, _, bytes_to, communicator, algorithm, calls, total, why = row
    shape = found["communicator"]
    words = ("1 rank" if shape["ranks"] == 1 else f"{shape['ranks']} ranks") + (
        ", inter" if shape["intercommunicator"] else ""
    )
    return (
        found["collective"] == collective
        and found["bytes_to"] == bytes_to
        and words == communicator
        and (algorithm is None or found["algorithm"] == algorithm)
        and (found["calls"], found["bytes"], found["reason"]) == (calls, total, why)
        and found["ranks"] == 2
        and 0 <= found["least_seconds"] <= found["seconds"]
        and (found["algorithm"] == "host" or sum(found["mechanisms"].values()) == 2 * calls)
    )


def check_file(runner, folder):
    """TUTTI_EXPLAIN=FILE. Returns what it says."""
    path = Path(folder) / "told.json"
    variables = {**FORCED, **SHIPPED, "TUTTI_EXPLAIN": str(path)}
    outcome = runner.start(2, "explain", ["calls"], variables).wait(60)
    told = json.loads(path.read_text()) if path.exists() else {"rows": []}
    wrong = [row for row in CALLS if not any(matches_json(row, found) for found in told["rows"])]
    good = outcome.status == 0 and not wrong and len(told["rows"]) == len(CALLS)
    good = good and told["schema"] == "tutti-explain-1" and told["ranks"] == 2 and told["active"]
    good = good and told["model_source"]["path"] is None and not told["table"]
    good = good and told["model_source"]["words"].startswith("shipped values")
    good = good and "collective " not in outcome.text
    wrong += complaints("explain", told)
    good = good and not wrong
    name = f"{runner.arguments.host} 2 TUTTI_EXPLAIN=FILE writes what ran"
    runner.verdict(
        good, name, f"{outcome.why()}, not there: {wrong}", outcome.text + json.dumps(told, indent=1)
    )
    return told


def check_messages(runner, folder):
    """Messages by who carries them, their way, and why."""
    variables = {**SHIPPED, "TUTTI_MESSAGES_MIN": "16K"}
    path = Path(folder) / "messages.json"
    outcome = runner.start(2, "explain", ["messages"], {**variables, "TUTTI_EXPLAIN": str(path)}).wait(60)
    told = json.loads(path.read_text()) if path.exists() else {"messages": []}
    found = {
        (row["function"], row["bytes_to"], row["algorithm"], row["calls"], row["bytes"], row["reason"]): row
        for row in told["messages"]
    }
    good = outcome.status == 0 and set(found) == set(MESSAGES) and not told["rows"]
    for key, row in found.items():
        ways = sum(row["mechanisms"].values())
        good = good and ways == (row["calls"] if key[2] == "envelope" and key[0] != "recv" else 0)
        good = good and 0 < row["least_seconds"] <= row["seconds"] and row["communicator"]["ranks"] == 2
        good = good and (key[0] != "ssend" or row["mechanisms"] == {"staged": 1})
    name = f"{runner.arguments.host} 2 TUTTI_EXPLAIN=FILE has messages, their ways and why they are the MPI's"
    wrong = set(found) ^ set(MESSAGES)
    runner.verdict(good, name, f"{outcome.why()}, {wrong}", outcome.text + json.dumps(told, indent=1))

    outcome = runner.start(2, "explain", ["messages"], {**variables, "TUTTI_EXPLAIN": "1"}).wait(60)
    calls = f"; {sum(row[3] for row in MESSAGES)} calls for messages in "
    by_host = f", {sum(row[3] for row in MESSAGES if row[2] == 'host')} of them by the MPI itself"
    good = outcome.status == 0 and re.search(calls + "[^,]*" + by_host, outcome.text)
    good = good and re.search(r"ssend +<=512 KiB +2 ranks +envelope +staged +1 +512 KiB ", outcome.text)
    name = f"{runner.arguments.host} 2 TUTTI_EXPLAIN=1 prints what became of messages"
    runner.verdict(good, name, outcome.why(), outcome.text)


def mpi_of(runner, folder):
    """Name and version of the MPI, as the library says them."""
    path = Path(folder) / "mpi.json"
    runner.start(2, "explain", ["calls"], {**SHIPPED, "TUTTI_EXPLAIN": str(path)}).wait(60)
    return json.loads(path.read_text()).get("mpi", "") if path.exists() else ""


def made_files(runner, folder, mpi):
    """A probe and a table for MACHINE, their paths by name. The table gives Allgather to the MPI."""
    predict = [str(runner.launcher.build / "tools/tutti-predict"), "--model-only"]
    model = json.loads(subprocess.run(predict, capture_output=True, text=True, check=True).stdout)["model"]
    name, _, version = mpi.rpartition(" ")
    kinds = [
        (reach, levels, ranks)
        for reach in ("mapped", "kernel", "staged")
        for levels in (1, 2)
        for ranks in (1, 2)
    ]
    entry = {"collective": "allgather", "ranks": [2, 2], "bytes": [0, 1 << 20], "algorithm": "host"}
    texts = {
        "probe": {"schema": "tutti-probe-1", "date": DATES["probe"], "machine": MACHINE, "model": model},
        "table": {
            "schema": "tutti-table-1",
            "date": DATES["table"],
            "machine": MACHINE,
            "host": {"name": name, "version": version},
            "entries": [
                {**entry, "reach": reach, "levels": levels, "ranks_per_core": ranks}
                for reach, levels, ranks in kinds
            ],
        },
    }
    paths = {kind: Path(folder) / f"{kind}.json" for kind in texts}
    for kind, text in texts.items():
        paths[kind].write_text(json.dumps(text))
    return paths


def check_sources(runner, folder, mpi):
    """What the choices rest on stands in the heading and in the file."""
    paths = made_files(runner, folder, mpi)
    variables = {f"TUTTI_{kind.upper()}": str(path) for kind, path in paths.items()}
    variables["TUTTI_TOPOLOGY"] = TOPOLOGY
    words = {"probe": f"measured {DATES['probe']}", "table": f"measured with {mpi}, {DATES['table']}"}
    outcome = runner.start(2, "explain", ["calls"], {**variables, "TUTTI_EXPLAIN": "1"}).wait(60)
    reasons = [row[5] for row in rows_of_table(outcome.text) if row[0] == "allgather"]
    good = outcome.status == 0 and reasons == ["by the table"]
    good = good and f"tutti: model: {words['probe']} ({paths['probe']})" in outcome.text
    good = good and f"tutti: table: {words['table']} ({paths['table']})" in outcome.text
    name = f"{runner.arguments.host} 2 TUTTI_EXPLAIN=1 says from which files the choices are"
    runner.verdict(good, name, f"{outcome.why()}, allgather {reasons}", outcome.text)

    path = Path(folder) / "sources.json"
    outcome = runner.start(2, "explain", ["calls"], {**variables, "TUTTI_EXPLAIN": str(path)}).wait(60)
    told = json.loads(path.read_text()) if path.exists() else {}
    found = {"probe": told.get("model_source"), "table": told.get("table")}
    good = outcome.status == 0 and all(
        found[kind] == {"path": str(paths[kind]), "words": words[kind]} for kind in paths
    )
    name = f"{runner.arguments.host} 2 TUTTI_EXPLAIN=FILE has the files that the choices are from"
    runner.verdict(good, name, f"{outcome.why()}, {found}", outcome.text)


def check_threads(runner, folder):
    """Threads in collectives at the same time, on communicators that are gone at the end."""
    path = Path(folder) / "threads.json"
    outcome = runner.start(2, "explain", ["threads"], {**SHIPPED, "TUTTI_EXPLAIN": str(path)}).wait(120)
    told = json.loads(path.read_text()) if path.exists() else {"rows": []}
    calls = sorted((row["collective"], row["reason"], row["calls"]) for row in told["rows"])
    # An MPI without such threads says so itself: that nothing was counted is no reason to believe it.
    unable = "no MPI_THREAD_MULTIPLE" in outcome.text
    expected = [] if unable else [("bcast", OURS, 600), ("bcast", "no data", 150)]
    good = outcome.status == 0 and path.exists() and calls == expected
    name = f"{runner.arguments.host} 2 TUTTI_EXPLAIN counts the calls of all threads"
    name += " (this MPI has no MPI_THREAD_MULTIPLE)" if unable else ""
    runner.verdict(good, name, f"{outcome.why()}, {calls}", outcome.text)


def check_bad_file(runner):
    """A file that cannot be written is one warning, and the table is printed."""
    variables = {"TUTTI_EXPLAIN": "/no/such/folder/told.json"}
    outcome = runner.start(2, "explain", ["calls"], variables).wait(60)
    warnings = [line for line in outcome.tutti_lines() if "warning" in line]
    good = outcome.status == 0 and len(warnings) == 1 and "/no/such/folder/told.json" in warnings[0]
    good = good and len(rows_of_table(outcome.text)) == len(CALLS)
    name = f"{runner.arguments.host} 2 TUTTI_EXPLAIN to a file that cannot be written is one warning"
    runner.verdict(good, name, f"{outcome.why()}, {len(warnings)} warnings", outcome.text)


def check_inactive(runner):
    """Where the library is off the calls are counted all the same."""
    variables = {"TUTTI_EXPLAIN": "yes", "TUTTI_ENABLE": "0"}
    outcome = runner.start(2, "explain", ["calls"], variables).wait(60)
    rows = rows_of_table(outcome.text)
    good = outcome.status == 0 and "the library was inactive: TUTTI_ENABLE=0" in outcome.text
    good = good and "tutti: model:" not in outcome.text
    good = good and all(row[3] == "host" and row[5] == "the library is inactive" for row in rows)
    good = good and sum(row[4] for row in rows) == 51
    name = f"{runner.arguments.host} 2 TUTTI_EXPLAIN tells of an inactive library, too"
    runner.verdict(good, name, outcome.why(), outcome.text)


def check_summary(runner):
    """One line, of the same calls."""
    for more, count, end in (
        ({}, 57, "by Tutti in "),
        # Of the MPI's own persistent ones it is counted that they are made ready.
        ({"TUTTI_ENABLE": "0"}, 51, "by the MPI itself: TUTTI_ENABLE=0"),
    ):
        outcome = runner.start(2, "explain", ["calls"], {"TUTTI_EXPLAIN": "summary", **more}).wait(60)
        said = [line for line in outcome.text.splitlines() if line.startswith("tutti:")]
        good = outcome.status == 0 and len(said) == 1 and f"; {count} collectives in " in said[0]
        good = good and end in said[0]
        name = f"{runner.arguments.host} 2 TUTTI_EXPLAIN=summary is one line, {end.strip()}"
        runner.verdict(good, name, outcome.why(), outcome.text)


def check_off(runner):
    """Nothing is printed unless asked for."""
    for value in ("", "0", "off"):
        outcome = runner.start(2, "explain", ["calls"], {"TUTTI_EXPLAIN": value}).wait(60)
        good = outcome.status == 0 and "tutti" not in outcome.text
        name = f"{runner.arguments.host} 2 TUTTI_EXPLAIN={value} prints nothing"
        runner.verdict(good, name, outcome.why(), outcome.text)


def check_death(runner):
    """A rank dies while the others wait for it at MPI_Finalize, and the launcher leaves them alone where it can."""
    hydra = runner.arguments.host in ("mpich", "abi")
    options = ["-disable-auto-cleanup"] if hydra else []
    job = runner.start(2, "explain", ["late"], {"TUTTI_EXPLAIN": "1"}, options=options)
    found = job.wait_for(r"^PID 1 (\d+)$", 30)
    if found:
        time.sleep(0.5)
        os.kill(int(found.group(1)), signal.SIGKILL)
    outcome = job.wait(20)
    name = f"{runner.arguments.host} 2 TUTTI_EXPLAIN and a rank that dies before MPI_Finalize: all end"
    runner.verdict(found and not outcome.timed_out, name, outcome.why(), outcome.text)


def check(runner):
    """All of it."""
    with tempfile.TemporaryDirectory() as folder:
        check_table(runner)
        told = check_file(runner, folder)
        check_sources(runner, folder, told.get("mpi", ""))
        check_messages(runner, folder)
        check_threads(runner, folder)
        check_bad_file(runner)
        check_inactive(runner)
        check_summary(runner)
        check_off(runner)
    check_death(runner)
    kill_ranks(runner, "allreduce", 10, [1], variables={"TUTTI_EXPLAIN": "1"})
