"""mpi4py.futures: many small and some large tasks for workers; rank 0 hands them out."""

import sys
import time

import numpy
from mpi4py.futures import MPICommExecutor


def total(size):
    return float(numpy.arange(size, dtype=float).sum())


with MPICommExecutor() as pool:
    if pool is not None:
        begin = time.time()
        sizes = [1 + i % 1000 for i in range(int(sys.argv[1]))]
        small = sum(pool.map(total, sizes, chunksize=10))
        arrays = list(pool.map(numpy.ones, [100_000] * (int(sys.argv[1]) // 100)))
        print(f"sum {small + sum(float(a.sum()) for a in arrays):.6f}\nseconds {time.time() - begin:.3f}")
