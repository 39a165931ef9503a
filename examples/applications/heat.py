"""Diffusion in a box by Dedalus: Fourier along x, which is cut up, Chebyshev along z, so that each step transposes."""

import logging
import time

import dedalus.public as d3
import numpy as np
from mpi4py import MPI

logging.disable(logging.INFO)
coords = d3.CartesianCoordinates("x", "z")
dist = d3.Distributor(coords, dtype=np.float64)
xb = d3.RealFourier(coords["x"], size=256, bounds=(0, 4), dealias=3 / 2)
zb = d3.ChebyshevT(coords["z"], size=128, bounds=(0, 1), dealias=3 / 2)
b, t1, t2 = dist.Field(bases=(xb, zb)), dist.Field(bases=xb), dist.Field(bases=xb)
ez, lift = coords.unit_vector_fields(dist)[1], zb.derivative_basis(1)
grad_b = d3.grad(b) + ez * d3.Lift(t1, lift, -1)
equation = "dt(b) - 0.01*div(grad_b) + lift2 = -b*b*b"
names = {"b": b, "grad_b": grad_b, "lift2": d3.Lift(t2, lift, -1), "div": d3.div, "dt": d3.TimeDerivative}
problem = d3.IVP([b, t1, t2], namespace=names)
problem.add_equation(equation)
problem.add_equation("b(z=0) = 1")
problem.add_equation("b(z=1) = 0")
solver = problem.build_solver(d3.RK222)
x, z = dist.local_grids(xb, zb)
b["g"] = (1 - z) * (1 + 0.5 * np.sin(np.pi * x))
begin = time.time()
for _ in range(3500):
    solver.step(1e-3)
b.change_scales(1)
total = MPI.COMM_WORLD.allreduce(float(np.sum(b["g"] ** 2)))
if MPI.COMM_WORLD.rank == 0:
    print(f"sum {total:.9e}\nseconds {time.time() - begin:.3f}")
