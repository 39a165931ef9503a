"""What `tutti` alone says on a terminal: what it is, what is here, and what to type next."""

from typing import Dict, List

from tutti import __version__
from tutti.doctor.hosts import Found, Hosts
from tutti.doctor.machine import Machine
from tutti.launch.hosts import how_to_get_one

#: More MPIs than these are counted only: ten lines are read, thirty are not.
SHOWN = 3


def _each_once(found: List[Found]) -> List[Found]:
    """One of each installation that works: a launcher may start programs of two ABIs."""
    by_prefix: Dict[str, Found] = {}
    for one in found:
        if one.launcher:
            by_prefix.setdefault(f"{one.prefix} {one.title}", one)
    return list(by_prefix.values())


def _next(command: str, what: str) -> str:
    return f"    {command:<32}{what}"


def welcome() -> str:
    """Ten lines."""
    machine = Machine()
    mpis = _each_once(Hosts(machine).found)
    lines = [
        f"Tutti {__version__} makes MPI programs faster on one machine, as they are: it carries out their collectives",
        "(MPI_Bcast, MPI_Allreduce, ...) in place of the MPI. Everything else goes to the MPI as before.",
    ]
    if not mpis:
        return "\n".join([*lines, f"No MPI was found here: {how_to_get_one()}. Then type tutti again."])
    for place, one in enumerate(mpis[:SHOWN]):
        lines.append(f"{'MPIs here:' if place == 0 else '':<12}{one.title:<22}{one.host.mpirun}")
    if len(mpis) > SHOWN:
        lines[-1] += f"; {len(mpis) - SHOWN} more: tutti info"
    ranks = len(machine.processors)
    return "\n".join(
        [
            *lines,
            "Type next:",
            _next("tutti bench", "a third of a minute for each MPI: it against Tutti, on this machine"),
            "Then:",
            _next(f"tutti run mpirun -n {ranks} ./app", "your program, as you start it anyway"),
            _next("tutti --help", "all commands"),
        ]
    )
