"""Settings that are wrong, that cannot be, or that differ among the ranks: one line says so, and the program runs."""

import os
import re
import tempfile
from pathlib import Path

from jobs import Job
from runner import FOLDER, WORKAROUNDS, host_without_cma

BAD_SETTINGS = {
    "TUTTI_FOO": "1",
    "TUTTI_ALGORITHM": "bcast:nonsense",
    "TUTTI_HIERARCHY": "numma",
    "TUTTI_MECHANISM": "xyz",
    "TUTTI_TOPOLOGY": "garbage",
}


def bad_settings(runner):
    """A wrong setting is one warning for the whole job, and the program runs."""
    for setting, value in BAD_SETTINGS.items():
        name = f"{runner.arguments.host} 2 {setting}={value}"
        outcome = runner.start(2, "faults", ["once"], {setting: value}).wait(60)
        warnings = [line for line in outcome.tutti_lines() if "warning" in line]
        good = outcome.status == 0 and len(warnings) == 1 and setting in warnings[0]
        runner.verdict(
            good, f"{name} is one warning", f"{outcome.why()}, {len(warnings)} warnings", outcome.text
        )


def algorithm_that_cannot(runner):
    """What cannot be done as the user has asked is one line, however many communicators there are."""
    variables = {"TUTTI_ALGORITHM": "allgather:ring-neighbor,j=2"}
    outcome = runner.start(4, "faults", ["many"], variables).wait(60)
    lines = outcome.tutti_lines()
    good = outcome.status == 0 and len(lines) == 1 and "cannot be done by ring-neighbor" in lines[0]
    name = f"{runner.arguments.host} 4 an algorithm that cannot: one line for all communicators"
    runner.verdict(good, name, f"{outcome.why()}, {len(lines)} lines", outcome.text)


def mechanism_that_is_not_there(runner):
    """A mechanism that the user has named and that cannot be used is one line; one that was not named is none."""
    wrapper = [str(runner.launcher.build / FOLDER / "tutti-test-without-cma")]
    for mechanism, wanted in (
        ("cma", "no cma: process_vm_readv.*: Operation not permitted; used instead: staged"),
        ("window,cma", "no cma: .*; used instead: window, staged"),
        ("^xpmem", None),
    ):
        variables = {**host_without_cma(runner.arguments.host), "TUTTI_MECHANISM": mechanism}
        outcome = runner.start(2, "faults", ["once"], variables, wrapper=wrapper).wait(60)
        lines = outcome.tutti_lines()
        said = len(lines) == 1 and re.search(wanted, lines[0]) if wanted else not lines
        name = f"{runner.arguments.host} 2 TUTTI_MECHANISM={mechanism} without process_vm_readv"
        runner.verdict(outcome.status == 0 and bool(said), name, outcome.why(), outcome.text)


def pipes_as_files(runner):
    """A pipe in the place of a table or of measured parameters is one warning, and nobody waits for a writer."""
    with tempfile.TemporaryDirectory() as folder:
        pipe = Path(folder) / "pipe.json"
        os.mkfifo(pipe)
        for setting in ("TUTTI_TABLE", "TUTTI_PROBE"):
            outcome = runner.start(2, "faults", ["once"], {setting: str(pipe)}).wait(60)
            lines = outcome.tutti_lines()
            good = outcome.status == 0 and len(lines) == 1 and f"{pipe}: it is not a regular file" in lines[0]
            name = f"{runner.arguments.host} 2 {setting} is a pipe: one warning"
            runner.verdict(good, name, outcome.why(), outcome.text)


def variables_that_differ(runner):
    """Rank 0's settings hold for all ranks, whatever the others' say; but a rank that is to do without, does."""
    ours = runner.launcher.program(FOLDER, "tutti-test-faults")
    name = f"{runner.arguments.host} 2 settings that differ are those of rank 0"
    for first, second, wanted in (
        (["TUTTI_VERBOSE=1", "TUTTI_MECHANISM=staged"], ["TUTTI_WAIT=yield"], "mechanisms: staged"),
        (["TUTTI_VERBOSE=1"], ["TUTTI_MECHANISM=staged"], "mechanisms: window"),
        (["TUTTI_VERBOSE=1"], ["TUTTI_ENABLE=0"], "local rank 1 did not"),
        (["TUTTI_VERBOSE=1", "TUTTI_ENABLE=0"], [], "local rank 0 did not"),
    ):
        line = runner.launcher.command(
            1, ["env", *first, ours, "once"], WORKAROUNDS.get(runner.arguments.host)
        )
        # The launcher's options before the first ':' hold for all programs only with some launchers.
        line += [":", "-n", "1", "env", f"LD_PRELOAD={runner.preload}", *second, ours, "once"]
        outcome = Job(line, runner.launcher.environment).wait(60)
        said = [each for each in outcome.tutti_lines() if wanted in each]
        good = outcome.status == 0 and len(said) == 1
        runner.verdict(good, f"{name}: {wanted}", outcome.why(), outcome.text)


def check(runner):
    """Wrong ones, impossible ones, and different ones."""
    bad_settings(runner)
    algorithm_that_cannot(runner)
    mechanism_that_is_not_there(runner)
    pipes_as_files(runner)
    variables_that_differ(runner)
