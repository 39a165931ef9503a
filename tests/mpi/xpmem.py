"""Memory that is attached, by a stand-in for libxpmem."""

import os
import re
import tempfile

from runner import FOLDER, UNUSUAL_RANKS, UNUSUAL_SHARE


def check(runner):
    """Memory that is attached, by a stand-in for libxpmem."""
    folder = runner.launcher.build / FOLDER / "stand_in"
    stand_in = {
        "TUTTI_MECHANISM": "xpmem",
        "TUTTI_XPMEM_DEVICE": "/dev/null",
        "LD_LIBRARY_PATH": os.pathsep.join([str(folder), os.environ.get("LD_LIBRARY_PATH", "")]).rstrip(":"),
    }
    ways = [
        ("xpmem", {"TUTTI_WINDOW_SIZE": "1"}),
        ("xpmem, few attachments", {"TUTTI_WINDOW_SIZE": "1", "TUTTI_XPMEM_CACHE": "3"}),
    ]
    for place, ranks in enumerate(UNUSUAL_RANKS):
        # Few attachments where there are many peers.
        for label, more in ways if runner.arguments.all else [ways[place]]:
            with tempfile.NamedTemporaryFile(mode="r") as log:
                variables = {**stand_in, **more, "XPMEM_STAND_IN_LOG": log.name}
                runner.program(label, ranks, "xpmem", variables=variables)
                balance(runner, f"{runner.arguments.host} {ranks} {label}", ranks, log.read())
        runner.fuzz(ranks, "fuzz with xpmem", share=UNUSUAL_SHARE, variables=stand_in)
    reasons = {
        "a grant that is refused": ({**stand_in, "XPMEM_STAND_IN_REFUSE": "get"}, "a peer cannot attach"),
        "an attachment that is refused": (
            {**stand_in, "XPMEM_STAND_IN_REFUSE": "attach"},
            "a peer cannot attach",
        ),
        "no libxpmem": (
            {**stand_in, "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")},
            "libxpmem.so",
        ),
        "no device": ({**stand_in, "TUTTI_XPMEM_DEVICE": "/dev/no-such-device"}, "/dev/no-such-device"),
    }
    for name, (variables, words) in reasons.items():
        outcome = runner.start(2, "faults", ["once"], {**variables, "TUTTI_VERBOSE": "1"}).wait(60)
        said = any("no xpmem" in line and words in line for line in outcome.tutti_lines())
        runner.verdict(
            outcome.status == 0 and said,
            f"{runner.arguments.host} 2 {name}: another way, and a line says why",
            outcome.why(),
            outcome.text,
        )


def balance(runner, name, ranks, log):
    """What the stand-in counted: all that was made, got and attached was given back."""
    counts = [[int(number) for number in re.findall(r" (\d+)(?![\d:])", line)] for line in log.splitlines()]
    good = len(counts) == ranks and all(
        made == removed == 1 and got == released == ranks - 1 and attached == detached > 0
        for made, removed, got, released, attached, detached in counts
    )
    runner.verdict(good, f"{name}: everything is given back", "", log)
