/* Completes messages and collectives together, in each function that waits: so many times each. And nobody copies what the
   program has hung on MPI_COMM_SELF. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

enum { ROUNDS = 20, ONE = 7, SUM = 10 };

static int rank = 0, wrong = 0;

static void expect(int is_right) {
  wrong += !is_right;
}

/* A message to each other, and a sum that is not over before the other rank has slept. */
static void start(MPI_Request all[3], int* came, int* sum) {
  static const int one = ONE;
  static int part = 0;
  part = rank == 0 ? 4 : SUM - 4;
  *came = *sum = 0;
  MPI_Irecv(came, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &all[0]);
  MPI_Isend(&one, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &all[1]);
  if (rank == 1) usleep(300);
  MPI_Iallreduce(&part, sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &all[2]);
}

static int copy(MPI_Comm old, int key, void* extra, void* from, void* to, int* is_copied) {
  (void)old, (void)key, (void)extra, (void)from, (void)to;
  *is_copied = 0;
  expect(0);
  return MPI_SUCCESS;
}

int main(int count, char** words) {
  int key = 0;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  MPI_Request all[3];
  MPI_Status statuses[3];
  int came = 0, sum = 0, some = 0;
  for (int round = 0; round < ROUNDS; ++round) {
    int seen[3] = {0, 0, 0}, index = 0, done = 0, indices[3];
    start(all, &came, &sum);
    for (int i = 0; i < 3; ++i) {
      MPI_Waitany(3, all, &index, statuses);
      expect(index >= 0 && index < 3 && all[index] == MPI_REQUEST_NULL);
      if (index >= 0 && index < 3) ++seen[index];
    }
    MPI_Waitany(3, all, &index, statuses);
    expect(index == MPI_UNDEFINED && seen[0] == 1 && seen[1] == 1 && seen[2] == 1 && came == ONE && sum == SUM);
    start(all, &came, &sum);
    for (int left = 3; left > 0; left -= done > 0 ? done : left) {
      MPI_Waitsome(3, all, &done, indices, statuses);
      expect(done > 0 && done <= left);
      ++some;
    }
    expect(all[0] == MPI_REQUEST_NULL && all[1] == MPI_REQUEST_NULL && all[2] == MPI_REQUEST_NULL);
    expect(came == ONE && sum == SUM);
    start(all, &came, &sum);
    MPI_Wait(&all[0], statuses);
    MPI_Waitall(3, all, statuses);
    expect(came == ONE && sum == SUM);
  }
  printf("mixed: rank %d, %d wrong, %d waits of the sort that differs\n", rank, wrong, some);
  fflush(stdout);
  MPI_Finalize();
  return wrong != 0;
}
