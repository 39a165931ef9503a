"""The program of a host MPI that measures (bench/): where it is, and what it prints when it is run."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional

from tutti import places
from tutti.children import child
from tutti.errors import UserError
from tutti.launch.hosts import Host

#: A run that says nothing for this long is taken for hung, in seconds.
SILENCE_LIMIT = 300.0


def program_of(host: Host) -> Path:
    """The one for a host. Raises UserError if it is not built."""
    if host.bench is None:
        raise UserError(f"no benchmark is built for {host.title}; {places.remedy()}")
    return host.bench


def parse_line(line: str) -> Optional[Dict[str, Any]]:
    """A JSON object of the program's output, or None for anything else that a launcher may print."""
    line = line.strip()
    if not line.startswith("{"):
        return None
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def lines_of(words: List[str], environment: Dict[str, str], title: str) -> Iterator[str]:
    """The output of a program, line by line. Raises UserError if it fails or falls silent."""
    complaints: List[str] = []
    with child(words, environment, complaints.append, SILENCE_LIMIT) as program:
        yield from program.lines()
        status = program.status()
    if program.hung:
        raise UserError(f"{title}: nothing measured for {SILENCE_LIMIT:.0f} s, stopped")
    if status != 0:
        said = next((text.strip() for text in complaints if text.strip()), "nothing on standard error")
        raise UserError(
            f"{title}: the benchmark ended with status {status} ({said}); command: {shlex.join(words)}"
        )
    for text in complaints:
        if text.strip():
            print(text.rstrip(), file=sys.stderr)
