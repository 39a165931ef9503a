// What MPI_Comm_split_type makes of each level of the machine, for the table in docs/hardware.md: with Tutti, or by the
// host alone. An ordinary MPI program. Rank 0 prints a line for each question: the question, a tab, the answer. An answer
// gives for each rank how many are in its new communicator, "-" for MPI_COMM_NULL, or "error".
//
// Words: `bound`: each rank is bound to a processor of its own before MPI_Init. `differing`: only the question that ranks
// ask differently: one gives MPI_INFO_NULL, the others MPI_UNDEFINED.
#include <mpi.h>
#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tutti.h"

namespace {

int rank = 0, size = 0;

/// By what the launcher says, since this is before MPI_Init.
void bind_to_one_processor() {
  int local = 0;
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_RANK"})
    if (const char* const text = std::getenv(name)) {
      local = std::atoi(text);
      break;
    }
  cpu_set_t allowed, one;
  sched_getaffinity(0, sizeof allowed, &allowed);
  CPU_ZERO(&one);
  for (int cpu = 0, index = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed) && index++ == local % CPU_COUNT(&allowed)) CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
}

/// Prints what each rank says.
void answer(const std::string& question, const std::string& mine) {
  constexpr int bytes = 400;
  char text[bytes] = "";
  std::snprintf(text, bytes, "%s", mine.c_str());
  std::vector<char> all(static_cast<std::size_t>(bytes) * static_cast<std::size_t>(size));
  MPI_Gather(text, bytes, MPI_CHAR, all.data(), bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank != 0) return;
  std::string line = question + "\t";
  for (int i = 0; i < size; ++i)
    line += (i ? " " : "") + std::string(all.data() + static_cast<std::size_t>(bytes) * static_cast<std::size_t>(i));
  std::puts(line.c_str());
  std::fflush(stdout);
}

/// How many are in the new communicator, which is freed; "-" for none.
std::string ask(int type, MPI_Info info) {
  MPI_Comm made = MPI_COMM_NULL;
  if (MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, info, &made) != MPI_SUCCESS) return "error";
  if (made == MPI_COMM_NULL) return "-";
  int members = 0;
  MPI_Comm_size(made, &members);
  MPI_Comm_free(&made);
  return std::to_string(members);
}

std::string ask(int type, const char* key, const char* value) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, key, value);
  const std::string members = ask(type, info);
  MPI_Info_free(&info);
  return members;
}

/// The sizes from communicator to communicator, until there is none any more.
std::string go_down() {
  std::string way;
  MPI_Comm at = MPI_COMM_WORLD;
  for (int step = 0; step < 12; ++step) {
    MPI_Comm made = MPI_COMM_NULL;
    const int code = MPI_Comm_split_type(at, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &made);
    if (at != MPI_COMM_WORLD) MPI_Comm_free(&at);
    if (code != MPI_SUCCESS) return way + (step ? "," : "") + "error";
    if (made == MPI_COMM_NULL) return way + (step ? "," : "") + "-";
    int members = 0;
    MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    MPI_Comm_size(made, &members);
    way += (step ? "," : "") + std::to_string(members);
    at = made;
  }
  MPI_Comm_free(&at);
  return way + ",...";
}

/// The types of which this rank uses one object.
std::string of_one_object() {
  MPI_Info info = MPI_INFO_NULL;
  if (TUTTI_Get_hw_resource_info(&info) != MPI_SUCCESS) return "error";
  int count = 0;
  std::string names;
  MPI_Info_get_nkeys(info, &count);
  for (int i = 0; i < count; ++i) {
    char key[MPI_MAX_INFO_KEY + 1] = "", value[16] = "";
    int found = 0;
    MPI_Info_get_nthkey(info, i, key);
    MPI_Info_get(info, key, 8, value, &found);
    const char* const name = std::strstr(key, "//") ? std::strstr(key, "//") + 2 : key;
    if (std::strcmp(value, "true") == 0) names += (names.empty() ? "" : ",") + std::string(name);
  }
  MPI_Info_free(&info);
  return names.empty() ? "-" : names;
}

void ask_everything() {
  answer("shared", ask(MPI_COMM_TYPE_SHARED, MPI_INFO_NULL));
  for (const char* level :
       {"mpi_shared_memory", "node", "NUMANode", "Package", "L3Cache", "L2Cache", "L1Cache", "Core", "hwloc://NUMANode",
        "hwloc://Package", "hwloc://L3Cache", "hwloc://Core", "hwloc://PU", "hwloc://Group", "nonsense"})
    answer(std::string("guided ") + level, ask(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", level));
  answer("guided without a key", ask(MPI_COMM_TYPE_HW_GUIDED, MPI_INFO_NULL));
  answer("unguided", go_down());
  answer("resource Core", ask(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_hw_resource_type", "Core"));
  for (const char* set : {"mpi://WORLD", "mpi://SELF", "nonsense"})
    answer(std::string("resource set ") + set, ask(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", set));
  answer("info", of_one_object());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string word = argc > 1 ? argv[1] : "";
  if (word == "bound") bind_to_one_processor();
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (word == "differing")
    answer("differing", ask(rank == 0 ? int{MPI_COMM_TYPE_HW_GUIDED} : int{MPI_UNDEFINED}, MPI_INFO_NULL));
  else
    ask_everything();
  MPI_Finalize();
  return 0;
}
