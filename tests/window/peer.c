/* Maps the window of owner.c through /proc, compares, and writes the first page: peer <process> <descriptor>
 * <offset> <bytes> */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

int main(int count, char** arguments) {
  CHECK(count == 5);
  char path[64];
  snprintf(path, sizeof path, "/proc/%s/fd/%s", arguments[1], arguments[2]);
  const int descriptor = open(path, O_RDWR | O_CLOEXEC);
  CHECK(descriptor >= 0);
  struct stat status;
  CHECK(fstat(descriptor, &status) == 0);
  unsigned char* window =
      mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  CHECK(window != MAP_FAILED);
  unsigned char* block = window + strtoul(arguments[3], NULL, 10);
  CHECK(filled(block, strtoul(arguments[4], NULL, 10), 17));
  fill(block, 4096, 99);
  return 0;
}
