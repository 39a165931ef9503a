// Parallel netCDF: all ranks write their rows of a table by collective calls, and read the next rank's. table FILE TIMES
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, file, shape[2], variable;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const MPI_Offset n = 512, other = (rank + 1) % ranks, size[2] = {n, n}, mine[2] = {n * rank, 0};
  const MPI_Offset theirs[2] = {n * other, 0};
  double* const rows = malloc(sizeof(double) * n * n);
  double sum = 0, seconds = -MPI_Wtime();
  for (int t = 0; t < atoi(argv[2]); t++) {
    for (MPI_Offset i = 0; i < n * n; i++) rows[i] = rank + t;
    ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file);
    ncmpi_def_dim(file, "y", n * ranks, &shape[0]);
    ncmpi_def_dim(file, "x", n, &shape[1]);
    ncmpi_def_var(file, "table", NC_DOUBLE, 2, shape, &variable);
    ncmpi_enddef(file);
    ncmpi_put_vara_double_all(file, variable, mine, size, rows);
    ncmpi_get_vara_double_all(file, variable, theirs, size, rows);
    ncmpi_close(file);
    for (MPI_Offset i = 0; i < n * n; i++) sum += rows[i];
  }
  seconds += MPI_Wtime();
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    remove(argv[1]);
    printf("sum %.1f\nseconds %.3f\n", sum, seconds);
  }
  MPI_Finalize();
}
