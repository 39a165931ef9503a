"""Parallel HDF5 (h5py): all ranks write their rows of a table by collective calls, and read the next rank's.

FILE TIMES
"""

import os
import sys
import time

import h5py
import numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD
n, total = 512, 0.0
begin = time.time()
for t in range(int(sys.argv[2])):
    with h5py.File(sys.argv[1], "w", driver="mpio", comm=comm) as file:
        table = file.create_dataset("table", (n * comm.size, n), dtype="f8")
        with table.collective:
            table[n * comm.rank : n * (comm.rank + 1)] = numpy.full((n, n), comm.rank + t, "f8")
            other = (comm.rank + 1) % comm.size
            total += float(table[n * other : n * (other + 1)].sum())
total = comm.allreduce(total)
if comm.rank == 0:
    os.remove(sys.argv[1])
    print(f"sum {total}\nseconds {time.time() - begin:.3f}")
