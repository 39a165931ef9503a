#include "base/slurm_step.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace tutti {

int slurm_tasks() noexcept {
  const char* const number = std::getenv("SLURM_STEP_NUM_TASKS");
  return number ? std::max(0, std::atoi(number)) : 0;
}

int slurm_tasks_on_node() noexcept {
  // The numbers of the tasks, with commas between them. Other variables are of the job, or of what the user asked for.
  const char* const numbers = std::getenv("SLURM_GTIDS");
  if (!slurm_tasks() || !numbers || !*numbers) return 0;
  return 1 + static_cast<int>(std::count(numbers, numbers + std::strlen(numbers), ','));
}

}  // namespace tutti
