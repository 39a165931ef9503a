"""Programs that a command starts: none outlives it, whenever the interruption comes."""

import os
import signal
import sys
import threading
import time

import pytest

from tutti.children import child, interruptions_held

SLEEPER = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"


def is_gone(pid):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


def start(program, **options):
    words = {"said": lambda line: None, "silence": 600.0, **options}
    return child([sys.executable, "-c", program], dict(os.environ), **words)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_is_held_until_the_block_is_over(number):
    def stop(*_):
        raise KeyboardInterrupt

    def interrupted():
        with interruptions_held():
            os.kill(os.getpid(), number)
            time.sleep(0.01)
            reached.append("end of the block")
        reached.append("behind it")

    before = {each: signal.signal(each, stop) for each in (signal.SIGINT, signal.SIGTERM)}
    reached = []
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted()
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    assert reached == ["end of the block"]


def test_what_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with interruptions_held():
            os.kill(os.getpid(), signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def test_lines_status_and_what_was_said():
    said = []
    program = "import sys; print('one'); print('two'); print('why', file=sys.stderr); sys.exit(3)"
    with start(program, said=said.append) as running:
        assert list(running.lines()) == ["one\n", "two\n"]
        assert running.status() == 3
    assert (said, running.hung) == (["why\n"], False)


def test_a_program_that_is_silent_is_ended():
    with start(SLEEPER, silence=0.5) as running:
        (line,) = running.lines()
        assert running.status() == -signal.SIGTERM
    assert running.hung
    assert is_gone(int(line))


def test_a_program_ends_with_the_block_and_leaves_no_thread_that_keeps_python_alive():
    pids = []

    def interrupted():
        with start(SLEEPER) as running:
            pids.append(int(next(running.lines())))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert is_gone(pids[0])
    assert all(thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread())


def test_an_interruption_at_any_moment_of_the_start_leaves_nothing():
    """Thrown at a series of moments around the start of the program."""

    def stop(*_):
        raise KeyboardInterrupt

    def interrupted(pause):
        pause.start()
        with start(f"import time; marker = '{marker}'; time.sleep(600)"):
            time.sleep(60)

    marker = f"tutti-test-{os.getpid()}"
    before = signal.signal(signal.SIGINT, stop)
    try:
        for step in range(40):
            pause = threading.Timer(step * 0.0002, os.kill, (os.getpid(), signal.SIGINT))
            with pytest.raises(KeyboardInterrupt):
                interrupted(pause)
            pause.join()
    finally:
        signal.signal(signal.SIGINT, before)
    left = []
    for folder in os.listdir("/proc"):
        if folder.isdigit() and int(folder) != os.getpid():
            try:
                with open(f"/proc/{folder}/cmdline", errors="replace") as file:
                    left += [folder] if marker in file.read() else []
            except OSError:
                continue
    assert left == []
