"""`tutti probe`: measures this machine and writes what the library's model needs to know of it.

The measuring is done by the C++ program `tutti-probe-measure` (bench/probe.cpp); here it is started, its figures are
turned into parameters (fitting.py), and the file is written that docs/probe.md describes.
"""

import datetime
import json
import os
import platform
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

from tutti import __version__, places
from tutti.bench.measuring_program import parse_line
from tutti.children import child
from tutti.errors import UserError
from tutti.files import read_json, user_folder
from tutti.launch.library import find_tool
from tutti.probe.fitting import Fit, Line, combine_passes, fit, unsteady

#: Name and version of the file's layout; src/selection/machine.h has the same.
SCHEMA = "tutti-probe-1"
#: What the whole may take, in seconds.
SECONDS_MAX = 120.0
#: The program may be silent for its whole time and this much more before it is stopped.
PATIENCE = 60.0

#: What hwloc and the system say, without any measurement.
BY_HWLOC = {"private_cache", "kept_far", "page_bytes"}

Document = Dict[str, Any]


class Measured(NamedTuple):
    """What `tutti-probe-measure` printed."""

    lines: List[Line]
    #: What was left out, in words.
    left_out: List[str]
    #: Of those the one for which most figures failed; empty if none did.
    main_failure: str


def user_file() -> Path:
    """Where the library looks for a probe first."""
    return user_folder() / "probe.json"


def _tool(name: str, folder: str) -> Path:
    path = find_tool(name, folder)
    if path is None:
        raise UserError(f"{name} is not built; {places.remedy()}")
    return path


def _as_shipped() -> Dict[str, Any]:
    done = subprocess.run(
        [str(_tool("tutti-predict", "tools")), "--model-only"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=30,
    )  # fmt: skip
    return dict(json.loads(done.stdout))


def shipped_model() -> Dict[str, float]:
    """The parameters that the library has without a probe: every field of its model."""
    return dict(_as_shipped()["model"])


def unmeasured() -> Document:
    """The content of a file for this machine of which nothing was measured."""
    shipped = _as_shipped()
    return {
        **_head(),
        "machine": shipped["machine"],
        "model": shipped["model"],
        "shipped": list(shipped["model"]),
        "spread": {},
        "fits": {"kernel": None, "gamma": None},
        "left_out": ["shipped values stand for all of the machine's parameters; tutti probe measures them"],
        "warnings": [],
        "measurements": [],
    }


def network_of(path: Path) -> Document:
    """What `tutti probe --network` has written into a file, as a part of a document; nothing if there is none."""
    try:
        section = read(path).get("network") if path.exists() else None
    except UserError:  # what is to be replaced may be anything
        return {}
    return {"network": section} if section else {}


def measure(seconds: float, progress: Callable[[str, float], None]) -> Measured:
    """All measurements. progress: title and fraction done. Raises UserError."""
    words = [str(_tool("tutti-probe-measure", "bench")), "--seconds", f"{seconds:g}"]
    complaints: List[str] = []
    lines: List[Line] = []
    left_out: List[str] = []
    failures: Dict[str, int] = {}

    def said(text: str) -> None:
        value = parse_line(text)
        if value is not None and "progress" in value:
            progress(str(value.get("title", "")), float(value["progress"]))
        elif text.strip():
            complaints.append(text.strip())

    with child(words, dict(os.environ), said, silence=seconds + PATIENCE) as program:
        for text in program.lines():
            value = parse_line(text)
            if value is None:
                continue
            if "left_out" in value:
                left_out.append(str(value["left_out"]))
                failures.update({left_out[-1]: int(value["figures"])} if "figures" in value else {})
            elif "measure" in value:
                lines.append(value)
        status = program.status()
    if program.hung:
        raise UserError(f"tutti-probe-measure said nothing for {seconds + PATIENCE:.0f} s, stopped")
    if status != 0:
        said = complaints[0] if complaints else "nothing on standard error"
        raise UserError(f"tutti-probe-measure ended with status {status}: {said}")
    if not lines:
        raise UserError("tutti-probe-measure printed no measurement")
    return Measured(combine_passes(lines), left_out, max(failures, key=lambda why: failures[why], default=""))


def _head() -> Document:
    return {
        "schema": SCHEMA,
        "tutti": __version__,
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "kernel": f"{platform.system()} {platform.release()}",
    }


def document(
    lines: List[Line], left_out: List[str], shipped: Dict[str, float], seconds: float
) -> Tuple[Document, Fit]:
    """The file's content. What could not be measured has the shipped value, and says so."""
    fitted = fit(lines)
    machine = dict(next((line for line in lines if line["measure"] == "machine"), {}))
    machine.pop("measure", None)
    model = {name: fitted.model.get(name, value) for name, value in shipped.items()}
    missing = [name for name in shipped if name not in fitted.model]
    notes = list(left_out)
    if missing:
        notes.append(f"shipped values stand for {', '.join(missing)}: not measured here")
    return {
        **_head(),
        "machine": machine,
        "seconds": seconds,
        "model": model,
        "shipped": missing,
        "spread": fitted.spread,
        "fits": {"kernel": fitted.kernel, "gamma": fitted.gamma},
        "left_out": notes,
        "warnings": unsteady(lines),
        "measurements": [line for line in lines if line["measure"] != "machine"],
    }, fitted


#: What every file has, and of what kind it is.
_PARTS: Dict[str, type] = {
    "date": str, "machine": dict, "model": dict, "shipped": list, "fits": dict, "left_out": list, "measurements": list,
}  # fmt: skip
#: What a measurement says of itself is given by name in `select`; the rest are numbers or texts.
_NUMBERS = (int, float)


def what_is_wrong(value: Document) -> str:
    """Why a file of our schema is none that `document` made; empty if it is one."""
    for name, kind in _PARTS.items():
        if not isinstance(value.get(name), kind):
            return f'"{name}" is missing or of the wrong kind'
    for name, number in value["model"].items():
        if isinstance(number, bool) or not isinstance(number, _NUMBERS):
            return f'"{name}" of its model is no number'
    for row in value["measurements"]:
        if not isinstance(row, dict) or not isinstance(row.get("measure"), str):
            return "a measurement does not say what it is of"
        if isinstance(row.get("seconds"), bool) or not isinstance(row.get("seconds"), _NUMBERS):
            return f'a measurement of "{row["measure"]}" has no seconds'
    return ""


def read(path: Path) -> Document:
    """A file that `document` made. Raises UserError."""
    value = read_json(path)
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        found = value.get("schema") if isinstance(value, dict) else None
        raise UserError(f'{path}: its schema is {json.dumps(found)}, not "{SCHEMA}"')
    wrong = what_is_wrong(value)
    if wrong:
        raise UserError(f"{path}: {wrong}; measure again with tutti probe")
    return value


def verdict(path: Path) -> str:
    """Why the library would not use a file here, in its own words; empty if it would, or is not built."""
    tool = find_tool("tutti-predict", "tools")
    if tool is None:
        return ""
    done = subprocess.run(
        [str(tool), "--model-only", "--probe", str(path)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=30,
    )  # fmt: skip
    if done.returncode != 0:
        return done.stderr.strip().replace("tutti-predict: ", "", 1).replace(f"{path}: ", "", 1)
    return str(json.loads(done.stdout)["source"]["why_not"] or "")


def why_useless(value: Document, fitted: Fit, main_failure: str) -> str:
    """Why a new file would be no better than none, and what to do; empty if it is worth keeping."""
    if set(fitted.model) <= BY_HWLOC:
        why = main_failure or "; ".join(value["left_out"])
        return f"no parameter could be measured: {why}; tutti doctor says what is refused here and how to allow it"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "probe.json"
        file.write_text(json.dumps(value), encoding="utf-8")
        why = verdict(file)
    return f"the library would refuse what was measured: {why}; measure again" if why else ""
