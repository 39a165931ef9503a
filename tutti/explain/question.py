"""What `tutti explain` asks: which algorithm a collective would take, and what the others would cost.

Everything comes from the program `tutti-predict`, which runs the library's own code: the same settings of the
environment, the same files, the same shape, the same choice as in a run here and now.
"""

import json
import math
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional

from tutti.bench.words import CHOSEN_AS, parse_bytes
from tutti.doctor.machine import Machine
from tutti.doctor.mechanisms import mechanisms_of
from tutti.errors import UserError
from tutti.nearest import hint

#: Where nothing is said of a size.
DEFAULT_BYTES = "64K"
OVERVIEW_BYTES = "16M"
#: As tables name them.
HOST_NAMES = {
    "mpich": "MPICH",
    "abi": "MPICH",
    "openmpi": "Open MPI",
    "openmpi-debian": "Open MPI",
    "intel": "Intel MPI",
}
USUAL_MECHANISMS = "window,cma,staged"


@dataclass
class Question:
    """What is asked; empty texts, None and 0 stand for what a run here would have. `off` instead of a file: none."""

    collective: str = ""
    size: str = ""
    ranks: int = 0
    ranks_per_core: float = 0
    topology: str = ""
    hierarchy: str = ""
    mapping: str = ""
    mechanisms: str = ""
    algorithm: str = ""
    probe: Optional[Path] = None
    table: Optional[Path] = None
    host: str = ""
    ordered: bool = False
    #: Of a communicator that spans nodes: 128x18, or 2,3,1.
    nodes: str = ""
    #: One of those of `tutti sim`, instead of a topology and a probe.
    machine: str = ""


def usable_mechanisms(question: Question) -> str:
    """What works here, by trying it as `tutti doctor` does; on a machine that is described what there usually is. Empty
    if ranks here can share nothing."""
    if question.topology or os.environ.get("TUTTI_TOPOLOGY"):
        return USUAL_MECHANISMS
    return ",".join(name for name, way in mechanisms_of(Machine()).items() if way["usable"])


def _check_nodes(question: Question) -> None:
    """Raises UserError for what a communicator that spans nodes is not described by."""
    for option, value in (
        ("RANKS", question.ranks),
        ("--ranks-per-core", question.ranks_per_core),
        ("--hierarchy", question.hierarchy),
        ("--mapping", question.mapping),
        ("--mechanism", question.mechanisms),
    ):
        if value:
            raise UserError(
                f"{option} and --nodes exclude each other: --nodes says how many ranks there are where"
            )


def arguments_of(question: Question, usable: str) -> List[str]:
    """The question as tutti-predict takes it. usable: mechanisms, where the question names none. Raises UserError for a
    size that is none."""
    size = question.size or (DEFAULT_BYTES if question.collective else OVERVIEW_BYTES)
    if question.host and question.host not in (*HOST_NAMES, *HOST_NAMES.values()):
        raise UserError(
            f"--host {question.host}: expected {', '.join(HOST_NAMES)}{hint(question.host, HOST_NAMES)}"
        )
    if not 0 <= question.ranks_per_core < math.inf:
        raise UserError(
            f"--ranks-per-core {question.ranks_per_core:g}: expected a number, 0 for that of the mapping"
        )
    if question.nodes:
        _check_nodes(question)
    bytes_asked = 0 if question.collective == "barrier" else parse_bytes(size)
    arguments = [
        "--here",
        f"--bytes={bytes_asked}",
        f"--ranks={question.ranks}",
        f"--map={question.mapping or 'core'}",
        f"--mechanisms={question.mechanisms}" if question.mechanisms else f"--usable={usable or 'staged'}",
    ]
    collective = CHOSEN_AS.get(question.collective, question.collective)
    arguments.append(f"--collective={collective}" if question.collective else "--overview")
    for option, value in (
        ("ranks-per-core", f"{question.ranks_per_core:g}" if question.ranks_per_core else ""),
        ("topology", question.topology),
        ("hierarchy", question.hierarchy),
        ("algorithm", question.algorithm),
        ("probe", str(question.probe or "")),
        ("table", str(question.table or "")),
        ("host", HOST_NAMES.get(question.host, question.host)),
        ("nodes", question.nodes),
    ):
        if value:
            arguments.append(f"--{option}={value}")
    if question.ordered:
        arguments.append("--ordered")
    return arguments


def ask(tool: Path, question: Question) -> Dict[str, Any]:
    """What tutti-predict says. Its warnings go to standard error; raises UserError with its one line if it fails."""
    usable = USUAL_MECHANISMS if question.nodes else question.mechanisms or usable_mechanisms(question)
    command = [str(tool), *arguments_of(question, usable)]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except OSError as problem:
        raise UserError(f"{tool} cannot be started: {problem.strerror}") from problem
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()  # what it warned of before does not matter any more
        words = lines[-1] if lines else f"tutti-predict ended with status {done.returncode}"
        for theirs, ours in (
            ("tutti-predict: ", ""),
            ("--collective ", ""),
            ("--mechanisms ", "--mechanism "),
        ):
            words = words.replace(theirs, ours, 1)
        raise UserError(words)
    told: Dict[str, Any] = json.loads(done.stdout)
    told["warnings"] = [line.replace("tutti: ", "", 1) for line in done.stderr.splitlines()]
    if not usable:
        told["warnings"].append(
            "ranks share no memory here, so a run leaves every call to the MPI (tutti doctor)"
        )
    return told
