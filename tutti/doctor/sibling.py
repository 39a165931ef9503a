"""One of two processes that do to each other what the ranks of a job do. Started by tutti.doctor.trials, as a program.

It stands alone (nothing of tutti is imported), so that it starts quickly. It prints one JSON line a step: what it is
about to try (should a system-call filter end it, that line says where) and what came of it, its card in between, and
in the end what it sees of the sibling's writes. It reads the sibling's card and "look" in between, and ends with its
input.
"""

import array
import ctypes
import errno
import fcntl
import json
import mmap
import os
import platform
import select
import socket
import sys
from typing import Any, Dict, List, Optional

MAGIC = b"tutti doctor was here: "
BLOCK_BYTES = 256 * 1024
#: As the library has it: what it asks for is halved until it can be had, and below this it goes without a window.
LEAST_WINDOW_BYTES = 1 << 30
_NORESERVE = 0x40 if platform.machine() == "ppc64le" else 0x4000
_ADD_SEALS, _SEAL_SHRINK, _SEAL_GROW = 1033, 2, 4
_PREFERRED = 1
_NEW_NAMESPACES = 0x10000000 | 0x00020000  # of users and of mounts
_COLLAPSE = 25
#: mbind, get_mempolicy, pidfd_open.
_CALLS = {"x86_64": (237, 239, 434), "aarch64": (235, 236, 434), "ppc64le": (259, 260, 434)}

_libc = ctypes.CDLL(None, use_errno=True)


class _Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]  # noqa: RUF012


def _say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def _error(call: str, number: Optional[int] = None) -> str:
    number = ctypes.get_errno() if number is None else number
    return f"{call}: {errno.errorcode.get(number, str(number))} ({os.strerror(number)})"


def worked(detail: str = "") -> Dict[str, Any]:
    return {"worked": True, "detail": detail}


def refused(detail: str) -> Dict[str, Any]:
    return {"worked": False, "detail": detail}


def transfer(name: str, process: int, here: Any, there: int, count: int) -> Optional[str]:
    """process_vm_readv or process_vm_writev of `count` bytes. Returns what went wrong, or None."""
    function = getattr(_libc, name, None)
    if function is None:
        return f"{name}: not in this C library"
    function.restype = ctypes.c_ssize_t
    function.argtypes = [
        ctypes.c_int,
        ctypes.POINTER(_Piece),
        ctypes.c_ulong,
        ctypes.POINTER(_Piece),
        ctypes.c_ulong,
        ctypes.c_ulong,
    ]
    done = 0
    while done < count:
        ours = _Piece(ctypes.addressof(here) + done, count - done)
        theirs = _Piece(there + done, count - done)
        moved = function(process, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)
        if moved < 0:
            return _error(name)
        if moved == 0:
            return f"{name}: moved {done} of {count} bytes"
        done += moved
    return None


def pattern(process: int) -> bytes:
    """What a process's block holds: nobody else's."""
    text = MAGIC + str(process).encode() + b" "
    return (text * (BLOCK_BYTES // len(text) + 1))[:BLOCK_BYTES]


def _mounted(user: int, group: int) -> str:
    """Mounts it, in a process that ends then. Returns what went wrong, or nothing."""
    if _libc.unshare(_NEW_NAMESPACES):
        return _error("unshare")
    for name, line in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        try:
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(line)
        except OSError as problem:
            if name != "setgroups":
                return _error(f"/proc/self/{name}", problem.errno)
    if _libc.mount(b"tutti", b"/proc", b"tmpfs", ctypes.c_ulong(0), b"huge=advise,size=0"):
        return _error("mount")
    return ""


class Sibling:
    """The process's own memory, and what it tries."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.block = ctypes.create_string_buffer(pattern(self.pid), BLOCK_BYTES)
        self.inbox = ctypes.create_string_buffer(BLOCK_BYTES)
        self.results: Dict[str, Dict[str, Any]] = {}
        self.descriptor = -1
        self.window: Optional[mmap.mmap] = None
        self.socket: Optional[socket.socket] = None

    def attempt(self, name: str, action: Any) -> None:
        """Runs one try. An OSError is its failure."""
        _say(trying=name)
        try:
            self.results[name] = action()
        except OSError as problem:
            self.results[name] = refused(_error(name, problem.errno) if problem.errno else str(problem))
        except (ValueError, OverflowError, MemoryError) as problem:
            self.results[name] = refused(f"{name}: {problem}")
        _say(result=name, trial=self.results[name])

    # Alone.

    def memfd(self) -> Dict[str, Any]:
        self.descriptor = os.memfd_create("tutti-doctor", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.descriptor, mmap.PAGESIZE)
        with mmap.mmap(self.descriptor, mmap.PAGESIZE) as probe:
            probe[: len(MAGIC)] = MAGIC
        return worked()

    def make_window(self) -> Dict[str, Any]:
        """As large a shared mapping as the library would make, sparse."""
        if self.descriptor < 0:
            return refused("no memfd")
        wanted = os.sysconf("SC_PHYS_PAGES") * mmap.PAGESIZE
        problem = ""
        while wanted >= LEAST_WINDOW_BYTES:
            try:
                os.ftruncate(self.descriptor, wanted)
                self.window = mmap.mmap(self.descriptor, wanted, flags=mmap.MAP_SHARED | _NORESERVE)
                break
            except (OSError, ValueError, OverflowError) as failure:
                problem = str(failure)
                wanted = wanted // 2 // mmap.PAGESIZE * mmap.PAGESIZE
        if self.window is None:
            os.ftruncate(self.descriptor, mmap.PAGESIZE)
            return refused(f"no mapping of {LEAST_WINDOW_BYTES >> 30} GiB or more: {problem}")
        fcntl.fcntl(self.descriptor, _ADD_SEALS, _SEAL_SHRINK | _SEAL_GROW)
        return {**worked(), "bytes": wanted}

    def mount_huge(self) -> Dict[str, Any]:
        """A tmpfs with huge pages, which a child mounts where nobody else sees it."""
        told, tell = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(tell, _mounted(os.geteuid(), os.getegid()).encode())
            os._exit(0)
        os.close(tell)
        with os.fdopen(told, "rb") as end:
            problem = end.read().decode()
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            problem = "the process that mounts it was ended"
        return refused(problem) if problem else worked()

    def collapse(self) -> Dict[str, Any]:
        """Of no bytes: whether the kernel knows the advice."""
        known = _libc.madvise(None, ctypes.c_size_t(0), _COLLAPSE) == 0
        return worked() if known else refused("this kernel has no MADV_COLLAPSE")

    def get_mempolicy(self) -> Dict[str, Any]:
        numbers = _CALLS.get(platform.machine())
        if numbers is None:
            return {"worked": None, "detail": f"the call's number on {platform.machine()} is not known here"}
        mode = ctypes.c_int()
        status = _libc.syscall(numbers[1], ctypes.byref(mode), None, 0, None, 0)
        return worked() if status == 0 else refused(_error("get_mempolicy"))

    def mbind(self) -> Dict[str, Any]:
        numbers = _CALLS.get(platform.machine())
        if numbers is None:
            return {"worked": None, "detail": f"the call's number on {platform.machine()} is not known here"}
        page = mmap.mmap(-1, mmap.PAGESIZE)
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        node = ctypes.c_uint()
        _libc.getcpu(None, ctypes.byref(node))
        mask = (ctypes.c_ulong * 16)()
        word = ctypes.sizeof(ctypes.c_ulong) * 8
        mask[node.value // word % 16] = 1 << (node.value % word)
        status = _libc.syscall(
            ctypes.c_long(numbers[0]),
            ctypes.c_void_p(address),
            ctypes.c_size_t(mmap.PAGESIZE),
            ctypes.c_int(_PREFERRED),
            ctypes.byref(mask),
            ctypes.c_ulong(16 * word),
            ctypes.c_uint(0),
        )
        return worked() if status == 0 else refused(_error("mbind"))

    def affinity(self) -> Dict[str, Any]:
        before = os.sched_getaffinity(0)
        wanted = {max(before)}
        os.sched_setaffinity(0, wanted)
        now = os.sched_getaffinity(0)
        os.sched_setaffinity(0, before)
        return worked() if now == wanted else refused("sched_setaffinity: accepted, but without effect")

    def listen(self) -> Dict[str, Any]:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self.socket.bind(f"\0tutti-doctor-{self.pid}")
        return worked()

    # With the sibling.

    def cma(self, peer: Dict[str, Any]) -> Dict[str, Any]:
        copy = ctypes.create_string_buffer(BLOCK_BYTES)
        problem = transfer("process_vm_readv", peer["pid"], copy, peer["block"], BLOCK_BYTES)
        if problem:
            return refused(problem)
        if copy.raw != pattern(peer["pid"]):
            return refused("process_vm_readv: other bytes than the sibling's arrived")
        problem = transfer("process_vm_writev", peer["pid"], self.block, peer["inbox"], BLOCK_BYTES)
        return refused(problem) if problem else worked()

    def descriptors(self, peer: Dict[str, Any]) -> Dict[str, Any]:
        if peer["descriptor"] < 0:
            return {"worked": None, "detail": "there is no memfd to open"}
        path = f"/proc/{peer['pid']}/fd/{peer['descriptor']}"
        try:
            opened = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as problem:
            return refused(_error("open of /proc/<pid>/fd", problem.errno))
        return self.map_descriptor(opened)

    def map_descriptor(self, descriptor: int) -> Dict[str, Any]:
        """Maps all of the sibling's memory and leaves our number behind its magic word."""
        try:
            whole = os.fstat(descriptor).st_size
            with mmap.mmap(descriptor, whole, flags=mmap.MAP_SHARED | _NORESERVE) as memory:
                if memory[: len(MAGIC)] != MAGIC:
                    return refused("mmap: other bytes than the sibling's are there")
                memory[64:72] = self.pid.to_bytes(8, "little")
        except (OSError, ValueError, OverflowError) as problem:
            return refused(f"mmap of the sibling's memory: {problem}")
        finally:
            os.close(descriptor)
        return worked()

    def send(self, peer: Dict[str, Any]) -> Dict[str, Any]:
        if self.socket is None:
            return self.results["sockets"]
        if self.descriptor < 0:
            return {"worked": None, "detail": "there is no memfd to send"}
        descriptors = array.array("i", [self.descriptor])
        message = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)]
        # Not send_fds, which forgets the address in some versions of Python.
        self.socket.sendmsg([b"m"], message, 0, f"\0tutti-doctor-{peer['pid']}")
        return worked()

    def pidfd(self, peer: Dict[str, Any]) -> Dict[str, Any]:
        numbers = _CALLS.get(platform.machine(), (0, 0, 434))
        descriptor = _libc.syscall(numbers[2], peer["pid"], 0)
        if descriptor < 0:
            return refused(_error("pidfd_open"))
        os.close(descriptor)
        return worked()

    # What the sibling did to us.

    def look(self, peer: Dict[str, Any]) -> Dict[str, Dict[str, Any]]:
        """Which of the sibling's writes arrived here."""
        seen: Dict[str, Dict[str, Any]] = {
            "cma": worked()
            if self.inbox.raw == pattern(peer["pid"])
            else refused("process_vm_writev: it did not arrive")
        }
        if self.descriptor >= 0:
            with mmap.mmap(self.descriptor, mmap.PAGESIZE) as memory:
                arrived = memory[64:72] == peer["pid"].to_bytes(8, "little")
            seen["descriptors"] = worked() if arrived else refused("mmap: the sibling's write is not seen")
        if self.socket is not None:
            seen["sockets"] = self.receive()
        return seen

    def receive(self) -> Dict[str, Any]:
        assert self.socket is not None
        if not select.select([self.socket], [], [], 1.0)[0]:
            return refused("recvmsg: no descriptor came over the socket")
        _, descriptors, _, _ = socket.recv_fds(self.socket, 16, 1)
        if not descriptors:
            return refused("recvmsg: a message came without its descriptor")
        return self.map_descriptor(descriptors[0])


def main() -> None:
    """Tries everything, in step with the sibling."""
    own = Sibling()
    alone: List[Any] = [
        ("memfd", own.memfd),
        ("window", own.make_window),
        ("huge-mount", own.mount_huge),
        ("collapse", own.collapse),
        ("get_mempolicy", own.get_mempolicy),
        ("mbind", own.mbind),
        ("affinity", own.affinity),
        ("sockets", own.listen),
    ]
    for name, action in alone:
        own.attempt(name, action)
    _say(
        card={
            "pid": own.pid,
            "block": ctypes.addressof(own.block),
            "inbox": ctypes.addressof(own.inbox),
            "descriptor": own.descriptor,
        }
    )
    line = sys.stdin.readline()
    if not line:
        return
    peer = json.loads(line)
    together: List[Any] = [
        ("descriptors", own.descriptors),
        ("sockets", own.send),
        ("pidfd", own.pidfd),
        ("cma", own.cma),
    ]
    for name, action in together:
        own.attempt(name, lambda action=action: action(peer))
    _say(tried=True)
    if sys.stdin.readline():
        _say(seen=own.look(peer))
    sys.stdin.readline()


if __name__ == "__main__":
    main()
