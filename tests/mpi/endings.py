"""Ranks that end before their time: what becomes of the job is what would without Tutti.

Which status a launcher gives a job may depend on which of its processes it looks at first: MPICH's says now and
then that of a rank that it has killed itself. So a status with Tutti has to be one that was
seen without, in a few runs of both.
"""

import os
import re
import signal
import time
from pathlib import Path

#: As endings.cpp knows them. What each may be said to be; "" for nothing at all.
ENDED = r"rank [01] \(process \d+\) has ended|rank [01] still waits .* the job is ended"
WAYS = {
    "exit-0": ENDED,
    "exit-3": ENDED,
    "_exit-0": ENDED,
    "_exit-3": ENDED,
    "quick_exit-3": ENDED,
    "abort": ENDED,
    "signal-9": ENDED,
    "signal-11": ENDED,
    "signal-15": ENDED,
    "exec-0": ENDED,
    "mpi-abort-5": "",
}
#: Ways that are tried also where the others do not wait for the rank in a collective.
ELSEWHERE = ["exit-3", "_exit-0", "signal-9"]
RUNS = 4
LONG_EXEC = 4
#: Nearly all that these jobs do is to wait.
AT_ONCE = 4


def check(runner):
    """Every way, with and without Tutti."""
    cases = []
    for way, words in WAYS.items():
        for others in ("collective", "receive", "nonblocking", "compute", "same"):
            if way in ELSEWHERE or others == "collective":
                cases.append((status_is_the_hosts, way, others, words))
    # That of Intel MPI never notices what has ended while it was stopped: the job stands for ever.
    if runner.arguments.host != "intel":
        cases += [(slow_launcher, way) for way in ELSEWHERE]
    cases.append((process_goes_on_as_another_program,))
    if runner.launcher.hydra:
        cases.append((others_go_on,))
    runner.together([(case, runner, *words) for case, *words in cases], AT_ONCE)


def status_is_the_hosts(runner, way, others, words):
    """The job's status is one of those without Tutti, and what is said is true."""
    name = f"{runner.arguments.host} 2 {way}, the others: {others}"
    seen, untrue = set(), []
    for _ in range(RUNS):
        outcome = runner.start(2, "faults", ["ends", way, others]).wait(60)
        untrue += [line for line in outcome.tutti_lines() if not words or not re.search(words, line)]
        seen.add(runner.start_plain(2, "faults", ["ends", way, others]).wait(60).status)
        if outcome.status in seen:
            break
    why = f"{outcome.why()}, without Tutti {sorted(seen)}"
    runner.verdict(outcome.status in seen, f"{name}: the status is the host's", why, outcome.text)
    runner.verdict(not untrue, f"{name}: what is said is true", "it is not", "\n".join(untrue))


def parent(pid):
    """The process that started this one."""
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def end_with_slow_launcher(start, way):
    """The launcher looks at nothing from before the rank's end to a second after it."""
    delay = 2
    job = start(2, "faults", ["ends", way, "collective", delay])
    found = job.wait_for(r"^PID 1 (\d+)$")
    launcher = [parent(int(found.group(1)))] if found else []
    while launcher and launcher[-1] not in (job.process.pid, 1):
        launcher.append(parent(launcher[-1]))
    launcher = [pid for pid in launcher if pid > 1]
    for pid in reversed(launcher):
        os.kill(pid, signal.SIGSTOP)
    time.sleep(delay + 1)
    for pid in launcher:
        os.kill(pid, signal.SIGCONT)
    return job.wait(60)


def slow_launcher(runner, way):
    """We do not end the job before a launcher that has much to do."""
    name = f"{runner.arguments.host} 2 {way}, and the launcher is slow"
    seen = set()
    # MPICH's now and then does not notice at all what has ended while it was stopped.
    for _ in range(RUNS):
        outcome = end_with_slow_launcher(runner.start, way)
        seen.add(end_with_slow_launcher(runner.start_plain, way).status)
        if outcome.status in seen:
            break
    why = f"{outcome.why()}, without Tutti {sorted(seen)}"
    runner.verdict(outcome.status in seen, f"{name}: the status is the host's", why, outcome.text)


def process_goes_on_as_another_program(runner):
    """A rank that calls exec has not ended; that it does not come is told by the report of long waits."""
    name = f"{runner.arguments.host} 2 exec of a program that goes on"
    job = runner.start(2, "faults", ["ends", f"exec-{LONG_EXEC}", "collective"], {"TUTTI_TIMEOUT": "1"})
    job.wait_for("^ENDS 1$")
    time.sleep(LONG_EXEC - 1.5)
    early = job.text()
    outcome = job.wait(60)
    runner.verdict(
        "rank 1 (process" not in early, f"{name}: nobody says that it has ended", "it is said", early
    )
    told = any("has waited 1 s for rank 1" in line for line in outcome.tutti_lines())
    runner.verdict(told, f"{name}: the report of a long wait names it", "it does not", outcome.text)


def others_go_on(runner):
    """A rank that is not needed any more may end, where the launcher lets the others live."""
    options = ["-disable-auto-cleanup"]
    for label, start in (("", runner.start), (" without Tutti", runner.start_plain)):
        outcome = start(3, "faults", ["goes-on"], options=options).wait(60)
        good = outcome.status == 0 and "DONE" in outcome.text
        name = f"{runner.arguments.host} 3 ranks go on without one that has ended{label}"
        runner.verdict(good, name, outcome.why(), outcome.text)
