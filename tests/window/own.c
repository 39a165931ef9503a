/* An allocator: linked into a program, or in a library that is preloaded. What it hands out is never taken back. */
#include <stddef.h>
#include <string.h>

static _Alignas(16) char memory[8 << 20];
static size_t used;

void* malloc(size_t bytes) {
  const size_t whole = (bytes + 31) / 16 * 16;
  if (bytes > sizeof memory || whole > sizeof memory - used) return NULL;
  char* const block = memory + used + 16;
  memcpy(block - 16, &bytes, sizeof bytes);
  used += whole;
  return block;
}

void free(void* block) {
  (void)block;
}

void* calloc(size_t count, size_t bytes) {
  return malloc(count * bytes); /* zero, since nothing is used twice */
}

void* realloc(void* block, size_t bytes) {
  size_t before = 0;
  void* const moved = malloc(bytes);
  if (block) memcpy(&before, (char*)block - 16, sizeof before);
  if (moved && block) memcpy(moved, block, before < bytes ? before : bytes);
  return moved;
}
