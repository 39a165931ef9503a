"""Threads of Python as ranks, by mpi4py; one line for each process where all is right."""

import threading

import numpy
from mpi4py import MPI

from tutti import mpi

THREADS = 2
comm = MPI.COMM_WORLD
team = mpi.Team(comm, THREADS)
right = [False] * THREADS


def run(number):
    with team.attached(number) as member:
        rank, size = member.rank, member.size
        assert (rank, size) == (comm.rank * THREADS + number, comm.size * THREADS)
        for count in (1, 1000, 100_000):
            mine, result = numpy.arange(count, dtype=float) + rank, numpy.empty(count)
            total = numpy.arange(count) * size + size * (size - 1) / 2
            member.allreduce(mine, result, MPI.SUM)
            assert (result == total).all()
            member.scan(None, mine, MPI.MAX)
            assert (mine == numpy.arange(count) + rank).all()
            for root in range(size):
                part = numpy.full(count, rank, dtype=numpy.int32)
                parts = numpy.empty((size, count), dtype=numpy.int32) if rank == root else None
                member.gather(part, parts, root)
                if rank == root:
                    assert (parts == numpy.arange(size)[:, None]).all()
                    parts += 1
                member.scatter(parts, part, root)
                assert (part == rank + 1).all()
                member.reduce(part, part.copy(), MPI.MIN, root)
                member.bcast(part, root)
                assert (part == root + 1).all()
            everything = numpy.empty((size, count))
            member.allgather(mine, everything)
            assert (everything[:, 0] == numpy.arange(size)).all()
            back = numpy.empty_like(everything)
            member.alltoall(everything, back)
            assert (back[:, 0] == rank).all()
            member.barrier()
        try:
            member.allgather(mine, everything[:, ::2])
            raise AssertionError("an array with gaps was received into")
        except ValueError:
            pass
    right[number] = True


others = [threading.Thread(target=run, args=(number,)) for number in range(1, THREADS)]
for each in others:
    each.start()
run(0)
for each in others:
    each.join()
assert all(right)
team.free()
print(f"{THREADS} threads of each of {comm.size} processes are right\n", end="", flush=True)
