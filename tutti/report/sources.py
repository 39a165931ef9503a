"""What a report is made from: files of other commands, told by their schema, and earlier reports, which hold theirs."""

import contextlib
import json
import re
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence

from tutti import files
from tutti.bench.runs import SCHEMA as BENCH
from tutti.errors import UserError
from tutti.probe import measurement

REPORT = "tutti-report-1"
_NUMBER = (int, float)
_MACHINE = {
    "core_count": int,
    "unit_count": int,
    "domain_counts": dict,
    "units": [{"os_index": int, "core": int}],
}
#: By kind: the schema, who writes it, and what the report takes from it: keys with their types; of a list, that of each
#: member.
_KINDS: Dict[str, Any] = {
    "probe": (measurement.SCHEMA, "tutti probe", {}),
    "table": ("tutti-table-1", "tutti tune", {
        "machine": {"processor": str, "cores": int}, "host": {"name": str},
        "entries": [{"collective": str, "ranks": [int], "bytes": [int], "algorithm": str}],
    }),
    "bench": (BENCH, "tutti bench --json", {
        "machine": dict, "options": dict, "hosts": [{"name": str, "title": str}],
        "cells": [{"host": str, "ranks": int, "collective": str, "bytes": int, "host_us": _NUMBER, "tutti_us": _NUMBER,
                   "ratio": _NUMBER}],
    }),
    "ran": ("tutti-explain-1", "TUTTI_EXPLAIN", {
        "program": str, "mpi": str, "ranks": int, "seconds": _NUMBER,
        "rows": [{"collective": str, "communicator": {"ranks": int}, "algorithm": str, "reason": str,
                  "mechanisms": dict, "calls": int, "bytes": int, "seconds": _NUMBER}],
    }),
    "choice": ("tutti-choice-1", "tutti explain --json", {"shape": {"ranks": int}}),
    "simulation": ("tutti-simulation-1", "tutti sim --json", {
        "collective": str, "ranks": int, "nodes": int, "reach": str, "meets": bool,
        "sizes": [{"bytes": int, "winner": str, "candidates": [{"name": str, "cost": _NUMBER, "inside": _NUMBER}]}],
    }),
    "doctor": ("tutti-doctor-1", "tutti doctor --json", {
        "machine": dict, "mechanisms": dict, "checks": [{"status": str, "title": str, "found": str}],
    }),
    "info": ("tutti-info-1", "tutti info --json", {"version": str, "hosts": [{"title": str}]}),
    "topology": (None, "tutti topo --json", {"machine": _MACHINE, "levels": [dict]}),
}  # fmt: skip
_WRITERS = ", ".join(writer for _, writer, _ in _KINDS.values())


class Source(NamedTuple):
    """A file that was read. kind: as in _KINDS."""

    name: str
    kind: str
    value: Dict[str, Any]

    @property
    def written_by(self) -> str:
        return str(_KINDS[self.kind][1])


def of_kind(sources: Sequence[Source], kind: str) -> List[Source]:
    return [source for source in sources if source.kind == kind]


@contextlib.contextmanager
def blamed(source: Source) -> Iterator[None]:
    """What is not as its writer writes it is the user's to put right. Raises UserError."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ZeroDivisionError) as problem:
        words = f"{type(problem).__name__} {problem}"
        raise UserError(f"{source.name}: not what {source.written_by} writes: {words}") from problem


def _missing(value: Any, expected: Any, where: str) -> str:
    """What of `expected` a value has not, in words; empty if nothing is missing."""
    kind = type(expected) if isinstance(expected, (dict, list)) else expected
    if not isinstance(value, kind):
        return f"{where or 'the file'} is missing or of the wrong kind"
    parts: List[Any] = []
    if isinstance(expected, dict):
        parts = [(value.get(key), part, f"{where}.{key}" if where else key) for key, part in expected.items()]
    elif isinstance(expected, list):
        parts = [(part, expected[0], f"{where}[{at}]") for at, part in enumerate(value)]
    return next(filter(None, (_missing(*part) for part in parts)), "")


def _recognised(name: str, value: Any) -> Source:
    """Raises UserError for what is none of ours, or not whole."""
    schema = value.get("schema") if isinstance(value, dict) else None
    looks_like_topology = isinstance(value, dict) and {"machine", "levels", "mapping"} <= set(value)
    for kind, (known, writer, expected) in _KINDS.items():
        if schema != known or (schema is None and not looks_like_topology):
            continue
        wrong = measurement.what_is_wrong(value) if kind == "probe" else _missing(value, expected, "")
        if wrong:
            raise UserError(f"{name}: not what {writer} writes: {wrong}")
        return Source(name, kind, value)
    found = "nothing of Tutti's" if schema is None else f"schema {json.dumps(schema)}"
    raise UserError(f"{name}: {found}; expected what one of these writes: {_WRITERS}, tutti report")


def _of_report(path: Path) -> List[Source]:
    """What an earlier report was made from. Raises UserError."""
    try:
        text = path.read_text(encoding="utf-8")
        found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
        value = json.loads(found.group(1)) if found else {}
    except OSError as problem:
        raise UserError(f"{path} cannot be read: {problem.strerror or problem}") from None
    except ValueError:
        value = {}
    if not isinstance(value, dict) or value.get("schema") != REPORT or _missing(value, {"files": [dict]}, ""):
        raise UserError(f"{path}: no page that tutti report has written")
    return [_recognised(str(one.get("name")), one.get("value")) for one in value["files"]]


def _read(path: Path) -> List[Source]:
    if path.suffix.lower() in (".html", ".htm"):
        return _of_report(path)
    # Python takes NaN for a number, browsers do not.
    value = json.loads(json.dumps(files.read_json(path)), parse_constant=lambda _: None)
    return [_recognised(path.name, value)]


def read(paths: Sequence[Path]) -> List[Source]:
    """The files, each once; of a folder its *.json. Raises UserError."""
    found: List[Path] = []
    for path in paths:
        inside = sorted(path.glob("*.json")) if path.is_dir() else [path]
        if not inside:
            raise UserError(f"{path}: a folder without *.json")
        found += inside
    return [source for path in dict.fromkeys(found) for source in _read(path)]


def here() -> List[Source]:
    """What there is without any measurement: the machine, and the user's probe and tables. Raises UserError."""
    from tutti.launch.library import find_tool
    from tutti.topo.model import describe

    folder = files.user_folder()
    measured = [measurement.user_file(), *sorted((folder / "tables").glob("*.json"))]
    sources = read([path for path in measured if path.exists()])
    tool = find_tool("tutti-topo", "tools")
    if tool is not None:
        sources.append(Source("this machine", "topology", describe(tool)))
    if not sources:
        raise UserError(
            f"nothing to report: neither a probe nor tables in {folder}; tutti probe and tutti bench measure"
        )
    return sources
