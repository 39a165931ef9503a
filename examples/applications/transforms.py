"""Transforms of real numbers on a grid of N^3 by mpi4py-fft, whose transposes are MPI_Alltoallw: N TIMES"""

import sys
import time

import numpy
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray

n, times = int(sys.argv[1]), int(sys.argv[2])
comm = MPI.COMM_WORLD
fft = PFFT(comm, (n, n, n), axes=(0, 1, 2), dtype=float)
u = newDistArray(fft, False)
u[:] = numpy.random.default_rng(comm.rank).random(u.shape)
comm.Barrier()
begin = time.time()
for _ in range(times):
    u = fft.backward(fft.forward(u), u)
total = comm.allreduce(float(numpy.sum(u * u)))
if comm.rank == 0:
    print(f"sum {total:.10e}\nseconds {time.time() - begin:.3f}")
