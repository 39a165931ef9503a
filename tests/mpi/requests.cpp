// Requests where memory is out, and beside the host's own. The program has a malloc of its own, by which it keeps memory from the
// library alone.
#include <link.h>
#include <mpi.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "inits.h"
#include "support.h"

extern "C" void* __libc_malloc(std::size_t bytes);

namespace {

/// The code of the library's part for this MPI.
std::uintptr_t code_begin = 0, code_end = 0;
/// How many allocations there still are; negative: any number.
thread_local long left = -1;
thread_local bool was_out = false;

int find_code(dl_phdr_info* object, std::size_t, void*) {
  if (!std::strstr(object->dlpi_name, "/libtutti-")) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& part = object->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    code_begin = object->dlpi_addr + part.p_vaddr;
    code_end = code_begin + part.p_memsz;
  }
  return 0;
}

bool is_out(const void* caller) {
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  if (left < 0 || address < code_begin || address >= code_end) return false;
  if (left-- > 0) return false;
  left = -1;
  was_out = true;
  return true;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void* malloc(std::size_t bytes) {
  if (!is_out(__builtin_return_address(0))) return __libc_malloc(bytes);
  errno = ENOMEM;
  return nullptr;
}

namespace tutti::tests {

namespace {

constexpr int allocations = 24;  ///< of a call, at most: none is made while its peers wait for it

/// Calls start(), in which the allocation of this number fails on this rank; once it has failed, again. Whether it has.
template <class Start>
bool start_without(Context& context, int number, MPI_Request& request, bool is_made, const Start& start) {
  was_out = false;
  left = number;
  int code = start();
  left = -1;
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  if (error_class == MPI_SUCCESS) return false;
  context.expect(was_out && error_class == MPI_ERR_NO_MEM, "allocation %d: the error is %d", number, error_class);
  context.expect(is_made == (request != MPI_REQUEST_NULL), "allocation %d: the handle", number);
  code = start();
  context.expect(code == MPI_SUCCESS, "once there is memory again: %d", code);
  return true;
}

void want_of_memory_is_an_error_of_the_call(Context& context) {
  dl_iterate_phdr(&find_code, nullptr);
  if (code_end == 0) return;  // without the library
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  for (MPI_Comm each : {MPI_COMM_WORLD, MPI_COMM_SELF, communicator}) MPI_Comm_set_errhandler(each, MPI_ERRORS_RETURN);
  const int elements = 100;
  std::vector<int> values(elements);
  const auto is_right = [&](const char* what, int number) {
    context.expect(values.front() == context.size() && values.back() == context.size(), "%s, allocation %d", what,
                   number);
  };
  int errors = 0;
  // Each rank has many under way, so that what it keeps of former ones does not do.
  for (int number = 0; number < allocations; ++number) {
    std::vector<MPI_Request> others(100, MPI_REQUEST_NULL);
    for (MPI_Request& each : others) MPI_Ibarrier(communicator, &each);
    values.assign(values.size(), 1);
    MPI_Request request = MPI_REQUEST_NULL;
    errors += start_without(context, number, request, false, [&] {
      return MPI_Iallreduce(MPI_IN_PLACE, values.data(), elements, MPI_INT, MPI_SUM, communicator, &request);
    });
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    is_right("MPI_Iallreduce", number);
    MPI_Waitall(static_cast<int>(others.size()), others.data(), MPI_STATUSES_IGNORE);
  }
  if (context.size() > 1) context.expect(errors > 0, "no call of MPI_Iallreduce was without memory");
  for (int number = 0; number < allocations; ++number) {
    values.assign(values.size(), 1);
    MPI_Request request = MPI_REQUEST_NULL;
    inits.Allreduce(MPI_IN_PLACE, values.data(), elements, MPI_INT, MPI_SUM, communicator, MPI_INFO_NULL, &request);
    start_without(context, number, request, true, [&] { return MPI_Start(&request); });
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    is_right("MPI_Start", number);
    MPI_Request_free(&request);
  }
  for (MPI_Comm each : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(each, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_free(&communicator);
}

void sends_are_cancelled_beside_collectives(Context& context) {
  if (context.size() < 2) return;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  std::vector<char> data(1'000'000);
  const int bytes = static_cast<int>(data.size());
  if (context.rank() == 0) {
    int cancelled = 0;
    MPI_Status status;
    MPI_Isend(data.data(), bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    if (cancelled) MPI_Send(data.data(), bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
  } else if (context.rank() == 1) {
    usleep(50'000);  // it has not ended when it is cancelled
    MPI_Recv(data.data(), bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

}  // namespace tutti::tests

int main(int argc, char** argv) {
  using namespace tutti::tests;
  MPI_Init(&argc, &argv);
  int status = 0;
  {
    Context context(nullptr, 0);
    status = run_tests(context,
                       {{"sends_are_cancelled_beside_collectives", &sends_are_cancelled_beside_collectives},
                        {"want_of_memory_is_an_error_of_the_call", &want_of_memory_is_an_error_of_the_call}},
                       argc, argv);
  }
  MPI_Finalize();
  return status;
}
