"""What `tutti sim` asks of tutti-sim, a program that runs the library's own collectives with ranks as fibres, in
simulated time."""

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional, Union

from tutti import places
from tutti.errors import UserError
from tutti.nearest import hint
from tutti.sim import machine as known

#: As users call what tutti-sim calls so.
REACHES = {"window": "mapped", "cma": "kernel", "staged": "staged"}


@dataclass
class Question:
    """What is asked; 0 and empty texts stand for what the machine's file says, or all."""

    collective: str
    sizes: str
    ranks: int = 0
    nodes: int = 0
    mapping: str = "core"
    root: int = 0
    mechanism: str = "window"
    algorithms: str = ""
    flat: bool = False
    hierarchy: str = ""
    meets: bool = False
    chunk: str = ""


def program() -> Path:
    """tutti-sim. It is a build of its own. Raises UserError that says how to make it."""
    built = os.path.join(places.ROOT, "build", "simulated", "simulation", "tutti-sim")
    for path in [built, *places.candidates("simulation", "libexec", "tutti-sim")]:
        if os.path.isfile(path):
            return Path(path)
    how = "cmake --preset simulated && ninja -C build/simulated tutti-sim"
    if not places.is_checkout():
        how = f"in a checkout: {how}; cmake --install build/simulated --prefix PREFIX"
    raise UserError(
        f"tutti-sim is not built. It takes Boost.Context (Debian: libboost-context-dev), and then {how}"
    )


def words_of(question: Question) -> List[str]:
    """The options of tutti-sim. Raises UserError."""
    if question.mechanism not in REACHES:
        raise UserError(
            f"--mechanism {question.mechanism}: expected {', '.join(REACHES)}{hint(question.mechanism, REACHES)}"
        )
    words = [
        f"--collective={question.collective}",
        f"--sizes={question.sizes}",
        f"--ranks={question.ranks}",
        f"--nodes={question.nodes}",
        f"--map={question.mapping}",
        f"--root={question.root}",
        f"--reach={REACHES[question.mechanism]}",
    ]
    if question.flat:
        words.append("--flat")
    if question.hierarchy:
        words.append(f"--hierarchy={question.hierarchy}")
    if question.chunk:
        words.append(f"--chunk={question.chunk}")
    if question.meets:
        words.append("--meets")
    if question.algorithms:
        words.append(f"--algorithms={question.algorithms}")
    return words


def ask(
    question: Question,
    machine: Union[Path, Dict[str, Any]],
    with_spans: bool = False,
    tool: Optional[Path] = None,
) -> Dict[str, Any]:
    """What tutti-sim says; with_spans: also what ranks do in a call (`trace`). Raises UserError with its one line."""
    tool = tool or program()
    with tempfile.TemporaryDirectory() as folder:
        path = machine if isinstance(machine, Path) else Path(folder) / "machine.json"
        if not isinstance(machine, Path):
            path.write_text(known.as_text(machine), encoding="utf-8")
        spans = Path(folder) / "spans.json"
        words = [str(tool), f"--machine={path}", *words_of(question)]
        if with_spans:
            words.append(f"--trace={spans}")
        try:
            done = subprocess.run(
                words, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False
            )
        except OSError as problem:
            raise UserError(f"{tool} cannot be started: {problem.strerror}") from problem
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines() or [f"tutti-sim ended with status {done.returncode}"]
            raise UserError(lines[-1].replace("tutti-sim: ", "", 1))
        told: Dict[str, Any] = json.loads(done.stdout)
        if with_spans:
            told["trace"] = json.loads(spans.read_text(encoding="utf-8"))
        return told
