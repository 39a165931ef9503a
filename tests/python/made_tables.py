"""Cells as `tutti tune` measures them, and tables as it writes them, made up."""

from tutti.tune.table import document

ORIGIN = {
    "processor": "Some 9000", "cores": "2", "topology": "1 socket, 2 cores", "host": "MPICH", "host_version": "5.0.2",
    "tutti": "0.1.0",
}  # fmt: skip


def cell(asked, us, count=1024, host_us=10.0, spread=0.01, predicted=None, **more):
    name = asked.partition(",")[0]
    known = {
        "collective": "bcast", "chosen_as": "bcast", "ranks": 2, "levels": 1, "ranks_per_core": 1.0, "reach": "mapped",
        "bytes": count, "class_bytes": count, "host_us": host_us, "host_low_us": host_us * 0.99,
        "host_high_us": host_us * 1.01, "checked": True, "predicted_us": predicted, "run": 1,
        "setup": ["", ""],
    }  # fmt: skip
    times = {"tutti_us": us, "tutti_low_us": us * (1 - spread), "tutti_high_us": us * (1 + spread)}
    return {"asked": asked, "algorithm": name, **known, **times, **more}


def entry(algorithm, low, high, **more):
    known = {"collective": "bcast", "ranks": [2, 2], "levels": 1, "ranks_per_core": 1.0, "reach": "mapped"}
    return {**known, "bytes": [low, high], "algorithm": algorithm, "gain": 1.0, **more}


def table(*entries, origin=ORIGIN):
    return document(origin, list(entries), {}, {})
