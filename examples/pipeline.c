/* A pipeline of ranks: the first makes blocks, each works on them, the last looks at the result. By messages, and by
 * handing the blocks on.
 *
 *   pipeline [bytes of a block, default 1048576] [blocks, default 400] [turns, default 10]
 *
 * Handed on, a block stays where it is: from rank to rank goes who owns it. The last one gives it back to the first, empty,
 * so that there are never more than a few, and none is allocated on the way: two ranks with such a ring have a queue.
 * By messages each rank has two buffers, so that one block comes or goes while it works on the other. What passing blocks
 * on costs is the time of a block less that of the same work without it.
 *
 *   mpicc pipeline.c $(pkg-config --cflags --libs tutti-mpich) -o pipeline     (or tutti-openmpi, tutti-abi)
 *   tutti run mpiexec -n 2 ./pipeline
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tutti.h"

enum { full, empty };        /* tags */
enum { blocks_at_once = 4 }; /* in the ring */
enum { messages, handing_on, FORMS };
static const char* const names[FORMS] = {"messages", "handing on"};

static int rank, ranks;
static size_t words;

/* The first stage writes, the others change, the last one adds up. */
static uint64_t work(uint64_t* block, uint64_t which) {
  uint64_t sum = 0;
  if (rank == 0)
    for (size_t i = 0; i < words; ++i) block[i] = which + i;
  else
    for (size_t i = 0; i < words; ++i) block[i] += 1;
  if (rank == ranks - 1)
    for (size_t i = 0; i < words; ++i) sum += block[i];
  return sum;
}

/* Of block `which` where it comes out of the pipeline: nothing on other ranks. */
static uint64_t wanted(uint64_t which) {
  return rank < ranks - 1 ? 0 : words * (which + (uint64_t)ranks - 1) + words * (words - 1) / 2;
}

static long by_messages(int count, uint64_t* const buffers[2]) {
  MPI_Request come[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}, gone[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  const int before = rank > 0 ? rank - 1 : MPI_PROC_NULL, behind = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
  long wrong = 0;
  MPI_Irecv(buffers[0], (int)words, MPI_UINT64_T, before, full, MPI_COMM_WORLD, &come[0]);
  for (int i = 0; i < count; ++i) {
    const int now = i % 2, next = 1 - now;
    MPI_Wait(&gone[next], MPI_STATUS_IGNORE);
    if (i + 1 < count) MPI_Irecv(buffers[next], (int)words, MPI_UINT64_T, before, full, MPI_COMM_WORLD, &come[next]);
    MPI_Wait(&come[now], MPI_STATUS_IGNORE);
    wrong += work(buffers[now], (uint64_t)i) != wanted((uint64_t)i);
    MPI_Isend(buffers[now], (int)words, MPI_UINT64_T, behind, full, MPI_COMM_WORLD, &gone[now]);
  }
  MPI_Waitall(2, gone, MPI_STATUSES_IGNORE);
  return wrong;
}

static long by_handing_on(int count) {
  const int last = ranks - 1;
  const MPI_Aint bytes = (MPI_Aint)(words * sizeof(uint64_t));
  TUTTI_Request gone[blocks_at_once] = {TUTTI_REQUEST_NULL};
  long wrong = 0;
  for (int i = 0; i < count; ++i) {
    uint64_t* block;
    if (rank > 0)
      TUTTI_Take(&block, NULL, rank - 1, full, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (i < blocks_at_once)
      TUTTI_Alloc(bytes, &block);
    else
      TUTTI_Take(&block, NULL, last, empty, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    wrong += work(block, (uint64_t)i) != wanted((uint64_t)i);
    if (rank < last) {
      TUTTI_Give(block, bytes, rank + 1, full, MPI_COMM_WORLD);
      continue;
    }
    /* Where blocks are copied the first stage may wait for this one meanwhile. It has had the block of that place. */
    TUTTI_Wait(&gone[i % blocks_at_once], MPI_STATUS_IGNORE);
    TUTTI_Igive(block, bytes, 0, empty, MPI_COMM_WORLD, &gone[i % blocks_at_once]);
  }
  for (int i = 0; rank == 0 && i < blocks_at_once && i < count; ++i) {
    void* block;
    TUTTI_Take(&block, NULL, last, empty, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    TUTTI_Free(block);
  }
  for (int i = 0; i < blocks_at_once; ++i) TUTTI_Wait(&gone[i], MPI_STATUS_IGNORE);
  return wrong;
}

static double slowest(double seconds) {
  double all = 0;
  MPI_Allreduce(&seconds, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

static int by_value(const void* one, const void* other) {
  const double difference = *(const double*)one - *(const double*)other;
  return (difference > 0) - (difference < 0);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const size_t bytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 1048576;
  const int count = argc > 2 ? atoi(argv[2]) : 400, turns = argc > 3 ? atoi(argv[3]) : 10;
  words = bytes / sizeof(uint64_t);
  if (ranks < 2) {
    printf("a pipeline has two ranks or more\n");
    MPI_Finalize();
    return 1;
  }
  uint64_t* buffers[2];
  for (int i = 0; i < 2; ++i) {
    TUTTI_Alloc((MPI_Aint)bytes, &buffers[i]);
    memset(buffers[i], 0, bytes);
  }
  long wrong = 0, all_wrong = 0;
  uint64_t nothing = 0;
  double* costs = malloc(sizeof(double) * FORMS * (size_t)turns);
  for (int turn = 0; turn < turns; ++turn)
    for (int form = 0; form < FORMS; ++form) {
      MPI_Barrier(MPI_COMM_WORLD);
      double begin = MPI_Wtime();
      wrong += form == messages ? by_messages(count, buffers) : by_handing_on(count);
      const double with = slowest(MPI_Wtime() - begin);
      MPI_Barrier(MPI_COMM_WORLD);
      begin = MPI_Wtime();
      for (int i = 0; i < count; ++i) nothing += work(buffers[i % 2], (uint64_t)i);
      costs[form * turns + turn] = (with - slowest(MPI_Wtime() - begin)) / count;
    }
  wrong += nothing == 1; /* so that the work is done */
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  for (int form = 0; form < FORMS && rank == 0; ++form) {
    qsort(costs + form * turns, (size_t)turns, sizeof *costs, by_value);
    printf("%-12s costs %9.2f us a block\n", names[form], 1e6 * costs[form * turns + turns / 2]);
  }
  if (rank == 0)
    printf("%d ranks, blocks of %zu bytes, %s Tutti: %ld results are wrong\n", ranks, bytes,
           TUTTI_Loaded() ? "with" : "without", all_wrong);
  for (int i = 0; i < 2; ++i) TUTTI_Free(buffers[i]);
  free(costs);
  MPI_Finalize();
  return all_wrong != 0;
}
