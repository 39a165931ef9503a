"""Communicators that follow the hardware: who is in them, and what they are on the machine that the tests run on."""

import os

import launcher as launchers
from jobs import Job
from runner import WORKAROUNDS

#: Three levels, as hardware.cpp has them.
TOPOLOGY = "package:2 numa:2 core:2 pu:1"
#: By MPI calls alone.
WITHOUT_TUTTI = ["broadcasts_from_conduit_to_conduit_reach_everybody", "hierarchies_without_tutti_have_nodes"]
#: On the machine itself, and each with its rank counts.
HERE = ["ranks_that_may_run_anywhere_stand_for_themselves_on_this_machine", *WITHOUT_TUTTI]
LONG = "a_thousand_hierarchies_leave_nothing"
DESCRIBED = [
    "guided_splits_have_the_ranks_of_an_object",
    "shared_memory_has_everybody_by_each_of_its_names",
    "what_nobody_knows_gives_none",
    "process_sets_split",
    "unguided_splits_go_down_to_the_end",
    "some_ranks_may_stay_out",
    "values_that_differ_are_ignored",
    "different_types_are_an_error_on_all",
    "the_info_tells_what_is_true",
    "hierarchies_have_groups_and_conduits",
    "all_levels_are_those_that_part_ranks",
    "broadcasts_from_conduit_to_conduit_reach_everybody",
    "wrong_leaders_are_refused",
]


def check(runner):
    """With described machines, on this one, and without the library."""
    if runner.arguments.host in launchers.HOSTS:
        for count in runner.arguments.ranks:
            if count == 4:  # as 5, which has one rank in another package
                continue
            if not runner.preload:
                runner.program("hardware", count, "hardware", WITHOUT_TUTTI)
                continue
            variables = {"TUTTI_TOPOLOGY": TOPOLOGY}
            words = [*DESCRIBED, LONG] if count == 2 else DESCRIBED
            runner.program("hardware", count, "hardware", words, variables)
            runner.program("hardware of this machine", count, "hardware", HERE)
            runner.program("hardware, switched off", count, "hardware", WITHOUT_TUTTI, {"TUTTI_ENABLE": "0"})
        for levels, root in (("auto", 0), ("node,NUMANode,Core", 1)):
            check_example(runner, levels, root)
    if runner.preload and runner.arguments.host in ("mpich", "abi"):
        check_nodes(runner)
    if runner.preload and 2 in runner.arguments.ranks:
        check_levels(runner)


def check_nodes(runner):
    """A machine that MPICH takes for two nodes is split into them first."""
    variables = {"TUTTI_TOPOLOGY": TOPOLOGY, "MPIR_CVAR_NUM_CLIQUES": "2"}
    outcome = runner.start(4, "hardware-levels", [], variables).wait(60)
    given = dict(line.split("\t", 1) for line in outcome.text.splitlines() if "\t" in line)
    wanted = {
        "shared": "2 2 2 2",
        "guided node": "2 2 2 2",
        "guided Package": "2 2 2 2",
        "guided Core": "1 1 1 1",
        "unguided": "2,1,- 2,1,- 2,1,- 2,1,-",
        "resource set mpi://WORLD": "4 4 4 4",
    }
    good = outcome.status == 0 and all(given.get(question) == wanted[question] for question in wanted)
    name = f"{runner.arguments.host} 4 levels of two nodes"
    runner.verdict(good, name, outcome.why(), outcome.text)
    outcome = runner.start(4, "example-hierarchy", ["auto", 3], variables).wait(60)
    good = (
        "0 values are wrong" in outcome.text and "level 0 : 2 ranks with the root, 2 leaders" in outcome.text
    )
    runner.verdict(good, f"{name}, the example", outcome.why(), outcome.text)


def check_example(runner, levels, root):
    """The example program finds its own results right."""
    variables = {"TUTTI_TOPOLOGY": TOPOLOGY}
    outcome = runner.start(5, "example-hierarchy", [levels, root], variables).wait(60)
    said = "with Tutti" if runner.preload else "without Tutti"
    good = outcome.status == 0 and f"{said}: 0 values are wrong" in outcome.text
    name = f"{runner.arguments.host} 5 the example broadcasts and reduces, {levels}"
    runner.verdict(good, name, outcome.why(), outcome.text)


def check_levels(runner):
    """Every host gives the same answers, which are those of the machine."""
    for binding in ("unbound", "bound"):
        given = answers(runner.launcher, binding)
        if len(os.sched_getaffinity(0)) < 2 and binding == "bound":
            continue
        wrong = {
            question: given.get(question)
            for question, answer in expected(binding).items()
            if given.get(question) != answer
        }
        name = f"{runner.arguments.host} 2 levels of this machine, {binding}"
        runner.verdict(not wrong, name, f"{wrong}", str(given))


def expected(binding):
    """What is so on any machine of at least two cores of one thread each in one package."""
    bound = binding == "bound"
    alone = "1 1" if bound else "- -"
    return {
        "shared": "2 2",
        "guided mpi_shared_memory": "2 2",
        "guided node": "2 2",
        "guided hwloc://PU": alone,
        "guided nonsense": "- -",
        "guided without a key": "- -",
        "resource set mpi://WORLD": "2 2",
        "resource set mpi://SELF": "1 1",
        "resource set nonsense": "- -",
        "differing": "- -",
    }


def answers(launcher, binding):
    """What the program says with two ranks: a dictionary of questions; "hangs" where it does not end."""
    given = {}
    for words in (["differing"], [binding]):
        options = [] if launcher.hydra else ["--bind-to", "core" if binding == "bound" else "none"]
        command = [launcher.program("tests/mpi", "tutti-test-hardware-levels"), *words]
        variables = dict(WORKAROUNDS.get(launcher.host, {}))
        if launcher.hydra and launcher.host != "intel":
            options = ["-bind-to", "core" if binding == "bound" else "none"]
        if launcher.host == "intel":
            variables["I_MPI_PIN"] = "1" if binding == "bound" else "0"
        outcome = Job(launcher.command(2, command, variables, options), launcher.environment).wait(20)
        for line in outcome.text.splitlines():
            question, tab, answer = line.partition("\t")
            if tab:
                given[question] = answer.strip()
        if outcome.timed_out:
            given[words[0] if words == ["differing"] else "all that follows"] = "hangs"
        elif outcome.status != 0 and words == ["differing"]:
            given.setdefault("differing", "ends the job")
    return given
