// Functions in which hosts call their own collectives: files, processes, windows, sessions, topologies. The library has
// to leave these calls to the host. The program calls 2 collectives of its own; inner.py looks at what was counted.
//
// Sessions: not every host of an ABI has them, so that this is compiled for each.
#include <mpi.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

int rank = 0, size = 1;
bool failed = false;

void expect(bool holds, const char* what) {
  if (holds) return;
  failed = true;
  std::printf("FAIL %s on rank %d\n", what, rank);
}

/// Both ways of collective buffering, and what comes with files: views, shared pointers, size, atomic mode.
void files(const char* path) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  for (const char* hint : {"romio_cb_write", "romio_cb_read", "romio_ds_write"}) MPI_Info_set(info, hint, "enable");
  MPI_Info_set(info, "collective_buffering", "true");
  MPI_File file = MPI_FILE_NULL;
  const int opened = MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
  expect(opened == MPI_SUCCESS, "MPI_File_open");
  MPI_Info_free(&info);
  if (opened != MPI_SUCCESS) return;
  constexpr int count = 4096;
  MPI_Datatype stripes = MPI_DATATYPE_NULL;
  MPI_Type_vector(count / 4, 4, 4 * size, MPI_INT, &stripes);
  MPI_Type_commit(&stripes);
  MPI_File_set_view(file, static_cast<MPI_Offset>(rank) * 16, MPI_INT, stripes, "native", MPI_INFO_NULL);
  std::vector<int> data(count, rank + 1), read(count, 0);
  expect(MPI_File_write_all(file, data.data(), count, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write_all");
  MPI_File_sync(file);
  MPI_File_seek(file, 0, MPI_SEEK_SET);
  expect(MPI_File_read_all(file, read.data(), count, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "read_all");
  expect(read == data, "what was read");
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  expect(MPI_File_write_ordered(file, data.data(), 8, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write_ordered");
  MPI_File_set_atomicity(file, 1);
  MPI_File_set_size(file, 1 << 20);
  MPI_File_preallocate(file, 1 << 20);
  MPI_Type_free(&stripes);
  expect(MPI_File_close(&file) == MPI_SUCCESS, "MPI_File_close");
  if (rank == 0) MPI_File_delete(path, MPI_INFO_NULL);
}

void windows() {
  MPI_Win window = MPI_WIN_NULL;
  std::array<int, 4> memory{rank, rank, rank, rank};
  MPI_Win_create(memory.data(), sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 1, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  expect(memory[1] == (rank + size - 1) % size, "MPI_Put");
  MPI_Win_free(&window);
  void* base = nullptr;
  MPI_Win_allocate(4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, static_cast<void*>(&base), &window);
  MPI_Win_free(&window);
  MPI_Win_allocate_shared(4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, static_cast<void*>(&base), &window);
  MPI_Win_free(&window);
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_free(&window);
}

void communicators() {
  MPI_Comm made = MPI_COMM_NULL, other = MPI_COMM_NULL;
  const auto done = [&] { MPI_Comm_free(&made); };
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  const std::array<int, 1> dims{size}, periods{1}, remain{1};
  MPI_Comm_dup(MPI_COMM_WORLD, &made), done();
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &made), done();
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made), done();
  MPI_Cart_create(MPI_COMM_WORLD, 1, dims.data(), periods.data(), 1, &made);
  MPI_Cart_sub(made, remain.data(), &other);
  MPI_Comm_free(&other), done();
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 1,
                                 &made);
  done();
  const int degree = 1;
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &degree, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made), done();
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Comm_create(MPI_COMM_WORLD, group, &made), done();
  MPI_Comm_create_group(MPI_COMM_WORLD, group, 7, &made), done();
  MPI_Group_free(&group);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm_idup(MPI_COMM_WORLD, &made, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE), done();
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &other);
  MPI_Comm between = MPI_COMM_NULL;
  MPI_Intercomm_create(other, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 5, &between);
  MPI_Intercomm_merge(between, rank == 0, &made), done();
  MPI_Comm_disconnect(&between);
  MPI_Comm_free(&other);
}

void sessions() {
#if defined(MPI_SESSION_NULL)
  MPI_Session session = MPI_SESSION_NULL;
  if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS) return;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  if (MPI_Comm_create_from_group(group, "tutti.inner", MPI_INFO_NULL, MPI_ERRORS_RETURN, &communicator) == MPI_SUCCESS)
    MPI_Comm_free(&communicator);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
#endif
}

void processes(char* program) {
  MPI_Comm between = MPI_COMM_NULL;
  int code = 0;
  char word[] = "child";
  char* words[] = {word, nullptr};
  MPI_Comm_spawn(program, words, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, &code);
  expect(code == MPI_SUCCESS, "MPI_Comm_spawn");
  MPI_Send(nullptr, 0, MPI_BYTE, 0, 0, between);
  MPI_Comm_disconnect(&between);
}

/// MPICH's MPI_Comm_disconnect does not wait for the other side. A child that ends before a parent has connected to it
/// would let that parent's MPI_Comm_spawn fail, so it hears of all of them first.
void child(MPI_Comm parents) {
  int count = 0;
  MPI_Comm_remote_size(parents, &count);
  for (int parent = 0; parent < count; ++parent) MPI_Recv(nullptr, 0, MPI_BYTE, parent, 0, parents, MPI_STATUS_IGNORE);
  MPI_Comm_disconnect(&parents);
}

}  // namespace

/// `inner FILE`: the file is made and deleted. `inner spawn`: processes alone, since Open MPI 5.0.11 sometimes fails to
/// start some after sessions.
int main(int argc, char** argv) {
  // What is told is of the parents.
  if (argc > 1 && std::strcmp(argv[1], "child") == 0) unsetenv("TUTTI_EXPLAIN");
  MPI_Init(&argc, &argv);
  MPI_Comm parent = MPI_COMM_NULL;
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) {
    child(parent);
    MPI_Finalize();
    return 0;
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  if (std::strcmp(argv[1], "spawn") == 0) {
    processes(argv[0]);
  } else {
    communicators();
    windows();
    sessions();
    files(argv[1]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
