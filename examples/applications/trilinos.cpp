// A Laplacian in two dimensions by conjugate gradients of Trilinos (Epetra, AztecOO). trilinos N
#include <AztecOO.h>
#include <Epetra_CrsMatrix.h>
#include <Epetra_Map.h>
#include <Epetra_MpiComm.h>
#include <Epetra_Vector.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    Epetra_MpiComm comm(MPI_COMM_WORLD);
    const int n = std::atoi(argv[1]);
    const double begin = MPI_Wtime();
    const Epetra_Map map(n * n, 0, comm);
    Epetra_CrsMatrix matrix(Copy, map, 5);
    for (int i = 0; i < map.NumMyElements(); ++i) {
      const int row = map.GID(i), x = row % n, y = row / n;
      int columns[5] = {row}, count = 1;
      const double values[5] = {4.001, -1, -1, -1, -1};
      if (x > 0) columns[count++] = row - 1;
      if (x < n - 1) columns[count++] = row + 1;
      if (y > 0) columns[count++] = row - n;
      if (y < n - 1) columns[count++] = row + n;
      matrix.InsertGlobalValues(row, count, values, columns);
    }
    matrix.FillComplete();
    Epetra_Vector x(map), b(map);
    b.PutScalar(1);
    AztecOO solver(&matrix, &x, &b);
    solver.SetAztecOption(AZ_solver, AZ_cg);
    solver.SetAztecOption(AZ_precond, AZ_Jacobi);
    solver.SetAztecOption(AZ_output, AZ_none);
    solver.Iterate(3000, 1e-10);
    double norm = 0;
    x.Norm2(&norm);
    if (comm.MyPID() == 0)
      std::printf("iterations %d norm %.8e\nseconds %.3f\n", solver.NumIters(), norm, MPI_Wtime() - begin);
  }
  MPI_Finalize();
}
