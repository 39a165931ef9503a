"""What goes wrong from outside: ranks that are killed, late or not preloaded, and memory that is closed."""

import contextlib
import os
import re
import signal
import time
from pathlib import Path

import launcher as launchers
from jobs import TUTTI_LINE, Job
from runner import FOLDER, UNUSUAL_RANKS, UNUSUAL_SHARE, WORKAROUNDS, host_without_cma

# What the hosts themselves put in /dev/shm, and do not always take away when they are killed.
HOST_FILES = re.compile(
    r"mpich|Intel_MPI|impi|vader_segment|sm_segment|openmpi|ompi|pmix|prte|ucx|psm2|shm_heap|osc_|mpl_|^sem\.",
    re.IGNORECASE,
)


def shared_names():
    """What is in /dev/shm and not the hosts'."""
    return {file for file in os.listdir("/dev/shm") if not HOST_FILES.search(file)}


def names_left(before):
    """What is there that was not before, and stays: other jobs have names of ours only while they start."""
    deadline = time.time() + 10
    left = shared_names() - before
    while left and time.time() < deadline:
        time.sleep(0.1)
        left &= shared_names()
    return left


def kill_ranks(runner, collective, count, victims, clean_up=False, tries=3, variables=None):
    """kill -9 of ranks that are in a collective: all end, what happened is said, nothing is left.

    clean_up: Hydra ends the other ranks at once, as it does unless it is told not to.
    The launcher forwards what the ranks say, and may end before it has: a job of which nothing was heard is
    tried again.
    """
    ranks = 4
    who = "all ranks" if victims is None else "rank 1"
    name = f"{runner.arguments.host} {ranks} kill -9 of {who} in {collective} of {count}"
    before = shared_names()
    alone = victims is not None and runner.preload is not None and runner.arguments.host in ("mpich", "abi")
    options = ["-disable-auto-cleanup"] if alone and not clean_up else []
    name += " with automatic clean-up" if alone and clean_up else ""
    name += "".join(f" with {setting}={value}" for setting, value in (variables or {}).items())
    job = runner.start(ranks, "faults", ["loop", collective, str(count)], variables, options=options)
    started = [job.wait_for(rf"^PID {rank} (\d+)$") for rank in range(ranks)]
    pids = {rank: int(found.group(1)) for rank, found in enumerate(started) if found}
    if len(pids) < ranks:
        job.kill()
        runner.verdict(False, name, "the ranks did not start", job.text())
        return
    for rank in pids if victims is None else victims:
        with contextlib.suppress(ProcessLookupError):  # the launcher ends the others when the first one dies
            os.kill(pids[rank], signal.SIGKILL)
    deadline = time.time() + 20
    alive = set(pids.values())
    while alive and time.time() < deadline:
        time.sleep(0.1)
        alive = {pid for pid in alive if is_alive(pid)}
    outcome = job.wait(10)
    for pid in alive:
        if is_alive(pid):
            os.kill(pid, signal.SIGKILL)
    said = any(re.search(r"rank 1\b", line) for line in outcome.tutti_lines())
    if alone and not said and not alive and tries > 1:
        kill_ranks(runner, collective, count, victims, clean_up, tries - 1, variables)
        return
    left = names_left(before)
    runner.verdict(not alive, f"{name}: all end", f"{len(alive)} were still there after 20 s", outcome.text)
    runner.verdict(not left, f"{name}: nothing is left in /dev/shm", " ".join(sorted(left)))
    if alone:
        runner.verdict(said, f"{name}: a message names the rank", "there is none", outcome.text)


def timeout_report(runner):
    """TUTTI_TIMEOUT says who is waited for."""
    outcome = runner.start(3, "faults", ["late"], {"TUTTI_TIMEOUT": "2"}).wait(60)
    said = [line for line in outcome.tutti_lines() if re.search(r"barrier", line, re.IGNORECASE)]
    good = any(re.search(r"rank 1\b", line) for line in said)
    runner.verdict(
        good,
        f"{runner.arguments.host} 3 TUTTI_TIMEOUT names the late rank and the collective",
        outcome.why(),
        outcome.text,
    )


def closed_memory(runner):
    """Ranks whose memory the others may not read any more copy themselves what the others ask for. Returns cases."""
    cases = []
    for ranks in UNUSUAL_RANKS:
        for mechanism in ("cma", "auto"):
            variables = {"TUTTI_MECHANISM": mechanism, **host_without_cma(runner.arguments.host)}
            label = f"memory that is closed in a running job, {mechanism}"
            cases.append((runner.program, label, ranks, "faults", ["closes"], variables))
    return cases


def mixed_job(runner, program, without, settings=(), forgotten=()):
    """Starts two ranks with the preload, with settings as NAME=VALUE, and one without, the first or the last.

    forgotten: variables of the launcher that the ranks with the preload do not see.
    """
    ours = runner.launcher.program(FOLDER, "tutti-test-faults")
    unset = [word for variable in forgotten for word in ("-u", variable)]
    preloaded = ["2", "env", *unset, *settings, f"LD_PRELOAD={runner.preload}", ours, program]
    plain = ["1", "env", "-u", "LD_PRELOAD", ours, program]
    first, second = (plain, preloaded) if without == 0 else (preloaded, plain)
    without_preload = launchers.Launcher(runner.arguments.host, runner.arguments.build)
    line = without_preload.command(first[0], first[1:], WORKAROUNDS.get(runner.arguments.host))
    line += [":", "-n", *second]
    if runner.arguments.verbose:
        print("    $ " + " ".join(line), flush=True)
    return Job(line, without_preload.environment)


def some_without_preload(runner):
    """A job of which some ranks are not preloaded is the host's, and one line says so."""
    for without in (0, 2):
        outcome = mixed_job(runner, "once", without).wait(60)
        said = [line for line in outcome.tutti_lines() if f"local rank {without} " in line]
        runner.verdict(
            outcome.status == 0 and len(said) == len(outcome.tutti_lines()) == 1,
            f"{runner.arguments.host} 3 rank {without} is not preloaded: one line, and the host does all",
            outcome.why(),
            outcome.text,
        )
    # Where nobody can know that a rank will never come, it is waited for, and the wait is reported.
    unknown = ["MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE"]
    job = mixed_job(runner, "late", 2, ["TUTTI_TIMEOUT=2"], unknown)
    job.wait_for(rf"{TUTTI_LINE}.*rank 0 .*MPI_Init", 30)
    outcome = job.wait(0.1)
    said = [line for line in outcome.tutti_lines() if "MPI_Init" in line and re.search(r"rank 0\b", line)]
    name = f"{runner.arguments.host} 3 TUTTI_TIMEOUT names a start-up that cannot end"
    runner.verdict(len(said) == 1, name, "it does not", outcome.text)


def without_cma(runner):
    """Nobody may use process_vm_readv."""
    wrapper = [str(runner.launcher.build / FOLDER / "tutti-test-without-cma")]
    variables = host_without_cma(runner.arguments.host)
    for ranks in UNUSUAL_RANKS:
        runner.fuzz(
            ranks,
            "fuzz without process_vm_readv",
            share=UNUSUAL_SHARE,
            wrapper=wrapper,
            variables=variables,
        )
    runner.semantics(
        2, "semantics without process_vm_readv", brief=True, wrapper=wrapper, variables=variables
    )
    reads = [*wrapper, "--writes"]
    runner.fuzz(2, "fuzz without process_vm_writev", share=UNUSUAL_SHARE, wrapper=reads, variables=variables)


def fatal_errors(runner):
    """What ends the job names the function that the program has called."""
    for function in ("MPI_Bcast", "MPI_Wait", "MPI_Waitany"):
        outcome = runner.start(2, "faults", ["truncated", function]).wait(60)
        good = outcome.status != 0 and re.search(rf"rank 1 in {function}: ", outcome.text)
        name = f"{runner.arguments.host} 2 a fatal error in {function} names it"
        runner.verdict(bool(good), name, outcome.why(), outcome.text)


def check(runner):
    """What goes wrong from outside."""
    cases = [(runner.program, "child processes", ranks, "faults", ["processes"]) for ranks in (1, 2, 4)]
    cases += [
        (kill_ranks, runner, collective, count, [1])
        for collective, count in (
            ("barrier", 1),
            ("allreduce", 10),
            ("bcast", 300_000),
            ("allreduce", 300_000),
        )
    ]
    if runner.preload and runner.arguments.host in ("mpich", "abi"):
        cases.append((kill_ranks, runner, "barrier", 1, [1], True))
    cases.append((kill_ranks, runner, "reduce", 300_000, None))
    variables = host_without_cma(runner.arguments.host)
    cases.append((runner.program, "no access to /proc/<pid>", 2, "faults", ["undumpable"], variables))
    limited = ["bash", "-c", 'ulimit -v 6000000; exec "$0" "$@"']
    cases.append((runner.program, "6 GB of address space", 2, "faults", ["once"], None, limited))
    if runner.preload:
        cases += [(timeout_report, runner), (some_without_preload, runner), (fatal_errors, runner)]
        cases += closed_memory(runner)
    runner.together(cases)
    without_cma(runner)


def is_alive(pid):
    """Whether the process runs: a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in ("Z", "X")
