/* A program with a fault that a profile finds: rank 0 has more cells than the others, who wait for it in each step.
 *
 *     mpicc -g -O2 uneven.c -o uneven
 *     tutti run --profile uneven.html mpirun -n 2 ./uneven
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* One step on a rank's own cells; returns the largest change. */
static double relax(double* cells, int count) {
  double largest = 0;
  for (int i = 1; i + 1 < count; ++i) {
    const double next = (cells[i - 1] + cells[i + 1]) / 2, change = next > cells[i] ? next - cells[i] : cells[i] - next;
    cells[i] = next;
    if (change > largest) largest = change;
  }
  return largest;
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int count = rank == 0 ? 400000 : 100000;
  double* cells = calloc(count, sizeof *cells);
  cells[0] = 1;
  double mine = 1, largest = 1;
  for (int step = 0; step < 1000; ++step) {
    mine = relax(cells, count);
    MPI_Allreduce(&mine, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("the last step changed %g at the most\n", largest);
  free(cells);
  MPI_Finalize();
  return 0;
}
