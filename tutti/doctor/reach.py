"""How the ranks here can reach each other's memory, and what stands in the way."""

from typing import List, Tuple

from tutti.doctor.check import FAIL, OK, UNKNOWN, WARN, Check
from tutti.doctor.machine import Machine
from tutti.sizes import rounded

_SCOPE = "/proc/sys/kernel/yama/ptrace_scope"
_SCOPE_WORDS = {
    0: "0: processes of one user may read each other",
    1: "1: only a parent may read its child",
    2: "2: only with CAP_SYS_PTRACE",
    3: "3: nobody, not even root",
}
_SLOWER = "only slower: large messages in memory that peers have not mapped are copied twice, not once"


def granting(machine: Machine, capability: str) -> str:
    """How to start this kind of container so that it has a capability (without CAP_)."""
    container = machine.container
    if container == "kubernetes":
        return f"securityContext: {{capabilities: {{add: [{capability}]}}}} in the container's specification"
    if container == "apptainer":
        return f"sudo apptainer exec --add-caps CAP_{capability} IMAGE mpirun ..."
    tool = container or "docker"
    return f"{tool} run --cap-add={capability} ..."


def unfiltered(machine: Machine) -> str:
    """How to start this kind of container without its system-call filter."""
    container = machine.container
    if container == "kubernetes":
        return "securityContext: {seccompProfile: {type: Unconfined}} in the pod's specification"
    if container == "apptainer":
        return "apptainer exec without --security seccomp:..."
    if container:
        return f"{container} run --security-opt seccomp=unconfined ..."
    return "docker run --security-opt seccomp=unconfined ..., or a systemd unit without SystemCallFilter="


def filtered(machine: Machine) -> bool:
    """Is there a system-call filter?"""
    return (machine.field("/proc/self/status", "Seccomp") or "0") != "0"


def _scope_remedy(machine: Machine, scope: int) -> str:
    where = "on this container's host: " if machine.container else ""
    if scope >= 3:
        return (
            f"{where}echo kernel.yama.ptrace_scope=0 | sudo tee /etc/sysctl.d/99-ptrace.conf, and boot again"
            " (3 cannot be lowered at run time)"
        )
    lower = f"{where}sudo sysctl -w kernel.yama.ptrace_scope=0"
    return f"{lower}; or {granting(machine, 'SYS_PTRACE')}" if machine.container else lower


def _cma_remedy(machine: Machine) -> str:
    """By what the evidence points at: Yama lets a parent read its child at scope 1, a filter lets nobody."""
    detail = machine.trials["cma"].detail
    parent_can = machine.trials["cma-child"].worked
    scope = machine.number(_SCOPE) or 0
    steps: List[str] = []
    if scope and not (scope == 1 and parent_can is False):
        steps.append(_scope_remedy(machine, scope))
    if filtered(machine) and not parent_can:
        steps.append(f"{granting(machine, 'SYS_PTRACE')}, or {unfiltered(machine)}")
    if steps:
        return "; and ".join(steps)
    if "ENOSYS" in detail:
        return "a kernel with CONFIG_CROSS_MEMORY_ATTACH=y"
    if _own_namespace(machine):
        return "start mpirun inside of the container, so that all ranks are in one user namespace"
    return "ask who runs this machine which security module refuses process_vm_readv (its log tells: dmesg)"


def _cma(machine: Machine) -> Check:
    name, title = "cma", "Cross-memory attach, read and written by siblings"
    trial = machine.trials["cma"]
    if trial.worked:
        return Check(name, title, OK, "works both ways")
    if trial.worked is None:
        return Check(name, title, UNKNOWN, trial.detail)
    child = machine.trials["cma-child"].worked
    found = f"{trial.detail}; a parent can read its child" if child else trial.detail
    return Check(name, title, WARN, found, _SLOWER, _cma_remedy(machine))


def _ptrace_scope(machine: Machine) -> Check:
    name, title = "ptrace-scope", "Yama's ptrace scope"
    scope = machine.number(_SCOPE)
    if scope is None:
        return Check(name, title, OK, "no Yama in this kernel")
    words = _SCOPE_WORDS.get(scope, str(scope))
    if scope == 0:
        return Check(name, title, OK, words)
    if machine.trials["cma"].worked:
        return Check(name, title, OK, f"{words}; yet siblings can here")
    return Check(name, title, WARN, words, _SLOWER, _scope_remedy(machine, scope))


def _seccomp(machine: Machine) -> Check:
    name, title = "seccomp", "System-call filter"
    mode = machine.field("/proc/self/status", "Seccomp")
    if mode is None:
        return Check(name, title, UNKNOWN, "/proc/self/status does not tell")
    if mode == "0":
        return Check(name, title, OK, "none")
    count = machine.field("/proc/self/status", "Seccomp_filters")
    found = f"{count} filter{'' if count == '1' else 's'}" if count else "a filter"
    calls = {
        "cma-child": "process_vm_readv",
        "get_mempolicy": "get_mempolicy",
        "mbind": "mbind",
        "memfd": "memfd_create",
        "pidfd": "pidfd_open",
        "affinity": "sched_setaffinity",
    }
    refused = [call for trial, call in calls.items() if machine.trials[trial].worked is False]
    if not refused:
        return Check(name, title, OK, f"{found}; every call that matters passes")
    return Check(
        name,
        title,
        WARN,
        f"{found}; refused (by it or otherwise): {', '.join(refused)}",
        "see the checks of these calls",
        unfiltered(machine),
    )


def _own_namespace(machine: Machine) -> bool:
    rows = [line.split() for line in (machine.text("/proc/self/uid_map") or "").splitlines()]
    return bool(rows) and rows != [["0", "0", "4294967295"]]


def _user_namespaces(machine: Machine) -> Check:
    name, title = "user-namespaces", "User namespaces"
    most = machine.number("/proc/sys/user/max_user_namespaces")
    switch = machine.number("/proc/sys/kernel/unprivileged_userns_clone")
    may = "may be made" if most != 0 and switch != 0 else "may not be made"
    if machine.text("/proc/self/uid_map") is None:
        return Check(name, title, OK, "not in this kernel")
    if not _own_namespace(machine):
        return Check(name, title, OK, f"this is the machine's own; others {may}")
    found = "this is not the machine's own"
    if machine.trials["cma"].worked or machine.trials["descriptors"].worked:
        return Check(name, title, OK, f"{found}; processes started in it reach each other")
    return Check(
        name,
        title,
        WARN,
        found,
        "ranks that are started from outside, each in a namespace of its own, cannot read each other's memory",
        "start mpirun inside of the container: apptainer exec IMAGE mpirun ..., not mpirun ... apptainer exec IMAGE",
    )


def _memfd(machine: Machine) -> Check:
    name, title = "memfd", "Memory that can be shared (memfd_create)"
    trial, window = machine.trials["memfd"], machine.trials["window"]
    if trial.worked is None:
        return Check(name, title, UNKNOWN, trial.detail)
    if not trial.worked:
        return Check(
            name,
            title,
            FAIL,
            trial.detail,
            "no collective is taken over: all go to the MPI as without Tutti",
            unfiltered(machine) if filtered(machine) else "a kernel of version 3.17 or later",
        )
    if window.worked:
        return Check(name, title, OK, f"works; {rounded(window.bytes)} can be mapped")
    return Check(
        name,
        title,
        WARN if window.worked is False else UNKNOWN,
        window.detail,
        "only slower: no window, so large messages are read by cma or copied twice",
        "ulimit -v unlimited; ulimit -f unlimited",
    )


def _descriptors(machine: Machine) -> Check:
    name, title = "proc-fd", "A sibling's descriptors (/proc/<pid>/fd)"
    trial, sockets = machine.trials["descriptors"], machine.trials["sockets"]
    if trial.worked is None:
        return Check(name, title, UNKNOWN, trial.detail)
    if trial.worked:
        return Check(name, title, OK, "can be opened and mapped, both ways")
    remedy = granting(machine, "SYS_PTRACE") if machine.container else "start mpirun inside of one container"
    if sockets.worked:
        return Check(
            name,
            title,
            OK,
            f"{trial.detail}; sent over sockets instead, which works",
        )
    return Check(
        name,
        title,
        FAIL,
        f"{trial.detail}; over sockets: {sockets.detail}",
        "no collective is taken over: all go to the MPI as without Tutti",
        remedy,
    )


def _pidfd(machine: Machine) -> Check:
    name, title = "pidfd", "Noticing that a rank has died (pidfd_open)"
    trial = machine.trials["pidfd"]
    if trial.worked:
        return Check(name, title, OK, "works")
    if trial.worked is None:
        return Check(name, title, UNKNOWN, trial.detail)
    return Check(
        name,
        title,
        WARN,
        trial.detail,
        "nothing is slower; when a rank dies, only the launcher can tell the others",
        unfiltered(machine) if filtered(machine) else "a kernel of version 5.3 or later",
    )


def _xpmem_library(machine: Machine) -> str:
    """The library as the loader finds it; empty if there is none."""
    for name in ("libxpmem.so.0", "libxpmem.so"):
        folders = [part for part in machine.environment.get("LD_LIBRARY_PATH", "").split(":") if part]
        folders += ["/lib", "/usr/lib", "/lib64", "/usr/lib64", "/usr/local/lib", "/opt/xpmem/lib"]
        triples = ("x86_64-linux-gnu", "aarch64-linux-gnu", "powerpc64le-linux-gnu")
        folders += [f"/usr/lib/{triple}" for triple in triples]
        for folder in folders:
            if machine.exists(f"{folder}/{name}"):
                return f"{folder}/{name}"
    return ""


def xpmem_problem(machine: Machine) -> Tuple[str, str]:
    """(what is missing for xpmem, the remedy); both empty if nothing is."""
    device = machine.environment.get("TUTTI_XPMEM_DEVICE") or "/dev/xpmem"
    if not machine.exists(device):
        return f"no {device}", ""
    problem = machine.device_problem(device)
    if problem:
        inside = (
            f"; {machine.container} run --device={device}"
            if machine.container in ("docker", "podman")
            else ""
        )
        return f"{device}: {problem}", f"chmod 666 {device} as root{inside}"
    if not _xpmem_library(machine):
        return (
            f"{device} is there, libxpmem.so.0 is not found",
            "install libxpmem, or add its folder to LD_LIBRARY_PATH",
        )
    return "", ""


def _xpmem(machine: Machine) -> Check:
    name, title = "xpmem", "XPMEM"
    found, remedy = xpmem_problem(machine)
    if not found:
        return Check(name, title, OK, f"there, with {_xpmem_library(machine)}")
    if not remedy:
        return Check(name, title, OK, f"{found}; an extra that nothing needs")
    consequence = (
        "only slower: memory outside of the window is read by cma, or copied twice, instead of mapped"
    )
    return Check(name, title, WARN, found, consequence, remedy)


def reach_checks(machine: Machine) -> List[Check]:
    """Everything about reaching other ranks' memory, in the order in which it is shown."""
    parts = (_cma, _ptrace_scope, _seccomp, _user_namespaces, _descriptors, _memfd, _pidfd, _xpmem)
    return [part(machine) for part in parts]
