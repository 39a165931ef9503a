"""What each rank does in one simulated call: as trace events for Perfetto, and as a picture."""

import json
from pathlib import Path
from typing import Any, Dict, List

from tutti.pictures import write_picture

#: Of the picture.
COLORS = {
    "wait": "#d9dde3",
    "copy": "#2a7f9e",
    "kernel": "#8a5a2b",
    "reduce": "#5b2a68",
    "store": "#8fc7b8",
    "message": "#c8102e",
}
LABELS = {
    "wait": "waits",
    "copy": "copies",
    "kernel": "has the kernel copy",
    "reduce": "combines",
    "store": "takes lines over",
    "message": "sends a message",
}


def _title(call: Dict[str, Any]) -> str:
    return f"{call['name']}, {call['bytes']} bytes"


def _begin(call: Dict[str, Any]) -> float:
    return min((float(span["begin"]) for span in call["spans"]), default=0.0)


def as_events(calls: List[Dict[str, Any]]) -> str:
    """JSON trace events: a process for each call, a thread for each rank. What ended a wait is an arrow."""
    events: List[Dict[str, Any]] = []
    arrows = 0
    for number, call in enumerate(calls):
        begin = _begin(call)
        events.append({"ph": "M", "name": "process_name", "pid": number, "args": {"name": _title(call)}})
        for rank in sorted({span["rank"] for span in call["spans"]}):
            name = {
                "ph": "M",
                "name": "thread_name",
                "pid": number,
                "tid": rank,
                "args": {"name": f"rank {rank}"},
            }
            events.append(name)
        for span in call["spans"]:
            at = {"pid": number, "tid": span["rank"], "ts": 1e6 * (span["begin"] - begin)}
            length = 1e6 * (span["end"] - span["begin"])
            peer = span["peer"]
            told = {"bytes": span["bytes"]} if span["bytes"] else {}
            if peer is not None:
                told["ended by" if span["what"] == "wait" else "peer"] = peer
            events.append(
                {"ph": "X", "name": span["what"], "cat": "tutti", **at, "dur": length, "args": told}
            )
            if span["what"] == "wait" and peer is not None:
                arrows += 1
                arrow = {"name": "ends the wait", "cat": "tutti", "id": arrows, "pid": number}
                end = at["ts"] + length
                events.append({"ph": "s", **arrow, "tid": peer, "ts": end})
                events.append({"ph": "f", "bp": "e", **arrow, "tid": span["rank"], "ts": end})
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}) + "\n"


def draw(calls: List[Dict[str, Any]], path: Path) -> None:
    """A row for each rank, a picture for each call, one below the other."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    shown = calls or [{"name": "nothing", "bytes": 0, "spans": []}]
    rows = [1 + max((span["rank"] for span in call["spans"]), default=0) for call in shown]
    height = sum(1.2 + min(10.0, 0.18 * count) for count in rows)
    figure = Figure(figsize=(10, height), layout="constrained")
    axes = figure.subplots(
        len(shown), 1, squeeze=False, height_ratios=[1.2 + min(10.0, 0.18 * n) for n in rows]
    )
    kinds = [kind for kind in COLORS if any(span["what"] == kind for call in shown for span in call["spans"])]
    for (axis,), call, count in zip(axes, shown, rows):
        begin = _begin(call)
        for kind in kinds:
            for rank in range(count):
                spans = [
                    (1e6 * (span["begin"] - begin), 1e6 * (span["end"] - span["begin"]))
                    for span in call["spans"]
                    if span["what"] == kind and span["rank"] == rank
                ]
                if spans:
                    axis.broken_barh(spans, (rank - 0.4, 0.8), color=COLORS[kind], linewidth=0)
        axis.set_title(_title(call), loc="left", fontsize=10)
        axis.set_ylabel("rank")
        axis.set_ylim(count - 0.5, -0.5)
        axis.set_xlabel("us")
    if kinds:
        figure.legend(
            handles=[Patch(color=COLORS[kind], label=LABELS[kind]) for kind in kinds],
            loc="outside upper right",
            ncols=3,
            fontsize=8,
            frameon=False,
        )
    write_picture(figure, path, 150)
