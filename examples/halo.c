/* Halo exchange on a ring of ranks: by messages, by pointers to the neighbours' faces, and by handing the faces over.
 *
 *   halo [bytes of a face, default 262144] [sides, 1 or 2, default 2] [turns, default 40]
 *
 * In each step a rank writes its faces, and adds up those of its neighbours. What an exchange costs is the time of such
 * steps less that of the same steps without it: they add up faces that lie here. That counts what comes with it, such as
 * caches that have to be filled anew. Beside it stands how long the calls took.
 *
 *   mpicc halo.c $(pkg-config --cflags --libs tutti-mpich) -o halo     (or tutti-openmpi, tutti-abi)
 *   tutti run mpiexec -n 2 ./halo
 */
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tutti.h"

enum { LEFT, RIGHT, SIDES };
enum { messages, pointers, handing_over, FORMS };
static const char* const names[FORMS] = {"messages", "pointers", "handing over"};

/* What neighbours see: faces of even and odd steps, so that one may be read while the next is written. */
struct shown {
  _Atomic uint64_t step; /* faces of this step are there, and those of the step before are not needed any more */
  char space[128 - sizeof(uint64_t)];
  uint64_t faces[]; /* [2][SIDES][words] */
};

static int rank, ranks, neighbors[SIDES], sides;
static size_t words;
static struct shown* own;
static struct shown* theirs[SIDES]; /* NULL: there is no pointer */
static uint64_t* mine[SIDES];       /* for messages and blocks */
static uint64_t* ghosts[SIDES];
static void* blocks[SIDES]; /* that are handed over */
static uint64_t step;
static double in_calls;

static uint64_t* face_of(struct shown* whose, int side) {
  return whose->faces + ((step % 2) * SIDES + (size_t)side) * words;
}

static void write_face(uint64_t* face, uint64_t salt) {
  for (size_t i = 0; i < words; ++i) face[i] = salt + i;
}

static uint64_t sum_of(const uint64_t* face) {
  uint64_t sum = 0;
  for (size_t i = 0; i < words; ++i) sum += face[i];
  return sum;
}

static uint64_t salt_of(int whose, int side) {
  return step * 1000003 + (uint64_t)whose * 17 + (uint64_t)side;
}

/* What rank `whose` has for this side adds up to. */
static uint64_t wanted(int whose, int side) {
  return words * salt_of(whose, side) + words * (words - 1) / 2;
}

static int opposite(int side) {
  return SIDES - 1 - side;
}

/* A face for the right goes to the right, where it is the left neighbour's. */
static void exchange(int form) {
  const double begin = MPI_Wtime();
  if (form == messages) {
    MPI_Request requests[2 * SIDES];
    int count = 0;
    for (int side = SIDES - sides; side < SIDES; ++side) {
      MPI_Irecv(ghosts[opposite(side)], (int)words, MPI_UINT64_T, neighbors[opposite(side)], side, MPI_COMM_WORLD,
                &requests[count++]);
      MPI_Isend(mine[side], (int)words, MPI_UINT64_T, neighbors[side], side, MPI_COMM_WORLD, &requests[count++]);
    }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  } else if (form == pointers) {
    /* What is stored before is seen by whoever sees the step. */
    atomic_store_explicit(&own->step, step, memory_order_release);
    for (int side = LEFT; side < SIDES; ++side)
      for (int asked = 0; atomic_load_explicit(&theirs[side]->step, memory_order_acquire) < step; ++asked)
        if (asked > 1000) sched_yield();
  } else {
    TUTTI_Request given[SIDES];
    for (int side = SIDES - sides; side < SIDES; ++side)
      TUTTI_Igive(blocks[side], (MPI_Aint)(words * sizeof(uint64_t)), neighbors[side], side, MPI_COMM_WORLD,
                  &given[side]);
    for (int side = SIDES - sides; side < SIDES; ++side) {
      /* The next face for this side is written into the block that has come. */
      TUTTI_Take(&blocks[side], NULL, neighbors[opposite(side)], side, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      TUTTI_Wait(&given[side], MPI_STATUS_IGNORE);
    }
  }
  in_calls += MPI_Wtime() - begin;
}

/* Where the face for a side is written, and the one that has come from the other side is read. */
static uint64_t* face_to_write(int form, int side) {
  return form == messages ? mine[side] : form == pointers ? face_of(own, side) : blocks[side];
}
static const uint64_t* face_to_read(int form, int side) {
  return form == messages   ? ghosts[opposite(side)]
         : form == pointers ? face_of(theirs[opposite(side)], side)
                            : blocks[side];
}

/* Seconds of `count` steps; adds wrong sums to `wrong`. */
static double steps(int form, int with_exchange, int count, long* wrong) {
  const double begin = MPI_Wtime();
  for (int i = 0; i < count; ++i) {
    ++step;
    for (int side = SIDES - sides; side < SIDES; ++side)
      write_face(with_exchange ? face_to_write(form, side) : mine[side], salt_of(rank, side));
    if (with_exchange) exchange(form);
    for (int side = SIDES - sides; side < SIDES; ++side) {
      const uint64_t sum = sum_of(with_exchange ? face_to_read(form, side) : ghosts[side]);
      *wrong += with_exchange ? sum != wanted(neighbors[opposite(side)], side) : sum == 1;
    }
  }
  return MPI_Wtime() - begin;
}

/* The slowest rank's. */
static double slowest(double seconds) {
  double all = 0;
  MPI_Allreduce(&seconds, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

static int by_value(const void* one, const void* other) {
  const double difference = *(const double*)one - *(const double*)other;
  return (difference > 0) - (difference < 0);
}
static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, by_value);
  return values[count / 2];
}

/* Pointers to what the neighbours show; 0 on all ranks if one of them has none. */
static int find_neighbors(size_t bytes) {
  TUTTI_Handle handle, of_neighbor[SIDES];
  TUTTI_Peer_handle(own, (MPI_Aint)bytes, &handle);
  for (int side = LEFT; side < SIDES; ++side)
    MPI_Sendrecv(&handle, 1, MPI_UINT64_T, neighbors[opposite(side)], 0, &of_neighbor[side], 1, MPI_UINT64_T,
                 neighbors[side], 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  int mine_are_there = 1, all_are_there = 0;
  for (int side = LEFT; side < SIDES; ++side) {
    TUTTI_Peer_pointer(MPI_COMM_WORLD, neighbors[side], of_neighbor[side], (MPI_Aint)bytes, &theirs[side]);
    mine_are_there = mine_are_there && theirs[side];
  }
  MPI_Allreduce(&mine_are_there, &all_are_there, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all_are_there;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const size_t bytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 262144;
  sides = argc > 2 ? atoi(argv[2]) : SIDES;
  const int turns = argc > 3 ? atoi(argv[3]) : 40;
  words = bytes / sizeof(uint64_t);
  neighbors[LEFT] = (rank + ranks - 1) % ranks;
  neighbors[RIGHT] = (rank + 1) % ranks;

  const size_t shown_bytes = sizeof(struct shown) + 2 * SIDES * bytes;
  TUTTI_Alloc((MPI_Aint)shown_bytes, &own);
  memset(own, 0, shown_bytes);
  for (int side = LEFT; side < SIDES; ++side) {
    TUTTI_Alloc((MPI_Aint)bytes, &mine[side]);
    TUTTI_Alloc((MPI_Aint)bytes, &ghosts[side]);
    TUTTI_Alloc((MPI_Aint)bytes, &blocks[side]);
    memset(ghosts[side], 0, bytes);
    memset(blocks[side], 0, bytes);
  }
  const int are_there = find_neighbors(shown_bytes);

  /* The forms take turns. */
  long wrong = 0;
  double* costs = malloc(sizeof(double) * FORMS * (size_t)turns);
  double* inside = malloc(sizeof(double) * FORMS * (size_t)turns);
  const int each = bytes < 65536 ? 200 : 20;
  for (int turn = 0; turn < turns; ++turn)
    for (int form = 0; form < FORMS; ++form) {
      if (form == pointers && !are_there) continue;
      steps(form, 1, 2, &wrong);
      MPI_Barrier(MPI_COMM_WORLD);
      in_calls = 0;
      const double with = slowest(steps(form, 1, each, &wrong));
      inside[form * turns + turn] = slowest(in_calls) / each;
      steps(form, 0, 2, &wrong);
      MPI_Barrier(MPI_COMM_WORLD);
      costs[form * turns + turn] = (with - slowest(steps(form, 0, each, &wrong))) / each;
    }
  long all_wrong = 0;
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  for (int form = 0; form < FORMS && rank == 0; ++form) {
    if (form == pointers && !are_there)
      printf("%-14s there are none\n", names[form]);
    else
      printf("%-14s costs %9.2f us a step, of which calls take %9.2f\n", names[form],
             1e6 * median(costs + form * turns, turns), 1e6 * median(inside + form * turns, turns));
  }
  if (rank == 0)
    printf("%d ranks, faces of %zu bytes, %s Tutti: %ld sums are wrong\n", ranks, bytes,
           TUTTI_Loaded() ? "with" : "without", all_wrong);

  MPI_Barrier(MPI_COMM_WORLD); /* nobody looks at what is freed */
  TUTTI_Free(own);
  for (int side = LEFT; side < SIDES; ++side) {
    TUTTI_Free(mine[side]);
    TUTTI_Free(ghosts[side]);
    TUTTI_Free(blocks[side]);
  }
  free(costs);
  free(inside);
  MPI_Finalize();
  return all_wrong != 0;
}
