/* A program at a fixed address that takes addresses of malloc's family, which it does not define: its table of symbols has
   them with values all the same. As blocks.c: "window" or "plain". */
#include "check.h"

static void* (*volatile take)(size_t);
static void (*volatile give_back)(void*);
static void* (*volatile resize)(void*, size_t);

int main(int count, char** arguments) {
  const int expected = count > 1 && strcmp(arguments[1], "window") == 0;
  /* By code, which has the addresses in it. */
  take = malloc;
  give_back = free;
  resize = realloc;
  void* block = take(100000);
  CHECK(in_window(block) == expected);
  block = resize(block, 300000);
  CHECK(in_window(block) == expected);
  give_back(block);
  return 0;
}
