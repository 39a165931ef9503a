"""Processors: NUMA calls, binding, and how many there are for how many ranks."""

from dataclasses import replace
from typing import List, Optional, Set

from tutti.doctor.check import OK, UNKNOWN, WARN, Check
from tutti.doctor.machine import Machine
from tutti.doctor.reach import filtered, granting, unfiltered


def expanded(text: str) -> List[int]:
    """ "0-2,8" as [0, 1, 2, 8]."""
    numbers: List[int] = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if first.isdigit():
            numbers += range(int(first), int(last if last.isdigit() else first) + 1)
    return numbers


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _numa(machine: Machine) -> Check:
    name, title = "numa", "NUMA nodes and calls (get_mempolicy, mbind)"
    online = machine.text("/sys/devices/system/node/online")
    nodes = len(expanded(online)) if online else 1
    trials = [machine.trials[call] for call in ("get_mempolicy", "mbind")]
    for trial in trials:
        if trial.worked is None:
            return Check(name, title, UNKNOWN, f"{_count(nodes, 'node')}; {trial.detail}")
    refused = [trial.detail for trial in trials if not trial.worked]
    if not refused:
        return Check(name, title, OK, f"{_count(nodes, 'node')}; the calls work")
    found = f"{_count(nodes, 'node')}; {', '.join(refused)}"
    if nodes == 1:
        return Check(name, title, OK, f"{found}; with one node nothing is lost")
    return Check(
        name,
        title,
        WARN,
        found,
        "Tutti does without; MPIs print warnings and may place their memory on a far node, which is slower",
        "a kernel with CONFIG_NUMA=y"
        if any("ENOSYS" in detail for detail in refused) and not filtered(machine)
        else granting(machine, "SYS_NICE"),
    )


def _binding(machine: Machine) -> Check:
    name, title = "binding", "Binding to processors (sched_setaffinity)"
    trial = machine.trials["affinity"]
    online = expanded(machine.text("/sys/devices/system/cpu/online") or "")
    here = len(machine.processors)
    of = f"{here} of {len(online)} processors are this process's" if online else _count(here, "processor")
    if trial.worked:
        return Check(name, title, OK, f"allowed; {of}")
    if trial.worked is None:
        return Check(name, title, UNKNOWN, trial.detail)
    return Check(
        name,
        title,
        WARN,
        f"{trial.detail}; {of}",
        "only slower: ranks that are not bound count as one group, whatever the machine's caches and sockets",
        unfiltered(machine)
        if filtered(machine)
        else "ask who runs this machine which security module refuses sched_setaffinity (its log tells: dmesg)",
    )


def _quota(machine: Machine) -> Optional[float]:
    """Processors' worth of time that the control groups leave, None without a limit."""
    version, folders = machine.groups("cpu")
    least: Optional[float] = None
    for folder in folders:
        if version == 1:
            quota = machine.number(f"{folder}/cpu.cfs_quota_us")
            period = machine.number(f"{folder}/cpu.cfs_period_us")
        else:
            words = (machine.text(f"{folder}/cpu.max") or "max").split()
            quota = int(words[0]) if words[0].isdigit() else None
            period = int(words[1]) if len(words) > 1 and words[1].isdigit() else 100_000
        if quota is None or quota <= 0 or not period:
            continue
        least = quota / period if least is None else min(least, quota / period)
    return least


def _core_count(machine: Machine) -> int:
    cores: Set[str] = set()
    for processor in machine.processors:
        folder = f"/sys/devices/system/cpu/cpu{processor}/topology"
        siblings = machine.text(f"{folder}/thread_siblings_list")
        cores.add(siblings if siblings is not None else str(processor))
    return len(cores)


def _crowded(check: Check, ranks: int, cores: int, threads: int) -> Check:
    """More ranks than cores. What the library goes by are hardware threads: up to so many ranks nobody takes turns."""
    if ranks <= threads:
        consequence = (
            "only slower: ranks share the units and the nearest caches of their core; none has to take turns"
        )
    else:
        consequence = (
            "only slower: ranks take turns, a message may wait for a change of process, and Tutti's ranks sleep where"
            " they would spin"
        )
    return replace(
        check,
        found=f"{check.found}; {ranks / cores:.3g} ranks a core",
        consequence=consequence,
        remedy=f"start at most {_count(cores, 'rank')}, or where there are {ranks} cores: taskset, docker"
        " --cpuset-cpus, srun --cpus-per-task",
    )


def _cores(machine: Machine) -> Check:
    threads, cores, quota = len(machine.processors), _core_count(machine), _quota(machine)
    ranks = machine.asked_ranks
    name, title = "cores", f"Cores, for {_count(ranks, 'rank') if ranks else 'as many ranks'}"
    found = _count(cores, "core")
    if threads != cores:
        found += f" with {_count(threads, 'hardware thread')}"
    limited = quota is not None and quota < cores
    if limited:
        found += f", but time for {quota:g} of them (cgroup quota)"
    room = quota if quota is not None and limited else cores
    if ranks and ranks <= room:
        return Check(name, title, OK, f"{found}; a core for each rank")
    if limited:
        remedies = {
            "docker": "docker run --cpuset-cpus=... in place of --cpus=...",
            "podman": "podman run --cpuset-cpus=... in place of --cpus=...",
            "kubernetes": "whole processors as resources: {limits: {cpu: N}, requests: {cpu: N}}, static CPU manager",
        }
        fewer = f"start at most {_count(max(1, int(room)), 'rank')}"
        more = remedies.get(machine.container)
        return Check(
            name,
            title,
            WARN,
            f"{found}; {ranks / room:.3g} ranks for each" if ranks else found,
            "only slower: with more ranks than that, Tutti's ranks sleep where they would spin; where the MPI spins,"
            " all are stopped for a part of every period",
            f"{fewer}; or {more}" if more else fewer,
        )
    if ranks:
        return _crowded(Check(name, title, WARN, found), ranks, cores, threads)
    if cores == 1:
        return Check(
            name,
            title,
            WARN,
            found,
            "only slower: two ranks take turns, and each message costs a change of process",
            "start it where a core for each rank is free: taskset, docker --cpuset-cpus, srun --cpus-per-task",
        )
    return Check(name, title, OK, f"{found}; more ranks take turns")


def _progress(machine: Machine) -> Check:
    """Whether a processor is free for each rank's thread that makes nonblocking collectives go on meanwhile."""
    quota = _quota(machine)
    room = min(len(machine.processors), int(quota) if quota is not None else len(machine.processors))
    ranks = machine.asked_ranks
    most = room // 2
    if (ranks or 2) <= most:
        whom = _count(ranks, "rank") if ranks else f"up to {_count(most, 'rank')}"
        found = f"one for each of {whom}: TUTTI_PROGRESS=thread lets calls go on while ranks compute"
    else:
        found = "not one for each rank too: calls go on in the program's calls of MPI, as TUTTI_PROGRESS=auto has it"
    return Check("progress", "Spare processors, for nonblocking collectives", OK, found)


def core_checks(machine: Machine) -> List[Check]:
    """Everything about processors, in the order in which it is shown."""
    return [_numa(machine), _binding(machine), _cores(machine), _progress(machine)]
