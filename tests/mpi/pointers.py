"""Pointers to neighbours' memory, and blocks that change their owner."""

#: What keeps blocks from being handed over where they lie, and what is done with those that are.
SETTINGS = [
    ("TUTTI_CHECK", "1"),
    ("TUTTI_MECHANISM", "cma,staged"),
    ("TUTTI_HUGE", "off"),
    ("TUTTI_ENABLE", "0"),
]


def check(runner):
    """The functions from C, and the examples."""
    for count in (2, 3):
        runner.program("pointers:", count, "pointers")
        for size in (1000, 300000):
            check_example(runner, count, "halo", [size, 1 + count % 2, 3])
            check_example(runner, count, "pipeline", [size, 21, 2])
    if not runner.preload:
        return
    for name, value in SETTINGS:
        runner.program(f"pointers, {name}={value},", 2, "pointers", variables={name: value})


def check_example(runner, count, example, words):
    """The example program finds its own results right."""
    outcome = runner.start(count, f"example-{example}", words).wait(60)
    with_tutti = "with" if runner.preload else "without"
    good = outcome.status == 0 and f"bytes, {with_tutti} Tutti: 0 " in outcome.text
    if example == "halo":
        good = good and ("there are none" in outcome.text) != bool(runner.preload)
    name = f"{runner.arguments.host} {count} the example {example}, {' '.join(map(str, words))}"
    runner.verdict(good, name, outcome.why(), outcome.text)
