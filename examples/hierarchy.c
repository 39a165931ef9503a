/* A broadcast and a reduction of one's own that follow the machine.
 *
 * One call makes the communicators of all levels and those of their leaders; in MPI alone that is a loop of
 * MPI_Comm_split_type and one of MPI_Comm_split (Bouhrour, Pepin, Jaeger: Parallel Computing 2022, Listings 3 and 4).
 * A message goes from leader to leader, level by level inwards, and a sum the same way back. How ranks are numbered does
 * not matter: each boundary of the machine is crossed once for each part that lies behind it.
 *
 *   mpicc hierarchy.c $(pkg-config --cflags --libs tutti-openmpi) -o hierarchy      (or tutti-mpich, tutti-abi)
 *   tutti run mpirun -n 8 --bind-to core ./hierarchy [levels [root]]
 *
 * levels: such as "node,Package,L3Cache", or "auto" for all that part the ranks. Without Tutti it runs, too; nodes are all
 * that is known then.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tutti.h>

/* From rank 0 of the outermost conduit, which is the root, to everybody. */
static void broadcast(const TUTTI_Hierarchy* machine, double* values, int count) {
  for (int level = 0; level < machine->levels; ++level)
    if (machine->conduits[level] != MPI_COMM_NULL) MPI_Bcast(values, count, MPI_DOUBLE, 0, machine->conduits[level]);
  const MPI_Comm innermost = machine->groups[machine->levels - 1];
  if (innermost != MPI_COMM_NULL) MPI_Bcast(values, count, MPI_DOUBLE, 0, innermost);
}

static void sum_within(MPI_Comm comm, double* values, int count) {
  int rank = 0;
  if (comm == MPI_COMM_NULL) return;
  MPI_Comm_rank(comm, &rank);
  MPI_Reduce(rank == 0 ? MPI_IN_PLACE : values, values, count, MPI_DOUBLE, MPI_SUM, 0, comm);
}

/* The sums are there on the root; on other ranks `values` is used up. */
static void reduce(const TUTTI_Hierarchy* machine, double* values, int count) {
  sum_within(machine->groups[machine->levels - 1], values, count);
  for (int level = machine->levels - 1; level >= 0; --level) sum_within(machine->conduits[level], values, count);
}

static void show(const TUTTI_Hierarchy* machine) {
  for (int level = 0; level < machine->levels; ++level) {
    int members = 0, leaders = 0;
    if (machine->groups[level] != MPI_COMM_NULL) MPI_Comm_size(machine->groups[level], &members);
    if (machine->conduits[level] != MPI_COMM_NULL) MPI_Comm_size(machine->conduits[level], &leaders);
    printf("level %d %s: %d ranks with the root, %d leaders\n", level, machine->names[level], members, leaders);
  }
}

int main(int argc, char** argv) {
  enum { count = 1000 };
  double values[count];
  int rank = 0, size = 0, wrong = 0, wrong_anywhere = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* const levels = argc > 1 ? argv[1] : "auto";
  const char* const root_text = argc > 2 ? argv[2] : "0";
  const int root = atoi(root_text);

  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "tutti_leader", root_text); /* the root leads wherever it is: nothing has to be passed on to it */
  TUTTI_Hierarchy machine;
  TUTTI_Comm_hierarchy(MPI_COMM_WORLD, levels, info, &machine);
  MPI_Info_free(&info);
  if (rank == root) show(&machine);

  for (int i = 0; i < count; ++i) values[i] = rank == root ? i : -1;
  broadcast(&machine, values, count);
  for (int i = 0; i < count; ++i) wrong += values[i] != i;

  for (int i = 0; i < count; ++i) values[i] = rank + i;
  reduce(&machine, values, count);
  for (int i = 0; i < count && rank == root; ++i) wrong += values[i] != size * (double)i + size * (size - 1) / 2.0;

  MPI_Allreduce(&wrong, &wrong_anywhere, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == root)
    printf("%s: %d values are wrong\n", TUTTI_Loaded() ? "with Tutti" : "without Tutti", wrong_anywhere);
  TUTTI_Comm_hierarchy_free(&machine);
  MPI_Finalize();
  return wrong_anywhere != 0;
}
