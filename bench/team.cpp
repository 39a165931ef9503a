#include "team.h"

#include <sched.h>

#include <thread>
#include <vector>

#include "processors.h"

namespace tutti::bench {

void run_team(int threads, const std::function<void(int)>& body) {
  const std::vector<int> places = usable_processors();
  std::vector<std::thread> team;
  team.reserve(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; ++i)
    team.emplace_back([&, i] {
      bind_to(places[static_cast<std::size_t>(i) % places.size()]);
      body(i);
    });
  for (auto& thread : team) thread.join();
}

void yield() {
  sched_yield();
}

}  // namespace tutti::bench
