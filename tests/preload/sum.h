/* What the programs of this folder do with MPI. */
#ifndef TUTTI_TESTS_PRELOAD_SUM_H
#define TUTTI_TESTS_PRELOAD_SUM_H

/* Starts MPI, adds the ranks up and prints the sum and who has carried it out: "tutti", "host", or "nobody" where the
   library does not know. Returns 0 if the sum is right. */
int sum_of_ranks(const char* name);
int finish(void);

#endif
