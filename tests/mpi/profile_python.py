"""Two calls of which TUTTI_PROFILE is to tell the lines (profiling.py), by two functions."""

import numpy
from mpi4py import MPI


def add(values):
    """Called at one place."""
    MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, values)


def main():
    """Prints the lines of both."""
    values = numpy.ones(4)
    for _ in range(30):
        add(values)
        MPI.COMM_WORLD.Barrier()
    if MPI.COMM_WORLD.rank == 0:
        first = main.__code__.co_firstlineno
        print(f"sums {add.__code__.co_firstlineno + 2}\nbarrier {first + 5}", flush=True)


main()
