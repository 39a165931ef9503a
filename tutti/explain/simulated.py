"""The simulated times of `tutti explain --simulate`: what `tutti sim` makes of the same call on the same machine."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict

from tutti import files
from tutti.errors import UserError
from tutti.explain.question import USUAL_MECHANISMS, Question
from tutti.sim import machine as known
from tutti.sim import question as sim


def on_machine(question: Question) -> Question:
    """With --machine: the same of the topology, the costs, the ranks and the nodes of its file. Raises UserError."""
    if not question.machine:
        return question
    if question.topology or question.probe:
        raise UserError("--machine says what --topology and --probe say; give one or the other")
    path = known.find(question.machine)
    about = files.read_json(path).get("machine", {})
    ranks = question.ranks or about.get("ranks", 0)
    found = replace(question, topology=about.get("description", ""), probe=path)
    if question.nodes or (about.get("nodes", 1) > 1 and not question.ranks):
        return replace(found, nodes=question.nodes or f"{about['nodes']}x{ranks}")
    return replace(found, ranks=ranks)


def _mechanism(question: Question) -> str:
    """The first that serves, as `tutti sim` calls it: xpmem has peers load and store as the window does."""
    there = (question.mechanisms or USUAL_MECHANISMS).replace("xpmem", "window").split(",")
    return next((name for name in sim.REACHES if name in there), "staged")


def add_times(told: Dict[str, Any], question: Question) -> None:
    """Adds `simulated` to each candidate: seconds, None if tutti-sim has none. Raises UserError."""
    shape = told["shape"]
    if "candidates" not in told:
        raise UserError("which collective is to be simulated? tutti explain bcast 64K --simulate ...")
    least, most = shape.get("ranks_per_node", 2 * [shape["ranks"]])
    if least != most or shape.get("ranks_per_core", 1) > 1:
        raise UserError("--simulate: ranks that share a core, or nodes of different size, are not simulated")
    # There its size is that of a block.
    blocks = shape["ranks"] if told["collective"] == "reduce_scatter" else 1
    asked = sim.Question(
        told["collective"], str(shape["bytes"] // blocks), most, shape.get("nodes", 1), question.mapping or "core",
        mechanism=_mechanism(question), hierarchy=question.hierarchy,
    )  # fmt: skip
    source = told["model_source"]
    topology = question.topology or os.environ.get("TUTTI_TOPOLOGY", "")
    probe = source["path"] if source.get("fits") else ""
    machine = Path(question.probe or "") if question.machine else known.described(topology, probe or "")
    times = {each["name"]: each["cost"] for each in sim.ask(asked, machine)["sizes"][0]["candidates"]}

    def named(each: Dict[str, Any]) -> str:
        return (
            f"{each['name']},{each['parameter_name']}={each['parameter']}"
            if each.get("parameter")
            else each["name"]
        )

    told["candidates"] = [{**each, "simulated": times.get(named(each))} for each in told["candidates"]]
