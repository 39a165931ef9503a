"""Buffers in memory of devices, of stand-ins for their runtimes."""

import os
import re

from runner import FOLDER, UNUSUAL_SHARE

RUNTIMES = ["cuda", "hip", "level-zero"]


def variables_of(runner):
    """What makes a program find the stand-ins."""
    folder = runner.launcher.build / FOLDER / "devices"
    paths = [str(folder), os.environ.get("LD_LIBRARY_PATH", "")]
    return {"LD_LIBRARY_PATH": os.pathsep.join(paths).rstrip(":")}


def check(runner):
    """Buffers in memory of devices, of stand-ins for their runtimes."""
    variables = variables_of(runner)
    host = runner.arguments.host
    ranks = [count for count in runner.arguments.ranks if count > 1]
    for runtime in RUNTIMES:
        for when in ("early", "late"):
            runner.program(f"devices of {runtime}, {when},", 2, "devices", [runtime, when], variables)
    partitioned = runner.launcher.build / FOLDER / f"tutti-test-devices-partitioned-{host}"
    for count in ranks:
        if partitioned.exists():
            runner.program("devices,", count, "devices-partitioned", variables=variables)
        if count > 2:
            runner.program("devices of cuda, late,", count, "devices", ["cuda", "late"], variables)
        runner.fuzz(
            count, "fuzz with devices", share=UNUSUAL_SHARE, words=["--devices", "cuda"], variables=variables
        )
    counted(runner, variables, ["a_broadcast_reaches_and_leaves_devices"], True)
    counted(runner, variables, ["what_the_processor_reaches_is_not_staged"], False)
    outcome = runner.start(
        2,
        "devices",
        ["cuda", "late", "a_broadcast_reaches_and_leaves_devices"],
        {**variables, "TUTTI_DEVICES": "off"},
    ).wait(60)
    runner.verdict(
        outcome.status != 0 and "PASS" not in outcome.text,
        f"{host} 2 devices, TUTTI_DEVICES=off: nothing is staged",
        outcome.why(),
        outcome.text,
    )


def counted(runner, variables, tests, staged):
    """Whether TUTTI_EXPLAIN tells what was staged."""
    outcome = runner.start(2, "devices", ["cuda", "late", *tests], {**variables, "TUTTI_EXPLAIN": "1"}).wait(
        60
    )
    found = re.search(r"^tutti: device buffers staged: ([1-9]\d*), \d.*B$", outcome.text, re.MULTILINE)
    runner.verdict(
        outcome.status == 0 and bool(found) == staged,
        f"{runner.arguments.host} 2 {tests[0]}: {'what was staged is told' if staged else 'nothing is told of'}",
        outcome.why(),
        outcome.text,
    )
