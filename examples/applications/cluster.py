"""dask-mpi: rank 0 schedules, rank 1 is the client, the others work. TIMES"""

import sys
import time

import dask.array
from dask_mpi import initialize
from distributed import Client

initialize(interface="lo", dashboard=False, nthreads=1)
with Client() as client:
    begin = time.time()
    x = dask.array.ones((4000, 4000), chunks=(500, 500))
    for _ in range(int(sys.argv[1])):
        x = (x + x.T).rechunk((1000, 250)).rechunk((500, 500))
    print(f"sum {float(x.sum().compute())}\nseconds {time.time() - begin:.3f}")
