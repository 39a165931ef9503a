/* Which functions of MPI are there, of those that some MPIs lack: before MPI begins, and afterwards. A line for each,
   with what a weak reference leads to (T: libtutti.so, M: something else, -: null) and what looking for its name finds in
   all that is global, behind this object, and in the MPI. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "preload/functions.h"
#include "sum.h"

/* Under names of their own, since the MPI may declare them with arguments. */
#define OF_MPI(name)                                                        \
  extern int weak_##name(void) __asm__("MPI_" #name) __attribute__((weak)); \
  extern int weak_second_##name(void) __asm__("PMPI_" #name) __attribute__((weak));
#define OF_MPIX(name)                                                          \
  extern int weak_x_##name(void) __asm__("MPIX_" #name) __attribute__((weak)); \
  extern int weak_second_x_##name(void) __asm__("PMPIX_" #name) __attribute__((weak));
TUTTI_INTERPOSED_BY_SOME(OF_MPI)
TUTTI_INTERPOSED_INITS(OF_MPIX)
TUTTI_INTERPOSED_EXTENSIONS(OF_MPIX)

struct reference {
  const char* name;
  int (*function)(void);
};
#define ROWS_OF_MPI(name) {"MPI_" #name, weak_##name}, {"PMPI_" #name, weak_second_##name},
#define ROWS_OF_MPIX(name) {"MPIX_" #name, weak_x_##name}, {"PMPIX_" #name, weak_second_x_##name},
static struct reference references[] = {TUTTI_INTERPOSED_BY_SOME(ROWS_OF_MPI) TUTTI_INTERPOSED_INITS(ROWS_OF_MPIX)
                                            TUTTI_INTERPOSED_EXTENSIONS(ROWS_OF_MPIX)};

static char owner_of(const void* address) {
  Dl_info info;
  if (!address) return '-';
  return dladdr(address, &info) && strstr(info.dli_fname, "libtutti.so") ? 'T' : 'M';
}

static void* address_of(int (*function)(void)) {
  void* address = NULL;
  memcpy(&address, &function, sizeof address);
  return address;
}

static void tell(const char* name, const char* when) {
  Dl_info mpi;
  int (*version)(int*, int*) = MPI_Get_version;
  void* address = NULL;
  memcpy(&address, &version, sizeof address);
  void* library = dladdr(address, &mpi) ? dlopen(mpi.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
  for (size_t i = 0; i < sizeof references / sizeof *references; i++) {
    const char* function = references[i].name;
    printf("%s %s %s: %c %c%c%c\n", name, when, function, owner_of(address_of(references[i].function)),
           dlsym(RTLD_DEFAULT, function) ? '+' : '-', dlsym(RTLD_NEXT, function) ? '+' : '-',
           library && dlsym(library, function) ? '+' : '-');
  }
  /* By code, which has a place of its own for the address. */
  printf("%s %s code: %c%c\n", name, when, owner_of(address_of(weak_Bcast_c)), owner_of(address_of(weak_x_Bcast_init)));
  fflush(stdout);
}

int sum_of_ranks(const char* name) {
  int provided = 0;
  tell(name, "before");
  MPI_Init_thread(NULL, NULL, MPI_THREAD_SINGLE, &provided);
  tell(name, "after");
  return 0;
}

int finish(void) {
  return MPI_Finalize();
}
