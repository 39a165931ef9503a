"""The machines of `tutti sim`: files of the form of `tutti probe` that say how the machine looks, too."""

import json
from pathlib import Path
from typing import Any, Dict, List

from tutti import files
from tutti.errors import UserError
from tutti.nearest import hint

FOLDER = Path(__file__).resolve().parent / "machines"


def names() -> List[str]:
    """Of those that come with Tutti."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def title(name: str) -> str:
    """In words."""
    about = files.read_json(FOLDER / f"{name}.json")["machine"]
    nodes = about.get("nodes", 1)
    words = f"{about['processor']}, {about['ranks']} ranks"
    return f"{words} on each of {nodes} nodes" if nodes > 1 else words


def find(name: str) -> Path:
    """The file of a machine: one that comes with Tutti, or a path. Raises UserError."""
    if name in names():
        return FOLDER / f"{name}.json"
    path = Path(name)
    if path.suffix == ".json" or path.exists():
        return path
    raise UserError(f"there is no machine {name}{hint(name, names())}; tutti sim --machines lists them")


def described(topology: str, probe: str) -> Dict[str, Any]:
    """A machine by its topology, and a file of `tutti probe` for what it costs; shipped values without."""
    told: Dict[str, Any] = (
        files.read_json(Path(probe)) if probe else files.read_json(FOLDER.parent / "ordinary.json")
    )
    if not isinstance(told, dict) or "model" not in told:
        raise UserError(f"{probe} is no file of tutti probe")
    about = told.get("machine", {})
    return {**told, "machine": {**about, "description": topology or about.get("description", "")}}


def as_text(told: Dict[str, Any]) -> str:
    return json.dumps(told)
