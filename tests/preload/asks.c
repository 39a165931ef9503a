/* Looks for a function by its name, as programs do that want to know whether this MPI has it; with a second word, calls
   it all the same: asks NAME [call] */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int count, char** words) {
  MPI_Init(&count, &words);
  void* const found = dlsym(RTLD_DEFAULT, words[1]);
  Dl_info info;
  const char* where = found && dladdr(found, &info) ? strrchr(info.dli_fname, '/') + 1 : "nowhere";
  printf("%s is %s\n", words[1], strncmp(where, "libmpi", 6) == 0 ? "the MPI's" : where);
  fflush(stdout);
  if (count > 2 && found) {
    void (*function)(void) = NULL;
    memcpy(&function, &found, sizeof found);
    function();
  }
  MPI_Finalize();
  return 0;
}
