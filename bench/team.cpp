#include "team.h"

#include <sched.h>

#include <thread>
#include <vector>

namespace tutti::bench {

namespace {

std::vector<int> processors() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof mask, &mask);
  std::vector<int> all;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &mask)) all.push_back(i);
  return all;
}

}  // namespace

int usable_processors() {
  return static_cast<int>(processors().size());
}

void run_team(int threads, const std::function<void(int)>& body) {
  const std::vector<int> places = processors();
  std::vector<std::thread> team;
  for (int i = 0; i < threads; ++i)
    team.emplace_back([&, i] {
      cpu_set_t mask;
      CPU_ZERO(&mask);
      CPU_SET(places[static_cast<std::size_t>(i) % places.size()], &mask);
      sched_setaffinity(0, sizeof mask, &mask);
      body(i);
    });
  for (auto& thread : team) thread.join();
}

void yield() {
  sched_yield();
}

}  // namespace tutti::bench
