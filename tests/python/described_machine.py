"""Machines that are only described (the JSON files in machines/): their files, limits, and what came of each try."""

import json
import stat
from pathlib import Path
from typing import Any, Dict, List, Optional

from tutti.doctor.machine import Machine
from tutti.doctor.trials import TRIES, Trial
from tutti.launch.hosts import Host

FOLDER = Path(__file__).resolve().parent / "machines"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


class DescribedMachine(Machine):
    """A machine whose files lie below a folder and whose kernel answers as it is told to.

    facts: files (path -> text), limits (name -> value; others are unlimited), processors, shm (bytes of /dev/shm),
    trials (name -> [worked, detail]; others work), kernel, is_root, environment, ranks (how many are asked about).
    """

    def __init__(self, folder: Path, facts: Dict[str, Any], hosts: Optional[List[Host]] = None) -> None:
        super().__init__(folder, facts.get("environment", {}), facts.get("ranks", 0))
        self.facts = facts
        self.known_hosts = hosts or []
        self.processors = list(range(facts.get("processors", 2)))
        for path, text in facts.get("files", {}).items():
            file = folder / path.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text + "\n", encoding="utf-8")
        self.trials = {name: Trial(*facts.get("trials", {}).get(name, [True])) for name in TRIES}
        if self.trials["window"].worked:
            self.trials["window"] = Trial(True, "", self.memory_bytes or 0)

    @classmethod
    def named(cls, name: str, folder: Path) -> "DescribedMachine":
        return cls(folder, json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")))

    def limit(self, name: str) -> Optional[int]:
        return self.facts.get("limits", {}).get(name)

    def filesystem_bytes(self, path: str) -> Optional[int]:
        return self.facts.get("shm")

    def device_problem(self, path: str) -> Optional[str]:
        return "Permission denied" if self.text(path) == "closed" else None

    @property
    def is_root(self) -> bool:
        return bool(self.facts.get("is_root"))

    @property
    def kernel(self) -> str:
        return str(self.facts.get("kernel", "Linux 6.8.0 x86_64"))

    @property
    def python_prefixes(self) -> List[Path]:
        named = [self.environment.get(name) for name in ("VIRTUAL_ENV", "CONDA_PREFIX")]
        return [Path(prefix) for prefix in named if prefix]

    def hosts(self) -> List[Host]:
        return self.known_hosts


def script(path: Path, text: str) -> Path:
    """An executable sh script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path
