"""Algorithms and mechanisms that are asked for by name while the job runs."""

import re

from runner import UNUSUAL_RANKS, UNUSUAL_SHARE

# The fuzzer asks for algorithms by name, in every round of so many, and these are the collectives of which the names
# must have run: all with --all, which takes longer, and otherwise so large a part of each collective's, as which name
# a draw means depends on what is eligible on the machine.
NAMED = [
    "Bcast",
    "Scatter",
    "Gather",
    "Allgather",
    "Alltoall",
    "Reduce",
    "Allreduce",
    "Reduce_scatter",
    "Scan",
]
NAMED_RANKS = 4
NAMED_SEED = 1
NAMED_ROUNDS = 150
NAMED_SHARE = 0.75


def check(runner):
    """Algorithms and mechanisms that are asked for by name while the job runs."""
    for ranks in UNUSUAL_RANKS:
        runner.fuzz(ranks, "fuzz with names", choices=True)
    # So few ranks are cut into groups only where that is asked for.
    variables = {"TUTTI_HIERARCHY": "2"}
    label = "fuzz with names, in groups of two"
    runner.fuzz(max(UNUSUAL_RANKS), label, share=UNUSUAL_SHARE, choices=True, variables=variables)
    rounds = NAMED_ROUNDS * (8 if runner.arguments.all else 1)
    words = ["--rounds", str(rounds), "--seed", str(NAMED_SEED), "--choices", "100", "--summary", "1"]
    # Not larger, so that many rounds take little time.
    words += ["--maximum-bytes", str(256 << 10), "--only", ",".join(NAMED)]
    outcome = runner.start(NAMED_RANKS, "fuzz", words).wait(600 if runner.arguments.all else 120)
    eligible, ran = {}, {}
    for found in re.finditer(r"^RAN (\w+) (\S+): (\d+) times.*?(eligible.*)?$", outcome.text, re.MULTILINE):
        collective, algorithm, times, is_eligible = found.groups()
        if is_eligible:
            eligible.setdefault(collective, set()).add(algorithm)
        if int(times):
            ran.setdefault(collective, set()).add(algorithm)
        if runner.arguments.verbose:
            print(f"    {found.group(0)}", flush=True)
    share = 1 if runner.arguments.all else NAMED_SHARE
    for name in NAMED:
        names = eligible.get(name.lower(), set())
        never = names - ran.get(name.lower(), set())
        runner.verdict(
            outcome.status == 0 and names and len(never) <= (1 - share) * len(names),
            f"{runner.arguments.host} {NAMED_RANKS} algorithms of {name} run by their names",
            f"{outcome.why()}; of {sorted(names)} these did not: {sorted(never)}",
            outcome.text,
        )
