// Communicators that follow the hardware: who is in which, and what is left of them.
//
// With TUTTI_TOPOLOGY=package:2 numa:2 core:2 pu:1, but for those tests whose names say otherwise: rank i of the job then
// sits on core i modulo 8, whatever the machine is.
#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "support.h"
#include "tutti.h"

using namespace tutti::tests;

namespace {

constexpr int units = 8;
const char* const levels = "Package, NUMANode,Core";
/// Which object of each of the three levels a rank of the job is in.
std::vector<int> objects_of(int world_rank) {
  const int unit = world_rank % units;
  return {unit / 4, unit / 2, unit};
}

/// The ranks in MPI_COMM_WORLD of a communicator's members, in their order; none for MPI_COMM_NULL.
std::vector<int> members_of(MPI_Comm communicator) {
  if (communicator == MPI_COMM_NULL) return {};
  int size = 0;
  MPI_Comm_size(communicator, &size);
  MPI_Group group, world;
  MPI_Comm_group(communicator, &group);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  std::vector<int> own(static_cast<std::size_t>(size)), in_world(own.size());
  for (int i = 0; i < size; ++i) own[static_cast<std::size_t>(i)] = i;
  MPI_Group_translate_ranks(group, size, own.data(), world, in_world.data());
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  return in_world;
}

std::string text_of(const std::vector<int>& members) {
  std::string text;
  for (const int each : members) text += (text.empty() ? "" : " ") + std::to_string(each);
  return members.empty() ? "none" : text;
}

void expect_members(Context& context, MPI_Comm communicator, const std::vector<int>& wanted, const char* what) {
  const std::vector<int> members = members_of(communicator);
  context.expect(members == wanted, "%s: %s instead of %s", what, text_of(members).c_str(), text_of(wanted).c_str());
}

int split(MPI_Comm communicator, int type, const char* key, const char* value, int order, MPI_Comm* made) {
  MPI_Info info = MPI_INFO_NULL;
  if (key) MPI_Info_create(&info), MPI_Info_set(info, key, value);
  const int code = MPI_Comm_split_type(communicator, type, order, info, made);
  if (key) MPI_Info_free(&info);
  return code;
}

/// Communicators with the job's ranks in several orders; to be freed.
std::vector<MPI_Comm> orders(const Context& context) {
  std::vector<MPI_Comm> made(3, MPI_COMM_NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &made[0]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -context.rank(), &made[1]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, context.rank() * 5 % 7, &made[2]);
  return made;
}

void guided_splits_have_the_ranks_of_an_object(Context& context) {
  const char* const names[][3] = {{"Package", "socket", "hwloc://Package"},
                                  {"NUMANode", "NUMA node", "hwloc://NUMANode"},
                                  {"core", "hwloc://Core", "hwloc://PU"}};
  for (MPI_Comm communicator : orders(context)) {
    for (std::size_t level = 0; level < 3; ++level)
      for (const char* name : names[level]) {
        MPI_Comm made = MPI_COMM_NULL;
        split(communicator, MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", name, 0, &made);
        std::vector<int> wanted = members_of(communicator);
        std::erase_if(wanted, [&](int each) { return objects_of(each)[level] != objects_of(context.rank())[level]; });
        expect_members(context, made, wanted, name);
        exercise(context, made, name, 10);
        MPI_Comm_free(&made);
        split(communicator, MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_hw_resource_type", name, -context.rank(), &made);
        std::sort(wanted.rbegin(), wanted.rend());
        expect_members(context, made, wanted, "by the key");
        MPI_Comm_free(&made);
      }
    MPI_Comm_free(&communicator);
  }
}

void shared_memory_has_everybody_by_each_of_its_names(Context& context) {
  for (const char* name : {"mpi_shared_memory", "mpi://mpi_shared_memory", "node", "hwloc://Machine"}) {
    MPI_Comm made = MPI_COMM_NULL;
    split(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", name, 0, &made);
    expect_members(context, made, members_of(MPI_COMM_WORLD), name);
    MPI_Comm_free(&made);
  }
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, context.rank() % 2, MPI_INFO_NULL, &made);
  context.expect(members_of(made).size() == static_cast<std::size_t>(context.size()), "MPI_COMM_TYPE_SHARED");
  MPI_Comm_free(&made);
}

void what_nobody_knows_gives_none(Context& context) {
  const auto expect_none = [&](int type, const char* key, const char* value) {
    MPI_Comm made = MPI_COMM_WORLD;
    const int code = split(MPI_COMM_WORLD, type, key, value, 0, &made);
    context.expect(code == MPI_SUCCESS && made == MPI_COMM_NULL, "%s=%s", key ? key : "no key", value);
  };
  for (const int type : {int{MPI_COMM_TYPE_HW_GUIDED}, int{MPI_COMM_TYPE_RESOURCE_GUIDED}}) {
    for (const char* value : {"nonsense", "hwloc://nonsense", "hwloc://L4Cache", "Die", "pmix://x"})
      expect_none(type, "mpi_hw_resource_type", value);
    expect_none(type, "another_key", "Core");
    expect_none(type, nullptr, "");
  }
  expect_none(MPI_COMM_TYPE_HW_GUIDED, "mpi_pset_name", "mpi://WORLD");
  expect_none(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "nonsense");
}

void process_sets_split(Context& context) {
  MPI_Comm made = MPI_COMM_NULL;
  split(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://WORLD", 0, &made);
  expect_members(context, made, members_of(MPI_COMM_WORLD), "mpi://WORLD");
  MPI_Comm_free(&made);
  split(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://SELF", 0, &made);
  expect_members(context, made, {context.rank()}, "mpi://SELF");
  MPI_Comm_free(&made);
}

void unguided_splits_go_down_to_the_end(Context& context) {
  for (MPI_Comm communicator : orders(context)) {
    MPI_Comm at = communicator;
    for (int step = 0;; ++step) {
      const std::vector<int> before = members_of(at);
      // The outermost level of which these ranks have several objects.
      std::vector<int> wanted;
      for (std::size_t level = 0; level < 3 && wanted.empty(); ++level) {
        wanted = before;
        std::erase_if(wanted, [&](int each) { return objects_of(each)[level] != objects_of(context.rank())[level]; });
        if (wanted.size() == before.size()) wanted.clear();
      }
      MPI_Comm made = MPI_COMM_NULL;
      MPI_Info info = MPI_INFO_NULL;
      MPI_Info_create(&info);
      MPI_Comm_split_type(at, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &made);
      expect_members(context, made, wanted, "unguided");
      char type[MPI_MAX_INFO_VAL + 1] = "";
      int told = 0;
      MPI_Info_get(info, "mpi_hw_resource_type", MPI_MAX_INFO_VAL, type, &told);
      MPI_Info_free(&info);
      if (context.expect((told != 0) == (made != MPI_COMM_NULL), "told a type: '%s'", type) && told) {
        // What it was split by is what a guided split may ask for.
        MPI_Comm guided = MPI_COMM_NULL;
        split(at, MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", type, 0, &guided);
        expect_members(context, guided, wanted, type);
        if (guided != MPI_COMM_NULL) MPI_Comm_free(&guided);
      }
      MPI_Comm_free(&at);
      at = made;
      if (made == MPI_COMM_NULL) break;
      if (!context.expect(step < 4, "no end")) break;
    }
  }
}

void some_ranks_may_stay_out(Context& context) {
  const bool out = context.rank() % 2 == 1;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, out ? int{MPI_UNDEFINED} : int{MPI_COMM_TYPE_HW_GUIDED}, 0, MPI_INFO_NULL, &made);
  context.expect(made == MPI_COMM_NULL, "without a key");
  split(MPI_COMM_WORLD, out ? int{MPI_UNDEFINED} : int{MPI_COMM_TYPE_HW_GUIDED}, out ? nullptr : "mpi_hw_resource_type",
        "Package", 0, &made);
  std::vector<int> wanted = members_of(MPI_COMM_WORLD);
  std::erase_if(wanted,
                [&](int each) { return each % 2 == 1 || objects_of(each)[0] != objects_of(context.rank())[0]; });
  expect_members(context, made, out ? std::vector<int>{} : wanted, "Package");
  if (made != MPI_COMM_NULL) MPI_Comm_free(&made);
  MPI_Comm_split_type(MPI_COMM_WORLD, out ? int{MPI_UNDEFINED} : int{MPI_COMM_TYPE_SHARED}, 0, MPI_INFO_NULL, &made);
  context.expect((made == MPI_COMM_NULL) == out, "MPI_COMM_TYPE_SHARED");
  if (made != MPI_COMM_NULL) MPI_Comm_free(&made);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &made);
  context.expect(made == MPI_COMM_NULL, "nobody");
}

void values_that_differ_are_ignored(Context& context) {
  if (context.size() < 2) return;
  const bool first = context.rank() == 0;
  MPI_Comm made = MPI_COMM_NULL;
  for (const int type : {int{MPI_COMM_TYPE_HW_GUIDED}, int{MPI_COMM_TYPE_RESOURCE_GUIDED}}) {
    split(MPI_COMM_WORLD, type, "mpi_hw_resource_type", first ? "mpi_shared_memory" : "Core", 0, &made);
    context.expect(made == MPI_COMM_NULL, "another value");
    split(MPI_COMM_WORLD, type, first ? nullptr : "mpi_hw_resource_type", "mpi_shared_memory", 0, &made);
    context.expect(made == MPI_COMM_NULL, "no value");
  }
}

void different_types_are_an_error_on_all(Context& context) {
  if (context.size() < 2) return;
  const bool first = context.rank() == 0;
  MPI_Comm communicator = MPI_COMM_NULL, made = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  const auto expect_error = [&](int code, const char* what) {
    int error = MPI_SUCCESS;
    MPI_Error_class(code, &error);
    context.expect(error == MPI_ERR_ARG, "%s: %d", what, error);
  };
  expect_error(
      split(communicator, first ? int{MPI_COMM_TYPE_HW_UNGUIDED} : int{MPI_COMM_TYPE_HW_GUIDED}, nullptr, "", 0, &made),
      "another type");
  expect_error(
      split(communicator, first ? int{MPI_COMM_TYPE_SHARED} : int{MPI_COMM_TYPE_HW_UNGUIDED}, nullptr, "", 0, &made),
      "a type of the host's");
  TUTTI_Hierarchy hierarchy;
  expect_error(TUTTI_Comm_hierarchy(communicator, first ? "node" : "Core", MPI_INFO_NULL, &hierarchy), "other levels");
  exercise(context, communicator, "after errors", 10);
  MPI_Comm_free(&communicator);
}

void the_info_tells_what_is_true(Context& context) {
  MPI_Info info = MPI_INFO_NULL;
  context.expect(TUTTI_Get_hw_resource_info(&info) == MPI_SUCCESS, "TUTTI_Get_hw_resource_info");
  for (const char* key : {"mpi://mpi_shared_memory", "hwloc://Machine", "hwloc://Package", "hwloc://NUMANode",
                          "hwloc://Core", "hwloc://PU"}) {
    char value[8] = "";
    int found = 0;
    MPI_Info_get(info, key, 7, value, &found);
    context.expect(found && std::string(value) == "true", "%s: %s", key, value);
  }
  MPI_Info_free(&info);
}

/// Who leads: before all others this one, then the lowest.
void expect_hierarchy(Context& context, MPI_Comm communicator, const TUTTI_Hierarchy& hierarchy, int leader) {
  std::vector<int> outer = members_of(communicator);
  if (leader >= 0) {
    const int first = outer[static_cast<std::size_t>(leader)];
    std::stable_partition(outer.begin(), outer.end(), [=](int each) { return each == first; });
  }
  context.expect(hierarchy.levels == 3, "%d levels", hierarchy.levels);
  for (std::size_t level = 0; level < static_cast<std::size_t>(hierarchy.levels); ++level) {
    std::vector<int> group, leaders;
    std::vector<int> seen;
    for (const int each : outer) {
      const int object = objects_of(each)[level];
      if (object == objects_of(context.rank())[level]) group.push_back(each);
      if (std::find(seen.begin(), seen.end(), object) == seen.end()) seen.push_back(object), leaders.push_back(each);
    }
    const bool leads = group.front() == context.rank();
    expect_members(context, hierarchy.groups[level], group, hierarchy.names[level]);
    expect_members(context, hierarchy.conduits[level], leads ? leaders : std::vector<int>{}, "conduit");
    outer = group;
  }
}

void hierarchies_have_groups_and_conduits(Context& context) {
  for (MPI_Comm communicator : orders(context)) {
    TUTTI_Hierarchy hierarchy;
    TUTTI_Comm_hierarchy(communicator, levels, MPI_INFO_NULL, &hierarchy);
    expect_hierarchy(context, communicator, hierarchy, -1);
    context.expect(std::string(hierarchy.names[1]) == "NUMANode", "the name of a level: %s", hierarchy.names[1]);
    TUTTI_Comm_hierarchy_free(&hierarchy);
    context.expect(hierarchy.levels == 0 && !hierarchy.groups, "freed");
    for (int leader = 0; leader < context.size(); leader += 2) {
      MPI_Info info;
      MPI_Info_create(&info);
      MPI_Info_set(info, "tutti_leader", std::to_string(leader).c_str());
      TUTTI_Comm_hierarchy(communicator, levels, info, &hierarchy);
      expect_hierarchy(context, communicator, hierarchy, leader);
      TUTTI_Comm_hierarchy_free(&hierarchy);
      MPI_Info_free(&info);
    }
    MPI_Comm_free(&communicator);
  }
}

void all_levels_are_those_that_part_ranks(Context& context) {
  TUTTI_Hierarchy hierarchy;
  TUTTI_Comm_hierarchy(MPI_COMM_WORLD, nullptr, MPI_INFO_NULL, &hierarchy);
  // Ranks fill one core after the other: up to 2 are parted by cores alone, up to 4 by NUMA nodes too.
  const int wanted = context.size() <= 4 ? 1 : context.size() <= units ? 2 : 3;
  context.expect(hierarchy.levels == wanted, "%d levels, not %d", hierarchy.levels, wanted);
  TUTTI_Comm_hierarchy_free(&hierarchy);
  TUTTI_Comm_hierarchy(MPI_COMM_SELF, "auto", MPI_INFO_NULL, &hierarchy);
  context.expect(hierarchy.levels == 1 && hierarchy.groups[0] != MPI_COMM_NULL, "a rank alone");
  TUTTI_Comm_hierarchy_free(&hierarchy);
}

/// From conduit to conduit, and at last within the innermost groups.
void broadcast(const TUTTI_Hierarchy& hierarchy, int* value) {
  for (int level = 0; level < hierarchy.levels; ++level)
    if (hierarchy.conduits[level] != MPI_COMM_NULL) MPI_Bcast(value, 1, MPI_INT, 0, hierarchy.conduits[level]);
  const MPI_Comm innermost = hierarchy.groups[hierarchy.levels - 1];
  if (innermost != MPI_COMM_NULL) MPI_Bcast(value, 1, MPI_INT, 0, innermost);
}

void broadcasts_from_conduit_to_conduit_reach_everybody(Context& context) {
  for (const char* const list :
       {levels, static_cast<const char*>(nullptr), "node", "Core", "nonsense", "node,nonsense,Core", "Core,Package"})
    for (int root = 0; root < context.size(); ++root) {
      MPI_Info info;
      MPI_Info_create(&info);
      MPI_Info_set(info, "tutti_leader", std::to_string(root).c_str());
      TUTTI_Hierarchy hierarchy;
      TUTTI_Comm_hierarchy(MPI_COMM_WORLD, list, info, &hierarchy);
      int value = context.rank() == root ? 100 + root : 0;
      broadcast(hierarchy, &value);
      context.expect(value == 100 + root, "from %d over %s: %d", root, list ? list : "all levels", value);
      TUTTI_Comm_hierarchy_free(&hierarchy);
      MPI_Info_free(&info);
    }
}

void wrong_leaders_are_refused(Context& context) {
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  for (const std::string& leader :
       {std::string("-1"), std::to_string(context.size()), std::string("highest"), std::string("1x")}) {
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "tutti_leader", leader.c_str());
    TUTTI_Hierarchy hierarchy;
    context.expect(TUTTI_Comm_hierarchy(communicator, levels, info, &hierarchy) == MPI_ERR_ARG, "%s", leader.c_str());
    MPI_Info_free(&info);
  }
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "tutti_leader", "network");
  TUTTI_Hierarchy hierarchy;
  TUTTI_Comm_hierarchy(communicator, levels, info, &hierarchy);
  expect_hierarchy(context, communicator, hierarchy, -1);  // a described machine has no card
  TUTTI_Comm_hierarchy_free(&hierarchy);
  MPI_Info_free(&info);
  MPI_Comm_free(&communicator);
}

void a_thousand_hierarchies_leave_nothing(Context& context) {
  // What each leaves behind is there in every round. Where a peer lags, more are under way for once.
  std::size_t least = SIZE_MAX;
  for (int round = 0; round < 4; ++round) {
    const std::size_t before = resident_bytes();
    for (int i = 0; i < 300; ++i) {
      TUTTI_Hierarchy hierarchy;
      TUTTI_Comm_hierarchy(MPI_COMM_WORLD, levels, MPI_INFO_NULL, &hierarchy);
      TUTTI_Comm_hierarchy_free(&hierarchy);
    }
    const std::size_t after = resident_bytes();
    if (round > 0) least = std::min(least, after > before ? after - before : 0);
  }
  context.expect(least < std::size_t{300} * 512, "every 300 leave %zu bytes", least);
}

/// Without TUTTI_TOPOLOGY.
void ranks_that_may_run_anywhere_stand_for_themselves_on_this_machine(Context& context) {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  if (CPU_COUNT(&allowed) < 2) return;
  MPI_Comm made = MPI_COMM_WORLD;
  split(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "hwloc://PU", 0, &made);
  context.expect(made == MPI_COMM_NULL, "a rank that is not bound is in no processing unit");
  TUTTI_Hierarchy hierarchy;
  TUTTI_Comm_hierarchy(MPI_COMM_WORLD, "node,hwloc://PU", MPI_INFO_NULL, &hierarchy);
  expect_members(context, hierarchy.groups[0], members_of(MPI_COMM_WORLD), "node");
  expect_members(context, hierarchy.groups[1], {}, "PU");
  expect_members(context, hierarchy.conduits[1], members_of(MPI_COMM_WORLD), "each for itself");
  TUTTI_Comm_hierarchy_free(&hierarchy);
  // Bound now: at the call, not at the start, it is looked where a rank may run.
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
  split(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "hwloc://PU", 0, &made);
  expect_members(context, made, members_of(MPI_COMM_WORLD), "all bound to one");
  MPI_Comm_free(&made);
  sched_setaffinity(0, sizeof allowed, &allowed);
}

/// With or without Tutti.
void hierarchies_without_tutti_have_nodes(Context& context) {
  TUTTI_Hierarchy hierarchy;
  TUTTI_Comm_hierarchy(MPI_COMM_WORLD, "node,Core", MPI_INFO_NULL, &hierarchy);
  context.expect(hierarchy.levels == 2, "%d levels", hierarchy.levels);
  expect_members(context, hierarchy.groups[0], members_of(MPI_COMM_WORLD), "node");
  if (!TUTTI_Loaded()) expect_members(context, hierarchy.groups[1], {}, "Core");
  if (!TUTTI_Loaded()) expect_members(context, hierarchy.conduits[1], members_of(MPI_COMM_WORLD), "conduit");
  TUTTI_Comm_hierarchy_free(&hierarchy);
  TUTTI_Comm_hierarchy(MPI_COMM_WORLD, nullptr, MPI_INFO_NULL, &hierarchy);
  context.expect(hierarchy.levels >= 1, "%d levels", hierarchy.levels);
  TUTTI_Comm_hierarchy_free(&hierarchy);
  MPI_Info info = MPI_INFO_NULL;
  context.expect(TUTTI_Get_hw_resource_info(&info) == MPI_SUCCESS && info != MPI_INFO_NULL, "an info");
  MPI_Info_free(&info);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 0;
  {
    Context context(nullptr, 0);
    const std::vector<Test> tests{
#define TEST(name) {#name, &name}
        TEST(guided_splits_have_the_ranks_of_an_object),
        TEST(shared_memory_has_everybody_by_each_of_its_names),
        TEST(what_nobody_knows_gives_none),
        TEST(process_sets_split),
        TEST(unguided_splits_go_down_to_the_end),
        TEST(some_ranks_may_stay_out),
        TEST(values_that_differ_are_ignored),
        TEST(different_types_are_an_error_on_all),
        TEST(the_info_tells_what_is_true),
        TEST(hierarchies_have_groups_and_conduits),
        TEST(all_levels_are_those_that_part_ranks),
        TEST(broadcasts_from_conduit_to_conduit_reach_everybody),
        TEST(wrong_leaders_are_refused),
        TEST(a_thousand_hierarchies_leave_nothing),
        TEST(ranks_that_may_run_anywhere_stand_for_themselves_on_this_machine),
        TEST(hierarchies_without_tutti_have_nodes)};
    status = run_tests(context, tests, argc, argv);
  }
  MPI_Finalize();
  return status;
}
