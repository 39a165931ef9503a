"""What make-believe nodes need of the kernel and Python does not have: namespaces, mounts, the end of a parent."""

import ctypes
import os
import signal
import subprocess
import sys

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result, what):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags):
    """This process leaves the namespaces that `flags` name for new ones; with CLONE_NEWPID its children do."""
    _check(_libc.unshare(flags), "unshare")


def mount(source, target, kind=None, flags=0, options=None):
    """mount(2). Raises OSError."""
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind, options)]
    _check(
        _libc.mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3]), f"mount {kind} {target}"
    )


def set_hostname(name):
    """Of this UTS namespace."""
    text = name.encode()
    _check(_libc.sethostname(text, len(text)), "sethostname")


def end_with_parent(parent):
    """This process is killed when `parent`, which has made it, ends in whatever way."""
    _check(_libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
    # It may have ended before. One in another PID namespace is seen as 0.
    if os.getppid() not in (0, parent):
        os.kill(os.getpid(), signal.SIGKILL)


def run_to_its_end(command, folder=None):
    """Runs a command that ends with this process, however that ends. Returns the exit status."""
    this = os.getpid()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    words = [str(word) for word in command]
    return subprocess.run(words, cwd=folder, check=False, preexec_fn=lambda: end_with_parent(this)).returncode


def keep_mounts_private():
    """What is mounted from now on is seen in this mount namespace only."""
    mount("none", "/", None, MS_REC | MS_PRIVATE)


def fresh_folder(path, kept=()):
    """Hides the folder `path` behind an empty one in memory, where the folders `kept` below it stay to be seen."""
    held = [(folder, os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)) for folder in kept]
    mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")
    for folder, descriptor in held:
        os.makedirs(folder, exist_ok=True)
        mount(f"/proc/self/fd/{descriptor}", folder, None, MS_BIND | MS_REC)
        os.close(descriptor)
