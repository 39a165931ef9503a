"""Which ways to reach each other's memory the ranks here would find, as the library tries them at start-up."""

from typing import Dict

from tutti.doctor.limits import sharing_limited
from tutti.doctor.machine import Machine
from tutti.doctor.reach import xpmem_problem
from tutti.doctor.trials import Trial


def _word(trial: Trial) -> str:
    return trial.detail or ("works" if trial.worked else "does not work")


def mechanisms_of(machine: Machine) -> Dict[str, Dict[str, object]]:
    """By name: could ranks here use it (None: not known), and why. Settings are not looked at."""
    trials = machine.trials
    limited = sharing_limited(machine)
    # A peer gets the descriptor through /proc or over a socket.
    passed = trials["descriptors"]
    if not passed.worked and trials["sockets"].worked:
        passed = Trial(True)
    shared = next((trial for trial in (trials["memfd"], passed) if not trial.worked), Trial(True))
    if limited == "all":
        shared = Trial(False, "the limits of the process (ulimit -v, ulimit -f)")
    window = trials["window"] if shared.worked else shared
    if window.worked and limited == "window":
        window = Trial(False, "the limits of the process (ulimit -v, ulimit -f)")
    lacking = xpmem_problem(machine)[0]
    ways = {"window": window, "xpmem": Trial(not lacking, lacking), "cma": trials["cma"], "staged": shared}
    if not shared.worked:
        # Flags lie in shared memory: without it every collective stays with the MPI.
        ways = dict.fromkeys(ways, shared)
    return {name: {"usable": way.worked, "why": _word(way)} for name, way in ways.items()}
