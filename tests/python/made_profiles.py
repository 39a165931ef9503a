"""Records as TUTTI_PROFILE writes them, of calls that are given."""

import json
import struct

#: Ticks a second, of all ranks' clocks.
TICKS = 1_000_000_000
#: The clock of rank 1 is ahead of that of rank 0.
AHEAD = 5 * TICKS


def row(function, site=0, **more):
    """A row as the library writes it."""
    row = {
        "site": site, "function": function, "communicator": 0, "category": "collective", "size_class": 3,
        "algorithm": "eager", "reason": "cheapest by the model", "way": "inline", "calls": 0, "bytes": 0, "ticks": 0,
        "waited": 0, "least": 0, "most": 0, "most_at": 0, "level": 0,
    }  # fmt: skip
    return {**row, **more}


def record(path, calls, rows, ranks=2, identity="7"):
    """Writes a record. calls: of each rank (row, begin, end, sequence, root) in milliseconds."""
    about = {
        "schema": "tutti-profile-1", "version": "0", "date": "2026-11-30T00:00:00Z", "program": "/x/app", "mpi": "MPI",
        "active": True, "why_inactive": "", "model_source": None, "table": None, "mechanisms": ["window"],
        "ranks": ranks, "cores": 2, "seconds": 1.0, "command": "./app <&>",
    }  # fmt: skip
    text = json.dumps(about).encode()
    content = b"tutti-profile-1\n" + struct.pack("=QQ", len(text), ranks) + text
    for rank in range(ranks):
        origin = AHEAD if rank else 0
        mine = [dict(each) for each in rows]
        samples = events = b""
        for number, begin, end, sequence, root in calls[rank]:
            begin, end = (origin + int(time * TICKS / 1000) for time in (begin, end))
            mine[number]["calls"] += 1
            mine[number]["ticks"] += end - begin
            mine[number]["most"] = max(mine[number]["most"], end - begin)
            mine[number]["most_at"] = begin
            samples += struct.pack("=QQQIi", begin, end, sequence, number, root)
            events += struct.pack("=QQII", begin, end, number, 0)
        communicator = {
            "identity": identity, "name": "MPI_COMM_WORLD", "rank": rank, "ranks": ranks, "nodes": 1, "levels": 1,
            "ranks_per_core": 1, "intercommunicator": False, "collectives": 9, "in_world": list(range(ranks)),
        }  # fmt: skip
        told = {
            "rank": rank, "host": "a", "node": 0, "process": 1, "seconds": 1.0, "first_tick": origin,
            "last_tick": origin + TICKS, "meetings": [[origin, 0], [origin + TICKS, TICKS]], "recorded": True,
            "least_event": 0, "events_left_out": 0, "threads": 1, "stretch": TICKS // 1000,
            "sites": [{"python": ["/x/a.py:3 main", "/x/a.py:9 <module>"], "frames": []}],
            "communicators": [communicator], "rows": [each for each in mine if each["calls"]] or mine,
            "sent": [[1 - rank, 2, 300]] if ranks == 2 else [], "filled": [[1000, 0, 0, 0]],
        }  # fmt: skip
        text = json.dumps(told).encode()
        content += (
            struct.pack("=QQQ", len(text), len(samples) // 32, len(events) // 24) + text + samples + events
        )
    path.write_bytes(content)
    return path
