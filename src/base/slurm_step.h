// What Slurm tells the tasks of a job step, which srun has started. Job scripts have variables of this kind, too, but are in
// no step. Calls no malloc.
#pragma once

namespace tutti {

/// How many tasks this process's step has on all nodes; 0: srun has not started it, nor a parent of it.
int slurm_tasks() noexcept;

/// How many of them are on this node; 0: srun has not started it, or that is not known.
int slurm_tasks_on_node() noexcept;

}  // namespace tutti
