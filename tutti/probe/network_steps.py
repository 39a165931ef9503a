"""`tutti probe --network` as it is typed: starts the measuring program by the user's launcher, and writes what it found
into the file of `tutti probe`."""

import json
import os
import shlex
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from tutti import files, places
from tutti.bench.measuring_program import parse_line
from tutti.children import child
from tutti.console import progress_bar
from tutti.errors import INTERRUPTED, UserError
from tutti.launch.hosts import Host, host_of_mpirun, installed_hosts
from tutti.lines import say, tell
from tutti.probe import measurement, network
from tutti.probe.fitting import Line

#: The program may be silent for so many seconds beside what it measures: launchers and networks take their time.
PATIENCE = 120.0


def _host(words: List[str], name: str) -> Host:
    """The MPI that the launcher starts. Raises UserError."""
    if not words:
        raise UserError(
            "--network starts ranks on several nodes: say how, as in tutti probe --network mpirun -n 8 --hostfile hosts"
        )
    if not name:
        return host_of_mpirun(words[0])
    found = installed_hosts()
    for host in found:
        if host.name == name:
            return host
    names = ", ".join(host.name for host in found) or "none"
    raise UserError(f"--host {name}: not installed or not built (there are: {names})")


def measure(words: List[str], host: Host, seconds: float) -> Tuple[Dict[str, Any], List[Line]]:
    """What the program says of the nodes, and its figures. Raises UserError."""
    program = host.network_probe
    if program is None:
        raise UserError(f"tutti-network-probe is not built for {host.title}; {places.remedy()}")
    command = [*words, str(program), "--seconds", f"{seconds:g}"]
    environment = {**os.environ, **host.environment()}
    complaints: List[str] = []
    about: Dict[str, Any] = {}
    figures: List[Line] = []
    error = ""
    try:
        with (
            child(command, environment, complaints.append, seconds + PATIENCE) as started,
            progress_bar() as bar,
        ):
            for text in started.lines():
                value = parse_line(text) or {}
                if "progress" in value:
                    bar(str(value.get("title", "")), float(value["progress"]))
                elif "network" in value:
                    about = dict(value["network"])
                elif "measure" in value:
                    figures.append(value)
                error = str(value.get("error", error))
            status = started.status()
    except OSError as problem:
        raise UserError(f"'{words[0]}' cannot be started: {problem.strerror}") from problem
    if error:
        raise UserError(error)
    if started.hung:
        raise UserError(
            f"nothing measured for {seconds + PATIENCE:.0f} s, stopped; command: {shlex.join(command)}"
        )
    if status != 0 or not about:
        said = next((text.strip() for text in complaints if text.strip()), "nothing on standard error")
        raise UserError(f"the launcher ended with status {status} ({said}); command: {shlex.join(command)}")
    return about, figures


def carry_out(words: List[str], host_name: str, output: Optional[Path], seconds: float, as_json: bool) -> int:
    """Measures, writes, prints. Returns the exit status. Raises UserError for what the user can put right."""
    host = _host(words, host_name)
    path = output or measurement.user_file()
    files.check_output(path)
    if path.exists():
        measurement.read(path)
    if os.environ.get("TUTTI_RANKS_PER_NODE") and output is None:
        raise UserError(
            "TUTTI_RANKS_PER_NODE is set, so the nodes are one machine, which says nothing of a network: name a file "
            "by --output"
        )
    about, figures = measure(words, host, seconds)
    section = network.section(about, figures, host.title)
    document = measurement.read(path) if path.exists() else measurement.unmeasured()
    files.write(path, json.dumps({**document, "network": section}, indent=1) + "\n")
    if as_json:
        print(json.dumps(section, indent=1))
        return 0
    for line in [*network.summary(section), f"written: {path}"]:
        tell(line)
    return 0


def run(words: List[str], host: str, output: Optional[Path], seconds: float, as_json: bool) -> int:
    """As `carry_out`, but Ctrl-C is one line and its own exit status; no process is left, and the old file stays."""
    try:
        return carry_out(words, host, output, seconds, as_json)
    except KeyboardInterrupt:
        say("stopped; no file was changed")
        return INTERRUPTED
