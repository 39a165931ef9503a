"""Python programs that may not use some system calls: the kernel's own filters (seccomp), as containers have them."""

import platform
import struct
import subprocess
import sys
from pathlib import Path
from typing import Dict

import pytest

ROOT = Path(__file__).resolve().parents[2]
ALLOW, REFUSE_EPERM, KILL = 0x7FFF0000, 0x00050001, 0x80000000
READV, MBIND, MEMFD, SET_AFFINITY = 310, 237, 319, 203

needs_filters = pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers of calls of x86-64")


def run_filtered(rules: Dict[int, int], code: str, *words: str) -> "subprocess.CompletedProcess[str]":
    """Runs Python code, which can import tutti, under a filter. rules: number of a call -> what is done about it.
    Skips the test where the kernel takes none."""
    program = b"".join(
        struct.pack("HBBI", *instruction)
        for instruction in [
            (0x20, 0, 0, 0),  # load the call's number
            *[
                step
                for call, verdict in rules.items()
                for step in ((0x15, 0, 1, call), (0x06, 0, 0, verdict))
            ],
            (0x06, 0, 0, ALLOW),
        ]
    )
    filtered = f"""
import ctypes, sys
sys.path.insert(0, {str(ROOT)!r})
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]
libc = ctypes.CDLL(None, use_errno=True)
rules = {program!r}
ctypes.create_string_buffer(rules)
program = Program(len(rules) // 8, rules)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(program), 0, 0): sys.exit(77)
{code}
"""
    done = subprocess.run(
        [sys.executable, "-c", filtered, *words], capture_output=True, text=True, timeout=300
    )
    if done.returncode == 77:
        pytest.skip("this kernel takes no system-call filter")
    return done
