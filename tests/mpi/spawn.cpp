// Processes that come later, or from another job: they have an MPI_COMM_WORLD of their own, and may be without the
// preload. `spawn CHILDREN` starts so many from all of its ranks.
#include <cstdlib>
#include <vector>

#include "support.h"

using namespace tutti::tests;

namespace {

MPI_Comm parent = MPI_COMM_NULL;
int children = 1;
char* program = nullptr;

/// The collectives on the two groups as one, of which one side may be a rank alone, for which the library does nothing.
void merged_groups_work_with(Context& context, MPI_Comm between) {
  MPI_Comm merged = MPI_COMM_NULL, turned = MPI_COMM_NULL, twin = MPI_COMM_NULL;
  MPI_Intercomm_merge(between, parent != MPI_COMM_NULL, &merged);
  exercise(context, merged, "Intercomm_merge with spawned processes");
  exercise(context, merged, "Intercomm_merge with spawned processes", 9000);
  int rank = 0;
  MPI_Comm_rank(merged, &rank);
  MPI_Comm_split(merged, 0, -rank, &turned);
  exercise(context, turned, "Comm_split of parents and children");
  MPI_Comm_dup(between, &twin);
  MPI_Barrier(twin);
  MPI_Comm_free(&twin);
  MPI_Comm_free(&turned);
  MPI_Comm_free(&merged);
}

void groups_of_two_jobs_merge(Context& context) {
  MPI_Comm between = MPI_COMM_NULL;
  std::vector<int> codes(static_cast<std::size_t>(children));
  MPI_Comm_spawn(program, MPI_ARGV_NULL, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, codes.data());
  exercise(context, MPI_COMM_WORLD, "MPI_COMM_WORLD after a spawn");
  merged_groups_work_with(context, between);
  MPI_Comm_disconnect(&between);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  program = argv[0];
  if (argc > 1) children = std::atoi(argv[1]);
  MPI_Comm_get_parent(&parent);
  int status = 0;
  {
    Context context(nullptr, 0);
    if (parent != MPI_COMM_NULL) {
      merged_groups_work_with(context, parent);
      MPI_Comm_disconnect(&parent);
    } else {
      status = run_tests(context, {{"groups_of_two_jobs_merge", &groups_of_two_jobs_merge}}, 1, argv);
    }
  }
  MPI_Finalize();
  return status;
}
