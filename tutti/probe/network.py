"""What messages between nodes cost: the figures of `tutti-network-probe`, the parameters taken from them, and words.

A figure is a line of that program (bench/network_probe.cpp). The parameters are those of src/network/cost.h.
"""

import datetime
import statistics
from typing import Any, Dict, List, Optional, Tuple

from tutti.errors import UserError
from tutti.probe.fitting import Line, select
from tutti.probe.sentences import time_text
from tutti.sizes import human_bytes

#: Bytes of messages that are all start-up.
SMALLEST = 8
#: From so many bytes on, steps from one length to the next show what a byte costs.
LONG = 4096

Section = Dict[str, Any]


def unasked_bytes(figures: List[Line]) -> int:
    """Bytes of the longest message measured that went without the receiver being asked first. Longer ones take one more
    round trip, 2 alpha_e. 0: no such step was found. Of one pair of nodes and one sender alone: others start and carry
    otherwise."""
    seconds = {
        int(line["bytes"]): float(line["seconds"]) for line in select(figures, "ping_pong", between=[0, 1])
    }
    sizes = sorted(seconds)
    steps = list(zip(sizes, sizes[1:]))
    # Where most is bytes. A step is one of them, or none.
    slopes = [(seconds[to] - seconds[size]) / (to - size) for size, to in steps if size >= LONG]
    byte = max(0.0, statistics.median_low(slopes)) if slopes else 0.0
    for size, longer in steps:
        if seconds[longer] - seconds[size] > 1.5 * seconds[sizes[0]] + (longer - size) * byte:
            return size
    return 0


def parameters(figures: List[Line]) -> Dict[str, float]:
    """alpha_e: half a round trip of the smallest messages, the median over pairs of nodes. beta_e: of the node's link,
    with as many senders as get most through. The rate: of the smallest messages, the same. Raises UserError."""
    starts = [float(line["seconds"]) for line in select(figures, "ping_pong", bytes=SMALLEST)]
    together = select(figures, "messages_at_once")
    rates = [
        1 / float(line["seconds"]) for line in together if line["bytes"] == SMALLEST and line["seconds"] > 0
    ]
    large = max((int(line["bytes"]) for line in together), default=0)
    bytes_in = [float(line["seconds"]) / large for line in together if line["bytes"] == large]
    if not starts or not rates or not bytes_in:
        raise UserError("tutti-network-probe did not measure all that is needed; run it again")
    start, byte = statistics.median(starts), min(bytes_in)
    return {
        "between_start": start,
        "between_byte": byte,
        "message_rate": max(rates),
        "unasked_bytes": unasked_bytes(figures),
    }


def section(about: Dict[str, Any], figures: List[Line], host: str) -> Section:
    """The part of the file: parameters, what they are of, and all figures. about: what the program says of nodes."""
    return {
        **parameters(figures),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "host": host,
        "nodes": about["nodes"],
        "ranks_per_node": about["ranks_per_node"],
        "make_believe": about["make_believe"],
        "measurements": figures,
    }


def _count_text(count: float) -> str:
    """1.23 million, 45.6 thousand."""
    return f"{count * 1e-6:.3g} million" if count >= 1e6 else f"{count * 1e-3:.3g} thousand"


def _rate_text(per_second: float) -> str:
    return f"{per_second * 1e-6:.3g} M/s" if per_second >= 1e6 else f"{per_second * 1e-3:.3g} k/s"


def _bandwidth_text(bytes_per_second: float) -> str:
    return f"{bytes_per_second * 8e-9:.3g} Gb/s"


def summary(found: Section) -> List[str]:
    """Lines for whoever measured: the parameters, then the paper's Figure 1, then round trips."""
    nodes, ranks = found["nodes"], found["ranks_per_node"]
    where = " of one machine" if found["make_believe"] else ""
    lines = [
        f"between {nodes} nodes{where}, up to {ranks} rank{'s' if ranks != 1 else ''} on each, by {found['host']}:",
        f"a message takes {time_text(found['between_start'])} to start; a node's link carries "
        f"{_bandwidth_text(1 / found['between_byte'])} and {_count_text(found['message_rate'])} messages a second",
    ]
    figures = found["measurements"]
    if found["unasked_bytes"]:
        lines.append(
            f"the receiver is asked before a message of more than {human_bytes(found['unasked_bytes'])} (rendezvous)"
        )
    lines += _table([("bytes", "half a round trip", "from", "to"), *_round_trips(figures)])
    return lines + _table([("senders", *_at_once_head(figures)), *_at_once(figures)])


def _round_trips(figures: List[Line]) -> List[Tuple[str, ...]]:
    rows = []
    for size in sorted({int(line["bytes"]) for line in select(figures, "ping_pong")}):
        some = select(figures, "ping_pong", bytes=size)
        middle = statistics.median(float(line["seconds"]) for line in some)
        least, most = min(float(line["lower"]) for line in some), max(float(line["upper"]) for line in some)
        rows.append((human_bytes(size), time_text(middle), time_text(least), time_text(most)))
    return rows


def _sizes_at_once(figures: List[Line]) -> List[int]:
    return sorted({int(line["bytes"]) for line in select(figures, "messages_at_once")})


def _at_once_head(figures: List[Line]) -> List[str]:
    return [f"{human_bytes(size)} messages" for size in _sizes_at_once(figures)]


def _at_once(figures: List[Line]) -> List[Tuple[str, ...]]:
    """How many messages a second, and of those that are not all start-up how many bits."""
    rows = []
    for senders in sorted({int(line["senders"]) for line in select(figures, "messages_at_once")}):
        row = [str(senders)]
        for size in _sizes_at_once(figures):
            line = next(iter(select(figures, "messages_at_once", senders=senders, bytes=size)), None)
            row.append(_cell(line, size))
        rows.append(tuple(row))
    return rows


def _cell(line: Optional[Line], size: int) -> str:
    if line is None or float(line["seconds"]) <= 0:
        return "-"
    rate = 1 / float(line["seconds"])
    return _rate_text(rate) if size <= SMALLEST else f"{_rate_text(rate)}, {_bandwidth_text(rate * size)}"


def _table(rows: List[Tuple[str, ...]]) -> List[str]:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in rows]
