"""Arrays of neighbours and arrays that are handed over, by mpi4py; one line for all ranks where all is right."""

import gc

import numpy
from mpi4py import MPI

from tutti import mpi

comm = MPI.COMM_WORLD
rank, ranks = comm.rank, comm.size
before, behind = (rank - 1) % ranks, (rank + 1) % ranks

# What the rank before has.
own = mpi.alloc((100, 1000))
own[:] = rank
theirs = mpi.peer_array(comm, before, comm.sendrecv(mpi.handle(own), behind, source=before), own.shape)
shared = theirs is not None
assert shared == mpi.loaded()
if shared:
    assert (theirs == before).all()
    theirs[5, 7] = -1 - rank
    comm.barrier()
    assert own[5, 7] == -1 - behind
    own[5, 7] = rank
comm.barrier()
assert mpi.peer_array(comm, rank, mpi.handle(own), own.shape).ctypes.data == own.ctypes.data

# Round, and home again.
address, array = own.ctypes.data, own
for step in range(1, ranks + 1):
    given = mpi.igive(comm, array, behind, tag=step)
    if step % 2:
        array = mpi.take(comm, before, step, float)
    else:
        taken = mpi.itake(comm, tag=step, dtype=float)
        over = False
        while not over:
            over, array = taken.test()
        assert (taken.source, taken.tag) == (before, step)
    given.wait()
    array = array.reshape(100, 1000)
    assert (array == (rank - step) % ranks).all()
assert not shared or array.ctypes.data == address

# What cannot be given.
for wrong in (numpy.zeros(10), array[1:], array[:, :5], own):
    try:
        mpi.give(comm, wrong, behind)
        raise AssertionError("it was given")
    except ValueError:
        pass
try:
    own[0] = 1
    raise AssertionError("what was given away can be written to")
except ValueError:
    pass
assert mpi.take(comm, MPI.PROC_NULL) is None
mpi.give(comm, array, MPI.PROC_NULL)


def resident():
    with open("/proc/self/statm", encoding="utf-8") as file:
        return int(file.read().split()[1]) * 4096


# Nothing is left of a thousand.
for i in range(1000):
    request = mpi.igive(comm, mpi.alloc(50_000), behind)
    mpi.take(comm, before)[:8] = 1
    request.wait()
    if i == 300:
        gc.collect()
        at_first = resident()
assert resident() < at_first + (32 << 20), (resident(), at_first)
print(f"arrays of {ranks} ranks are right, {'shared' if shared else 'copied'}\n", end="", flush=True)
