/* MPI and OpenMP: every thread has a part of a vector, and every thread needs the sum over all of it, as in each iteration of
 * a conjugate gradient. Once with a reduction of OpenMP, then MPI_Allreduce by the main thread, then a barrier; and once with
 * a team, whose ranks are the threads of all processes (docs/teams.md).
 *
 *   mpicc -fopenmp threads.c $(pkg-config --cflags --libs tutti-mpich) -o threads
 *   OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive tutti run mpirun -n 2 ./threads [elements of a thread] [iterations]
 *
 * It prints what an iteration loses by each: the time of the loop, less that of the same loop without a sum.
 */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <tutti.h>

enum way { ALONE, WITH_OPENMP, WITH_TEAM };
enum { ROUNDS = 7 };

static TUTTI_Team team;
static double of_process, of_all; /* sums that threads of a process share */

/* The sum over all threads of all processes, on each of them. */
static double sum(enum way way, double mine) {
  double all = mine;
  if (way == WITH_TEAM) {
    TUTTI_Team_allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, team);
  } else if (way == WITH_OPENMP) {
#pragma omp single
    of_process = 0;
#pragma omp atomic
    of_process += mine;
#pragma omp barrier
#pragma omp master
    MPI_Allreduce(&of_process, &of_all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
#pragma omp barrier
    all = of_all;
  }
  return all;
}

/* Seconds for `iterations`, the longest of all threads. */
static double run(enum way way, double* part, int elements, int iterations, double* result) {
  static double longest;
#pragma omp single
  longest = 0;
  TUTTI_Team_barrier(team);
  const double begin = MPI_Wtime();
  for (int i = 0; i < iterations; ++i) {
    double mine = 0;
    for (int k = 0; k < elements; ++k) mine += part[k] * part[k];
    *result = sum(way, mine);
    const double factor = way == ALONE ? 1 : 1 / sqrt(*result);
    for (int k = 0; k < elements; ++k) part[k] *= factor;
  }
  const double taken = MPI_Wtime() - begin;
#pragma omp critical
  if (taken > longest) longest = taken;
#pragma omp barrier
  double of_slowest = longest;
  TUTTI_Team_allreduce(MPI_IN_PLACE, &of_slowest, 1, MPI_DOUBLE, MPI_MAX, team);
  return of_slowest;
}

static int by_size(const void* left, const void* right) {
  const double difference = *(const double*)left - *(const double*)right;
  return (difference > 0) - (difference < 0);
}

static double median(double* values) {
  qsort(values, ROUNDS, sizeof *values, by_size);
  return values[ROUNDS / 2];
}

int main(int argc, char** argv) {
  const int elements = argc > 1 ? atoi(argv[1]) : 1000, iterations = argc > 2 ? atoi(argv[2]) : 1000;
  int level = 0, rank = 0, wrong = 0;
  double seconds[3][ROUNDS];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (TUTTI_Team_create(MPI_COMM_WORLD, omp_get_max_threads(), &team) != MPI_SUCCESS) return 1;
#pragma omp parallel
  {
    double* const part = malloc(sizeof *part * (size_t)elements);
    double result = 0;
    TUTTI_Team_attach(team, omp_get_thread_num());
    for (int round = 0; round < ROUNDS; ++round)
      for (enum way way = ALONE; way <= WITH_TEAM; ++way) {
        for (int k = 0; k < elements; ++k) part[k] = 1 + k % 7;
        const double taken = run(way, part, elements, iterations, &result);
#pragma omp master
        seconds[way][round] = taken;
        /* The vector has the length 1 from the second iteration on. */
        if (way != ALONE && iterations > 1 && fabs(result - 1) > 1e-6) {
#pragma omp atomic
          ++wrong;
        }
      }
    TUTTI_Team_detach(team);
    free(part);
  }
  if (rank == 0) {
    const double alone = median(seconds[ALONE]);
    const double per_iteration = 1e6 / iterations;
    printf(
        "%s: an iteration without a sum takes %.2f us; a sum costs %.2f us with OpenMP and MPI, %.2f us with a team\n",
        wrong ? "WRONG" : "right", alone * per_iteration, (median(seconds[WITH_OPENMP]) - alone) * per_iteration,
        (median(seconds[WITH_TEAM]) - alone) * per_iteration);
  }
  TUTTI_Team_free(&team);
  MPI_Finalize();
  return wrong != 0;
}
