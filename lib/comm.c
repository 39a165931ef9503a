/* libtutti-comm: communicators that follow the hardware, made by MPI calls alone.
 *
 * Each level is two splits of the group one level further out: into those who share an object, and into who leads. All
 * splits have the same keys, so that the order of ranks is the same in all that is made: a leader comes before those that
 * it leads, at every level.
 *
 * Whether Tutti is loaded is looked up by name (dlsym): the library must not need it. Without it only shared memory is
 * known, since what MPIs make of other names differs (docs/hardware.md).
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

static int ask_tutti(const char* name) {
  int (*function)(void);
  *(void**)&function = of_tutti(name);
  return function ? function() : -1;
}

int TUTTI_Loaded(void) {
  return ask_tutti("tutti_splits_by_hardware") == 1;
}

int TUTTI_Get_hw_resource_info(MPI_Info* hw_info) {
  int (*function)(void*);
  int (*of_mpi)(MPI_Info*);
  int code = -1;
  *(void**)&function = of_tutti("tutti_hw_resource_info");
  if (function) code = function(hw_info);
  if (code >= 0) return code;
  *(void**)&of_mpi = dlsym(RTLD_DEFAULT, "MPI_Get_hw_resource_info");
  return of_mpi ? of_mpi(hw_info) : MPI_Info_create(hw_info);
}

/* What is asked for, the same on all ranks. */
struct request {
  char* levels; /* NULL: all that part the ranks; else names with ends between them */
  int names;
  int leader; /* a rank, or one of the following */
  int tutti;  /* all ranks have it */
};
enum { LOWEST = -1, NEAREST = -2, UNKNOWN = -3 };

static int failed(MPI_Comm comm, const char* why) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  if (rank == 0) fprintf(stderr, "TUTTI_Comm_hierarchy: %s\n", why);
  MPI_Comm_call_errhandler(comm, MPI_ERR_ARG);
  return MPI_ERR_ARG;
}

static unsigned hash(unsigned before, const char* text) {
  for (; *text; ++text) before = (before ^ (unsigned char)*text) * 16777619u;
  return before * 16777619u;
}

static int is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n';
}

/* Whether an MPI_Info takes each of the names that cut() has made of a list. */
static int are_values(const char* list, int names) {
  for (; names > 0; --names, list += strlen(list) + 1)
    if (!*list || strlen(list) >= MPI_MAX_INFO_VAL) return 0;
  return 1;
}

/* Cuts the list at its commas, without blanks around names. Returns how many names there are; empty ones count. */
static int cut(char* list) {
  int names = 0;
  char* to = list;
  for (const char* from = list;;) {
    const char* end;
    const char* behind = strchr(from, ',');
    if (!behind) behind = from + strlen(from);
    end = behind;
    while (from < end && is_space(*from)) ++from;
    while (end > from && is_space(end[-1])) --end;
    const int last = *behind == 0;
    memmove(to, from, (size_t)(end - from));
    to += end - from;
    *to++ = 0;
    ++names;
    if (last) return names;
    from = behind + 1;
  }
}

/* The leader that the info asks for; `text` gets what stands there. */
static int leader_of(MPI_Info info, char* text, int size) {
  int found = 0;
  char* end = NULL;
  text[0] = 0;
  if (info != MPI_INFO_NULL) MPI_Info_get(info, "tutti_leader", MPI_MAX_INFO_VAL, text, &found);
  if (!found || !strcmp(text, "lowest")) return LOWEST;
  if (!strcmp(text, "network")) return NEAREST;
  const long rank = strtol(text, &end, 10);
  return end != text && *end == 0 && rank >= 0 && rank < size ? (int)rank : UNKNOWN;
}

/* Fills `request`; 0, or an error that was reported on all ranks. */
static int agree(MPI_Comm comm, const char* levels, MPI_Info info, struct request* request) {
  char text[MPI_MAX_INFO_VAL + 1];
  int size = 0;
  if (levels && !strcmp(levels, "auto")) levels = NULL;
  MPI_Comm_size(comm, &size);
  request->leader = leader_of(info, text, size);
  request->levels = levels ? malloc(strlen(levels) + 1) : NULL;
  request->names = 0;
  if (request->levels) {
    strcpy(request->levels, levels);
    request->names = cut(request->levels);
  }
  /* The least and the greatest of all ranks at once: of a number and of what is missing to it. */
  const int value = (int)(hash(hash(2166136261u, levels ? levels : "auto"), text) & INT_MAX);
  const int mine[4] = {value, INT_MAX - value, TUTTI_Loaded(), !levels || request->levels};
  int least[4];
  const int code = MPI_Allreduce(mine, least, 4, MPI_INT, MPI_MIN, comm);
  if (code != MPI_SUCCESS) return code;
  request->tutti = least[2];
  if (least[0] != INT_MAX - least[1])
    return failed(comm, "levels and tutti_leader must be the same on all ranks of the communicator");
  if (request->leader == UNKNOWN)
    return failed(comm, "tutti_leader is none of lowest, network and a rank of the communicator");
  if (!least[3]) return failed(comm, "no memory");
  if (levels && !are_values(request->levels, request->names))
    return failed(comm, "levels has a name that is empty or too long");
  return MPI_SUCCESS;
}

/* Whoever has less leads before others. */
static int preference(MPI_Comm comm, const struct request* request) {
  int rank = 0;
  if (request->leader == LOWEST) return 0;
  if (request->leader >= 0) {
    MPI_Comm_rank(comm, &rank);
    return rank != request->leader;
  }
  const int distance = ask_tutti("tutti_network_distance");
  return distance < 0 ? INT_MAX : distance;
}

static int is_shared_memory(const char* name) {
  return !strcmp(name, "mpi_shared_memory") || !strcmp(name, "mpi://mpi_shared_memory") || !strcmp(name, "node") ||
         !strcmp(name, "Node");
}

/* The part of `outer` that this rank is in at the next level; name: NULL for the unguided split. */
static int split(MPI_Comm outer, const char* name, int tutti, int key, MPI_Comm* group) {
  *group = MPI_COMM_NULL;
  if (name && is_shared_memory(name))
    return MPI_Comm_split_type(outer, MPI_COMM_TYPE_SHARED, key, MPI_INFO_NULL, group);
  if (tutti && !name) return MPI_Comm_split_type(outer, TUTTI_COMM_TYPE_HW_UNGUIDED, key, MPI_INFO_NULL, group);
  if (tutti) {
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_hw_resource_type", name);
    const int code = MPI_Comm_split_type(outer, TUTTI_COMM_TYPE_HW_GUIDED, key, info, group);
    MPI_Info_free(&info);
    return code;
  }
  if (name) return MPI_SUCCESS;
  /* Unguided: nodes, as long as there are several. */
  int all = 0, here = 0;
  const int code = MPI_Comm_split_type(outer, MPI_COMM_TYPE_SHARED, key, MPI_INFO_NULL, group);
  if (code != MPI_SUCCESS) return code;
  MPI_Comm_size(outer, &all);
  MPI_Comm_size(*group, &here);
  if (here == all) MPI_Comm_free(group);
  return MPI_SUCCESS;
}

/* Room for one level more. */
static int grow(TUTTI_Hierarchy* hierarchy) {
  const size_t levels = (size_t)hierarchy->levels + 1;
  void* groups = realloc(hierarchy->groups, levels * sizeof(MPI_Comm));
  if (groups) hierarchy->groups = groups;
  void* conduits = realloc(hierarchy->conduits, levels * sizeof(MPI_Comm));
  if (conduits) hierarchy->conduits = conduits;
  void* names = realloc(hierarchy->names, levels * sizeof(char*));
  if (names) hierarchy->names = names;
  return groups && conduits && names;
}

/* Adds the level that `outer` has been split into, of which this rank is in `group`. Collective over `outer`; on ranks
 * that are in no group of the level before, nothing is split. */
static int add(TUTTI_Hierarchy* hierarchy, MPI_Comm outer, MPI_Comm group, const char* name, int key) {
  int place = 0;
  const int at = hierarchy->levels;
  char* copy = malloc(strlen(name) + 1);
  if (!copy || !grow(hierarchy)) {
    fprintf(stderr, "TUTTI_Comm_hierarchy: no memory\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
  }
  hierarchy->names[at] = strcpy(copy, name);
  hierarchy->groups[at] = group;
  hierarchy->conduits[at] = MPI_COMM_NULL;
  hierarchy->levels = at + 1;
  if (outer == MPI_COMM_NULL) return MPI_SUCCESS;
  if (group != MPI_COMM_NULL) MPI_Comm_rank(group, &place);
  return MPI_Comm_split(outer, place == 0 ? 0 : MPI_UNDEFINED, key, &hierarchy->conduits[at]);
}

/* Whether some rank of `comm` is in a group of several. */
static int any_together(MPI_Comm comm, MPI_Comm group) {
  int size = 0, widest = 0;
  if (group != MPI_COMM_NULL) MPI_Comm_size(group, &size);
  if (MPI_Allreduce(&size, &widest, 1, MPI_INT, MPI_MAX, comm) != MPI_SUCCESS) return 0;
  return widest > 1;
}

static int add_named(MPI_Comm comm, const struct request* request, int key, TUTTI_Hierarchy* hierarchy) {
  MPI_Comm outer = comm;
  const char* name = request->levels;
  for (int i = 0; i < request->names; ++i, name += strlen(name) + 1) {
    MPI_Comm group = MPI_COMM_NULL;
    int code = outer == MPI_COMM_NULL ? MPI_SUCCESS : split(outer, name, request->tutti, key, &group);
    if (code == MPI_SUCCESS) code = add(hierarchy, outer, group, name, key);
    if (code != MPI_SUCCESS) return code;
    outer = group;
  }
  return MPI_SUCCESS;
}

/* Listing 3 of MPC with Listing 4 in it, as far as anybody is left together. */
static int add_all(MPI_Comm comm, const struct request* request, int key, TUTTI_Hierarchy* hierarchy) {
  MPI_Comm outer = comm;
  for (;;) {
    MPI_Comm group = MPI_COMM_NULL;
    int code = outer == MPI_COMM_NULL ? MPI_SUCCESS : split(outer, NULL, request->tutti, key, &group);
    if (code != MPI_SUCCESS) return code;
    if (!any_together(comm, group)) {
      if (group != MPI_COMM_NULL) MPI_Comm_free(&group);
      if (hierarchy->levels > 0) return MPI_SUCCESS;
      code = MPI_Comm_split(comm, 0, key, &group);
      return code == MPI_SUCCESS ? add(hierarchy, comm, group, "", key) : code;
    }
    code = add(hierarchy, outer, group, "", key);
    if (code != MPI_SUCCESS) return code;
    outer = group;
  }
}

int TUTTI_Comm_hierarchy(MPI_Comm comm, const char* levels, MPI_Info info, TUTTI_Hierarchy* hierarchy) {
  struct request request = {NULL, 0, LOWEST, 0};
  if (hierarchy == NULL) return failed_alone("TUTTI_Comm_hierarchy", MPI_ERR_ARG, "there is no room for the hierarchy");
  memset(hierarchy, 0, sizeof *hierarchy);
  if (comm == MPI_COMM_NULL)
    return failed_alone("TUTTI_Comm_hierarchy", MPI_ERR_COMM, "MPI_COMM_NULL is no communicator");
  int code = agree(comm, levels, info, &request);
  if (code == MPI_SUCCESS) {
    const int key = preference(comm, &request);
    code = request.levels ? add_named(comm, &request, key, hierarchy) : add_all(comm, &request, key, hierarchy);
  }
  free(request.levels);
  return code;
}

int TUTTI_Comm_hierarchy_free(TUTTI_Hierarchy* hierarchy) {
  int result = MPI_SUCCESS;
  for (int level = hierarchy->levels - 1; level >= 0; --level) {
    MPI_Comm* const both[2] = {&hierarchy->conduits[level], &hierarchy->groups[level]};
    for (int i = 0; i < 2; ++i) {
      const int code = *both[i] == MPI_COMM_NULL ? MPI_SUCCESS : MPI_Comm_free(both[i]);
      if (code != MPI_SUCCESS) result = code;
    }
    free(hierarchy->names[level]);
  }
  free(hierarchy->groups);
  free(hierarchy->conduits);
  free(hierarchy->names);
  memset(hierarchy, 0, sizeof *hierarchy);
  return result;
}
