"""The timeline as a file for Perfetto (ui.perfetto.dev) and chrome://tracing: the Trace Event Format, complete
events."""

import json
from pathlib import Path
from typing import Any, Dict, List

from tutti import files
from tutti.profile.calls import Calls, Kind
from tutti.profile.recorded import Recorded


def trace_of(recorded: Recorded, calls: List[Calls], kinds: Dict[int, List[Kind]]) -> Dict[str, Any]:
    """A process for each rank, microseconds from the first MPI_Init on."""
    where = {each.kind: each.site.place.words() for each in calls}
    events: List[Dict[str, Any]] = []
    for rank in recorded.ranks:
        name = f"rank {rank.rank} ({rank.about['host']})"
        events.append({"ph": "M", "name": "process_name", "pid": rank.rank, "args": {"name": name}})
        events.append(
            {"ph": "M", "name": "process_sort_index", "pid": rank.rank, "args": {"sort_index": rank.rank}}
        )
        for event in rank.events:
            kind = kinds[rank.rank][event.row]
            events.append(
                {
                    "ph": "X",
                    "name": kind.function,
                    "cat": rank.about["rows"][event.row]["category"],
                    "pid": rank.rank,
                    "tid": event.thread,
                    "ts": round(event.begin * 1e6, 3),
                    "dur": round((event.end - event.begin) * 1e6, 3),
                    "args": {"where": where[kind], "how": kind.how, "communicator": kind.communicator},
                }
            )
    about = {key: recorded.about[key] for key in ("program", "mpi", "date", "version")}
    return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": about}


def write(path: Path, trace: Dict[str, Any]) -> None:
    """Raises UserError."""
    files.write(path, json.dumps(trace, separators=(",", ":")))
