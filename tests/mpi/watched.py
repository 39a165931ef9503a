"""Tools that watch allocations see all of them: the sanitizers of the compiler, and valgrind."""

import collections
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from runner import FOLDER


def sanitized(runner, sanitizer, runtime, words):
    """A program that was built with a sanitizer: what that is to find is found, and nothing else."""
    first = subprocess.run(
        ["gcc", f"-print-file-name={runtime}"], capture_output=True, text=True, check=False
    ).stdout.strip()
    program = f"watched-{sanitizer}"
    if not os.path.isabs(first) or not os.path.exists(
        runner.launcher.program(FOLDER, f"tutti-test-{program}")
    ):
        return
    first = os.path.realpath(first)

    def outcome_of(word, *libraries):
        # The leaks of the hosts are theirs. They are looked for at the end of every rank: a rank that fails by them
        # would have the launcher kill the others before they have told theirs.
        leaks = f"ASAN_OPTIONS=detect_leaks={'1:exitcode=0' if word == 'leak' else '0'}"
        wrapper = ["env", f"LD_PRELOAD={os.pathsep.join(libraries)}", leaks]
        return runner.start(2, program, [word], wrapper=wrapper).wait(120)

    def complaints(outcome):
        return len(re.findall(r"(ERROR|WARNING): \w+Sanitizer", outcome.text))

    name = f"{runner.arguments.host} 2 with {sanitizer} sanitizer"
    # What a sanitizer says of the host, and how that ends with it, is not ours.
    alone, ours = outcome_of("works", first), outcome_of("works", first, str(runner.preload))
    if "unexpected memory mapping" in alone.text:
        return  # this kernel lays out memory as an older runtime does not expect it
    good = ours.status == alone.status and complaints(ours) <= complaints(alone)
    good = good and ("PASS watched" in ours.text) == ("PASS watched" in alone.text)
    runner.verdict(good, f"{name}: works", f"{ours.why()}, alone {alone.why()}", ours.text)
    for word, found in words.items() if "PASS watched" in alone.text else []:
        outcome = outcome_of(word, first, str(runner.preload))
        runner.verdict(bool(re.search(found, outcome.text)), f"{name}: {word}", outcome.why(), outcome.text)


def emulated(runner):
    """Under valgrind: what it is to find is found, and nothing that it does not find with the host alone."""
    if not shutil.which("valgrind"):
        return

    def reports(preload, word):
        with tempfile.TemporaryDirectory() as folder:
            wrapper = ["env", *([f"LD_PRELOAD={preload}"] if preload else ["-u", "LD_PRELOAD"])]
            wrapper += ["valgrind", "--leak-check=full", "--num-callers=40", f"--log-file={folder}/%p"]
            outcome = runner.start(2, "watched", [word], wrapper=wrapper).wait(300)
            text = "".join(each.read_text() for each in Path(folder).iterdir())
        return outcome, re.sub(r"^==\d+== ?", "", text, flags=re.MULTILINE)

    def kinds(text):
        found = collections.Counter()
        for paragraph in text.split("\n\n"):
            lines = paragraph.splitlines()
            # What a host has allocated and forgets, such as its note of our attribute, is the host's.
            of_host = "lost in" in paragraph and len(lines) > 2 and "(in /" in lines[2]
            if "\n   at 0x" in paragraph and not of_host:
                found[re.sub(r"[\d,]+", "N", lines[0])] += 1
        return found

    name = f"{runner.arguments.host} 2 with valgrind"
    _, alone = reports(None, "works")
    outcome, ours = reports(runner.preload, "works")
    more = kinds(ours) - kinds(alone)
    runner.verdict(outcome.status == 0 and not more, f"{name}: works", f"{outcome.why()}; {more}", ours)
    found = {
        "overflow": r"Invalid write of size 4\n.*mistake",
        "stale": r"Invalid read of size 4\n.*mistake",
        "uninitialised": r"Conditional jump.*\n.*mistake",
        "leak": r"80,000 bytes in 1 blocks are definitely lost",
    }
    for word, wanted in found.items() if runner.arguments.all else []:
        outcome, text = reports(runner.preload, word)
        good = outcome.status == 0 and re.search(wanted, text)
        runner.verdict(bool(good), f"{name}: {word}", outcome.why(), text)


def check(runner):
    """Tools that watch allocations see all of them."""
    mistakes = {
        "overflow": r"heap-buffer-overflow .*",
        "stale": r"heap-use-after-free .*",
        "leak": r"Direct leak of 80000 byte",
    }
    sanitized(runner, "address", "libasan.so", mistakes)
    sanitized(runner, "thread", "libtsan.so", {"stale": r"heap-use-after-free"})
    emulated(runner)
