"""Python in a rank: fork, multiprocessing and subprocess leave the parent's arrays alone and see them as they were."""

import array
import ctypes
import multiprocessing
import os
import subprocess
import sys
import tempfile

SIZE = 3_000_000


def in_window(block):
    """Whether the bytes of a writable buffer lie in the window of this process."""
    return is_windows(ctypes.addressof(ctypes.c_char.from_buffer(block)))


def is_windows(address):
    """The same of an address."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            if "memfd:tutti-window" in line:
                begin, end = (int(part, 16) for part in line.split()[0].split("-"))
                if begin <= address < end:
                    return True
    return False


def take_static_data():
    """As MPI_Init does; the types of the interpreter are objects of its static data."""
    take = ctypes.CDLL(None)["_ZN5tutti6memory16take_static_dataEv"]
    take.restype = None
    take()
    assert is_windows(id(int))


def child_ends_well(pid):
    """Wait for a child made by os.fork; it must have ended with 0."""
    _, status = os.waitpid(pid, 0)
    assert status == 0, status


def double_in_worker(index):
    """Run in a pool's worker: reads an array inherited from the parent, and writes its own copy of it."""
    value = SHARED[index]
    SHARED[index] = -1
    return 2 * value


def os_fork():
    """os.fork: contents as of the fork on one side, untouched on the other, also for the child's child."""
    data = bytearray(b"a" * SIZE)
    numbers = array.array("d", range(SIZE // 8))
    assert in_window(data)
    pid = os.fork()
    if pid == 0:
        good = data[SIZE - 1] == ord("a") and numbers[1000] == 1000 and not in_window(data)
        data[:] = b"b" * SIZE
        inner = os.fork()
        if inner == 0:
            os._exit(0 if data[7] == ord("b") else 1)
        child_ends_well(inner)
        data.extend(b"c" * SIZE)
        del numbers
        os._exit(0 if good and data[SIZE] == ord("c") else 1)
    data[:] = b"d" * SIZE
    numbers[1000] = -1
    child_ends_well(pid)
    assert data == b"d" * SIZE
    assert numbers[1000] == -1


def with_multiprocessing():
    """A pool of forked workers and a queue."""
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        assert pool.map(double_in_worker, range(0, 100000, 1000)) == list(range(0, 200000, 2000))
    assert SHARED[5000] == 5000
    queue = context.Queue()
    worker = context.Process(target=lambda: queue.put(bytes(SHARED)))
    worker.start()
    assert queue.get() == bytes(SHARED)
    worker.join()
    assert worker.exitcode == 0


def with_subprocess():
    """subprocess with and without what makes it fork itself, os.system and os.popen, and large input and output."""
    data = bytearray(os.urandom(SIZE))
    assert subprocess.run(["cat"], input=data, stdout=subprocess.PIPE, check=True).stdout == data
    forked = subprocess.run(
        ["cat"], input=data, stdout=subprocess.PIPE, check=True, preexec_fn=os.getpid, cwd="/"
    )
    assert forked.stdout == data
    assert os.system("exit 3") >> 8 == 3
    assert os.popen("echo words").read() == "words\n"
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        assert file.read() == data
    inner = [sys.executable, "-c", "print(len(bytearray(1000000)))"]
    assert subprocess.check_output(inner) == b"1000000\n"


SHARED = array.array("q", range(SIZE // 8))

if __name__ == "__main__":
    if sys.argv[1:] == ["static"]:
        take_static_data()
    assert in_window(SHARED)
    os_fork()
    with_multiprocessing()
    with_subprocess()
    try:
        import numpy
    except ImportError:
        numpy = None
    if numpy is not None:
        matrix = numpy.ones((500, 500))
        child = os.fork()
        if child == 0:
            matrix *= 2
            os._exit(0 if matrix.sum() == 500000 else 1)
        child_ends_well(child)
        assert matrix.sum() == 250000
