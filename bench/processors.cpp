#include "processors.h"

#include <sched.h>

namespace tutti::bench {

std::vector<int> usable_processors() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof mask, &mask);
  std::vector<int> all;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &mask)) all.push_back(i);
  return all;
}

int processor_count() {
  return static_cast<int>(usable_processors().size());
}

bool bind_to(int processor) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(processor, &mask);
  return sched_setaffinity(0, sizeof mask, &mask) == 0;
}

}  // namespace tutti::bench
