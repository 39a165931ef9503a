// Complex transforms in place, forth and back, by FFTW-MPI; the output stays transposed. fftw DIMENSIONS N TIMES
#include <fftw3-mpi.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  fftw_mpi_init();
  const MPI_Comm all = MPI_COMM_WORLD;
  const int dimensions = atoi(argv[1]), times = atoi(argv[3]);
  const ptrdiff_t n = atol(argv[2]), sizes[3] = {n, n, n};
  ptrdiff_t local, start;
  fftw_complex* x = fftw_alloc_complex(fftw_mpi_local_size(dimensions, sizes, all, &local, &start));
  const unsigned how = FFTW_ESTIMATE;
  fftw_plan forth = fftw_mpi_plan_dft(dimensions, sizes, x, x, all, FFTW_FORWARD, how | FFTW_MPI_TRANSPOSED_OUT);
  fftw_plan back = fftw_mpi_plan_dft(dimensions, sizes, x, x, all, FFTW_BACKWARD, how | FFTW_MPI_TRANSPOSED_IN);
  const ptrdiff_t count = 2 * local * n * (dimensions == 3 ? n : 1);
  const double scale = pow((double)n, -dimensions);
  double* numbers = (double*)x;
  for (ptrdiff_t i = 0; i < count; i++) numbers[i] = sin(0.37 * (double)(i + start * 7));
  MPI_Barrier(all);
  double seconds = -MPI_Wtime();
  for (int t = 0; t < times; t++) {
    fftw_execute(forth);
    fftw_execute(back);
    for (ptrdiff_t i = 0; i < count; i++) numbers[i] *= scale;
  }
  seconds += MPI_Wtime();
  uint64_t sum = 0, bits;
  for (ptrdiff_t i = 0; i < count; i++) memcpy(&bits, &numbers[i], 8), sum = sum * 31 + bits;
  int rank;
  MPI_Comm_rank(all, &rank);
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, all);
  if (rank == 0) printf("sum %016llx\nseconds %.4f\n", (unsigned long long)sum, seconds);
  MPI_Finalize();
}
