"""Algorithms between nodes over the MPI's own messages, each process a node, without the library."""

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
