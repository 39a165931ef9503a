// What libtutti.so has for the parts that it loads (src/mpi/): one copy in a process, whoever calls it.
#pragma once

#define TUTTI_SHARED __attribute__((visibility("default")))
