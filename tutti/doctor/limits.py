"""Memory: how much there may be of it, and in pages of which size."""

import re
from typing import List, Optional, Tuple

from tutti.doctor.check import FAIL, OK, UNKNOWN, WARN, Check
from tutti.doctor.machine import Machine
from tutti.sizes import rounded

#: What the library makes of its own for each rank, what it makes do with, and what it wants for a window at least
#: (address space only, all of them).
_ARENA_BYTES = 2 << 30
_LEAST_ARENA_BYTES = 64 << 20
_LEAST_WINDOW_BYTES = 1 << 30
#: Of the address space, the part that a window may take.
_WINDOW_PART = 4
#: What a window keeps of freed memory at least, for each rank.
_KEPT_BYTES = 64 << 20
#: Under this the MPIs' own shared memory may not fit; Docker's 64 MiB is the usual case.
_LEAST_SHM_BYTES = 128 << 20
_SHM_BYTES_A_PROCESSOR = 16 << 20
#: Descriptors that a program may want beside one for each other rank.
_SPARE_DESCRIPTORS = 64

_NO_WINDOW = "only slower: no window, so large messages are read by cma or copied twice"


def _address_space(machine: Machine) -> Check:
    name, title = "address-space", "Address space of a process (ulimit -v)"
    limit = machine.limit("address-space")
    if limit is None:
        return Check(name, title, OK, "unlimited")
    remedy = "ulimit -v unlimited before mpirun; in a batch job ask for more memory or for no limit of virtual memory"
    window = limit // _WINDOW_PART
    ranks = max(2, machine.ranks)
    need = ranks * _ARENA_BYTES
    if limit < _LEAST_ARENA_BYTES * ranks:
        consequence = "no collective is taken over: there is no room for what ranks share"
        return Check(name, title, FAIL, rounded(limit), consequence, remedy)
    if window < _LEAST_WINDOW_BYTES:
        return Check(name, title, WARN, rounded(limit), _NO_WINDOW, remedy)
    consequence = f"the window of each rank is {rounded(window)}; what does not fit takes slower ways"
    if limit < need + ranks * window:
        consequence = f"{ranks} ranks may not find room for each other's windows, and then take slower ways"
    return Check(name, title, WARN, rounded(limit), consequence, remedy)


def _file_size(machine: Machine) -> Check:
    name, title = "file-size", "Size of a file (ulimit -f)"
    limit = machine.limit("file-size")
    if limit is None:
        return Check(name, title, OK, "unlimited")
    remedy = "ulimit -f unlimited before mpirun"
    if limit < _LEAST_ARENA_BYTES:
        consequence = (
            "no collective is taken over: what ranks share counts as a file; the MPI's own may fail too"
        )
        return Check(name, title, FAIL, rounded(limit), consequence, remedy)
    if limit < _LEAST_WINDOW_BYTES:
        consequence = "only slower: no window, as shared memory counts as a file; the MPI's own may fail too"
    elif machine.memory_bytes is None or limit < machine.memory_bytes:
        consequence = (
            f"the window of each rank is at most {rounded(limit)}; what does not fit takes slower ways"
        )
    else:
        return Check(name, title, OK, rounded(limit))
    return Check(name, title, WARN, rounded(limit), consequence, remedy)


def _open_files(machine: Machine) -> Check:
    name, title = "open-files", "Open descriptors (ulimit -n)"
    limit = machine.limit("open-files")
    need = _SPARE_DESCRIPTORS + machine.ranks
    if limit is None or limit >= need:
        return Check(name, title, OK, "unlimited" if limit is None else str(limit))
    return Check(
        name,
        title,
        WARN,
        f"{limit}, for {machine.ranks} ranks on this machine",
        "each rank keeps a descriptor of each other one; the program's own may run out",
        f"ulimit -n {max(1024, 2 * need)}",
    )


def _locked_memory(machine: Machine) -> Check:
    name, title = "locked-memory", "Locked memory (ulimit -l)"
    limit = machine.limit("locked-memory")
    found = "unlimited" if limit is None else rounded(limit)
    return Check(name, title, OK, f"{found}; Tutti locks none, network drivers do")


def _memory_limit(machine: Machine) -> Check:
    name, title = "memory-limit", "Memory limit of the control group"
    version, folders = machine.groups("memory")
    if version == 0:
        return Check(name, title, OK, "no control group")
    names = (
        ("memory.limit_in_bytes", "memory.usage_in_bytes")
        if version == 1
        else ("memory.max", "memory.current")
    )
    least: Optional[Tuple[int, int]] = None  # (left, limit)
    for folder in folders:
        limit = machine.number(f"{folder}/{names[0]}")
        if limit is None or (machine.memory_bytes and limit >= machine.memory_bytes):
            continue
        left = max(0, limit - (machine.number(f"{folder}/{names[1]}") or 0))
        least = min(least or (left, limit), (left, limit))
    if least is None:
        return Check(name, title, OK, f"none (cgroup v{version})")
    left, limit = least
    found = f"{rounded(limit)}, of which {rounded(left)} are left (cgroup v{version})"
    need = _KEPT_BYTES * machine.ranks
    if left >= need:
        return Check(name, title, OK, found)
    remedies = {
        "": "ask for more memory: srun --mem=..., or systemctl set-property UNIT MemoryMax=...",
        "kubernetes": "resources: {limits: {memory: ...}} in the container's specification",
        "docker": "docker run --memory=...",
        "podman": "podman run --memory=...",
    }
    return Check(
        name,
        title,
        WARN,
        found,
        f"{machine.ranks} ranks may keep {rounded(need)} of freed memory for reuse; the kernel may end one",
        remedies.get(machine.container, remedies[""]) + "; or TUTTI_WINDOW_SIZE=1, which is slower",
    )


def _dev_shm(machine: Machine) -> Check:
    name, title = "dev-shm", "/dev/shm, which MPIs use for their own messages"
    total = machine.filesystem_bytes("/dev/shm")
    need = max(_LEAST_SHM_BYTES, _SHM_BYTES_A_PROCESSOR * len(machine.processors))
    if total is not None and total >= need:
        return Check(name, title, OK, rounded(total))
    wanted = f"{max(1, -(-need >> 30))}g"
    container = machine.container
    remedies = {
        "docker": f"docker run --shm-size={wanted} ..., or --ipc=host",
        "podman": f"podman run --shm-size={wanted} ..., or --ipc=host",
        "kubernetes": "a volume emptyDir: {medium: Memory} mounted at /dev/shm",
        "apptainer": "apptainer exec --bind /dev/shm ...",
    }
    remedy = remedies.get(container, f"mount -o remount,size={wanted} /dev/shm as root")
    consequence = (
        f"Tutti does not use it; the MPI may fail or end with SIGBUS (rule of thumb: {rounded(need)})"
    )
    return Check(name, title, WARN, "not there" if total is None else rounded(total), consequence, remedy)


def _chosen(text: Optional[str]) -> str:
    """The word in brackets: "always [madvise] never"."""
    found = re.search(r"\[([^\]]+)\]", text or "")
    return found.group(1) if found else ""


_HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage"


def _without_huge_pages(machine: Machine, name: str, title: str, slower: str) -> Optional[Check]:
    """None if this kernel has some."""
    if machine.exists(_HUGE_PAGES):
        return None
    if not machine.exists("/sys/kernel/mm"):
        return Check(name, title, UNKNOWN, f"{_HUGE_PAGES} cannot be read")
    remedy = "a kernel of version 4.8 or later with CONFIG_TRANSPARENT_HUGEPAGE=y"
    return Check(name, title, WARN, "this kernel has none", slower, remedy)


def _huge_pages(machine: Machine) -> Check:
    name, title = "huge-pages", "Transparent huge pages"
    slower = "only slower: the first touch of a program's own large arrays, with or without Tutti"
    path = f"{_HUGE_PAGES}/enabled"
    lacking = _without_huge_pages(machine, name, title, slower)
    if lacking:
        return lacking
    text = machine.text(path) or ""
    word = _chosen(text)
    if word in ("always", "madvise"):
        return Check(name, title, OK, word)
    where = "on this container's host: " if machine.container else ""
    return Check(name, title, WARN, word or text, slower, f"{where}echo madvise | sudo tee {path}")


def _window_huge_pages(machine: Machine) -> Check:
    """The kind that a rank's window would be, as src/memory/window_file.cpp finds it (TUTTI_HUGE)."""
    name, title = "window-huge-pages", "Huge pages of the window"
    slower = "only slower: the first touch of large arrays, and of some programs what they read at random"
    none = _without_huge_pages(machine, name, title, slower)
    if none:
        return none
    word = _chosen(machine.text(f"{_HUGE_PAGES}/shmem_enabled"))
    mount, collapse = machine.trials["huge-mount"], machine.trials["collapse"]
    advised = word in ("always", "within_size", "advise", "force")
    lacking = []
    if word == "deny":
        lacking.append("mount: the system denies huge pages to shared memory")
    elif not mount.worked:
        lacking.append(f"mount: {mount.detail}")
    else:
        return Check(name, title, OK, "mount")
    lacking.append(f"advise: shmem_enabled is {word or 'not known'}")
    if advised:
        return Check(name, title, OK, f"advise, since not {lacking[0]}")
    kind = "collapse" if collapse.worked else "off"
    if not collapse.worked:
        lacking.append(f"collapse: {collapse.detail}")
    where = "on this container's host: " if machine.container else ""
    return Check(
        name,
        title,
        WARN,
        f"{kind}, since not {'; '.join(lacking)}",
        slower,
        f"{where}user namespaces for everybody, or echo advise | sudo tee {_HUGE_PAGES}/shmem_enabled",
    )


def sharing_limited(machine: Machine) -> str:
    """What the limits leave: "" for everything, "window" if there is no room for one, "all" if nothing is shared."""
    addresses, file = machine.limit("address-space"), machine.limit("file-size")
    ranks = max(2, machine.ranks)
    if _below(addresses, _LEAST_ARENA_BYTES * ranks) or _below(file, _LEAST_ARENA_BYTES):
        return "all"
    none = _below(addresses, _WINDOW_PART * _LEAST_WINDOW_BYTES) or _below(file, _LEAST_WINDOW_BYTES)
    return "window" if none else ""


def _below(limit: Optional[int], least: int) -> bool:
    return limit is not None and limit < least


def limit_checks(machine: Machine) -> List[Check]:
    """Everything about memory, in the order in which it is shown."""
    parts = (
        _address_space,
        _file_size,
        _open_files,
        _locked_memory,
        _memory_limit,
        _dev_shm,
        _huge_pages,
        _window_huge_pages,
    )
    return [part(machine) for part in parts]
