"""A Laplacian in three dimensions: by PETSc, GMRES with additive Schwarz or conjugate gradients with hypre's BoomerAMG;
its lowest eigenvalues, by SLEPc. petsc|hypre|slepc N TIMES"""

import sys
import time

from petsc4py import PETSc

which, n, times = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
begin = time.time()
grid = PETSc.DMDA().create([n, n, n], stencil_width=1, comm=PETSc.COMM_WORLD)
matrix = grid.createMatrix()
(x0, x1), (y0, y1), (z0, z1) = grid.getRanges()
row, column = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
for z in range(z0, z1):
    for y in range(y0, y1):
        for x in range(x0, x1):
            row.index = (x, y, z)
            for d in ((0, 0, 0), (1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)):
                at = (x + d[0], y + d[1], z + d[2])
                if all(0 <= c < n for c in at):
                    column.index = at
                    matrix.setValueStencil(row, column, -1.0 if any(d) else 6.0)
matrix.assemble()
PETSc.COMM_WORLD.barrier()
if which != "slepc":
    solver = PETSc.KSP().create()
    solver.setOperators(matrix)
    solver.setType("gmres" if which == "petsc" else "cg")
    solver.getPC().setType("asm" if which == "petsc" else "hypre")
    solver.setTolerances(rtol=1e-9, max_it=2000)
    right, solution = matrix.createVecs()
    right.set(1.0)
    for _ in range(times):
        solution.set(0.0)
        solver.solve(right, solution)
    PETSc.Sys.Print(f"iterations {solver.getIterationNumber()} norm {solution.norm():.8e}")
else:
    from slepc4py import SLEPc

    solver = SLEPc.EPS().create()
    solver.setOperators(matrix)
    solver.setProblemType(SLEPc.EPS.ProblemType.HEP)
    solver.setWhichEigenpairs(SLEPc.EPS.Which.SMALLEST_REAL)
    solver.setDimensions(6)
    solver.setTolerances(1e-7, 1000)
    solver.solve()
    values = [f"{solver.getEigenvalue(i).real:.8e}" for i in range(min(6, solver.getConverged()))]
    PETSc.Sys.Print("eigenvalues " + " ".join(values))
PETSc.Sys.Print(f"seconds {time.time() - begin:.3f}")
