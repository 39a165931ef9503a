/* A program that knows no MPI and loads libraries that do, into scopes of their own, as Python does:
   late LIBRARY... */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int call(void* library, const char* function, const char* argument) {
  int (*address)(const char*) = NULL;
  void* found = dlsym(library, function);
  memcpy(&address, &found, sizeof found);
  return address(argument);
}

int main(int count, char** names) {
  void* libraries[8];
  int wrong = 0;
  for (int i = 1; i < count && i < 8; ++i) {
    libraries[i] = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!libraries[i]) {
      fprintf(stderr, "%s\n", dlerror());
      return 2;
    }
    const char* slash = strrchr(names[i], '/');
    wrong |= call(libraries[i], "sum_of_ranks", slash ? slash + 1 : names[i]);
  }
  /* The first one again, when the others are there. */
  if (count > 2) wrong |= call(libraries[1], "sum_of_ranks", "again");
  for (int i = count - 1; i > 0; --i) call(libraries[i], "finish", NULL);
  return wrong;
}
