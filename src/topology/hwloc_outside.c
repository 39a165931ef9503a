// What hwloc may see of the world outside when it is linked statically into a library that is preloaded into
// other people's programs. cmake/hwloc.cmake renames these outside names in our private copy of libhwloc.a.
//
// - dlopen: hwloc loads every plug-in of the system at start-up. Those link the shared libhwloc, and OpenCL,
// X11 or
//   PCI libraries, into a program that never asked for them, and cost more time than all the rest of the
//   discovery. Here no plug-in can be loaded; hwloc goes on without. The levels that we use need none.
// - getenv: hwloc speaks on standard error when a machine describes itself badly, unless told otherwise by a
// variable.
//   The program's environment is not ours to change, so the variable is answered here.
// - udev_*: Debian's libhwloc.a wants libudev, only to name disks. Here there is no udev; hwloc copes.
// - stderr, stdout, program_invocation_name: data of the C library, which code built for programs reaches as
// if it
//   were its own; in a shared library it must be.
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Hidden, whatever the flags: what may be replaced from elsewhere cannot be reached as one's own.
#pragma GCC visibility push(hidden)

void* tutti_hwloc_dlopen(const char* file, int mode);
char* tutti_hwloc_getenv(const char* name);
void* tutti_hwloc_udev_new(void);
void* tutti_hwloc_udev_unref(void* udev);
void* tutti_hwloc_udev_device_new_from_subsystem_sysname(void* udev, const char* subsystem, const char* name);
const char* tutti_hwloc_udev_device_get_property_value(void* device, const char* key);
void* tutti_hwloc_udev_device_unref(void* device);

FILE* tutti_hwloc_stderr;
FILE* tutti_hwloc_stdout;
char* tutti_hwloc_program_invocation_name;

__attribute__((constructor)) static void copy_data_of_the_c_library(void) {
  tutti_hwloc_stderr = stderr;
  tutti_hwloc_stdout = stdout;
  tutti_hwloc_program_invocation_name = program_invocation_name;
}

void* tutti_hwloc_dlopen(const char* file, int mode) {
  (void)file;
  (void)mode;
  return NULL;
}

char* tutti_hwloc_getenv(const char* name) {
  static char hide_all[] = "2";
  char* value = getenv(name);
  if (!value && strcmp(name, "HWLOC_HIDE_ERRORS") == 0) return hide_all;
  return value;
}

void* tutti_hwloc_udev_new(void) {
  return NULL;
}

void* tutti_hwloc_udev_unref(void* udev) {
  (void)udev;
  return NULL;
}

void* tutti_hwloc_udev_device_new_from_subsystem_sysname(void* udev, const char* subsystem, const char* name) {
  (void)udev;
  (void)subsystem;
  (void)name;
  return NULL;
}

const char* tutti_hwloc_udev_device_get_property_value(void* device, const char* key) {
  (void)device;
  (void)key;
  return NULL;
}

void* tutti_hwloc_udev_device_unref(void* device) {
  (void)device;
  return NULL;
}

#pragma GCC visibility pop
