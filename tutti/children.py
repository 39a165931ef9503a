"""Programs that a command starts and listens to. However it is interrupted, none of them outlives it."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, Sequence

#: What a program may take to end when it is asked to, in seconds; a launcher has its ranks to end first.
PATIENCE = 10.0


@contextlib.contextmanager
def interruptions_held() -> Iterator[None]:
    """Ctrl-C and SIGTERM that arrive in this block take effect at its end, so that what is made in it is known to those
    who must undo it. Does nothing outside of the main thread, where Python runs no signal handlers."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: List[int] = []
    before: Dict[int, Any] = {}
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            before[number] = signal.getsignal(number)
            if before[number] not in (signal.SIG_IGN, None):
                signal.signal(number, lambda which, frame: arrived.append(which))
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)
        if arrived:
            os.kill(os.getpid(), arrived[0])


def end(process: "subprocess.Popen[str]") -> None:
    """Ends a program that may still run: by asking, then by force."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Child:
    """A program whose standard output is read line by line while its standard error is collected.

    words, environment: as for subprocess. said: called with each line of standard error, in a thread of its own.
    silence: seconds without a line on standard output after which the program is taken for hung and ended.
    """

    def __init__(
        self,
        words: Sequence[str],
        environment: Dict[str, str],
        said: Callable[[str], None],
        silence: float,
    ) -> None:
        #: Whether it was ended because it had fallen silent.
        self.hung = False
        self._silence = silence
        self._last_line = time.monotonic()
        self._over = threading.Event()
        self._process = subprocess.Popen(
            list(words), env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, errors="replace",
        )  # fmt: skip
        # Daemons: whatever becomes of this object, the interpreter does not wait for them.
        self._listener = threading.Thread(target=self._listen, args=(said,), daemon=True)
        self._listener.start()
        threading.Thread(target=self._watch, daemon=True).start()

    def _listen(self, said: Callable[[str], None]) -> None:
        for line in self._process.stderr or []:
            said(line)

    def _watch(self) -> None:
        while not self._over.wait(min(1.0, self._silence / 4)):
            if time.monotonic() - self._last_line > self._silence:
                self.hung = True
                end(self._process)
                return

    def lines(self) -> Iterator[str]:
        """Its standard output, until it ends."""
        for line in self._process.stdout or []:
            self._last_line = time.monotonic()
            yield line

    def status(self) -> int:
        """Waits for its end, and until all that it said has been heard; its exit status."""
        status = self._process.wait()
        self._listener.join(timeout=5)
        return status

    def close(self) -> None:
        """Ends it if it still runs."""
        self._over.set()
        end(self._process)
        if self._process.stdout:
            self._process.stdout.close()


@contextlib.contextmanager
def child(
    words: Sequence[str],
    environment: Dict[str, str],
    said: Callable[[str], None],
    silence: float,
) -> Iterator[Child]:
    """A Child that does not outlive the block."""
    started: List[Child] = []
    try:
        with interruptions_held():
            started.append(Child(words, environment, said, silence))
        yield started[0]
    finally:
        for one in started:
            one.close()
