// How a program starts, for what is linked by cmake/glibc_floor.cmake. Since glibc 2.34 the C library finds a program's
// constructors by itself, and crt1.o no longer says where they are; before, it was told.
#include <stddef.h>

typedef void (*Constructor)(int, char**, char**);

extern Constructor __preinit_array_start[], __preinit_array_end[], __init_array_start[], __init_array_end[];
extern void _init(void);

static void construct(int count, char** words, char** environment) {
  for (Constructor* each = __preinit_array_start; each < __preinit_array_end; each++)
    (*each)(count, words, environment);
  _init();
  for (Constructor* each = __init_array_start; each < __init_array_end; each++) (*each)(count, words, environment);
}

#if defined(__powerpc64__)

// Here crt1.o has these in a structure.
struct Start {
  void* small_data;
  int (*main)(int, char**, char**);
  Constructor init;
  void (*fini)(void);
};

extern int start_of_old(int, char**, char**, void*, void (*)(void), struct Start*, char**);
__asm__(".symver start_of_old, __libc_start_main@GLIBC_2.17");

int __libc_start_main(int, char**, char**, void*, void (*)(void), struct Start*, char**);

int __libc_start_main(int count, char** words, char** environment, void* vector, void (*rtld_fini)(void),
                      struct Start* start, char** stack_end) {
  static struct Start own;
  own = *start;
  if (!own.init) own.init = construct;
  return start_of_old(count, words, environment, vector, rtld_fini, &own, stack_end);
}

#else

typedef int (*Main)(int, char**, char**);

extern int start_of_old(Main, int, char**, Constructor, void (*)(void), void (*)(void), void*);
#if defined(__x86_64__)
__asm__(".symver start_of_old, __libc_start_main@GLIBC_2.2.5");
#else
__asm__(".symver start_of_old, __libc_start_main@GLIBC_2.17");
#endif

int __libc_start_main(Main, int, char**, Constructor, void (*)(void), void (*)(void), void*);

int __libc_start_main(Main main, int count, char** words, Constructor init, void (*fini)(void), void (*rtld_fini)(void),
                      void* stack_end) {
  return start_of_old(main, count, words, init ? init : construct, fini, rtld_fini, stack_end);
}

#endif
