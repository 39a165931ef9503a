"""Poisson's equation in a cube by finite elements (DOLFINx) and conjugate gradients of PETSc."""

import time

import ufl
from dolfinx import fem, mesh
from mpi4py import MPI
from petsc4py import PETSc

comm = MPI.COMM_WORLD
begin = time.time()
cube = mesh.create_unit_cube(comm, 32, 32, 32)
space = fem.FunctionSpace(cube, ("CG", 2))
u, v, x = ufl.TrialFunction(space), ufl.TestFunction(space), ufl.SpatialCoordinate(cube)
cube.topology.create_entities(2)
cube.topology.create_connectivity(2, 3)
edge = mesh.exterior_facet_indices(cube.topology)
fixed = fem.dirichletbc(PETSc.ScalarType(0), fem.locate_dofs_topological(space, 2, edge), space)
a = fem.form(ufl.inner(ufl.grad(u), ufl.grad(v)) * ufl.dx)
b = fem.form(ufl.inner(ufl.sin(7 * x[0]) * x[1], v) * ufl.dx)
matrix = fem.petsc.assemble_matrix(a, bcs=[fixed])
matrix.assemble()
right = fem.petsc.assemble_vector(b)
fem.petsc.apply_lifting(right, [a], bcs=[[fixed]])
right.ghostUpdate(addv=PETSc.InsertMode.ADD, mode=PETSc.ScatterMode.REVERSE)
fem.petsc.set_bc(right, [fixed])
solver = PETSc.KSP().create(comm)
solver.setOperators(matrix)
solver.setType("cg")
solver.getPC().setType("jacobi")
solver.setTolerances(rtol=1e-12)
for _ in range(35):
    solution = right.duplicate()
    solver.solve(right, solution)
if comm.rank == 0:
    print("iterations", solver.getIterationNumber())
norm = solution.norm()
if comm.rank == 0:
    print(f"norm {norm:.10e}\nseconds {time.time() - begin:.3f}")
