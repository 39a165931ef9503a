/* Teams: what a program calls hands over to libtutti.so, which has them. */
#include "team.h"

#include "common.h"

/* Of the last team that was made: there is one for a process. Threads call through it after they have attached. */
static const struct TUTTI_Team_functions* functions;

static int missing(MPI_Comm comm, const char* function) {
  return failed_on(
      comm, function, MPI_ERR_OTHER,
      "there is no libtutti.so in this process, nor where the loader looks for libraries, or it is switched off "
      "(TUTTI_ENABLE=0); start the program with tutti run");
}

/* Of a libtutti.so that is there, or of one that is loaded now. That has no part in the program's own calls of MPI, and
 * each process is as if it was alone on its node. */
static const struct TUTTI_Team_functions* find(void) {
  const struct TUTTI_Team_functions* found = NULL;
  int (*get)(const struct TUTTI_Team_functions**);
  *(void**)&get = of_tutti("tutti_teams");
  if (!get) {
    void* const library = dlopen("libtutti.so", RTLD_NOW | RTLD_LOCAL);
    if (library) *(void**)&get = dlsym(library, "tutti_teams");
  }
  return get && get(&found) == 0 ? found : NULL;
}

int TUTTI_Team_create(MPI_Comm comm, int threads, TUTTI_Team* team) {
  if (!functions) functions = find();
  *team = TUTTI_TEAM_NULL;
  return functions ? functions->create(comm, threads, team) : missing(comm, "TUTTI_Team_create");
}

/* Without one there is no team, either. */
#define TUTTI_OR_MISSING(call, function) return functions ? functions->call : missing(MPI_COMM_SELF, function)

int TUTTI_Team_free(TUTTI_Team* team) {
  TUTTI_OR_MISSING(free(team), "TUTTI_Team_free");
}

int TUTTI_Team_attach(TUTTI_Team team, int thread) {
  TUTTI_OR_MISSING(attach(team, thread), "TUTTI_Team_attach");
}

int TUTTI_Team_detach(TUTTI_Team team) {
  TUTTI_OR_MISSING(detach(team), "TUTTI_Team_detach");
}

int TUTTI_Team_rank(TUTTI_Team team, int* rank) {
  TUTTI_OR_MISSING(rank(team, rank), "TUTTI_Team_rank");
}

int TUTTI_Team_size(TUTTI_Team team, int* size) {
  TUTTI_OR_MISSING(size(team, size), "TUTTI_Team_size");
}

int TUTTI_Team_place(TUTTI_Team team, int rank, TUTTI_Place* place) {
  TUTTI_OR_MISSING(place(team, rank, place), "TUTTI_Team_place");
}

int TUTTI_Team_barrier(TUTTI_Team team) {
  TUTTI_OR_MISSING(barrier(team), "TUTTI_Team_barrier");
}

int TUTTI_Team_ibarrier(TUTTI_Team team, TUTTI_Request* request) {
  TUTTI_OR_MISSING(ibarrier(team, request), "TUTTI_Team_ibarrier");
}

#define TUTTI_FUNCTION(name, parameters, arguments)                                             \
  int TUTTI_Team_##name(TUTTI_TEAM_LIST parameters, TUTTI_Team team) {                          \
    TUTTI_OR_MISSING(name(TUTTI_TEAM_LIST arguments, team), "TUTTI_Team_" #name);               \
  }                                                                                             \
  int TUTTI_Team_i##name(TUTTI_TEAM_LIST parameters, TUTTI_Team team, TUTTI_Request* request) { \
    TUTTI_OR_MISSING(i##name(TUTTI_TEAM_LIST arguments, team, request), "TUTTI_Team_i" #name);  \
  }
TUTTI_TEAM_COLLECTIVES(TUTTI_FUNCTION)
