/* An MPI program as most are: linked with its MPI. */
#include "sum.h"

int main(void) {
  const int wrong = sum_of_ranks("linked");
  finish();
  return wrong;
}
