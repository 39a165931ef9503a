"""What the kernel lets the processes of a job do to each other, found out by doing it (see sibling.py)."""

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

#: Every try, as named in the result.
TRIES = (
    "memfd",
    "window",
    "huge-mount",
    "collapse",
    "get_mempolicy",
    "mbind",
    "affinity",
    "sockets",
    "descriptors",
    "pidfd",
    "cma",
    "cma-child",
)
_STEP_SECONDS = 15.0


@dataclass(frozen=True)
class Trial:
    """What came of one try."""

    #: None: it could not be tried; `detail` says why.
    worked: Optional[bool]
    #: What went wrong, e.g. "process_vm_readv: EPERM (Operation not permitted)".
    detail: str = ""
    #: Of "window": how large it can be.
    bytes: int = 0


class _Lost(Exception):
    """A sibling is gone or does not answer; the text says how."""


class _Sibling:
    """One of the two, seen from here."""

    def __init__(self) -> None:
        # Neither the user's site packages nor PYTHON* variables have a part in this.
        words = [sys.executable, "-I", "-S", str(Path(__file__).with_name("sibling.py"))]
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.buffer = b""
        self.trying = "start"
        self.results: Dict[str, Dict[str, Any]] = {}

    def say(self, what: Any) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(what).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise _Lost(self._end()) from None

    def hear(self, key: str, seconds: float = _STEP_SECONDS) -> Any:
        """The next line with this key. Raises _Lost."""
        assert self.process.stdout is not None
        deadline = time.monotonic() + seconds
        while True:
            line, newline, rest = self.buffer.partition(b"\n")
            if newline:
                self.buffer = rest
                said = json.loads(line)
                if key in said:
                    return said[key]
                self.trying = said.get("trying", self.trying)
                if "result" in said:
                    self.results[said["result"]] = said["trial"]
                continue
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise _Lost(f"no answer within {seconds:g} s")
            more = os.read(self.process.stdout.fileno(), 65536)
            if not more:
                raise _Lost(self._end())
            self.buffer += more

    def _end(self) -> str:
        try:
            status = self.process.wait(5)
        except subprocess.TimeoutExpired:
            return "it closed its output"
        if status < 0:
            return f"the process was ended by {signal.Signals(-status).name}"
        return f"the process ended with status {status}"

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                with contextlib.suppress(OSError):
                    stream.close()


def _read_child(card: Dict[str, Any]) -> Trial:
    """Whether a parent may read its child, which tells Yama's scope 1 from a system-call filter."""
    from tutti.doctor.sibling import BLOCK_BYTES, pattern, transfer

    copy = ctypes.create_string_buffer(BLOCK_BYTES)
    problem = transfer("process_vm_readv", card["pid"], copy, card["block"], BLOCK_BYTES)
    if problem:
        return Trial(False, problem)
    return Trial(copy.raw == pattern(card["pid"]))


def _combined(parts: Sequence[Dict[str, Any]]) -> Trial:
    """A try of both siblings: it worked if it worked for both."""
    for verdict in (False, None):
        for part in parts:
            if part["worked"] is verdict:
                return Trial(verdict, part["detail"])
    return Trial(True, parts[0]["detail"], min(part.get("bytes", 0) for part in parts))


def _converse(siblings: Sequence[_Sibling], found: Dict[str, Trial]) -> None:
    """Takes both siblings through their steps, each as soon as both have done the one before. Raises _Lost."""
    cards = [sibling.hear("card") for sibling in siblings]
    found["cma-child"] = _read_child(cards[0])
    for sibling, card in zip(siblings, reversed(cards)):
        sibling.say(card)
    for sibling in siblings:
        sibling.hear("tried")
    for sibling in siblings:
        sibling.say("look")
    for sibling in siblings:
        for name, seen in sibling.hear("seen").items():
            if sibling.results[name]["worked"]:
                sibling.results[name] = seen


def run_trials() -> Dict[str, Trial]:
    """Tries everything in TRIES, in two processes that are siblings, as ranks are. Takes some tenths of a second."""
    siblings: List[_Sibling] = []
    found: Dict[str, Trial] = {}
    why = ""
    try:
        for _ in range(2):
            siblings.append(_Sibling())
        _converse(siblings, found)
    except _Lost as problem:
        # What was being tried is at fault; what came after it is not known.
        stuck = next((each for each in siblings if each.process.poll() is not None), siblings[0]).trying
        why = f"not tried: {problem} at {stuck}"
        for sibling in siblings:
            with contextlib.suppress(_Lost):
                sibling.hear("what it tried before", 0.5)
        if stuck in TRIES:
            found[stuck] = Trial(False, f"{stuck}: {problem}")
    except OSError as problem:
        why = f"not tried: no process can be started: {problem.strerror}"
    finally:
        for sibling in siblings:
            sibling.stop()
    for name in TRIES:
        if name not in found:
            parts = [sibling.results[name] for sibling in siblings if name in sibling.results]
            found[name] = _combined(parts) if len(parts) == 2 else Trial(None, why)
    return found
